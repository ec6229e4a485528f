package perftest

import (
	"time"

	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

// Limits of the flags' values, those of perftest 4.5.
const (
	maxSize       = 1<<31 - 1
	minIterations = 5
	maxIterations = 100_000_000
	maxDepth      = 15000
	maxCQMod      = 1024
	maxGIDIndex   = 64
	maxIBPort     = 255
	maxInline     = 912
	maxQueuePairs = 16384
	maxDuration   = 1 << 20 // seconds; the C tools have no limit
)

const (
	// DefaultPort is the control connection's TCP port.
	DefaultPort = 18515

	defaultCQMod    = 100
	defaultDuration = 5 // seconds, against which -f alone is checked
	defaultTimeout  = 60 * time.Second
	// A message above this size gets a completion of its own.
	cqModSize = 8192
	// More iterations than this turn the peak off.
	peakIterations = 20000
	// The sizes of -a: powers of two up to this one.
	largestOfAll = 1 << 23
	// The default depth of the receive queue where messages can be lost.
	lossyRxDepth = 16000
)

// Config is one run of a tool, after its own rules: what the flags say, the
// defaults filled in, and the values that depend on others settled.
type Config struct {
	Tool Tool
	// Action is what to do; the rest counts for ActionRun only.
	Action Action
	// Host is the server to connect to. Empty means to be the server.
	Host string
	// Port is the control connection's TCP port, and SourceIP this side's
	// address of it; empty is any.
	Port     int
	SourceIP string
	// Timeout bounds the wait for a peer that makes no progress. ServerTimeout
	// is the same for a server that only waits; zero is no limit.
	Timeout, ServerTimeout time.Duration

	// CMControl has the connection manager make the control connection, over a
	// queue pair, and CMPairs connect the queue pairs too, which needs CMControl.
	CMControl, CMPairs bool
	// TypeOfService is the byte of IP of CMPairs' connections, nil for the
	// system's, and RetryCount how often they send again.
	TypeOfService *int
	RetryCount    int

	// Device is the RDMA device's name; empty means the first.
	Device string
	// IBPort is the device's port, from 1.
	IBPort int
	// GIDIndex is the local GID's index; nil means to choose one, of an IPv6
	// address with IPv6.
	GIDIndex *int
	IPv6     bool
	// MTU is the path MTU; nil means the port's.
	MTU *MTU
	// PKeyIndex, ServiceLevel, TrafficClass and AckTimeout are attributes of
	// the queue pairs.
	PKeyIndex                              int
	ServiceLevel, TrafficClass, AckTimeout int

	// Connection is the queue pairs' type.
	Connection verbs.QPType
	// QueuePairs is how many there are, and Threads on how many goroutines
	// with threads of their own; zero is none but the caller's.
	QueuePairs, Threads int
	// Bind says to which CPUs the threads are bound: "", "near" or a list.
	Bind string
	// Size is the message size in bytes; with All, the largest one.
	Size int
	// All runs the sizes 2, 4, … 2^23; see Sizes.
	All bool
	// Iterations is the number of messages of each queue pair, zero in a run of
	// fixed duration.
	Iterations int
	// Duration is the time to run for, zero in a run of fixed iterations.
	// Margin is the time at both of its ends that does not count.
	Duration, Margin time.Duration
	// Infinite repeats runs of Duration until the program is ended.
	Infinite bool
	// Bidirectional has both sides send; Reversed has the server send.
	Bidirectional, Reversed bool
	// Atomic is the operation of the atomic tools.
	Atomic Atomic

	// TxDepth and RxDepth are the depths of the queues.
	TxDepth, RxDepth int
	// CQModeration is the number of requests to one completion.
	CQModeration int
	// PostList and RecvPostList are how many requests are posted at once, 1 for
	// as many as fit.
	PostList, RecvPostList int
	// Inline is the largest message that is sent inline; nil is the device's
	// default.
	Inline *int
	// OutReads is how many reads and atomics may be under way; nil is as many
	// as the device can.
	OutReads *int
	// Events waits for completions asleep, by the interrupt of Vector.
	Events bool
	Vector int
	// SharedReceive takes receives from one queue for all queue pairs.
	SharedReceive bool
	// Memory is where the buffers come from.
	Memory MemoryOptions
	// WarmUp sends some messages before the clock starts.
	WarmUp bool

	// Peak tells whether to measure the peak.
	Peak bool
	// Unit is the unit of the printed bandwidth.
	Unit stats.Unit
	// ReportBoth prints each side's part of a bidirectional run too.
	ReportBoth bool
	// CPU prints how busy the processors were.
	CPU bool
	// Histogram lists all samples of a latency, sorted unless Unsorted.
	Histogram, Unsorted bool
	// Only prints one column and nothing else.
	Only report.Column
	// MinBandwidth, in Unit, and MinMessageRate, in millions a second, fail a
	// run that stays below; zero is no limit.
	MinBandwidth, MinMessageRate float64
	// JSON prints a JSON document in place of the text.
	JSON bool
	// CFile is the file for the C tools' JSON, empty for none.
	CFile string
	// Plot is the file for a chart, empty for none.
	Plot string
	// Compare is the C tool to compare with, empty for none; Pairs is how often,
	// and ServerDevice the device of the servers.
	Compare      string
	Pairs        int
	ServerDevice string

	// shared are the arguments that the C tool takes too.
	shared []string
	// own are those that change how this program measures.
	own []string
}

// Action is what the command line asks for.
type Action int

const (
	// ActionRun runs the test.
	ActionRun Action = iota
	// ActionHelp prints Usage.
	ActionHelp
	// ActionVersion prints VersionText.
	ActionVersion
)

// VersionText is what -V prints: the version that is announced to the peer.
func VersionText() string { return "Version: " + OurVersion.String() + "\n" }

// Role returns the side of the control connection.
func (c *Config) Role() Role {
	if c.Host == "" {
		return RoleServer
	}
	return RoleClient
}

// leads tells the side that sends first, and alone unless both do.
func (c *Config) leads() bool { return (c.Role() == RoleClient) != c.Reversed }

// opens tells the side whose message is the first of a latency test: the client's,
// but the server's in a test of writes.
func (c *Config) opens() bool { return c.leads() != (c.Tool.Verb == VerbWrite) }

// sends tells whether this side posts to its send queues.
func (c *Config) sends() bool {
	return c.leads() || c.Bidirectional || c.Tool.Latency && !c.Tool.Verb.brings()
}

// receives tells whether this side posts receives.
func (c *Config) receives() bool {
	return c.Tool.Verb == VerbSend && (!c.leads() || c.Bidirectional || c.Tool.Latency)
}

// measures tells whether this side has results of its own.
func (c *Config) measures() bool { return c.sends() || c.receives() }

// lossy tells whether messages can be lost without a word.
func (c *Config) lossy() bool { return c.Connection != verbs.RC }

// Sizes returns the message sizes of the run, in order.
func (c *Config) Sizes() []int {
	if !c.All {
		return []int{c.Size}
	}
	var sizes []int
	for size := 2; size <= c.Size; size *= 2 {
		sizes = append(sizes, size)
	}
	return sizes
}
