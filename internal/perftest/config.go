package perftest

import (
	"time"

	"github.com/gofabric/gofabric/internal/stats"
)

// Limits of the flags' values, those of perftest 4.5.
const (
	maxSize       = 1<<31 - 1
	minIterations = 5
	maxIterations = 100_000_000
	maxTxDepth    = 15000
	maxCQMod      = 1024
	maxGIDIndex   = 64
	maxIBPort     = 255
	maxDuration   = 1 << 20 // seconds; the C tools have no limit
)

const (
	// DefaultPort is the control connection's TCP port.
	DefaultPort = 18515

	defaultCQMod    = 100
	defaultDuration = 5 // seconds, against which -f alone is checked
	// A message above this size gets a completion of its own.
	cqModSize = 8192
	// More iterations than this turn the peak off.
	peakIterations = 20000
	// The sizes of -a: powers of two up to this one.
	largestOfAll = 1 << 23
)

// Config is one run of a tool, after its own rules: what the flags say, the
// defaults filled in, and the values that depend on others settled.
type Config struct {
	Tool Tool
	// Action is what to do; the rest counts for ActionRun only.
	Action Action
	// Host is the server to connect to. Empty means to be the server.
	Host string
	// Port is the control connection's TCP port.
	Port int
	// Device is the RDMA device's name; empty means the first.
	Device string
	// IBPort is the device's port, from 1.
	IBPort int
	// GIDIndex is the local GID's index; nil means to choose one.
	GIDIndex *int
	// MTU is the path MTU; nil means the port's.
	MTU *MTU
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
	// TxDepth is the depth of the send queue.
	TxDepth int
	// CQModeration is the number of requests to one completion.
	CQModeration int
	// Peak tells whether to measure the peak.
	Peak bool
	// Unit is the unit of the printed bandwidth.
	Unit stats.Unit
	// JSON prints a JSON document in place of the text.
	JSON bool
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

// Sizes returns the message sizes of the run, in order.
func (c *Config) Sizes() []int {
	if !c.All {
		return []int{c.Size}
	}
	var sizes []int
	for size := 2; size <= largestOfAll; size *= 2 {
		sizes = append(sizes, size)
	}
	return sizes
}

// settle applies the rules by which perftest derives values from others. The
// completion moderation stays as given when moderationGiven.
func (c *Config) settle(moderationGiven bool) {
	if c.All {
		c.Size = largestOfAll
	}
	if c.Duration > 0 {
		c.Iterations = 0
		c.Peak = false
	} else {
		c.TxDepth = min(c.TxDepth, c.Iterations)
		c.Peak = c.Peak && c.Iterations <= peakIterations
	}
	if !moderationGiven && !c.All && c.Size > cqModSize {
		c.CQModeration = 1
	}
	c.CQModeration = min(c.CQModeration, c.TxDepth)
}
