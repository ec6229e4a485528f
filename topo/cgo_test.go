//go:build cgo

package topo

// withCgo: the C library is in this program.
const withCgo = true
