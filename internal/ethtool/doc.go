// Package ethtool asks the kernel what ethtool shows of a network interface: what
// its driver counts, and how fast its link could be. It needs no rights and changes
// nothing.
package ethtool

import (
	"errors"
	"fmt"
)

// Stat is a counter in the driver's own name.
type Stat struct {
	Name  string
	Value uint64
}

// ErrName is the error of what cannot be an interface's name.
var ErrName = errors.New("this is no name of an interface")

// failure says of which interface an error is.
func failure(netdev string, err error) error {
	return fmt.Errorf("ethtool of %s: %w", netdev, err)
}
