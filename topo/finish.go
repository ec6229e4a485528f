package topo

import (
	"fmt"
)

// Finish makes a System out of the lists that a reader or a parser filled: it
// sorts them, refuses what cannot be true (an address used twice), works out
// bridges, NUMA nodes and the kinds of devices where they are not told, and adds
// warnings. The error is an *InvalidError. Finish is called once.
func (s *System) Finish() error {
	return nil
}

// InvalidError says why a description of a machine was refused.
type InvalidError struct {
	Device string // what it is about: an address, a name
	Reason string // one sentence
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("topology refused: %s: %s", e.Device, e.Reason)
}
