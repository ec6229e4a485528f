// Package kernels holds the GPU code of a check: series.cuh computes the elements
// that package values describes, kernels.cu fills and compares memory with them,
// and kernels.ptx is what CUDA's compiler makes of that, for the driver to
// translate for whatever GPU there is.
//
// The PTX is for sm_50 and PTX 4.0: all that NCCL runs on, and drivers since CUDA
// 6.5. The small floats are put together from integers, so that there is no newer
// instruction in it and fp8 needs no file of its own.
//
// To make kernels.ptx anew after a change, run go generate where CUDA's compiler
// is: $NVCC, with flags if need be, or nvcc. Below CUDA 13 it compiles for sm_50.
// The first lines of kernels.ptx are sums of the sources and of itself, and a
// test compares them.
package kernels

import _ "embed"

//go:generate go test -run TestPTXIsMadeFromItsSources -update .

// PTX has the kernels gf1_series_fill and gf1_series_compare.
//
//go:embed kernels.ptx
var PTX []byte

// Series is series.cuh. It is C, too.
//
//go:embed series.cuh
var Series []byte
