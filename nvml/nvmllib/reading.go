//go:build linux && cgo

package nvmllib

import (
	"errors"

	"github.com/gofabric/gofabric/nvml"
)

// absent reports whether an answer means that there is no such value. A GPU that
// is lost or needs a reset is an error, and so is what NVML cannot explain.
func absent(ret answer) bool {
	switch nvml.Code(ret) {
	case nvml.CodeNotSupported, nvml.CodeFunctionNotFound, nvml.CodeNotFound, nvml.CodeNoData,
		nvml.CodeNoPermission, nvml.CodeArgumentVersion, nvml.CodeDeprecated:
		return true
	}
	return false
}

// reading asks a driver for the values of one GPU, or of the machine, and keeps
// what went wrong.
type reading struct {
	*Library
	gpu      string
	problems []error
}

func (r *reading) fail(op string, ret answer) {
	r.problems = append(r.problems, &nvml.OpError{Op: op, GPU: r.gpu, Err: nvml.Code(ret)})
}

func (r *reading) err() error { return errors.Join(r.problems...) }

// ask calls one function of the driver, if the driver has it, and returns nil
// where there is no value.
func ask[T any](r *reading, what, symbol string, call func() (T, answer)) *T {
	if !r.function(symbol) {
		return nil
	}
	value, ret := call()
	if ret == success {
		return &value
	}
	if !absent(ret) {
		r.fail("read "+what, ret)
	}
	return nil
}

// askInt is ask for the whole numbers that NVML has in many types.
func askInt[T ~int | ~int32 | ~uint32](r *reading, what, symbol string, call func() (T, answer)) *int {
	value := ask(r, what, symbol, call)
	if value == nil {
		return nil
	}
	n := int(*value)
	return &n
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// device finds the driver's handle of a GPU. A GPU that came since the last
// listing is found by listing once more.
func (l *Library) device(op, uuid string) (device, error) {
	l.mu.Lock()
	device, ok := l.known[uuid]
	l.mu.Unlock()
	if ok {
		return device, nil
	}
	gpus, err := l.gpus()
	l.mu.Lock()
	device, ok = l.known[uuid]
	l.mu.Unlock()
	if ok {
		return device, nil
	}
	return nil, errors.Join(nvml.NoGPU(op, uuid, gpus), err)
}

// begin is the start of each question about one GPU. The caller calls Done.
func (l *Library) begin(op, uuid string) (*reading, device, error) {
	if err := l.life.Use(); err != nil {
		return nil, nil, err
	}
	device, err := l.device(op, uuid)
	if err != nil {
		l.life.Done()
		return nil, nil, err
	}
	return &reading{Library: l, gpu: uuid}, device, nil
}
