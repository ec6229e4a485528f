package rdmacm

import (
	"context"
	"errors"
	"sync"

	"github.com/gofabric/gofabric/verbs"
)

// SharedDevice is a device, with a protection domain, that all connections of
// the process that ask for it share.
type SharedDevice struct {
	Device *verbs.Device
	PD     *verbs.PD

	entry *sharedEntry
	once  sync.Once
}

type sharedEntry struct {
	name   string
	uses   int        // guarded by sharedDevices
	mu     sync.Mutex // held while the device is opened or closed
	device *verbs.Device
	pd     *verbs.PD
}

var sharedDevices = struct {
	sync.Mutex
	entries map[string]*sharedEntry
}{entries: map[string]*sharedEntry{}}

// Share returns the shared handle of a device, opening it if nobody has it. It is
// closed when the last one that was returned is released. Errors are those of
// verbs.Open.
func Share(device string) (*SharedDevice, error) {
	sharedDevices.Lock()
	e := sharedDevices.entries[device]
	if e == nil {
		e = &sharedEntry{name: device}
		sharedDevices.entries[device] = e
	}
	e.uses++
	sharedDevices.Unlock()

	e.mu.Lock()
	defer e.mu.Unlock()
	if e.device == nil {
		if err := e.open(); err != nil {
			e.leave()
			return nil, err
		}
	}
	return &SharedDevice{Device: e.device, PD: e.pd, entry: e}, nil
}

// share is Share for as long as the context lasts: the library waits up to 15
// seconds for the node of a device that is not there.
func share(ctx context.Context, device string) (*SharedDevice, error) {
	type result struct {
		s   *SharedDevice
		err error
	}
	done := make(chan result, 1)
	go func() {
		s, err := Share(device)
		done <- result{s, err}
	}()
	select {
	case r := <-done:
		return r.s, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				// There is nobody left to tell.
				_ = r.s.Release()
			}
		}()
		return nil, ctx.Err()
	}
}

func (e *sharedEntry) open() error {
	dev, err := verbs.Open(e.name)
	if err != nil {
		return err
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	e.device, e.pd = dev, pd
	return nil
}

// leave gives up a use, and reports whether it was the last.
func (e *sharedEntry) leave() bool {
	sharedDevices.Lock()
	defer sharedDevices.Unlock()
	e.uses--
	if e.uses == 0 && sharedDevices.entries[e.name] == e {
		delete(sharedDevices.entries, e.name)
	}
	return e.uses == 0
}

// Release gives the handle back. What the caller made on the device must be
// closed before. Releasing twice is harmless.
func (s *SharedDevice) Release() (err error) {
	s.once.Do(func() {
		s.entry.mu.Lock()
		defer s.entry.mu.Unlock()
		if s.entry.leave() {
			err = errors.Join(s.entry.pd.Close(), s.entry.device.Close())
		}
	})
	return err
}
