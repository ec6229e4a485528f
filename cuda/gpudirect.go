package cuda

import (
	"fmt"
	"os"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/gpumem"
	"github.com/gofabric/gofabric/internal/life"
)

// adapterMemory is a Buffer as package verbs sees it beyond the public methods.
type adapterMemory struct{ *Buffer }

func init() {
	gpumem.Install(func(memory any) gpumem.Memory {
		b, ok := memory.(*Buffer)
		if !ok || b == nil || b.dev == nil {
			return nil
		}
		return adapterMemory{b}
	}, ccuda.Find)
}

func (m adapterMemory) Object() *life.Object { return &m.obj }

func (m adapterMemory) GPU() gpumem.GPU {
	d := m.dev
	byAddress := d.has(AttributeGPUDirectRDMA)
	if m.vmm {
		byAddress = byAddress && d.has(AttributeGPUDirectRDMAOfVMM)
	}
	return gpumem.GPU{
		Name:       fmt.Sprintf("GPU %d (%s)", d.info.Ordinal, d.info.Name),
		PCIAddress: d.info.PCIAddress,
		DMABuf:     d.has(AttributeDMABuf),
		ByAddress:  byAddress,
	}
}

// Prepare checks that bytes can be reached by their address, and makes copies of
// the driver that count as synchronous be so towards adapters too. Memory from
// AllocVMM has no such attribute.
func (m adapterMemory) Prepare(off, n uint64) error {
	const op = "prepare memory for network adapters"
	if err := m.use(); err != nil {
		return m.dev.err(op, err)
	}
	defer m.obj.Done()
	if _, _, err := m.pages(op, off, n); err != nil {
		return err
	}
	return m.syncMemops(op)
}

// syncMemops sets the attribute once. The buffer is in use.
func (b *Buffer) syncMemops(op string) error {
	if b.vmm || b.synchronous.Load() {
		return nil
	}
	if r := b.dev.ctx.SyncMemops(b.addr); r != 0 {
		return b.dev.check(op, r)
	}
	b.synchronous.Store(true)
	return nil
}

// pages returns the whole pages that bytes lie on, if the buffer has them to
// itself. The buffer is in use.
func (b *Buffer) pages(op string, off, n uint64) (first, last uint64, err error) {
	page := uint64(os.Getpagesize())
	part, err := b.Span().At(off, n)
	if err != nil {
		return 0, 0, b.dev.err(op, err)
	}
	if n == 0 {
		return 0, 0, b.dev.err(op, errNoBytes)
	}
	first = part.Addr / page * page
	last = (part.Addr + n + page - 1) / page * page
	if first < b.addr || last > b.addr+b.whole {
		return 0, 0, b.dev.err(op, fmt.Errorf("%w: %d bytes at %#x lie on pages of %d bytes from %#x to %#x, and the buffer is %#x to %#x: take memory from AllocVMM, or whole pages of the buffer",
			ErrSharedPage, n, part.Addr, page, first, last, b.addr, b.addr+b.whole))
	}
	return first, last, nil
}

// Flush makes what adapters have written to the memory visible to its GPU. Where
// the GPU sees it in order anyway there is nothing to do.
func (m adapterMemory) Flush() error {
	const op = "flush writes of network adapters"
	if err := m.use(); err != nil {
		return m.dev.err(op, err)
	}
	defer m.obj.Done()
	d := m.dev
	if order, r := d.raw.Attribute(int(AttributeGPUDirectRDMAOrder)); r == 0 && order >= ccuda.CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER {
		return nil
	}
	options, r := d.raw.Attribute(int(AttributeGPUDirectRDMAFlush))
	if r != 0 || options&ccuda.CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST == 0 {
		return d.err(op, fmt.Errorf("the GPU does not order them and has no flush that a host can call: %w", ErrNotSupported))
	}
	return d.check(op, d.ctx.FlushWrites())
}

// exportFailed tells a process that has no descriptor left from other reasons.
func (d *Device) exportFailed(op string, r ccuda.Result) error {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return &OpError{Op: op, Device: d.info.Ordinal, Err: fmt.Errorf("%w: %w", driverError(r), err),
			Hint: "close what is not needed, or raise ulimit -n"}
	}
	if err := f.Close(); err != nil {
		return d.err(op, err)
	}
	return d.check(op, r)
}
