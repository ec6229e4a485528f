package topo

import "fmt"

// BindOptions say how a thread, a process or a buffer is bound to an Affinity. The
// zero value prefers the memory of its node and takes another's where that one is
// full.
type BindOptions struct {
	// Strict takes no memory but the node's. Where there is none left, the kernel
	// kills the process for want of memory.
	Strict bool
}

// Bound is what a binding came to, as the kernel has it afterwards.
type Bound struct {
	// CPUs are those that it may run on: fewer than were asked for where a cpuset
	// allows no more. nil where CPUs were not bound: those of the Affinity are not
	// known, or its node has only memory.
	CPUs CPUSet
	// Node is the NUMA node whose memory is taken. nil where no policy was set:
	// then memory comes from the node of the CPU that first writes to it.
	Node *int
}

// String returns "CPUs 0-31, memory of node 0".
func (b Bound) String() string {
	cpus, memory := "any CPU", "memory of the node of each CPU"
	if b.CPUs != nil {
		cpus = "CPUs " + b.CPUs.String()
	}
	if b.Node != nil {
		memory = fmt.Sprintf("memory of node %d", *b.Node)
	}
	return cpus + ", " + memory
}

// BindError says why a binding failed.
type BindError struct {
	Op  string // "bind the thread to CPUs 0-3"
	Err error  // the errno, where the kernel refused
	// Hint says what to do. It is there only when its ground was checked when the
	// error arose.
	Hint string
}

// Error implements error.
func (e *BindError) Error() string {
	text := fmt.Sprintf("topo: %s: %v", e.Op, e.Err)
	if e.Hint != "" {
		text += ": " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *BindError) Unwrap() error { return e.Err }
