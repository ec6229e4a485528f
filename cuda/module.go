package cuda

import (
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/life"
)

// Module is GPU code that was loaded. It is safe for concurrent use.
type Module struct {
	obj life.Object
	dev *Device
	h   uintptr
}

// CompileError is PTX that the driver's compiler refused.
type CompileError struct {
	Log string // what the compiler said; lines, and perhaps cut off
	Err error  // an *Error
}

// Error implements error. It has the log's first line.
func (e *CompileError) Error() string {
	first, _, _ := strings.Cut(strings.TrimSpace(e.Log), "\n")
	if first == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%v: %s", e.Err, first)
}

// Unwrap returns the driver's answer.
func (e *CompileError) Unwrap() error { return e.Err }

// LoadModule loads GPU code: PTX, which the driver compiles for the GPU, or
// machine code (cubin, fatbin). Compiling takes its time, on the calling thread.
//
// A *CompileError has the compiler's messages.
//
// Implements: cuModuleLoadDataEx.
func (d *Device) LoadModule(image []byte) (*Module, error) {
	const op = "load module"
	if err := d.use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	if len(image) == 0 {
		return nil, d.code(op, ErrorInvalidImage, "the image is empty")
	}
	h, log, r := d.ctx.LoadModule(image)
	if r != 0 {
		err := driverError(r)
		if log = strings.TrimSpace(log); log != "" {
			err = &CompileError{Log: log, Err: err}
		}
		return nil, d.err(op, err)
	}
	m := &Module{dev: d, h: h}
	life.Enter(&m.obj, m, fmt.Sprintf("module %d", d.number()), &d.obj)
	return m, nil
}

func (m *Module) use() error {
	if m == nil {
		return ErrClosed
	}
	return m.obj.Use()
}

func (m *Module) device() *Device {
	if m == nil {
		return nil
	}
	return m.dev
}

// Close unloads the module and with it its functions. None may be running.
//
// Implements: cuModuleUnload.
func (m *Module) Close() error {
	if m == nil || m.dev == nil {
		return nil
	}
	return m.dev.closing("unload module", &m.obj, func() ccuda.Result { return m.dev.ctx.UnloadModule(m.h) })
}

// CloseAll is Close: nothing hangs on a module.
func (m *Module) CloseAll() error { return m.Close() }

// Function is a kernel of a module, and good until that closes. It is safe for
// concurrent use.
type Function struct {
	mod    *Module
	h      uintptr
	name   string
	params []ccuda.Param
	known  bool // whether params was told
}

// Function finds a kernel by the name that it has in the image: C++ names are
// mangled unless they are extern "C". It answers ErrorNotFound if there is none.
//
// Implements: cuModuleGetFunction, cuFuncGetParamInfo.
func (m *Module) Function(name string) (*Function, error) {
	op := "find kernel " + name
	if err := m.use(); err != nil {
		return nil, m.device().err(op, err)
	}
	defer m.obj.Done()
	h, r := m.dev.ctx.Function(m.h, name)
	if r != 0 {
		return nil, m.dev.check(op, r)
	}
	f := &Function{mod: m, h: h, name: name}
	f.params, f.known = m.params(h)
	return f, nil
}

// params asks what a kernel takes. Drivers before CUDA 12.4 do not tell.
func (m *Module) params(f uintptr) ([]ccuda.Param, bool) {
	var list []ccuda.Param
	for {
		p, r := m.dev.ctx.Param(f, len(list))
		switch {
		case r == 0:
			list = append(list, p)
		default:
			// The number behind the last one is an invalid value.
			return list, r == ccuda.CUDA_ERROR_INVALID_VALUE
		}
	}
}

// Name returns the kernel's name.
func (f *Function) Name() string { return f.name }

// AllowSharedMemory lets launches of the kernel ask for up to so many bytes of
// shared memory. Without it, 48 KiB is the limit; AttributeSharedMemoryOptIn is
// the GPU's.
//
// Implements: cuFuncSetAttribute.
func (f *Function) AllowSharedMemory(bytes int) error {
	const op = "allow shared memory"
	if f == nil {
		return failed(op, ErrClosed)
	}
	if err := f.mod.use(); err != nil {
		return f.mod.device().err(op, err)
	}
	defer f.mod.obj.Done()
	d := f.mod.dev
	return d.check(op, d.ctx.SetFunctionAttribute(f.h, ccuda.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes))
}
