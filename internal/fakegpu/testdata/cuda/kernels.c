// The kernels that the fake can run, by name. Each does what a kernel would:
// one thread an element, threads past the count do nothing.
// A new one is a function and a line in the table.
#include "state.h"

#include <string.h>

// The source of internal/nccltest/kernels, as C.
#define GF1_FN static inline
#include "series.cuh"

static u64 number(const struct launch *l, int i) { return *(u64 *)l->args[i]; }

// array answers where n elements can be reached; a thread that would touch what
// is not there makes the whole context fail, as on a GPU.
static void *array(const struct launch *l, int i, u64 n, size_t width) {
	pthread_mutex_lock(&gf1_lock);
	void *p = gf1_shadow(number(l, i), n * width);
	pthread_mutex_unlock(&gf1_lock);
	return p;
}

static u64 elements(const struct launch *l, u64 n) { return n < l->threads ? n : l->threads; }

// gf1_fill_u32(u32 *to, u64 n, u32 value)
static CUresult fill_u32(const struct launch *l) {
	u64 n = elements(l, number(l, 1));
	uint32_t *to = array(l, 0, n, 4), value = *(uint32_t *)l->args[2];
	if (to == NULL && n > 0)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	for (u64 i = 0; i < n; i++)
		to[i] = value;
	return CUDA_SUCCESS;
}

// gf1_add_f32(f32 *to, const f32 *a, const f32 *b, u64 n)
static CUresult add_f32(const struct launch *l) {
	u64 n = elements(l, number(l, 3));
	float *to = array(l, 0, n, 4), *a = array(l, 1, n, 4), *b = array(l, 2, n, 4);
	if ((to == NULL || a == NULL || b == NULL) && n > 0)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	for (u64 i = 0; i < n; i++)
		to[i] = a[i] + b[i];
	return CUDA_SUCCESS;
}

// gf1_trap() stops with a device-side trap.
static CUresult trap(const struct launch *l) {
	(void)l;
	return CUDA_ERROR_LAUNCH_FAILED;
}

static unsigned small(const struct launch *l, int i) { return *(unsigned *)l->args[i]; }

static struct gf1_series series(const struct launch *l) {
	return (struct gf1_series){small(l, 2), small(l, 3), small(l, 4), small(l, 5), small(l, 6), number(l, 7), number(l, 8)};
}

// gf1_series_fill(void *to, u64 count, u32 type, u32 kind, u32 op, u32 ranks,
// u32 rank, u64 seed, u64 first)
static CUresult series_fill(const struct launch *l) {
	struct gf1_series s = series(l);
	unsigned size = gf1_size(s.type);
	u64 n = number(l, 1);
	void *to = array(l, 0, n, size);
	if (to == NULL && n > 0)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	for (u64 i = 0; i < n; i++)
		gf1_store(to, i, size, gf1_bits(&s, i));
	return CUDA_SUCCESS;
}

// gf1_series_compare(const void *from, the same, u64 tolerance, u64 *wrong)
static CUresult series_compare(const struct launch *l) {
	struct gf1_series s = series(l);
	unsigned size = gf1_size(s.type);
	u64 n = number(l, 1), *wrong = array(l, 10, 1, 8);
	void *from = array(l, 0, n, size);
	if ((from == NULL && n > 0) || wrong == NULL)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	for (u64 i = 0; i < n; i++)
		*wrong += (u64)gf1_differs(gf1_load(from, i, size), gf1_bits(&s, i), size, number(l, 9));
	return CUDA_SUCCESS;
}

static const struct kernel kernels[] = {
	{"gf1_fill_u32", 3, {8, 8, 4}, fill_u32},
	{"gf1_add_f32", 4, {8, 8, 8, 8}, add_f32},
	{"gf1_series_fill", 9, {8, 8, 4, 4, 4, 4, 4, 8, 8}, series_fill},
	{"gf1_series_compare", 11, {8, 8, 4, 4, 4, 4, 4, 8, 8, 8, 8}, series_compare},
	{"gf1_trap", 0, {0}, trap},
};

const struct kernel *gf1_find_kernel(const char *name) {
	for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	}
	return NULL;
}
