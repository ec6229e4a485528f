package verbs

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/gofabric/gofabric/internal/gpudirect"
	"github.com/gofabric/gofabric/internal/sysfs"
)

// GPUDirectError says that no method let the adapter at memory of a GPU, and for
// each that was tried what is missing. It matches ErrNotSupported and the errors of
// its attempts.
type GPUDirectError struct {
	GPU      string // "GPU 0 (NVIDIA H200)"; empty if the memory is not of package cuda
	Device   string // "mlx5_0"
	Attempts []GPUAttempt
	// Path is what lies between the GPU and the adapter and forbids GPUDirect
	// or slows it down, as far as this machine shows it.
	Path []string

	look func() // fills in what the machine shows
}

// GPUAttempt is a method that did not work.
type GPUAttempt struct {
	Method GPUMethod
	Err    error
	// Missing is what the machine lacks for the method, each with what brings
	// it, as far as that could be read.
	Missing []string
}

// Error implements error.
func (e *GPUDirectError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s does not reach the memory of %s", cmp.Or(e.Device, "the adapter"), cmp.Or(e.GPU, "the GPU"))
	for _, a := range e.Attempts {
		fmt.Fprintf(&b, "; %v: %v", a.Method, a.Err)
		if len(a.Missing) > 0 {
			b.WriteString(" (" + strings.Join(a.Missing, "; ") + ")")
		}
	}
	for _, note := range e.Path {
		b.WriteString("; " + note)
	}
	return b.String()
}

// Is reports whether target is ErrNotSupported.
func (e *GPUDirectError) Is(target error) bool { return target == ErrNotSupported }

// Unwrap returns the errors of the attempts.
func (e *GPUDirectError) Unwrap() []error {
	var list []error
	for _, a := range e.Attempts {
		list = append(list, a.Err)
	}
	return list
}

func (e *GPUDirectError) add(m GPUMethod, err error) {
	e.Attempts = append(e.Attempts, GPUAttempt{Method: m, Err: err})
}

// explained looks at the machine, once: that takes a while, and nobody may ask.
func (e *GPUDirectError) explained() *GPUDirectError {
	if e != nil && e.look != nil {
		e.look()
	}
	return e
}

// system returns the machine whose files tell the reasons.
func (o GPUOptions) system() gpudirect.System {
	var root fs.FS = sysfs.Dir("/")
	if o.Root != nil {
		root = o.Root
	}
	return gpudirect.New(root)
}

func newGPUDirectError(pd *PD, r gpuRange) *GPUDirectError {
	e := &GPUDirectError{Device: pd.dev.name}
	exported, byAddress, pci := true, true, ""
	if r.own != nil {
		gpu := r.own.GPU()
		e.GPU, exported, byAddress, pci = gpu.Name, gpu.DMABuf, gpu.ByAddress, gpu.PCIAddress
	}
	e.look = sync.OnceFunc(func() {
		for i := range e.Attempts {
			a := &e.Attempts[i]
			switch {
			case a.Method == GPUDMABuf:
				a.Missing = r.system.DMABuf(exported)
				var export exportError
				if len(a.Missing) == 0 && errors.Is(a.Err, ErrNotSupported) && !errors.As(a.Err, &export) {
					a.Missing = []string{"the driver of " + e.Device + " takes no dma-bufs, or rdma-core is older than 34"}
				}
			case a.Method == GPUPeerMem && !pd.dev.inProcess():
				a.Missing = r.system.PeerMem(byAddress)
			}
		}
		e.Path = r.system.Path(pci, r.n)
	})
	return e
}

// errPeerMem is the refusal to register an address that the kernel would take for
// one of the host.
var errPeerMem = fmt.Errorf("the kernel does not know addresses of GPUs: %w", ErrNotSupported)
