package nccl

import (
	"math"
	"time"

	"github.com/gofabric/gofabric/internal/cnccl"
)

// Config is how a communicator is made. The zero value leaves everything to
// NCCL, makes the communicator non-blocking, and works with every release since
// 2.14.3. A setting that the loaded library does not know is refused with an
// error that says which release brings it.
//
// Fields that are pointers have a zero that means something; Int makes one.
type Config struct {
	// Blocking makes calls block inside NCCL until they are done. It saves a
	// thread of NCCL's per call and with it some microseconds, but no context
	// can end such a call: see docs/nccl.md. All communicators of a group are
	// blocking, or none is.
	Blocking bool
	// AbortTimeout bounds what Abort waits for NCCL, and how long a cancelled
	// Init waits for the abort inside. Zero is 30 seconds.
	AbortTimeout time.Duration

	// Name stands in NCCL's log (2.27.3).
	Name string
	// NetName is the network plugin to use, "IB" or "Socket" (2.17.1).
	NetName string
	// CGAClusterSize is the cluster size of NCCL's kernels, 0 to 8 (2.17.1).
	CGAClusterSize *int
	// MinCTAs and MaxCTAs bound how many blocks, that is channels, NCCL uses
	// (2.17.1).
	MinCTAs, MaxCTAs int
	// SplitShare lets the communicators split off share resources, and the
	// fate, of this one (2.18.1).
	SplitShare bool
	// TrafficClass is the class of the network's traffic (2.26.2).
	TrafficClass *int
	// CollNet allows offload to the network (2.27.3).
	CollNet bool
	// CTAPolicy chooses between speed and fewer blocks (2.27.3).
	CTAPolicy CTAPolicy
	// ShrinkShare does for Shrink what SplitShare does for Split (2.27.3).
	ShrinkShare bool
	// NVLSCTAs is how many blocks NVLS uses (2.27.3).
	NVLSCTAs int
	// ChannelsPerNetPeer is how many channels a peer over the network gets
	// (2.28.3).
	ChannelsPerNetPeer int
	// NVLinkCentric schedules around NVLink (2.28.3).
	NVLinkCentric bool
	// GraphUsage says how graphs will be used: 0 without, 1 with one at a
	// time, 2 mixed, NCCL's default (2.29.2).
	GraphUsage *int
	// RMAContexts is how many contexts one-sided operations have (2.29.2).
	RMAContexts int
	// MaxP2PPeers bounds the peers of Send and Recv (2.30.3).
	MaxP2PPeers int
	// GraphStreamOrdering says whether work in graphs is ordered with streams
	// (2.30.7).
	GraphStreamOrdering *int
}

// CTAPolicy is NCCL's choice between speed and blocks, flags that add up.
type CTAPolicy int

// NCCL's policies.
const (
	CTAPolicyDefault    CTAPolicy = 0
	CTAPolicyEfficiency CTAPolicy = 1 // fewer blocks
	CTAPolicyZero       CTAPolicy = 2 // none where the copy engines do (2.28.3)
)

// Int makes a setting whose zero means something.
func Int(n int) *int { return &n }

const defaultAbortTimeout = 30 * time.Second

// setting is a field of Config that was set.
type setting struct {
	name  string
	set   bool
	since Version
}

// settings lists the fields with the release that brings each.
func (c *Config) settings() []setting {
	return []setting{
		{"NetName", c.NetName != "", 21701},
		{"CGAClusterSize", c.CGAClusterSize != nil, 21701},
		{"MinCTAs", c.MinCTAs != 0, 21701},
		{"MaxCTAs", c.MaxCTAs != 0, 21701},
		{"SplitShare", c.SplitShare, 21801},
		{"TrafficClass", c.TrafficClass != nil, 22602},
		{"Name", c.Name != "", 22703},
		{"CollNet", c.CollNet, 22703},
		{"CTAPolicy", c.CTAPolicy != CTAPolicyDefault, 22703},
		{"CTAPolicyZero", c.CTAPolicy&CTAPolicyZero != 0, 22803},
		{"ShrinkShare", c.ShrinkShare, 22703},
		{"NVLSCTAs", c.NVLSCTAs != 0, 22703},
		{"ChannelsPerNetPeer", c.ChannelsPerNetPeer != 0, 22803},
		{"NVLinkCentric", c.NVLinkCentric, 22803},
		{"GraphUsage", c.GraphUsage != nil, 22902},
		{"RMAContexts", c.RMAContexts != 0, 22902},
		{"MaxP2PPeers", c.MaxP2PPeers != 0, 23003},
		{"GraphStreamOrdering", c.GraphStreamOrdering != nil, 23007},
	}
}

// check refuses what the library does not know.
func (c *Config) check(lib *library) error {
	if err := c.checkNumbers(); err != nil {
		return err
	}
	for _, s := range c.settings() {
		if s.set {
			if err := lib.since(s.since, "Config."+s.name); err != nil {
				return err
			}
		}
	}
	if c.AbortTimeout < 0 {
		return badArgument("Config.AbortTimeout is %v: it cannot be negative", c.AbortTimeout)
	}
	if c.MinCTAs < 0 || c.MaxCTAs < 0 || c.MaxCTAs != 0 && c.MinCTAs > c.MaxCTAs {
		return badArgument("Config: MinCTAs is %d and MaxCTAs %d: they are at least 1, and the first is not greater",
			c.MinCTAs, c.MaxCTAs)
	}
	return nil
}

// checkNumbers refuses what would be another number in NCCL's 32 bits, or count
// as not set there.
func (c *Config) checkNumbers() error {
	for name, n := range map[string]int{
		"MinCTAs": c.MinCTAs, "MaxCTAs": c.MaxCTAs, "CTAPolicy": int(c.CTAPolicy), "NVLSCTAs": c.NVLSCTAs,
		"ChannelsPerNetPeer": c.ChannelsPerNetPeer, "RMAContexts": c.RMAContexts, "MaxP2PPeers": c.MaxP2PPeers,
	} {
		if n < 0 || !fits(n) {
			return badArgument("Config.%s is %d: it is 0, for NCCL's default, to %d", name, n, math.MaxInt32)
		}
	}
	for name, n := range map[string]*int{
		"CGAClusterSize": c.CGAClusterSize, "TrafficClass": c.TrafficClass,
		"GraphUsage": c.GraphUsage, "GraphStreamOrdering": c.GraphStreamOrdering,
	} {
		if n != nil && (*n == cnccl.Undefined || !fits(*n)) {
			return badArgument("Config.%s is %d: it is at most %d", name, *n, math.MaxInt32)
		}
	}
	return nil
}

// plain reports whether a library without configurations can do it.
func (c *Config) plain() bool {
	for _, s := range c.settings() {
		if s.set {
			return false
		}
	}
	return c.Blocking
}

func (c *Config) abortTimeout() time.Duration {
	if c.AbortTimeout == 0 {
		return defaultAbortTimeout
	}
	return c.AbortTimeout
}

// inherit completes a child's configuration from its parent's.
func (c *Config) inherit(parent *Config) error {
	if c.Blocking && !parent.Blocking {
		return badArgument("Config.Blocking: the parent is non-blocking, and its children are as it is")
	}
	c.Blocking = parent.Blocking
	take(&c.AbortTimeout, parent.AbortTimeout)
	take(&c.NetName, parent.NetName)
	take(&c.CGAClusterSize, parent.CGAClusterSize)
	take(&c.MinCTAs, parent.MinCTAs)
	take(&c.MaxCTAs, parent.MaxCTAs)
	take(&c.SplitShare, parent.SplitShare)
	take(&c.TrafficClass, parent.TrafficClass)
	take(&c.CollNet, parent.CollNet)
	take(&c.CTAPolicy, parent.CTAPolicy)
	take(&c.ShrinkShare, parent.ShrinkShare)
	take(&c.NVLSCTAs, parent.NVLSCTAs)
	take(&c.ChannelsPerNetPeer, parent.ChannelsPerNetPeer)
	take(&c.NVLinkCentric, parent.NVLinkCentric)
	take(&c.GraphUsage, parent.GraphUsage)
	take(&c.RMAContexts, parent.RMAContexts)
	take(&c.MaxP2PPeers, parent.MaxP2PPeers)
	take(&c.GraphStreamOrdering, parent.GraphStreamOrdering)
	return nil
}

func take[T comparable](field *T, parent T) {
	var zero T
	if *field == zero {
		*field = parent
	}
}

// raw is the configuration in NCCL's terms.
func (c *Config) raw() *cnccl.Config {
	return &cnccl.Config{
		Blocking:      flag(c.Blocking),
		CGACluster:    optional(c.CGAClusterSize),
		MinCTAs:       positive(c.MinCTAs),
		MaxCTAs:       positive(c.MaxCTAs),
		SplitShare:    chosen(c.SplitShare),
		TrafficClass:  optional(c.TrafficClass),
		CollNet:       chosen(c.CollNet),
		CTAPolicy:     positive(int(c.CTAPolicy)),
		ShrinkShare:   chosen(c.ShrinkShare),
		NVLSCTAs:      positive(c.NVLSCTAs),
		NetChannels:   positive(c.ChannelsPerNetPeer),
		NVLinkCentral: chosen(c.NVLinkCentric),
		GraphUsage:    optional(c.GraphUsage),
		RMAContexts:   positive(c.RMAContexts),
		MaxP2PPeers:   positive(c.MaxP2PPeers),
		GraphOrdering: optional(c.GraphStreamOrdering),
		NetName:       c.NetName,
		CommName:      c.Name,
	}
}

func flag(set bool) int32 {
	if set {
		return 1
	}
	return 0
}

func chosen(set bool) int32 {
	if set {
		return 1
	}
	return cnccl.Undefined
}

func positive(n int) int32 {
	if n == 0 {
		return cnccl.Undefined
	}
	return int32(n)
}

func optional(n *int) int32 {
	if n == nil {
		return cnccl.Undefined
	}
	return int32(*n)
}
