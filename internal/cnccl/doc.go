// Package cnccl is the cgo binding of libnccl, the only place where NCCL's C
// types stand. It declares the ABI itself (gf1_nccl_abi.h, gf1_nccl_table.h) and
// opens the library at run time.
//
// Calls are recorded in C memory as a Batch of Ops and run in one crossing, on
// one thread: NCCL keeps a group's state per thread and CUDA the current
// context, while a goroutine may move between two calls. Whatever NCCL fills or
// reads after a call has returned lives in a Slot, which is C memory too.
//
// Nothing here locks: a batch, a slot and a communicator belong to one
// goroutine at a time, and package nccl sees to it.
package cnccl
