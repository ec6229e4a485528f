package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On every width nothing wraps, and from 20 columns on a number is whole or away:
// the beginning of one is another.
func TestScreenOfEveryWidth(t *testing.T) {
	st, r := two(t)
	r.ports[0].port.Netdevs = []string{"ibp65s0np0v1"} // wider than its column
	whole := map[string]bool{}
	for _, word := range strings.Fields(st.screen(r, 200)) {
		whole[word] = true
	}
	for width := 1; width <= 200; width++ {
		screen := st.screen(r, width)
		for _, line := range strings.Split(screen, "\n") {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), width, "%d: %s", width, line)
		}
		if width < 20 {
			continue
		}
		require.Contains(t, screen, "21.340", "%d: the rates are what it is for", width)
		require.Contains(t, screen, "360.000", width)
		require.Contains(t, screen, "+2", width)
		_, tables, _ := strings.Cut(screen, "\n")
		for _, word := range strings.Fields(tables) {
			if strings.ContainsAny(word[:1], "0123456789+") {
				assert.True(t, whole[word], "%d: %s is no number of the wide screen", width, word)
			}
		}
	}
	assert.Contains(t, st.screen(r, 80), "ibp65s0np0v1 ACTIVE", "a long name moves the columns of all lines")
	for _, width := range []int{20, 40} {
		for _, line := range strings.Split(overlay(st.screen(r, width), width, 4), "\n") {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.NewReplacer(pageTop, "", lineEnd, "", pageRest, "").Replace(line)), width)
		}
	}
}

func TestOverlayClearsBeforeItWrites(t *testing.T) {
	assert.Equal(t, pageTop+lineEnd+"21.340"+"\n"+lineEnd+"5.335\n"+pageRest, overlay("21.340\n5.335\n", 6, 24), "behind a full row the last digit would go")
}

func TestNamesTakeOneCellALetter(t *testing.T) {
	st, r := two(t)
	r.ports[0].port.Netdevs = []string{"\u7f51\u5361\x1b[31m"}
	r.gpus[0].gpu.Name = strings.Repeat("long ", 20)
	screen := st.screen(r, 200)
	assert.Contains(t, screen, " ???[31m ")
	assert.Contains(t, screen, "long long long long …")
}

func TestStuckCounters(t *testing.T) {
	st, r := two(t)
	for _, g := range st.errors {
		g.saturated = true
	}
	for width, told := range map[int]bool{80: true, 120: true, 40: false} {
		assert.Equal(t, told, strings.Contains(st.screen(r, width), "stuck at its greatest value"), fmt.Sprint(width))
	}
}
