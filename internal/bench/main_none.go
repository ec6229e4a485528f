//go:build !linux || !cgo

// Command bench needs linux and cgo.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "bench measures cgo: build it on linux with CGO_ENABLED=1")
	os.Exit(1)
}
