// Package cverbs is the only place that speaks to libibverbs.
//
// It declares the library's binary interface itself (gf1_abi.h, proven against
// rdma-core's headers by abi/), opens the library at run time, and sends every
// control verb through a table of functions that belongs to the opened device:
// filled from the library for the kernel's devices, or by a Provider for
// devices that live in this process.
//
// The data path is plain memory and one crossing: package verbs writes
// requests into C memory through the mirrors in layout.go, and gf1_data.c
// posts and polls them.
//
// Errors of verbs are syscall.Errno; package verbs adds who and where.
package cverbs
