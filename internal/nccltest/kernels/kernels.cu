// The kernels of a check. Each takes any number of threads: a thread goes on from
// its element by as many as there are threads.
#define GF1_FN static __device__ __forceinline__
#include "series.cuh"

static __device__ __forceinline__ gf1_word first_element() {
	return (gf1_word)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ gf1_word threads() {
	return (gf1_word)gridDim.x * blockDim.x;
}

// gf1_series_fill writes count elements of a series.
extern "C" __global__ void gf1_series_fill(void *to, gf1_word count, unsigned type, unsigned kind, unsigned op,
	unsigned ranks, unsigned rank, gf1_word seed, gf1_word first) {
	struct gf1_series s = {type, kind, op, ranks, rank, seed, first};
	unsigned size = gf1_size(type);
	for (gf1_word i = first_element(); i < count; i += threads())
		gf1_store(to, i, size, gf1_bits(&s, i));
}

// gf1_series_compare adds to *wrong how many of count elements are not a series'.
extern "C" __global__ void gf1_series_compare(const void *from, gf1_word count, unsigned type, unsigned kind, unsigned op,
	unsigned ranks, unsigned rank, gf1_word seed, gf1_word first, gf1_word tolerance, gf1_word *wrong) {
	struct gf1_series s = {type, kind, op, ranks, rank, seed, first};
	unsigned size = gf1_size(type);
	gf1_word found = 0;
	for (gf1_word i = first_element(); i < count; i += threads())
		found += gf1_differs(gf1_load(from, i, size), gf1_bits(&s, i), size, tolerance);
	if (found > 0)
		atomicAdd(wrong, found);
}
