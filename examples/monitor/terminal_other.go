//go:build !linux

package main

import "io"

// terminalSize knows no terminal here: the output is plain.
func terminalSize(io.Writer) (columns, rows int, ok bool) { return 0, 0, false }
