// Package printable makes text from elsewhere fit to be shown.
package printable

import (
	"strings"
	"unicode"
)

// Text replaces what a terminal could take for a command, and what XML cannot
// hold: control and format characters, line ends among them, and invalid UTF-8.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, text)
}
