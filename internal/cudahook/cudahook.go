// Package cudahook lets other packages of the SDK at what package cuda does not
// show to users: the objects that keep devices and streams open, and the
// captures that must know whose work they record.
package cudahook

import "github.com/gofabric/gofabric/internal/life"

// Hooks is what package cuda installs.
type Hooks struct {
	Device      func(device any) *life.Object
	Begin       func(stream any) error
	End         func(stream any)
	Keep        func(stream any)
	Unkeep      func(stream any)
	Serial      func(stream any) uint64
	HoldCapture func(stream any, user *life.Object) error
}

var hooks Hooks

// Install is called by package cuda when it is initialised.
func Install(h Hooks) { hooks = h }

// Device returns the object of a *cuda.Device, for children of the device, or nil
// if there is none.
func Device(device any) *life.Object { return hooks.Device(device) }

// Begin must be called before work of an owner that HoldCapture names is put on a
// *cuda.Stream, and End after. In between the stream stays open, and no capture
// begins on it that would record the work without knowing whose it is. It
// allocates nothing. Whoever takes several streams takes them by their Serial.
func Begin(stream any) error { return hooks.Begin(stream) }

// End ends what Begin began.
func End(stream any) { hooks.End(stream) }

// Keep goes on keeping captures off the stream after End, until Unkeep: work that
// was given up may still come. It does not keep the stream open.
func Keep(stream any) { hooks.Keep(stream) }

// Unkeep ends what Keep began.
func Unkeep(stream any) { hooks.Unkeep(stream) }

// Serial tells streams apart, and orders them.
func Serial(stream any) uint64 { return hooks.Serial(stream) }

// HoldCapture must be called, after Begin, before work is put on a *cuda.Stream that a graph
// cannot outlive, by the owner of that work, such as a communicator, which is in
// use (life.Object.Use). If a capture is open on the stream, it becomes a child of
// the owner, and after it the graph that comes out of it and everything that is
// instantiated from the graph: the owner cannot close before them, and closes
// them first with life.Object.CloseChildren. Otherwise nothing happens, and
// nothing is allocated.
func HoldCapture(stream any, owner *life.Object) error { return hooks.HoldCapture(stream, owner) }
