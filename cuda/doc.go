// Package cuda is as much of NVIDIA's driver interface as moving data to, from
// and between GPUs takes, for packages nccl and verbs and for programs that use
// them: devices, streams, events, memory, graphs and kernels. It needs the driver
// (libcuda.so.1), which is opened at run time, and no CUDA toolkit.
//
// # Concepts
//
// A GPU works on its own memory (Buffer) and on pinned memory of the host
// (HostBuffer). A Span is a piece of either, or of a peer's: a plain value that
// copies, collectives and kernels take.
//
// Work is put on a Stream and done in order, while the program goes on. Streams
// are independent of each other; an Event, recorded on one and waited for on
// another, orders them. A program waits for a stream or an event with
// Synchronize, or asks with Query.
//
// A capture (Stream.BeginCapture) records the work on a stream as a Graph, which
// is launched again and again at the cost of one call.
//
// # Who holds whom
//
//	Device ──┬── Stream ── open capture
//	         ├── Event
//	         ├── Buffer, HostBuffer
//	         ├── Module ── its Functions are used up with it
//	         ├── Graph, GraphExec ── hold the communicators whose work they have
//	         └── communicators of package nccl
//
// What holds others cannot close before them: Close fails with ErrBusy and names
// who is still open. CloseAll closes everything below first, in the right order;
// on a device that is all that the program made on it. Nothing is closed by the
// garbage collector. Close may be called twice.
//
// # A first program
//
// The example of this package, below, fills memory of a GPU, copies it to the host
// and looks at it.
//
// # Contexts and goroutines
//
// CUDA's current context belongs to a thread, and goroutines have none. No call
// here depends on the thread or changes it: each makes the device's primary
// context current, does its work, and puts back what the thread had, within one
// call of C. Goroutines may move, and C code that made a context current on a
// locked thread finds it there. A GPU that was not opened gets no context.
//
// Use the handles (Device.Context, Stream.Handle, Event.Handle) for C code of
// other packages; WrapStream takes a stream from it.
//
// # Waiting
//
// Stream.Synchronize, Event.Synchronize and the copies of Go memory take a context
// and hold no thread: they ask the driver at once, and then ever more seldom, up to
// a millisecond apart. For the shortest delay, ask with Query. Device.Synchronize,
// LoadModule, Open and Buffer.Close have a thread wait, since the driver knows no
// other way.
//
// Ending a wait by its context releases the caller and nothing else: the work goes
// on, and its memory is the GPU's until it is done. Copies of Go memory go through
// pinned memory of the device's own, so a slice is free as soon as the call
// returns.
//
// # Errors
//
// A call that failed answers an *OpError, in which errors.Is finds the driver's
// Code (ErrorOutOfMemory) or one of this package's errors, and errors.As the
// driver's name and text (*Error). Its Hint says what to do, and stands there only
// if the cause was looked at.
//
// Work that fails on the GPU says so in a later call. Most such errors
// (Code.Sticky), like ErrorIllegalAddress, cost the process its context: every call
// answers the same from then on, until the process ends. Objects of a lost context
// still close.
//
// # Concurrency
//
// All objects are safe for concurrent use, except Args. Close waits for calls that
// are inside, and makes a wait answer ErrClosed. Putting work on a stream (Copy,
// Fill8, Record, WaitEvent, Launch) allocates nothing.
//
// # Without the library
//
// A program starts without the driver, and Open says ErrLibraryNotFound. Functions
// that an older driver lacks answer ErrNotSupported and name the version of CUDA
// that brings them. Built without cgo, or for another system than Linux, the
// package compiles, and everything answers ErrNotSupported.
package cuda
