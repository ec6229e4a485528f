package stats

// Unit is the unit in which perftest prints and transmits a bandwidth. The
// zero value is the C tools' default.
type Unit int

const (
	// MiB is 2^20 bytes a second, which perftest up to 24.04 labels "MB/sec".
	MiB Unit = iota
	// Gbit is 10^9 bits a second, chosen by --report_gbits.
	Gbit
)

// perSecond is the number of bytes a second that one unit stands for.
func (u Unit) perSecond() float64 {
	if u == Gbit {
		return 125_000_000
	}
	return 1 << 20
}

// FromBytes converts bytes a second to u.
func (u Unit) FromBytes(bytesPerSecond float64) float64 { return bytesPerSecond / u.perSecond() }

// ToBytes converts v, which is in u, to bytes a second.
func (u Unit) ToBytes(v float64) float64 { return v * u.perSecond() }

// String returns the label of perftest 4.5's table header.
func (u Unit) String() string {
	if u == Gbit {
		return "Gb/sec"
	}
	return "MB/sec"
}
