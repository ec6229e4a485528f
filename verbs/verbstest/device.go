package verbstest

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/verbs"
)

// Device is an in-process device that belongs to one test. It is a
// *verbs.Device, with methods that make it fail. It is safe for concurrent use,
// but its own methods end a test that they cannot serve (testing.T.Fatal) and
// therefore belong to the test's goroutine.
type Device struct {
	*verbs.Device
	t testing.TB

	mu      sync.Mutex
	removed bool
}

// Options are the options of a device.
type Options struct {
	// Ports is the number of ports, 1 to 8; zero is 1.
	Ports int
	// InfiniBand makes the ports InfiniBand, with a LID and one GID. Otherwise
	// they are RoCE, with a link-local and an IPv4 GID.
	InfiniBand bool
}

// Open makes a device with one RoCE port and opens it. When the test ends, the
// device is closed and removed, and the test fails if anything on it was left
// open, by whatever handle; the message says where that was made.
//
// A test that needs several devices opens several: they reach each other.
// Tests with devices of their own can run in parallel.
func Open(t testing.TB) *Device {
	t.Helper()
	return OpenWith(t, Options{})
}

// OpenWith is Open with options.
func OpenWith(t testing.TB, opts Options) *Device {
	t.Helper()
	name, err := add(opts)
	if err != nil {
		t.Fatalf("verbstest: %v", err)
	}
	dev, err := verbs.Open(name)
	if err != nil {
		t.Fatalf("verbstest: %v", errors.Join(err, loopdev.RemoveDevice(name)))
	}
	d := &Device{Device: dev, t: t}
	own := openOn(name)
	t.Cleanup(func() {
		t.Helper()
		d.finish(own)
	})
	return d
}

// add makes a device under the first name that is free. loop0 is everybody's.
func add(opts Options) (string, error) {
	const last = 255
	for n := 1; n <= last; n++ {
		name := fmt.Sprintf("loop%d", n)
		err := loopdev.AddDevice(loopdev.DeviceOptions{Name: name, Ports: opts.Ports, InfiniBand: opts.InfiniBand})
		if !errors.Is(err, syscall.EEXIST) {
			return name, err
		}
	}
	return "", fmt.Errorf("%d devices are open in this process, which is all there can be", last)
}

// finish closes and removes the device and reports what was left open on it.
func (d *Device) finish(own objects) {
	d.t.Helper()
	if err := d.Close(); err != nil && !errors.Is(err, verbs.ErrBusy) {
		d.t.Errorf("verbstest: %v", err)
	}
	reportLeft(d.t, openOn(d.Name()).without(own))
	if err := d.CloseAll(); err != nil {
		d.t.Errorf("verbstest: %v", err)
	}
	if d.takeOut() {
		if err := loopdev.RemoveDevice(d.Name()); err != nil {
			d.t.Errorf("verbstest: %v", err)
		}
	}
}

// takeOut reports whether the caller has to remove the device.
func (d *Device) takeOut() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed {
		return false
	}
	d.removed = true
	return true
}
