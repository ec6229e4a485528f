package fakegpu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
	"unsafe"
)

// ControlEnv names the file that tests and fakes share.
const ControlEnv = "GF1_FAKE_CONTROL"

// The layout of testdata/control.h, which asserts the same numbers.
const (
	controlSize  = 32768
	controlMagic = 0x314b4146534b4641

	atArmed    = 8
	atKnobs    = 64
	atFaults   = 576
	faultSize  = 96
	faults     = 16
	faultName  = 64
	atReports  = 2112
	atReport   = 2176
	reportSize = 256
	reports    = 40

	atProcesses = 12416
	processSize = 1088
	processes   = 16
	inProcess   = 64 // offset of the counters
)

// Knob is something that a test changes about the fakes while they run. Zero is
// the normal state.
type Knob int

const (
	// StreamHold keeps streams from starting work, so that a query is not ready.
	StreamHold Knob = iota
	// InitHold keeps communicators from ending their set-up.
	InitHold
	// CollectiveHold keeps collectives from ending, until abort.
	CollectiveHold
	// DeadRanks has bit r set where rank r has died: the others see
	// ncclRemoteError.
	DeadRanks
	// AsyncError is the code that communicators answer as their asynchronous
	// error.
	AsyncError
	// AsyncRanks has bit r set where rank r has AsyncError; 0 is all ranks.
	AsyncRanks
	// Interrupted fails the set-up of the releases 2.19 to 2.25 as a signal
	// did.
	Interrupted
	// AbortOnReport makes a report call abort(3), for a core and a stack.
	AbortOnReport
	// AllocSync 1 lets allocation wait for the work of all GPUs, the worst case
	// that CUDA allows and on which unordered use hangs; 2 reports allocation
	// beside work instead.
	AllocSync
	// AbortHold keeps ncclCommAbort and ncclCommDestroy from ending.
	AbortHold
	// JobHold keeps the threads of non-blocking groups from ending.
	JobHold
	// ChangeContext d+1 lets NCCL's calls leave the context of device d current
	// on the calling thread, as some releases did.
	ChangeContext
)

// Counter is something that the fakes count.
type Counter int

// The first counters are of what is alive: they go back to where they were when
// everything has been released. What a process held goes with it when it ends.
const (
	LiveStreams Counter = iota
	LiveEvents
	LiveDeviceMemory // allocations, and handles of virtual memory
	LiveHostMemory
	LiveModules
	LiveGraphs
	LiveExecs
	LiveReservations
	LiveIPC
	LiveUserObjects
	// ForeignStreamUses counts work for a stream of another context than the
	// current one.
	ForeignStreamUses
)

// Counters of the fake NCCL.
const (
	LiveComms Counter = 16 + iota
	LiveRegistrations
	LiveWindows
	LiveNCCLMemory
	LiveOperators
	CollectivesDone
	GroupsEnded
	InitsWaiting       // ranks inside communicator set-up
	CollectivesWaiting // collectives that run
	AbortsWaiting
)

// ContextsCreated counts the contexts ever made on a device, ContextsLive those
// that exist.
func ContextsCreated(device int) Counter { return Counter(32 + device) }

// ContextsLive counts the contexts that exist on a device.
func ContextsLive(device int) Counter { return Counter(64 + device) }

// Control is the page shared with the fakes. It is safe for concurrent use.
type Control struct{ page []byte }

func (c *Control) word(offset int) *uint64 { return (*uint64)(unsafe.Pointer(&c.page[offset])) }

// Set turns a knob.
func (c *Control) Set(k Knob, value uint64) { atomic.StoreUint64(c.word(atKnobs+8*int(k)), value) }

// Get reads a knob.
func (c *Control) Get(k Knob) uint64 { return atomic.LoadUint64(c.word(atKnobs + 8*int(k))) }

// Count adds a counter up over the processes that share the page. Those that
// count what is alive leave out processes that have ended; a child counts until
// it has been waited for.
func (c *Control) Count(n Counter) int64 {
	var sum int64
	for i := range processes {
		at := atProcesses + i*processSize
		if n.onlyGrows() || alive(int(atomic.LoadUint64(c.word(at)))) {
			sum += int64(atomic.LoadUint64(c.word(at + inProcess + 8*int(n))))
		}
	}
	return sum
}

// onlyGrows reports whether the counter is of what has happened, not of what is
// alive.
func (n Counter) onlyGrows() bool {
	return n == ForeignStreamUses || n == CollectivesDone || n == GroupsEnded ||
		n >= ContextsCreated(0) && n < ContextsLive(0)
}

// WaitCount waits until the counter is at least value, looking every
// millisecond, and reports whether it was within ten seconds.
func (c *Control) WaitCount(n Counter, value int64) bool {
	for deadline := time.Now().Add(10 * time.Second); c.Count(n) < value; {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// Fail lets calls of a C function return code: skip calls are let through
// first, then times calls fail.
func (c *Control) Fail(function string, code, skip, times int) error {
	if len(function) >= faultName {
		return fmt.Errorf("fault of %q: the name is too long", function)
	}
	for i := range faults {
		at := atFaults + i*faultSize
		if int64(atomic.LoadUint64(c.word(at+80))) > 0 {
			continue
		}
		name := c.page[at : at+faultName]
		clear(name)
		copy(name, function)
		atomic.StoreUint64(c.word(at+64), uint64(int64(code)))
		atomic.StoreUint64(c.word(at+72), uint64(skip))
		atomic.StoreUint64(c.word(at+80), uint64(times))
		atomic.AddUint64(c.word(atArmed), 1)
		return nil
	}
	return errors.New("all entries for faults are in use")
}

// Reports lists the broken rules that the fakes have noted since Reset.
func (c *Control) Reports() []string {
	var texts []string
	n := atomic.LoadUint64(c.word(atReports))
	for i := range min(int(n), reports) {
		at := atReport + i*reportSize
		for atomic.LoadUint64(c.word(at)) == 0 { // another thread is writing it
			time.Sleep(time.Millisecond)
		}
		text, _, _ := bytes.Cut(c.page[at+8:at+reportSize], []byte{0})
		texts = append(texts, string(text))
	}
	return texts
}

// TakeReports lists the reports and forgets them: for tests that break a rule
// on purpose.
func (c *Control) TakeReports() []string {
	texts := c.Reports()
	for i := range reports {
		atomic.StoreUint64(c.word(atReport+i*reportSize), 0)
	}
	atomic.StoreUint64(c.word(atReports), 0)
	return texts
}

// Reset turns all knobs back and forgets faults and reports. Counters go on.
func (c *Control) Reset() {
	for i := range 64 {
		atomic.StoreUint64(c.word(atKnobs+8*i), 0)
	}
	for i := range faults {
		atomic.StoreUint64(c.word(atFaults+i*faultSize+80), 0)
	}
	atomic.StoreUint64(c.word(atArmed), 0)
	c.TakeReports()
}

// newControl makes a page in a file.
func newControl(name string) (*Control, error) {
	data := make([]byte, controlSize)
	binary.NativeEndian.PutUint64(data, controlMagic)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return nil, err
	}
	return openControl(name)
}

// openControl maps the page of a file.
func openControl(name string) (*Control, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	page, err := mapFile(f, controlSize)
	if err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint64(page) != controlMagic {
		return nil, fmt.Errorf("%s is no control page of the fake GPU", name)
	}
	return &Control{page}, nil
}
