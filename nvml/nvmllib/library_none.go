//go:build !linux || !cgo

package nvmllib

import (
	"fmt"

	"github.com/gofabric/gofabric/nvml"
)

// Library is the driver's library; in this build there is none.
type Library struct{}

func none(op string) error {
	return &nvml.OpError{Op: op, Err: fmt.Errorf("this program was built without cgo, or not for Linux: %w", nvml.ErrNotSupported)}
}

// Open answers nvml.ErrNotSupported.
func Open(Options) (*Library, error) { return nil, none("open the driver's library") }

// Close answers nvml.ErrNotSupported.
func (l *Library) Close() error { return none("close") }

// CloseAll answers nvml.ErrNotSupported.
func (l *Library) CloseAll() error { return none("close") }

// System answers nvml.ErrNotSupported.
func (l *Library) System() (nvml.System, error) { return nvml.System{}, none("read the versions") }

// GPUs answers nvml.ErrNotSupported.
func (l *Library) GPUs() ([]nvml.GPU, error) { return nil, none("list the GPUs") }

// Links answers nvml.ErrNotSupported.
func (l *Library) Links(string) ([]nvml.Link, error) { return nil, none("read the NVLinks") }

// Pair answers nvml.ErrNotSupported.
func (l *Library) Pair(string, string) (nvml.Pair, error) {
	return nvml.Pair{}, none("compare two GPUs")
}

// Status answers nvml.ErrNotSupported.
func (l *Library) Status(string) (nvml.Status, error) {
	return nvml.Status{}, none("read the status")
}

// Processes answers nvml.ErrNotSupported.
func (l *Library) Processes(string) ([]nvml.Process, error) {
	return nil, none("list the processes")
}

// Watch answers nvml.ErrNotSupported.
func (l *Library) Watch(nvml.EventKind, ...string) (nvml.Watch, error) {
	return nil, none("watch for events")
}
