package verbs

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// Access is a set of rights on memory (enum ibv_access_flags). Local reading is
// always allowed.
type Access uint32

// Rights, and how the memory is registered. Remote write, remote atomic and the
// binding of memory windows need local write.
//
// Relaxed ordering is a wish: kernels and devices without it ignore it.
const (
	AccessLocalWrite      Access = cverbs.IBV_ACCESS_LOCAL_WRITE
	AccessRemoteWrite     Access = cverbs.IBV_ACCESS_REMOTE_WRITE
	AccessRemoteRead      Access = cverbs.IBV_ACCESS_REMOTE_READ
	AccessRemoteAtomic    Access = cverbs.IBV_ACCESS_REMOTE_ATOMIC
	AccessMWBind          Access = cverbs.IBV_ACCESS_MW_BIND    // memory windows may be bound to the region
	AccessZeroBased       Access = cverbs.IBV_ACCESS_ZERO_BASED // a window's first byte has address 0; see IOVA for regions
	AccessOnDemand        Access = cverbs.IBV_ACCESS_ON_DEMAND  // pages come when the device reaches for them; none is locked
	AccessHugeTLB         Access = cverbs.IBV_ACCESS_HUGETLB    // the memory is of huge pages: on-demand paging goes by them
	AccessRelaxedOrdering Access = cverbs.IBV_ACCESS_RELAXED_ORDERING
)

// MROptions are the options of a memory region.
type MROptions struct {
	// Access is what may be done to the memory; zero is AccessLocalWrite.
	Access Access
	// HugePages takes the memory from the system's pool of huge pages
	// (/proc/sys/vm/nr_hugepages). It is an error if the pool has too few. It
	// has no meaning for memory that the caller brings.
	HugePages bool
	// IOVA is the address that requests have for the first byte; nil is its
	// address in this process. It has to lie at the same place within a page.
	IOVA *uint64
}

func (o MROptions) access() Access {
	if o.Access == 0 {
		return AccessLocalWrite
	}
	return o.Access
}

// MR is a memory region: memory that the device may reach. It is safe for
// concurrent use; what its bytes hold is the caller's care.
type MR struct {
	obj    life.Object
	pd     *PD
	mr     cverbs.MR
	buf    []byte // nil if this process does not see the memory
	addr   uint64 // of the first byte, as requests have it
	length int
	lkey   uint32
	rkey   uint32
	access Access
	free   func() error // gives the memory back or unpins it; may be nil

	changing   sync.Mutex // Reregister
	everywhere bool       // it is the address space of this process
	imported   bool       // another process registered it
	gpu        *gpuRegion // nil if the memory is not a GPU's
}

// AllocMR allocates size bytes and registers them. The memory is zeroed, begins
// on a page and lies outside the Go heap.
//
// It fails with syscall.ENOMEM if the user may not lock so much memory.
//
// Implements: ibv_reg_mr, ibv_reg_mr_iova, ibv_reg_mr_iova2.
func (pd *PD) AllocMR(size int, opts MROptions) (*MR, error) {
	if size <= 0 {
		return nil, pd.dev.err("register memory", fmt.Errorf("a region of %d bytes: it needs at least one", size))
	}
	buf, free, err := mapMemory(size, opts.HugePages)
	if err != nil {
		return nil, pd.dev.err("allocate memory", err)
	}
	mr, err := pd.register(buf, opts, free)
	if err != nil {
		return nil, errors.Join(err, free())
	}
	return mr, nil
}

// RegisterMR registers memory that the caller brings, and pins it until Close:
// the garbage collector neither moves nor frees it. The device may write to it
// at any time until then.
//
// Implements: ibv_reg_mr, ibv_reg_mr_iova, ibv_reg_mr_iova2.
func (pd *PD) RegisterMR(buf []byte, opts MROptions) (*MR, error) {
	if len(buf) == 0 {
		return nil, pd.dev.err("register memory", errors.New("an empty slice: it needs at least one byte"))
	}
	var pinner runtime.Pinner
	pinner.Pin(unsafe.SliceData(buf))
	unpin := func() error {
		pinner.Unpin()
		return nil
	}
	mr, err := pd.register(buf, opts, unpin)
	if err != nil {
		pinner.Unpin()
	}
	return mr, err
}

func (pd *PD) register(buf []byte, opts MROptions, free func() error) (*MR, error) {
	access, start := opts.access(), unsafe.Pointer(unsafe.SliceData(buf))
	addr := uint64(uintptr(start))
	if opts.IOVA != nil {
		if err := checkIOVA(addr, uint64(len(buf)), *opts.IOVA); err != nil {
			return nil, pd.dev.err("register memory", err)
		}
		addr = *opts.IOVA
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err("register memory", err)
	}
	defer pd.obj.Done()
	var raw cverbs.MR
	var err error
	if opts.IOVA != nil {
		raw, err = pd.pd.RegMRIOVA(start, uint64(len(buf)), addr, uint32(access))
	} else {
		raw, err = pd.pd.RegMR(start, len(buf), uint32(access))
	}
	if err != nil {
		return nil, &OpError{Op: "register memory", Device: pd.dev.name, Err: err, Hint: registerHint(err, len(buf), access)}
	}
	return pd.enterMR(&MR{mr: raw, buf: buf, addr: addr, length: len(buf), access: access, free: free}), nil
}

// enterMR completes a region that was registered. The domain and the other
// parents are in use.
func (pd *PD) enterMR(mr *MR, parents ...*life.Object) *MR {
	mr.pd = pd
	mr.lkey, mr.rkey = mr.mr.Keys()
	pd.dev.elsewhere.add(mr)
	life.Enter(&mr.obj, mr, fmt.Sprintf("MR of %d bytes (lkey 0x%x)", mr.length, mr.lkey), append(parents, &pd.obj)...)
	logDebug("memory registered", "device", pd.dev.name, "bytes", mr.length, "lkey", mr.lkey, "access", uint32(mr.access))
	return mr
}

// registerHint tells a limit that was hit from other reasons.
func registerHint(err error, size int, access Access) string {
	if limit, used, limited := memlock(); errors.Is(err, syscall.ENOMEM) && limited && used+uint64(size) > limit {
		return fmt.Sprintf("RLIMIT_MEMLOCK allows %d bytes, of which %d are in use: raise it with ulimit -l, LimitMEMLOCK= or --ulimit memlock", limit, used)
	}
	if access&(AccessRemoteWrite|AccessRemoteAtomic) != 0 && access&AccessLocalWrite == 0 {
		return "remote write and remote atomic need local write"
	}
	return ""
}

// Bytes returns the memory, or nil if this process does not see it. The slice
// must not be used after Close.
func (mr *MR) Bytes() []byte { return mr.buf }

// Len returns the region's length in bytes.
func (mr *MR) Len() int { return mr.length }

// Addr returns the address of the region's first byte, as requests have it.
func (mr *MR) Addr() uint64 { return mr.addr }

// LKey returns the local key, which names the region in an SGE.
func (mr *MR) LKey() uint32 { return mr.lkey }

// RKey returns the remote key, which names the region in a peer's request.
func (mr *MR) RKey() uint32 { return mr.rkey }

// Access returns the rights that the region was registered with.
func (mr *MR) Access() Access { return mr.access }

// In reports whether queue pairs of a domain can use the region: it is of that
// domain, or of one that stands for the same (a parent domain).
func (mr *MR) In(pd *PD) bool { return mr.pd != nil && pd != nil && mr.pd.base() == pd.base() }

// Remote returns what a peer needs to reach the whole region.
func (mr *MR) Remote() RemoteBuffer {
	return RemoteBuffer{Addr: mr.addr, RKey: mr.rkey, Len: uint64(mr.length)}
}

// SGE returns n bytes of the region from off. A piece that does not lie within
// the region, or is longer than an SGE can be (2^32-1 bytes), makes the batch
// that it is added to fail.
func (mr *MR) SGE(off, n int) SGE {
	if off < 0 || n < 0 || off > mr.length-n || uint64(n) > maxSGE {
		return SGE{Addr: badAddr}
	}
	return SGE{Addr: mr.addr + uint64(off), Length: uint32(n), LKey: mr.lkey}
}

// Close ends the registration and gives the memory back, or unpins it. The
// device does not touch it any more.
//
// It fails with ErrBusy while a memory window is bound to the region. An imported
// region is only forgotten.
//
// Implements: ibv_dereg_mr, ibv_unimport_mr.
func (mr *MR) Close() error {
	var freed error
	err := mr.obj.Close(func() error {
		if err := mr.gpu.busy(); err != nil {
			return err
		}
		end := mr.mr.Dereg
		if mr.imported {
			end = mr.mr.Unimport
		}
		if err := end(); err != nil {
			return err
		}
		mr.pd.dev.elsewhere.remove(mr)
		logDebug("memory deregistered", "device", mr.pd.dev.name, "lkey", mr.lkey)
		if mr.free != nil {
			freed = mr.free() // the registration is over whatever becomes of the memory
		}
		return nil
	})
	if err != nil {
		return mr.pd.dev.err("deregister memory", err)
	}
	if freed != nil {
		return mr.pd.dev.err("free memory", freed)
	}
	return nil
}

// CloseAll closes the memory windows bound to the region, and the region.
func (mr *MR) CloseAll() error { return errors.Join(mr.obj.CloseChildren(), mr.Close()) }
