// Package nccltest is the engine of all_reduce_perf and its family: tests of
// NCCL's collectives with the flags, the timing and the output of NVIDIA's
// nccl-tests 2.19.6.
//
// A run has one rank for each GPU. The GPUs of a process are driven by threads
// (-t), each with one or several (-g); processes find each other by the
// launcher's variables (package nccl/bootstrap). For each size a collective is
// timed out of place and in place, and one operation of each is checked.
//
// What runs in the timed part was recorded before it: an iteration is one
// nccl.Group, which crosses into C once, and the threads leave the barrier in
// front of it together, spinning.
//
// Package values says what data is checked, docs/nccl-tests.md how the programs
// compare with the C tools.
package nccltest
