package cuda

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Binding is a thread on which a GPU's primary context is current. It belongs to
// the goroutine that holds the thread.
type Binding struct {
	obj      life.Object
	dev      *Device
	previous ccuda.Context
}

// Bind makes the GPU's primary context current on the calling thread until
// Close. Nothing needs it, since every call enters the context and leaves it
// again. It is for a goroutine that holds its thread (runtime.LockOSThread) and
// makes many small calls: each is shorter by some hundred nanoseconds, as are the
// calls that NCCL makes in it. Calls for other GPUs work as before.
//
// Implements: cuCtxSetCurrent.
func (d *Device) Bind() (*Binding, error) {
	const op = "bind thread"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	previous, r := ccuda.Current()
	if r == 0 {
		r = ccuda.SetCurrent(d.ctx)
	}
	if r != 0 {
		return nil, d.check(op, r)
	}
	b := &Binding{dev: d, previous: previous}
	life.Enter(&b.obj, b, fmt.Sprintf("binding %d to GPU %d", d.number(), d.info.Ordinal), &d.obj)
	return b, nil
}

// Close gives the thread the context that it had before. The goroutine must not
// have left the thread since Bind.
//
// Implements: cuCtxSetCurrent.
func (b *Binding) Close() error {
	if b == nil || b.dev == nil {
		return nil
	}
	return b.dev.closing("unbind thread", &b.obj, func() ccuda.Result { return ccuda.SetCurrent(b.previous) })
}

// CloseAll is Close: nothing hangs on a binding.
func (b *Binding) CloseAll() error { return b.Close() }
