package verbs

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// elsewhere knows the regions whose addresses are not those of their bytes in this
// process: what is posted inline is copied by the processor, which must not go by
// them. Mostly there are none, which costs a load to know.
type elsewhere struct {
	some    atomic.Int32
	mu      sync.RWMutex
	regions map[uint32]*MR // by local key
}

func (e *elsewhere) add(mr *MR) {
	if mr.everywhere || mr.buf != nil && mr.addr == mr.start() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.regions == nil {
		e.regions = map[uint32]*MR{}
	}
	e.regions[mr.lkey] = mr
	e.some.Store(int32(len(e.regions)))
}

func (e *elsewhere) remove(mr *MR) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.regions[mr.lkey] == mr {
		delete(e.regions, mr.lkey)
		e.some.Store(int32(len(e.regions)))
	}
}

// start is the address of the region's first byte in this process.
func (mr *MR) start() uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mr.buf)))) }

// bring makes the address of a piece that is to be posted inline the one that it has
// in this process.
func (e *elsewhere) bring(piece *cverbs.SGE) error {
	if e.some.Load() == 0 || piece.Length == 0 {
		return nil
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	mr := e.regions[piece.LKey]
	if mr == nil {
		return nil
	}
	off := piece.Addr - mr.addr
	switch {
	case mr.buf == nil:
		return fmt.Errorf("the memory of lkey 0x%x cannot be posted inline: it is not this process's: %w", piece.LKey, syscall.EFAULT)
	case off > uint64(len(mr.buf)) || uint64(piece.Length) > uint64(len(mr.buf))-off:
		return fmt.Errorf("%d bytes at 0x%x lie outside the memory of lkey 0x%x: %w", piece.Length, piece.Addr, piece.LKey, syscall.EFAULT)
	}
	piece.Addr = mr.start() + off
	return nil
}
