// Package perftest is the engine of the benchmark tools that are interchangeable
// with the C perftest suite: write, read, send and atomic tests, of bandwidth and of
// latency.
//
// # Layers
//
// [ParseArgs] reads the flags, which have the C tools' names, defaults and rules.
// [Session] is the control connection, byte for byte as perftest 4.5 speaks it, in
// both roles. [Run] is a whole test: run.go has the order of the exchanges of each
// tool, end.go and end_build.go what is made on the device, lane.go and what begins
// with lane_ the traffic of one goroutine, measure.go what goroutines measured
// together, and output.go what is printed. [Main] is the program around it, and
// [Compare] takes turns with a C tool.
//
// Two seams wait for more: memory.go for where buffers come from, and link.go for
// how two sides meet. version.go has the releases whose protocol differs in a table.
//
// # Order of exchanges
//
// Every test begins with the prologue (version, page size, cache line, MTU). Then
// each queue pair's key is exchanged, twice, with a barrier that is the first key
// again: after the second pass, between the two in tests of messages, and before
// the first too in latency tests of the others. Where one side alone works, there is
// no other exchange until it has run all sizes; the barrier after it is followed by
// the results of the last size. Both-way tests and tests of messages have a barrier
// before each size, and after it with -a. All but write latency end with a barrier.
//
// The memory that a side offers must be writable for max(size, agreed.PageSize)
// bytes for each queue pair, because the peer steps through a page in strides. In a
// latency test of writes the server's message is the first, in that of sends the
// client's.
//
// # Failures
//
// An exchange that fails is a *ProtocolError, which says what was received and
// what to do, and matches ErrPeerClosed, ErrPeerSilent, ErrForeign,
// ErrIncompatible, a *FieldError, or the cause of the context's end. It closes
// the connection. A run that failed for another reason closes it too, so that the
// peer does not wait.
package perftest
