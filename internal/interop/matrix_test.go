package interop

import (
	"slices"
	"strings"
)

// kind says what a tool's runs look like.
type kind struct {
	name      string
	verb      string
	latency   bool
	sizes     bool // takes -s and -a
	ownNumber bool // each side prints what it measured itself, in one direction too
}

var kinds = []kind{
	{name: "write_bw", verb: "write", sizes: true},
	{name: "read_bw", verb: "read", sizes: true},
	{name: "send_bw", verb: "send", sizes: true, ownNumber: true},
	{name: "atomic_bw", verb: "atomic"},
	{name: "write_lat", verb: "write", latency: true, sizes: true, ownNumber: true},
	{name: "read_lat", verb: "read", latency: true, sizes: true},
	{name: "send_lat", verb: "send", latency: true, sizes: true, ownNumber: true},
	{name: "atomic_lat", verb: "atomic", latency: true},
}

// variant is a set of flags and what they do to the output.
type variant struct {
	name       string
	args       string
	only       func(k kind) bool // the tools that have the flags
	smoke      func(k kind) bool // those whose runs are in the quick part too
	size       int               // the one size; zero is the tool's own
	iterations int               // zero in a run of fixed duration
	queuePairs int               // zero is one
	all        bool
	both       bool // both sides send
	datagram   bool // UD: no message is longer than the MTU
}

func anyKind(kind) bool          { return true }
func bandwidth(k kind) bool      { return !k.latency }
func allSizes(k kind) bool       { return k.sizes }
func bothSizes(k kind) bool      { return k.sizes && !k.latency }
func notWrite(k kind) bool       { return k.verb != "write" }
func pushes(k kind) bool         { return k.verb == "write" || k.verb == "send" }
func sends(k kind) bool          { return k.verb == "send" }
func sendsBW(k kind) bool        { return k.verb == "send" && !k.latency }
func swaps(k kind) bool          { return k.verb == "atomic" }
func latencyOrSwaps(k kind) bool { return k.latency || swaps(k) }
func swapsBW(k kind) bool        { return k.verb == "atomic" && !k.latency }

// Every flag that the two sides must understand alike. The numbers of iterations
// are small: the lab's processor is emulated. Both ways the messages are short,
// because rdma_rxe of 6.1 drops much of long ones, between two C tools as well, and
// with -D they are, so that some arrive in its seconds on the busiest machine.
var variants = []variant{
	{name: "default", args: "-n 20", only: anyKind, smoke: anyKind, iterations: 20},
	{name: "-a", args: "-a -n 5", only: allSizes, iterations: 5, all: true},
	{name: "-b", args: "-b -n 50 -s 4096", only: bothSizes, smoke: sendsBW, size: 4096, iterations: 50, both: true},
	{name: "-b", args: "-b -n 50", only: swapsBW, iterations: 50, both: true},
	{name: "-q 4", args: "-q 4 -n 20", only: bandwidth, iterations: 20, queuePairs: 4},
	{name: "-q 3 -t 7 -n 53", args: "-q 3 -t 7 -n 53 -s 2048", only: bothSizes, size: 2048, iterations: 53, queuePairs: 3},
	{name: "-D 2", args: "-D 2 -s 1024", only: bothSizes, size: 1024},
	{name: "-D 2", args: "-D 2", only: latencyOrSwaps},
	{name: "-D 2 -b", args: "-D 2 -b -s 1024", only: sendsBW, size: 1024, both: true},
	{name: "-e", args: "-e -n 20", only: notWrite, iterations: 20},
	{name: "-I 64", args: "-I 64 -s 64 -n 50", only: pushes, size: 64, iterations: 50},
	{name: "-c UC", args: "-c UC -n 20", only: pushes, iterations: 20},
	{name: "-c UD", args: "-c UD -n 20", only: sends, smoke: sendsBW, iterations: 20, datagram: true},
	{name: "-c UD -a", args: "-c UD -a -n 5", only: sends, iterations: 5, all: true, datagram: true},
	{name: "-A CMP_AND_SWAP", args: "-A CMP_AND_SWAP -n 20", only: swaps, iterations: 20},
	{name: "-R", args: "-R -n 20", only: anyKind, smoke: func(k kind) bool { return k.name == "write_bw" || k.name == "send_lat" }, iterations: 20},
	{name: "-R -q 4", args: "-R -q 4 -n 20", only: bandwidth, iterations: 20, queuePairs: 4},
	{name: "-R -b", args: "-R -b -n 50 -s 4096", only: bothSizes, size: 4096, iterations: 50, both: true},
	{name: "-R -c UD", args: "-R -c UD -n 20", only: sends, iterations: 20, datagram: true},
	{name: "-R -c UD -q 3", args: "-R -c UD -q 3 -n 20", only: sendsBW, iterations: 20, queuePairs: 3, datagram: true},
	{name: "-R -c UD -b", args: "-R -c UD -b -n 50 -s 2048", only: sendsBW, size: 2048, iterations: 50, both: true, datagram: true},
	{name: "-R -T 32", args: "-R -T 32 -n 20", only: anyKind, iterations: 20},
	{name: "-z", args: "-z -n 20", only: anyKind, smoke: func(k kind) bool { return k.name == "read_bw" }, iterations: 20},
	{name: "-z -q 4", args: "-z -q 4 -n 20", only: bandwidth, iterations: 20, queuePairs: 4},
	{name: "-z -c UD", args: "-z -c UD -n 20", only: sends, iterations: 20, datagram: true},
}

// cm tells that the connection manager carries the control connection.
func (v variant) cm() bool {
	return slices.ContainsFunc(v.flags(), func(flag string) bool { return flag == "-R" || flag == "-z" })
}

func (v variant) flags() []string { return strings.Fields(v.args) }

const (
	labMTU    = 4096
	lastOfAll = 1 << 23
)

// want returns the sizes that a side which measures every one prints.
func (v variant) want(k kind) []int {
	limit := lastOfAll
	if v.datagram {
		limit = labMTU
	}
	if v.all {
		var sizes []int
		for size := 2; size <= limit; size *= 2 {
			sizes = append(sizes, size)
		}
		return sizes
	}
	size := v.size
	switch {
	case size > 0:
	case k.verb == "atomic":
		size = 8
	case k.latency:
		size = 2
	default:
		size = 65536
	}
	return []int{min(size, limit)}
}

// rows returns the sizes that each side prints a row for.
func (v variant) rows(k kind) (server, client []int) {
	client = v.want(k)
	switch {
	case v.both || k.ownNumber:
		return client, client
	case k.latency:
		return nil, client // the server of a read does not measure
	default:
		return client[len(client)-1:], client
	}
}

// measuresAlone tells a run of which each side prints its own measurement.
func (v variant) measuresAlone(k kind) bool {
	return k.latency || k.verb == "send" && (!v.both || v.iterations == 0)
}

// messages is what the iterations of a row count, of all queue pairs.
func (v variant) messages() int { return v.iterations * max(1, v.queuePairs) }

// plan returns the variants of a kind, all or those of the smoke part.
func plan(k kind, everything bool) []variant {
	return slices.DeleteFunc(slices.Clone(variants), func(v variant) bool {
		return !v.only(k) || !everything && (v.smoke == nil || !v.smoke(k))
	})
}
