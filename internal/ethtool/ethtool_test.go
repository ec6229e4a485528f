package ethtool

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFastest(t *testing.T) {
	bits := func(list ...int) []uint32 {
		mask := make([]uint32, 4)
		for _, bit := range list {
			mask[bit/32] |= 1 << (bit % 32)
		}
		return mask
	}
	for _, c := range []struct {
		mask []uint32
		mbps int
	}{
		{nil, 0},
		{bits(6, 10, 13), 0}, // autonegotiation, fibre and pause are no speeds
		{bits(0, 1, 2, 3, 5, 6), 1000},
		{bits(5, 31, 36, 57), 100000},
		{bits(66, 84, 36), 200000},
		{bits(89), 400000},
		{bits(98, 74), 800000},
		{bits(66)[:2], 0}, // a kernel whose masks end before
	} {
		assert.Equal(t, c.mbps, fastest(c.mask), "%x", c.mask)
	}
}

func TestNoInterface(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("x", 40), "no such one"} {
		_, err := Stats(name)
		require.Error(t, err)
		_, err = Fastest(name)
		require.Error(t, err)
	}
}
