package perftest

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/gofabric/gofabric/verbs"
)

// MemoryOptions say where a run's buffers come from.
type MemoryOptions struct {
	// HugePages takes them from the system's pool of huge pages.
	HugePages bool
	// PerQueuePair registers them for each queue pair by itself.
	PerQueuePair bool
	// CUDA is the number of the GPU that they lie on, and CUDABusID its PCI
	// address in place of that; nil and empty are memory of the host.
	CUDA      *int
	CUDABusID string
	// CUDADMABuf registers memory of a GPU as a dma-buf and not otherwise.
	CUDADMABuf bool
	// Ordered registers them without relaxed PCIe ordering.
	Ordered bool
}

// memory makes the registered buffers of a run. They belong to the protection
// domain and are closed with it.
type memory interface {
	// alloc registers size bytes. The region's Bytes are nil where the processor
	// does not reach them.
	alloc(pd *verbs.PD, size int, access verbs.Access) (*verbs.MR, error)
	// close is called when the device has been closed.
	close() error
}

// newMemory returns the kind of memory that was asked for.
func newMemory(o MemoryOptions) (memory, error) {
	if o.onGPU() {
		return newGPUMemory(o)
	}
	return hostMemory{o.HugePages}, nil
}

func (o MemoryOptions) onGPU() bool { return o.CUDA != nil || o.CUDABusID != "" }

// hostMemory is the machine's own.
type hostMemory struct{ hugePages bool }

func (m hostMemory) alloc(pd *verbs.PD, size int, access verbs.Access) (*verbs.MR, error) {
	return pd.AllocMR(size, verbs.MROptions{Access: access, HugePages: m.hugePages})
}

func (hostMemory) close() error { return nil }

// register makes one region, with relaxed PCIe ordering as perftest asks for it,
// where the device and its library know that.
func (e *end) register(pd *verbs.PD, size int) (mr *verbs.MR, err error) {
	access := e.access()
	if e.config.relaxed() {
		mr, err = e.memory.alloc(pd, size, access|verbs.AccessRelaxedOrdering)
		if !errors.Is(err, verbs.ErrNotSupported) {
			return mr, err
		}
	}
	return e.memory.alloc(pd, size, access)
}

// relaxed tells whether to ask for relaxed ordering. A test that watches the last
// byte of a message must not.
func (c *Config) relaxed() bool {
	return !c.Memory.Ordered && !(c.Tool.Latency && c.Tool.Verb == VerbWrite)
}

// access is what the peer may do to the memory that we offer.
func (e *end) access() verbs.Access {
	switch e.config.Tool.Verb {
	case VerbWrite:
		return verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	case VerbRead:
		return verbs.AccessLocalWrite | verbs.AccessRemoteRead
	case VerbAtomic:
		return verbs.AccessLocalWrite | verbs.AccessRemoteAtomic
	default:
		return verbs.AccessLocalWrite
	}
}

// fill makes memory random, so that no link gains by compressing it: a block of it,
// and copies of that, which take a tenth of the time. Gigabytes still take seconds,
// so it ends with the context.
func fill(ctx context.Context, b []byte) error {
	const block = 1 << 20
	var seed [32]byte
	first := b[:min(block, len(b))]
	_, _ = rand.NewChaCha8(seed).Read(first) // it never fails
	for at := len(first); at < len(b); at += copy(b[at:], first) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
