//go:build linux && cgo

package nvmllib

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/nvml"
)

// slice bounds how long a thread waits inside the driver.
const slice = 200 * time.Millisecond

type watch struct {
	life  life.Object
	set   eventSet
	uuids map[device]string
}

// Watch starts to collect events.
//
// Implements: nvmlEventSetCreate, nvmlDeviceGetSupportedEventTypes,
// nvmlDeviceRegisterEvents, nvmlEventSetWait_v2, nvmlEventSetFree.
func (l *Library) Watch(kinds nvml.EventKind, gpus ...string) (nvml.Watch, error) {
	const op = "watch for events"
	if err := l.life.Use(); err != nil {
		return nil, err
	}
	defer l.life.Done()
	for _, symbol := range []string{"nvmlEventSetCreate", "nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents", "nvmlEventSetWait_v2", "nvmlEventSetFree"} {
		if !l.function(symbol) {
			return nil, &nvml.OpError{Op: op, Err: &dl.SymbolError{Symbol: symbol, Library: l.file.Path()}}
		}
	}
	if len(gpus) == 0 {
		all, err := l.gpus()
		if len(all) == 0 {
			return nil, errors.Join(&nvml.OpError{Op: op, Err: nvml.ErrNoGPU}, err)
		}
		for _, g := range all {
			gpus = append(gpus, g.UUID)
		}
	}
	w := &watch{uuids: map[device]string{}}
	for _, uuid := range gpus {
		device, err := l.device(op, uuid)
		if err != nil {
			return nil, err
		}
		w.uuids[device] = uuid
	}
	set, ret := l.api.EventSetCreate()
	if ret != success {
		return nil, &nvml.OpError{Op: op, Err: nvml.Code(ret)}
	}
	w.set = set
	registered := false
	for device, uuid := range w.uuids {
		supported, ret := device.GetSupportedEventTypes()
		if ret == success && uint64(kinds)&supported == 0 || absent(ret) {
			continue
		}
		if ret == success {
			ret = device.RegisterEvents(uint64(kinds)&supported, set)
		}
		if ret != success {
			set.Free()
			return nil, &nvml.OpError{Op: op, GPU: uuid, Err: nvml.Code(ret)}
		}
		registered = true
	}
	if !registered {
		set.Free()
		return nil, &nvml.OpError{Op: op, Err: fmt.Errorf("no GPU reports any of (%v): %w", kinds, nvml.ErrNotSupported)}
	}
	life.Enter(&w.life, w, "watch for "+kinds.String(), &l.life)
	return w, nil
}

// Next waits for an event.
func (w *watch) Next(ctx context.Context) (nvml.Event, error) {
	if ctx == nil {
		return nvml.Event{}, &nvml.OpError{Op: "wait for an event", Err: errors.New("the context is nil: use context.Background()")}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nvml.Event{}, err
		}
		event, ok, err := w.wait()
		if ok || err != nil {
			return event, err
		}
	}
}

// wait asks the driver once. Close waits for it.
func (w *watch) wait() (event nvml.Event, ok bool, err error) {
	if err := w.life.Use(); err != nil {
		return nvml.Event{}, false, err
	}
	defer w.life.Done()
	data, ret := w.set.Wait(uint32(slice / time.Millisecond))
	switch {
	case ret == success:
	case nvml.Code(ret) == nvml.CodeTimeout:
		return nvml.Event{}, false, nil
	default:
		return nvml.Event{}, false, &nvml.OpError{Op: "wait for an event", Err: nvml.Code(ret)}
	}
	event = nvml.Event{GPU: w.uuids[data.Device], Kind: nvml.EventKind(data.EventType)}
	if event.Kind == nvml.EventXID {
		event.XID = &data.EventData
		event.GPUInstance, event.ComputeInstance = instance(data.GpuInstanceId), instance(data.ComputeInstanceId)
	}
	return event, true, nil
}

// Close ends the watch.
func (w *watch) Close() error {
	return w.life.Close(func() error {
		if ret := w.set.Free(); ret != success {
			return &nvml.OpError{Op: "end the watch", Err: nvml.Code(ret)}
		}
		return nil
	})
}

// CloseAll is Close: nothing stands below a watch.
func (w *watch) CloseAll() error { return w.Close() }
