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

// RxeTries is how often a run is tried that ends in that flaw.
const RxeTries = 3
