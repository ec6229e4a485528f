package perftest

import (
	"context"
	"fmt"

	"github.com/gofabric/gofabric/internal/gpubuffer"
	"github.com/gofabric/gofabric/verbs"
)

// gpuMemory is a GPU's.
type gpuMemory struct {
	gpu  *gpubuffer.GPU
	note string // how the first region was registered
}

// newGPUMemory opens the GPU that was asked for. With --use_cuda_dmabuf there is
// one way, as in the C tools; without, whatever works.
func newGPUMemory(o MemoryOptions) (*gpuMemory, error) {
	opts := gpubuffer.Options{BusID: o.CUDABusID, AllowStaged: true}
	if o.CUDA != nil {
		opts.Ordinal = *o.CUDA
	}
	if o.CUDADMABuf {
		opts.Method = verbs.GPUDMABuf
	}
	gpu, err := gpubuffer.Open(opts)
	if err != nil {
		return nil, err
	}
	return &gpuMemory{gpu: gpu}, nil
}

// alloc fills the memory too, since the processor does not reach it.
func (m *gpuMemory) alloc(pd *verbs.PD, size int, access verbs.Access) (*verbs.MR, error) {
	b, err := m.gpu.Alloc(pd, size, access)
	if err != nil {
		return nil, err
	}
	noise := make([]byte, size)
	if err := fill(context.Background(), noise); err != nil {
		return nil, err
	}
	if err := b.Store(context.Background(), 0, noise); err != nil {
		return nil, err // the region is closed with the GPU
	}
	if m.note == "" {
		m.note = m.describe(pd.Device().Name(), b.MR)
	}
	return b.MR, nil
}

func (m *gpuMemory) describe(device string, mr *verbs.MR) string {
	info := m.gpu.Device().Info()
	how, _ := mr.GPUMethod()
	note := fmt.Sprintf("buffers on GPU %d (%s, %s), registered by %v", info.Ordinal, info.Name, info.PCIAddress, how)
	switch {
	case how == verbs.GPUStaged:
		note += ": each message is copied to memory of the host before it is posted, and what arrives stays there"
	case inProcess(device):
		note += ", which the device in this process copies from and to"
	}
	if declined := mr.GPUDeclined(); declined != nil {
		note += fmt.Sprintf(" (%v)", declined)
	}
	return note
}

func (m *gpuMemory) close() error { return m.gpu.Close() }

// stages reports whether messages from the region have to be copied before they
// are posted.
func (c *Config) stages(mr *verbs.MR) bool {
	how, gpu := mr.GPUMethod()
	return gpu && how == verbs.GPUStaged && !c.Tool.Verb.brings()
}
