// Package counters reads what RDMA ports, their network interfaces and PCIe links
// count, in units that mean something, and compares two readings.
//
// The kernel's files have traps, and this package knows them:
//
//   - port_xmit_data and port_rcv_data count words of four bytes, on any width of
//     link. A Value of theirs is in bytes.
//   - Narrow counters stick at their greatest value and do not wrap. Such a Value
//     is Saturated: it says "at least", and it no longer tells new errors.
//   - A counter that went down was reset: it begins anew, and nothing is added.
//   - The driver refreshes hw_counters once in a lifespan. Two readings within it
//     are one, and a Delta says so (Same).
//   - A counter may be missing, refuse to be read, or say "N/A (no PMA)". It is
//     absent then, with the reason; it is never 0, and it costs no other counter.
//
// On RoCE the port's counters have seen RDMA only; what went over the wire stands
// in the interface's, and in ethtool's names that end in _phy. Virtual functions do
// not see the physical port.
//
// What counts are the Deltas over a window: errors of last year say nothing about
// today. Samples are plain values; everything here is safe for concurrent use.
package counters
