package nvml

import "context"

// Source answers about the GPUs of one machine. Its implementations are safe
// for concurrent use. A GPU is named by its UUID as GPUs gives it; one that the
// source does not have is ErrNoGPU, a MIG device's UUID too.
//
// Each method returns what could be read beside an error that joins what could
// not.
type Source interface {
	// System returns the versions that this machine runs.
	System() (System, error)
	// GPUs lists the GPUs in NVML's order, that of their PCI addresses.
	GPUs() ([]GPU, error)
	// Links lists the NVLinks that a GPU has, inactive ones too. A GPU
	// without NVLink has none, and that is no error.
	Links(gpu string) ([]Link, error)
	// Pair tells what lies between two GPUs.
	Pair(a, b string) (Pair, error)
	// Status reads what changes while the machine runs.
	Status(gpu string) (Status, error)
	// Processes lists who uses a GPU.
	Processes(gpu string) ([]Process, error)
	// Watch starts to collect events of the kinds asked for; no GPU named
	// means all. Kinds that a GPU does not report are left out for it;
	// ErrNotSupported if none of the GPUs reports any of them.
	Watch(kinds EventKind, gpus ...string) (Watch, error)
}

// Watch hands out events. One goroutine at a time calls Next; Close may be
// called by any.
type Watch interface {
	// Next waits for an event. It returns the context's error when that is
	// done first, within a quarter of a second, and ErrClosed after Close.
	Next(ctx context.Context) (Event, error)
	// Close ends the watch. A second one does nothing.
	Close() error
}
