package pairs

import "strings"

// RxeFlaw reports whether a tool failed as rdma_rxe of Linux 6.1 makes it: when
// acknowledgements come late and requests were posted in lists, it answers a
// retransmission with remote invalid request (status 9). The C tool meets it too,
// with -l. A run that ended so says nothing about the tool, and may be repeated.
// Both tools tell the status by its number.
func (o Output) RxeFlaw() bool {
	text := o.Stdout + o.Stderr
	return o.Status != 0 && (strings.Contains(text, "(status 9, ") || strings.Contains(text, "Failed status 9"))
}

// ClockFlaw reports whether a C tool gave up because it could not tell how fast
// the processor's counter runs, as on a machine that is emulated and busy. A run
// that ended so says nothing about the tools either.
func (o Output) ClockFlaw() bool {
	return o.Status != 0 && strings.Contains(o.Stdout+o.Stderr, "Can't produce a report")
}

// RxeTries is how often a run is tried that ends in one of the flaws.
const RxeTries = 3
