package verbs

// StaticRate is the code of a rate that a path is held to (enum ibv_rate,
// AddressVector.StaticRate); zero is the port's. The names are those of the
// specification; Mbps tells the rate of the data.
type StaticRate uint8

// Rates.
const (
	RateMax    StaticRate = 0
	Rate2Gb5   StaticRate = 2
	Rate5Gb    StaticRate = 5
	Rate10Gb   StaticRate = 3
	Rate14Gb   StaticRate = 11
	Rate20Gb   StaticRate = 6
	Rate25Gb   StaticRate = 15
	Rate28Gb   StaticRate = 19
	Rate30Gb   StaticRate = 4
	Rate40Gb   StaticRate = 7
	Rate50Gb   StaticRate = 20
	Rate56Gb   StaticRate = 12
	Rate60Gb   StaticRate = 8
	Rate80Gb   StaticRate = 9
	Rate100Gb  StaticRate = 16
	Rate112Gb  StaticRate = 13
	Rate120Gb  StaticRate = 10
	Rate168Gb  StaticRate = 14
	Rate200Gb  StaticRate = 17
	Rate300Gb  StaticRate = 18
	Rate400Gb  StaticRate = 21
	Rate600Gb  StaticRate = 22
	Rate800Gb  StaticRate = 23
	Rate1200Gb StaticRate = 24
)

// rateTable has what libibverbs says of each code: Mb/s, and multiples of 2.5
// Gb/s where it knows one.
var rateTable = []struct {
	rate       StaticRate
	mbps, mult int
}{
	{Rate2Gb5, 2500, 1}, {Rate5Gb, 5000, 2}, {Rate10Gb, 10000, 4}, {Rate14Gb, 14062, 0},
	{Rate20Gb, 20000, 8}, {Rate25Gb, 25781, 0}, {Rate28Gb, 28125, 11}, {Rate30Gb, 30000, 12},
	{Rate40Gb, 40000, 16}, {Rate50Gb, 53125, 20}, {Rate56Gb, 56250, 0}, {Rate60Gb, 60000, 24},
	{Rate80Gb, 80000, 32}, {Rate100Gb, 103125, 0}, {Rate112Gb, 112500, 0}, {Rate120Gb, 120000, 48},
	{Rate168Gb, 168750, 0}, {Rate200Gb, 206250, 0}, {Rate300Gb, 309375, 0}, {Rate400Gb, 425000, 160},
	{Rate600Gb, 637500, 240}, {Rate800Gb, 850000, 320}, {Rate1200Gb, 1275000, 480},
}

// Mbps returns the rate in megabits per second; ok is false for RateMax and for
// what is no rate.
//
// Implements: ibv_rate_to_mbps.
func (r StaticRate) Mbps() (mbps int, ok bool) {
	for _, e := range rateTable {
		if e.rate == r {
			return e.mbps, true
		}
	}
	return 0, false
}

// Multiple returns the rate in multiples of 2.5 Gb/s, one lane of SDR; ok is false
// where libibverbs knows none.
//
// Implements: ibv_rate_to_mult.
func (r StaticRate) Multiple() (multiple int, ok bool) {
	for _, e := range rateTable {
		if e.rate == r {
			return e.mult, e.mult != 0
		}
	}
	return 0, false
}

// StaticRateOfMbps returns the code of exactly so many megabits per second, and
// RateMax if there is none.
//
// Implements: mbps_to_ibv_rate.
func StaticRateOfMbps(mbps int) StaticRate {
	for _, e := range rateTable {
		if e.mbps == mbps {
			return e.rate
		}
	}
	return RateMax
}

// StaticRateOfMultiple returns the code of a multiple of 2.5 Gb/s, and RateMax if
// there is none.
//
// Implements: mult_to_ibv_rate.
func StaticRateOfMultiple(multiple int) StaticRate {
	for _, e := range rateTable {
		if e.mult == multiple && e.mult != 0 {
			return e.rate
		}
	}
	return RateMax
}

// FlowLabelToUDPPort returns the UDP source port, 0xc000 to 0xffff, that RoCE v2
// packets of a flow label (20 bits) have: switches spread flows by it.
//
// Implements: ibv_flow_label_to_udp_sport.
func FlowLabelToUDPPort(label uint32) uint16 {
	const low, first = 0x3fff, 0xc000
	return uint16(label&low ^ label>>14&0x3f | first)
}
