package nccltest

import (
	"math"
	"time"

	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// GPUSource is the driver's library, open: *nvmllib.Library, which only programs
// import because of its linker flags.
type GPUSource = limit.Source

// Config is what a command line and the environment ask for. ParseArgs makes it.
type Config struct {
	Tool Tool
	// Help: print the flags and do nothing else.
	Help bool

	Threads, GPUs                 int
	MinBytes, MaxBytes, StepBytes uint64
	StepFactor                    uint64
	Iters, Warmup, Aggregate      int
	// Cycles is how often the sizes are gone through; 0 is without end.
	Cycles int
	// Checks is how many operations of each row are checked.
	Checks int
	// Types and Ops are what to go through; nil is all that there are.
	Types []nccl.DataType
	Ops   []values.Op
	// Root is the rank that is special; nil is each in turn.
	Root         *int
	Blocking     int
	NullStream   bool
	ParallelInit bool
	// Timeout is how long any step may take; 0 is for ever.
	Timeout    time.Duration
	Graph      int
	CPUTime    bool
	Timestamps bool
	// Output is the JSON file, or empty.
	Output     string
	Average    Average
	Register   int
	CTAPolicy  *int
	Memory     bool
	Unalign    int
	PerIter    bool
	PerIterCut int

	// What the C tool does not have.

	// IssueThreads drives each GPU from a thread of its own.
	IssueThreads bool
	// Auto looks for the fastest way for each size.
	Auto bool
	// Spread prints the slowest and the fastest rank of each row.
	Spread bool
	// Compare is a C tool to run in turn with this one, Pairs times.
	Compare string
	Pairs   int
	// JSONEnv writes the environment to the JSON file.
	JSONEnv bool

	// Plot is the file of the chart, or empty, and PlotWith earlier results that
	// it shows too.
	Plot     string
	PlotWith []string
	// LimitCheck judges the results by the links' limit.
	LimitCheck bool
	// NVML opens the driver's library, which knows the links of GPUs; nil is a
	// program without it.
	NVML func() (GPUSource, error)

	// Device is the first GPU's number, of NCCL_TESTS_DEVICE.
	Device *int
	// Group divides the processes, of NCCL_TESTS_SPLIT or _SPLIT_MASK.
	Group split
	// MinBandwidth is the bus bandwidth that is demanded, of NCCL_TESTS_MIN_BW.
	MinBandwidth *float64

	pattern *pattern
	args    []string
	// shared are the flags that the C tool has too, as its command line.
	shared []string
	// notes are about what is ignored, for stderr.
	notes []string
	// between is called between a checked operation and its check.
	between func(r *rank, t *trial) error
}

// Average is how the threads' times become one.
type Average int

// The averages of -a.
const (
	AverageRank0 Average = iota
	AverageMean
	AverageMin
	AverageMax
	// sum is for numbers of errors.
	sum
)

// -R.
const (
	registerNone = iota
	registerLocal
	registerSymmetric
)

// -z.
const (
	blockingNone = iota
	blockingBarrier
	blockingWait
	blockingOuter
)

// threads and gpus are how the GPUs are really driven.
func (c *Config) threads() int {
	if c.IssueThreads {
		return c.Threads * c.GPUs
	}
	return c.Threads
}

func (c *Config) gpus() int { return c.Threads * c.GPUs / c.threads() }

// next is the size after one.
func (c *Config) next(size uint64) uint64 {
	if c.StepFactor <= 1 {
		return size + c.StepBytes
	}
	if size > math.MaxUint64/c.StepFactor {
		return math.MaxUint64
	}
	return size * c.StepFactor
}

// sizes is how many sizes a cycle has.
func (c *Config) sizes() (n int) {
	if c.StepFactor <= 1 {
		return int((c.MaxBytes-c.MinBytes)/c.StepBytes) + 1
	}
	for size := c.MinBytes; size <= c.MaxBytes; size = c.next(size) {
		n++
	}
	return n
}
