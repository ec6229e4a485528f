// Package gpumem joins those who have memory of GPUs and those who move it, so
// that neither knows the other: package cuda, the RDMA devices of this process,
// and package verbs.
package gpumem

import (
	"context"
	"sync"
	"unsafe"

	"github.com/gofabric/gofabric/internal/life"
)

// Functions are addresses of C functions that find and copy memory of GPUs. A
// place is 0 for memory of the host and above that for memory of a GPU.
//
//	int find(uint64_t address, uint64_t size, int *place);
//	int find_dma_buf(int fd, uint64_t *address, uint64_t *size);
//	int move(void *to, int to_place, const void *from, int from_place, size_t size);
//
// find answers 1 if the bytes lie within one allocation of a GPU, 0 if they are
// not a GPU's, and an errno below zero otherwise. find_dma_buf answers 1 for a
// dma-buf of this process. move answers 0 when it is done, or an errno below
// zero.
type Functions struct{ Find, FindDMABuf, Move unsafe.Pointer }

var functions struct {
	sync.Mutex
	provided *Functions
	wanted   []func(Functions)
}

// Provide is called when the functions can be used.
func Provide(f Functions) {
	functions.Lock()
	defer functions.Unlock()
	functions.provided = &f
	for _, take := range functions.wanted {
		take(f)
	}
}

// OnProvide has take called with the functions as soon as there are any.
func OnProvide(take func(Functions)) {
	functions.Lock()
	defer functions.Unlock()
	functions.wanted = append(functions.wanted, take)
	if functions.provided != nil {
		take(*functions.provided)
	}
}

// GPU is what registering memory of a GPU depends on.
type GPU struct {
	Name       string // "GPU 0 (NVIDIA H200)"
	PCIAddress string // "0000:1b:00.0"
	DMABuf     bool   // the driver exports dma-bufs of it
	ByAddress  bool   // the driver lets nvidia_peermem at it
}

// Memory is what memory of a GPU offers beyond its public methods.
type Memory interface {
	// Object becomes the parent of what needs the memory.
	Object() *life.Object
	GPU() GPU
	// Prepare makes bytes ready to be reached by an adapter.
	Prepare(off, n uint64) error
	// Flush makes what an adapter has written visible to the GPU.
	Flush() error
	// Stage makes memory of the host that stands in for some of the bytes.
	Stage(off, n uint64) (Stage, error)
}

// Stage is memory of the host that stands in for memory of a GPU.
type Stage interface {
	Bytes() []byte
	// ToHost and ToGPU copy n bytes from off, a piece at a time, and call done
	// for each while the next one is copied. A nil done is not called.
	ToHost(ctx context.Context, off, n, piece uint64, done func(off, n uint64) error) error
	ToGPU(ctx context.Context, off, n, piece uint64, done func(off, n uint64) error) error
	// Busy waits a while for copies that their callers gave up, and answers an
	// error if they still run: then Close would fail.
	Busy() error
	Close() error
}

// What Find answers.
const (
	Unknown   = iota // no GPU is open, so nobody knows
	Inside           // in one allocation of a GPU
	Beyond           // it begins in an allocation and ends past it
	Elsewhere        // not memory of a GPU that is open
)

var (
	describe func(memory any) Memory
	find     func(addr, n uint64) int
)

// Install is called by package cuda when it is initialised.
func Install(of func(memory any) Memory, at func(addr, n uint64) int) { describe, find = of, at }

// Find tells where bytes lie.
func Find(addr, n uint64) int {
	if find == nil {
		return Unknown
	}
	return find(addr, n)
}

// Of returns what a buffer of package cuda offers, and nil for anything else.
func Of(memory any) Memory {
	if describe == nil {
		return nil
	}
	return describe(memory)
}
