package nvmltest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gofabric/gofabric/nvml"
)

// Host is a machine with GPUs. Its methods are safe for concurrent use; Data is
// not, and is changed before the host is used.
type Host struct {
	Data *nvml.Snapshot

	mu      sync.Mutex
	lost    []string
	watches []*watch
}

var _ nvml.Source = (*Host)(nil)

// Lose makes a GPU fall off the bus: every question about it is answered by
// nvml.CodeGPUIsLost from now on, the others' are answered as before, and those
// who watch it get XID 79.
func (h *Host) Lose(gpu string) {
	h.mu.Lock()
	h.lost = append(h.lost, gpu)
	h.mu.Unlock()
	xid := uint64(79)
	h.Emit(nvml.Event{GPU: gpu, Kind: nvml.EventXID, XID: &xid})
}

func (h *Host) gone(op string, gpus ...string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, gpu := range gpus {
		if slices.Contains(h.lost, gpu) {
			return &nvml.OpError{Op: op, GPU: gpu, Err: nvml.CodeGPUIsLost}
		}
	}
	return nil
}

// Partition turns MIG on for the GPU of an index and divides it into parts.
func (h *Host) Partition(index, parts int) {
	g := &h.Data.Inventory[index]
	g.MIG = &nvml.MIG{Enabled: true, Pending: true}
	for i := range parts {
		gi, ci := i+7, 0
		d := nvml.MIGDevice{Index: i, UUID: fmt.Sprintf("MIG-%08x-0000-4000-8000-%012x", index, i), Name: g.Name + " MIG", GPUInstance: &gi, ComputeInstance: &ci}
		if g.Memory != nil {
			share := *g.Memory / uint64(parts)
			d.Memory = &share
		}
		g.MIG.Devices = append(g.MIG.Devices, d)
	}
}

// System returns the versions.
func (h *Host) System() (nvml.System, error) { return h.Data.System() }

// GPUs lists the GPUs that are not lost, and an error for each that is.
func (h *Host) GPUs() ([]nvml.GPU, error) {
	all, err := h.Data.GPUs()
	var here []nvml.GPU
	for _, g := range all {
		if gone := h.gone("open the GPU", g.UUID); gone != nil {
			err = errors.Join(err, gone)
			continue
		}
		here = append(here, g)
	}
	return here, err
}

// Links lists a GPU's NVLinks.
func (h *Host) Links(gpu string) ([]nvml.Link, error) {
	if err := h.gone("read the NVLinks", gpu); err != nil {
		return nil, err
	}
	return h.Data.Links(gpu)
}

// Pair tells what lies between two GPUs.
func (h *Host) Pair(a, b string) (nvml.Pair, error) {
	if err := h.gone("compare two GPUs", a, b); err != nil {
		return nvml.Pair{}, err
	}
	return h.Data.Pair(a, b)
}

// Status reads what changes.
func (h *Host) Status(gpu string) (nvml.Status, error) {
	if err := h.gone("read the status", gpu); err != nil {
		return nvml.Status{}, err
	}
	return h.Data.Status(gpu)
}

// Processes lists who uses a GPU.
func (h *Host) Processes(gpu string) ([]nvml.Process, error) {
	if err := h.gone("list the processes", gpu); err != nil {
		return nil, err
	}
	return h.Data.Processes(gpu)
}

// Emit sends an event to those who watch its GPU for its kind.
func (h *Host) Emit(event nvml.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.watches {
		if w.kinds&event.Kind != 0 && slices.Contains(w.gpus, event.GPU) {
			w.put(event)
		}
	}
}

// Watch collects what Emit sends.
func (h *Host) Watch(kinds nvml.EventKind, gpus ...string) (nvml.Watch, error) {
	all, err := h.GPUs()
	if len(gpus) == 0 {
		for _, g := range all {
			gpus = append(gpus, g.UUID)
		}
	}
	const op = "watch for events"
	for _, gpu := range gpus {
		if _, device, ok := nvml.Find(all, gpu); !ok || device != nil {
			return nil, errors.Join(nvml.NoGPU(op, gpu, all), err)
		}
	}
	if kinds == 0 || len(gpus) == 0 {
		return nil, &nvml.OpError{Op: op, Err: fmt.Errorf("no GPU reports any of (%v): %w", kinds, nvml.ErrNotSupported)}
	}
	w := &watch{host: h, kinds: kinds, gpus: gpus, wake: make(chan struct{}, 1), done: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watches = append(h.watches, w)
	return w, nil
}

type watch struct {
	host  *Host
	kinds nvml.EventKind
	gpus  []string
	once  sync.Once
	done  chan struct{}
	wake  chan struct{} // holds a token while events wait
	mu    sync.Mutex
	queue []nvml.Event
}

func (w *watch) put(event nvml.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, event)
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Next waits for an event.
func (w *watch) Next(ctx context.Context) (nvml.Event, error) {
	for {
		select {
		case <-w.done:
			return nvml.Event{}, nvml.ErrClosed
		default:
		}
		w.mu.Lock()
		if len(w.queue) > 0 {
			event := w.queue[0]
			w.queue = w.queue[1:]
			w.mu.Unlock()
			return event, nil
		}
		w.mu.Unlock()
		select {
		case <-w.wake:
		case <-w.done:
		case <-ctx.Done():
			return nvml.Event{}, ctx.Err()
		}
	}
}

// Close ends the watch.
func (w *watch) Close() error {
	w.once.Do(func() {
		close(w.done)
		w.host.mu.Lock()
		defer w.host.mu.Unlock()
		w.host.watches = slices.DeleteFunc(w.host.watches, func(other *watch) bool { return other == w })
	})
	return nil
}
