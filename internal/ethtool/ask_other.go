//go:build !linux

package ethtool

import "errors"

// Stats needs Linux: the error has errors.ErrUnsupported in its chain.
func Stats(netdev string) ([]Stat, error) { return nil, failure(netdev, errors.ErrUnsupported) }

// Fastest needs Linux: the error has errors.ErrUnsupported in its chain.
func Fastest(netdev string) (mbps int, err error) { return 0, failure(netdev, errors.ErrUnsupported) }
