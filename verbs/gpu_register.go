package verbs

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/gpumem"
)

// gpuRegion is what a region has besides, if its memory is a GPU's.
type gpuRegion struct {
	method   GPUMethod
	declined *GPUDirectError // methods that were tried before
	own      gpumem.Memory
	stage    gpumem.Stage // of GPUStaged
}

// RegisterGPU registers memory of a GPU. MR.GPUMethod tells how; with GPUDMABuf and
// GPUPeerMem requests address it by its address on the GPU, and with GPUStaged by
// that of the memory that stands in for it. MR.Bytes is nil, or that memory.
//
// A *cuda.Buffer stays open while regions lie on it: its Close answers ErrBusy and
// names them. Before an adapter is to read what the GPU wrote, the work on the GPU
// must be done and MR.SyncForAdapter have been called; before the GPU is to read
// what an adapter wrote, its completion must have been seen and MR.SyncForGPU have
// been called.
//
// It fails with a *GPUDirectError, which is ErrNotSupported, if no method works,
// and says for each what is missing; with ErrOutOfRange if the piece does not lie
// within the memory; with cuda.ErrSharedPage if it does not have its pages to
// itself; with ErrClosed or
// ErrNotGPUMemory if the memory was freed or never was a GPU's; and with the cause where a
// resource ran out.
//
// Implements: ibv_reg_dmabuf_mr, ibv_reg_mr, ibv_reg_mr_iova2.
func (pd *PD) RegisterGPU(memory GPUMemory, opts GPUOptions) (*MR, error) {
	const op = "register memory of a GPU"
	r, err := opts.of(memory)
	if err != nil {
		return nil, pd.dev.err(op, err)
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	refused := newGPUDirectError(pd, r)
	for _, m := range opts.methods() {
		mr, err := pd.registerGPU(r, m)
		if err == nil {
			return pd.keepGPU(op, r, mr, m, refused)
		}
		if isFinal(err) {
			return nil, &OpError{Op: op, Device: pd.dev.name, Err: fmt.Errorf("by %v: %w", m, err), Hint: registerHint(err, 0, r.access)}
		}
		refused.add(m, err)
	}
	return nil, pd.dev.err(op, refused.explained())
}

// registerGPU makes a region by one method. The domain is in use.
func (pd *PD) registerGPU(r gpuRange, m GPUMethod) (*MR, error) {
	switch m {
	case GPUDMABuf:
		return pd.registerExport(r)
	case GPUPeerMem:
		return pd.registerAddress(r)
	}
	return pd.registerStage(r)
}

// exportError is what failed before the adapter was asked.
type exportError struct{ error }

func (e exportError) Unwrap() error { return e.error }

// isFinal tells a failure that another method would hide from a method that there
// is not.
func isFinal(err error) bool {
	var export exportError
	switch {
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return true
	case errors.Is(err, ErrNotSupported):
		return false
	case errors.As(err, &export):
		return true
	}
	return errors.Is(err, syscall.ENOMEM)
}

func (pd *PD) registerExport(r gpuRange) (*MR, error) {
	fd, offset, err := r.memory.DMABuf(r.off, r.n)
	if err != nil {
		return nil, exportError{err}
	}
	// The region keeps the dma-buf, so that nothing needs the descriptor after.
	f := os.NewFile(uintptr(fd), "dma-buf")
	if err := checkDMABuf(fd, offset, r.n, r.address(), uint64(os.Getpagesize())); err != nil {
		return nil, exportError{errors.Join(err, f.Close())}
	}
	raw, err := pd.pd.RegDMABufMR(fd, offset, r.n, r.address(), uint32(r.access))
	if closed := f.Close(); err == nil && closed != nil {
		err = errors.Join(closed, raw.Dereg())
	}
	if err != nil {
		return nil, err
	}
	return &MR{mr: raw, addr: r.address(), free: nothingToFree}, nil
}

func nothingToFree() error { return nil }

func (pd *PD) registerAddress(r gpuRange) (*MR, error) {
	if !pd.dev.inProcess() {
		if _, _, ok := r.system.PeerModule(); !ok || r.own != nil && !r.own.GPU().ByAddress {
			return nil, errPeerMem
		}
	}
	if r.own != nil {
		if err := r.own.Prepare(r.off, r.n); err != nil {
			return nil, exportError{err}
		}
	}
	raw, err := pd.pd.RegAddress(r.address(), r.n, uint32(r.access))
	if err != nil {
		return nil, err
	}
	return &MR{mr: raw, addr: r.address(), free: nothingToFree}, nil
}

func (pd *PD) registerStage(r gpuRange) (*MR, error) {
	if r.own == nil {
		return nil, fmt.Errorf("only memory of package cuda can be staged: %w", ErrNotSupported)
	}
	stage, err := r.own.Stage(r.off, r.n)
	if err != nil {
		return nil, exportError{err}
	}
	host := stage.Bytes()
	start := unsafe.Pointer(unsafe.SliceData(host))
	raw, err := pd.pd.RegMR(start, len(host), uint32(r.access))
	if err != nil {
		return nil, errors.Join(err, stage.Close())
	}
	return &MR{mr: raw, buf: host, addr: uint64(uintptr(start)), free: stage.Close, gpu: &gpuRegion{stage: stage}}, nil
}

// inProcess reports whether the device is of this process, and copies.
func (d *Device) inProcess() bool {
	_, ok := cverbs.ProviderOf(d.name)
	return ok
}

// keepGPU enters a region that was made, as a child of its memory too.
func (pd *PD) keepGPU(op string, r gpuRange, mr *MR, m GPUMethod, refused *GPUDirectError) (*MR, error) {
	mr.length, mr.access = int(r.n), r.access
	if mr.gpu == nil {
		mr.gpu = &gpuRegion{}
	}
	mr.gpu.method, mr.gpu.own = m, r.own
	if len(refused.Attempts) > 0 {
		mr.gpu.declined = refused
	}
	if r.own == nil {
		return pd.enterMR(mr), nil
	}
	// The memory cannot be kept in use from the beginning: exporting uses it too.
	if err := r.own.Object().Use(); err != nil {
		return nil, pd.dev.err(op, errors.Join(err, mr.mr.Dereg(), mr.free()))
	}
	defer r.own.Object().Done()
	return pd.enterMR(mr, r.own.Object()), nil
}

// GPUMethod tells how memory of a GPU was registered. It answers false for other
// regions.
func (mr *MR) GPUMethod() (GPUMethod, bool) {
	if mr.gpu == nil {
		return 0, false
	}
	return mr.gpu.method, true
}

// GPUDeclined returns why better methods than MR.GPUMethod were not taken, or nil
// if none was tried.
func (mr *MR) GPUDeclined() *GPUDirectError {
	if mr.gpu == nil {
		return nil
	}
	return mr.gpu.declined.explained()
}

// busy refuses to close a region whose staging memory is in use.
func (g *gpuRegion) busy() error {
	if g == nil || g.stage == nil {
		return nil
	}
	return g.stage.Busy()
}
