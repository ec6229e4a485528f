//go:build linux && cgo

package cnccl

// #cgo noescape gf1_nccl_run
// #cgo nocallback gf1_nccl_run
// #cgo noescape gf1_nccl_poll
// #cgo nocallback gf1_nccl_poll
// #include <stdlib.h>
// #include "gf1_nccl_run.h"
import "C"

import (
	"unsafe"
)

// Batch is a list of operations in C memory. It belongs to one goroutine at a
// time and must be freed.
type Batch struct {
	p                     *C.struct_gf1_nccl_batch
	ops, members, waitCap int
	waits                 int
}

// NewBatch makes an empty batch for the library.
func NewBatch(l *Library) *Batch {
	b := &Batch{p: (*C.struct_gf1_nccl_batch)(C.calloc(1, C.sizeof_struct_gf1_nccl_batch))}
	b.p.lib = l.p
	return b
}

// Free gives the memory back.
func (b *Batch) Free() {
	if b.p == nil {
		return
	}
	C.free(unsafe.Pointer(b.p.ops))
	C.free(unsafe.Pointer(b.p.members))
	C.free(unsafe.Pointer(b.p.waits))
	C.free(unsafe.Pointer(b.p))
	b.p = nil
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.p.op_count = 0
	b.p.member_count = 0
	b.waits = 0
}

func grow(p unsafe.Pointer, have, need int, size uintptr) (unsafe.Pointer, int) {
	if need <= have {
		return p, have
	}
	have = max(need, 2*have, 4)
	return C.realloc(p, C.size_t(uintptr(have)*size)), have
}

// Add appends an operation, zeroed, and returns it. It stays in place until the
// next Add.
func (b *Batch) Add() *Op {
	n := int(b.p.op_count)
	var p unsafe.Pointer
	p, b.ops = grow(unsafe.Pointer(b.p.ops), b.ops, n+1, unsafe.Sizeof(Op{}))
	b.p.ops = (*C.struct_gf1_nccl_op)(p)
	b.p.op_count++
	op := b.Op(n)
	*op = Op{}
	return op
}

// Op returns an operation by its index.
func (b *Batch) Op(i int) *Op {
	return (*Op)(unsafe.Add(unsafe.Pointer(b.p.ops), uintptr(i)*unsafe.Sizeof(Op{})))
}

// Len returns how many operations there are.
func (b *Batch) Len() int { return int(b.p.op_count) }

// Drop takes the last operation back.
func (b *Batch) Drop() { b.p.op_count-- }

// AddMember appends a communicator whose state the batch asks for.
func (b *Batch) AddMember(m Member) {
	n := int(b.p.member_count)
	var p unsafe.Pointer
	p, b.members = grow(unsafe.Pointer(b.p.members), b.members, n+1, unsafe.Sizeof(Member{}))
	b.p.members = (*C.struct_gf1_nccl_member)(p)
	b.p.member_count++
	*b.Member(n) = m
}

// Member returns a communicator by its index.
func (b *Batch) Member(i int) *Member {
	return (*Member)(unsafe.Add(unsafe.Pointer(b.p.members), uintptr(i)*unsafe.Sizeof(Member{})))
}

// Members returns how many communicators there are.
func (b *Batch) Members() int { return int(b.p.member_count) }

// NewWaits makes room for n waits and returns the first's index.
func (b *Batch) NewWaits(n int) int32 {
	first := b.waits
	var p unsafe.Pointer
	p, b.waitCap = grow(unsafe.Pointer(b.p.waits), b.waitCap, first+n, unsafe.Sizeof(Wait{}))
	b.p.waits = (*C.struct_gf1_nccl_wait)(p)
	b.waits += n
	return int32(first)
}

// Wait returns a wait by its index.
func (b *Batch) Wait(i int32) *Wait {
	return (*Wait)(unsafe.Add(unsafe.Pointer(b.p.waits), uintptr(i)*unsafe.Sizeof(Wait{})))
}

// ResetWaits forgets the waits and keeps their memory.
func (b *Batch) ResetWaits() { b.waits = 0 }

// Run runs the batch in mode, asks its members at most spins times, and for about
// a millisecond, while they are in progress, and returns the result.
func (b *Batch) Run(mode, spins int) int {
	b.p.mode = C.int32_t(mode)
	b.p.spins = C.int32_t(spins)
	C.gf1_nccl_run(b.p)
	return int(b.p.code)
}

// Poll asks the members again.
//
// Implements: ncclCommGetAsyncError.
func (b *Batch) Poll(spins int) int {
	b.p.spins = C.int32_t(spins)
	C.gf1_nccl_poll(b.p)
	return int(b.p.code)
}

// Code returns the last result of the batch.
func (b *Batch) Code() int { return int(b.p.code) }

// Failed returns how many operations answered an error.
func (b *Batch) Failed() int { return int(b.p.failed) }

// MissingFunction returns the function that the library lacks, if an operation
// answered Missing.
func (b *Batch) MissingFunction() int { return int(b.p.missing) }

// ContextCode returns CUDA's result if an operation answered NotCalled.
func (b *Batch) ContextCode() int { return int(b.p.entered) }

// Last returns NCCL's last message after an error.
func (b *Batch) Last() string { return C.GoString(&b.p.last[0]) }

// Microseconds returns the simulated time.
func (b *Batch) Microseconds() float32 { return float32(b.p.microseconds) }
