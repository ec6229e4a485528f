package ethtool

// speeds are the link modes of linux/ethtool.h (enum ethtool_link_mode_bit_indices)
// that are a speed from 1 Gb/s on, as runs of bits.
var speeds = []struct{ first, last, mbps int }{
	{4, 5, 1000}, {12, 12, 10000}, {15, 15, 2500}, {17, 17, 1000}, {18, 20, 10000}, {21, 22, 20000}, {23, 26, 40000}, {27, 30, 56000},
	{31, 33, 25000}, {34, 35, 50000}, {36, 39, 100000}, {40, 40, 50000}, {41, 41, 1000}, {42, 46, 10000}, {47, 47, 2500}, {48, 48, 5000},
	{52, 56, 50000}, {57, 61, 100000}, {62, 66, 200000}, {68, 68, 1000}, {69, 73, 400000}, {75, 79, 100000}, {80, 84, 200000},
	{85, 89, 400000}, {93, 98, 800000}, {103, 108, 200000}, {109, 114, 400000}, {115, 120, 800000}, {121, 124, 1600000},
}

// fastest is the greatest speed of a mask of link modes in Mb/s, zero without one.
func fastest(mask []uint32) int {
	most := 0
	for _, s := range speeds {
		for bit := s.first; bit <= s.last; bit++ {
			if bit/32 < len(mask) && mask[bit/32]>>(bit%32)&1 == 1 {
				most = max(most, s.mbps)
			}
		}
	}
	return most
}
