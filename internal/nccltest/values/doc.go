// Package values says what the data of a collective's check is: the input of
// each rank, element by element, and the exact result of the reduction.
//
// The inputs are small integers, or powers of two and three times them, chosen so
// that every partial result in any order is exact in the data type: the result
// does not depend on the algorithm, and is compared bit for bit. The one exception
// is the average of a float type over a number of ranks that is no power of two,
// where NCCL multiplies by a rounded reciprocal: see [Series.Tolerance].
//
// An element depends on the series and its index alone, takes constant time for
// any number of ranks, and needs 64-bit integers and one division of a float64
// only, so that a kernel computes the same: internal/nccltest/kernels has all of
// this package a second time, for GPUs. Package gpucheck compares the two.
package values
