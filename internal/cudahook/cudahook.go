// Package cudahook lets other packages of the SDK at what package cuda does not
// show to users: the objects that keep devices and streams open, and the
// captures that must know whose work they record.
package cudahook

import "github.com/gofabric/gofabric/internal/life"

// Hooks is what package cuda installs.
type Hooks struct {
	Device      func(device any) *life.Object
	Stream      func(stream any) *life.Object
	HoldCapture func(stream any, user *life.Object) error
}

var hooks Hooks

// Install is called by package cuda when it is initialised.
func Install(h Hooks) { hooks = h }

// Device returns the object of a *cuda.Device, for children of the device, or nil
// if there is none.
func Device(device any) *life.Object { return hooks.Device(device) }

// Stream returns the object of a *cuda.Stream, to keep the stream open while its
// handle is in use, or nil if there is none. Whoever takes it together with an
// object of its own takes its own first.
func Stream(stream any) *life.Object { return hooks.Stream(stream) }

// HoldCapture must be called before work is put on a *cuda.Stream that a graph
// cannot outlive, by the owner of that work, such as a communicator, which is in
// use (life.Object.Use). If a capture is open on the stream, it becomes a child of
// the owner, and after it the graph that comes out of it and everything that is
// instantiated from the graph: the owner cannot close before them, and closes
// them first with life.Object.CloseChildren. Otherwise nothing happens, and
// nothing is allocated.
func HoldCapture(stream any, owner *life.Object) error { return hooks.HoldCapture(stream, owner) }
