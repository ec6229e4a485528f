//go:build linux && cgo

package cnccl

// #cgo noescape gf1_nccl_run_list
// #cgo nocallback gf1_nccl_run_list
// #include <stdlib.h>
// #include "gf1_nccl_list.h"
import "C"

import "unsafe"

// List is batches, in C memory, that run one after another. A batch may stand in
// it several times. It must be freed, and before its batches are.
type List struct {
	p     **C.struct_gf1_nccl_batch
	count int
}

// NewList makes a list of batches.
func NewList(batches []*Batch) *List {
	l := &List{count: len(batches)}
	l.p = (**C.struct_gf1_nccl_batch)(C.calloc(C.size_t(max(l.count, 1)), C.size_t(unsafe.Sizeof(l.p))))
	places := unsafe.Slice(l.p, l.count)
	for i, b := range batches {
		places[i] = b.p
	}
	return l
}

// Run runs the batches from the index on, each in mode with spins as Batch.Run
// does, and returns the index of the first that did not succeed or is in
// progress, or their number.
func (l *List) Run(from, mode, spins int) int {
	return int(C.gf1_nccl_run_list(l.p, C.int(from), C.int(l.count), C.int(mode), C.int(spins)))
}

// Free gives the memory back.
func (l *List) Free() {
	C.free(unsafe.Pointer(l.p))
	l.p = nil
}
