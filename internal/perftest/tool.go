package perftest

import "strings"

// Verb is the operation that a tool measures.
type Verb int

// The verbs of the tools.
const (
	VerbWrite Verb = iota
	VerbRead
	VerbSend
	VerbAtomic
)

// brings tells whether the verb answers with data, which the peer's adapter
// sends without its program.
func (v Verb) brings() bool { return v == VerbRead || v == VerbAtomic }

// Tool is one program of the family: its name and the defaults in which it
// differs from the others.
type Tool struct {
	// Name is the program's name, "write_bw"; the C tool's is ib_ and this.
	Name string
	// Summary is the line at the head of the help text.
	Summary string
	Verb    Verb
	// Latency tells the tools that measure the time of single messages from
	// those that keep the queue full.
	Latency bool
	// Size is the default message size in bytes.
	Size int
	// Iterations is the default number of messages of each queue pair.
	Iterations int
	// TxDepth and RxDepth are the default depths of the queues.
	TxDepth, RxDepth int
}

// The tools, with perftest's defaults.
var (
	WriteBW = Tool{Name: "write_bw", Verb: VerbWrite, Size: 65536, Iterations: 5000, TxDepth: 128, RxDepth: 1,
		Summary: "Measure the bandwidth of RDMA writes."}
	ReadBW = Tool{Name: "read_bw", Verb: VerbRead, Size: 65536, Iterations: 1000, TxDepth: 128, RxDepth: 1,
		Summary: "Measure the bandwidth of RDMA reads."}
	SendBW = Tool{Name: "send_bw", Verb: VerbSend, Size: 65536, Iterations: 1000, TxDepth: 128, RxDepth: 512,
		Summary: "Measure the bandwidth of messages into receives that the peer posts."}
	AtomicBW = Tool{Name: "atomic_bw", Verb: VerbAtomic, Size: 8, Iterations: 1000, TxDepth: 128, RxDepth: 1,
		Summary: "Measure the rate of atomics on the peer's memory."}
	WriteLat = Tool{Name: "write_lat", Verb: VerbWrite, Latency: true, Size: 2, Iterations: 1000, TxDepth: 1, RxDepth: 1,
		Summary: "Measure the latency of RDMA writes: half of the time to the answer, which is a write too."}
	ReadLat = Tool{Name: "read_lat", Verb: VerbRead, Latency: true, Size: 2, Iterations: 1000, TxDepth: 1, RxDepth: 1,
		Summary: "Measure the latency of RDMA reads."}
	SendLat = Tool{Name: "send_lat", Verb: VerbSend, Latency: true, Size: 2, Iterations: 1000, TxDepth: 1, RxDepth: 512,
		Summary: "Measure the latency of messages: half of the time to the answer, which is a message too."}
	AtomicLat = Tool{Name: "atomic_lat", Verb: VerbAtomic, Latency: true, Size: 8, Iterations: 1000, TxDepth: 1, RxDepth: 1,
		Summary: "Measure the latency of atomics on the peer's memory."}
)

// Tools are all of them.
var Tools = []Tool{WriteBW, ReadBW, SendBW, AtomicBW, WriteLat, ReadLat, SendLat, AtomicLat}

// fixedSize tells the tools whose messages have one size only.
func (t Tool) fixedSize() bool { return t.Verb == VerbAtomic }

// trips is the number of messages that make up a sample of a latency.
func (t Tool) trips() int {
	if t.Verb.brings() {
		return 1
	}
	return 2
}

// title names the test in the output.
func (c *Config) title() string {
	words := []string{map[Verb]string{VerbWrite: "RDMA_Write", VerbRead: "RDMA_Read", VerbSend: "Send",
		VerbAtomic: "Atomic " + c.Atomic.String()}[c.Tool.Verb]}
	if c.Bidirectional {
		words = append(words, "Bidirectional")
	}
	if c.PostList > 1 {
		words = append(words, "Post List")
	}
	if c.Tool.Latency {
		return strings.Join(append(words, "Latency Test"), " ")
	}
	return strings.Join(append(words, "BW Test"), " ")
}

// Atomic is an atomic operation.
type Atomic int

// The atomic operations; the zero value is the C tools' default.
const (
	FetchAndAdd Atomic = iota
	CompareAndSwap
)

func (a Atomic) String() string {
	if a == CompareAndSwap {
		return "CMP_AND_SWAP"
	}
	return "FETCH_AND_ADD"
}
