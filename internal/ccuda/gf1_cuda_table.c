//go:build linux && cgo

#include "gf1_cuda_table.h"

struct gf1_cuda_table gf1_cuda;

#define GF1_CUDA_NAME(name, ...) #name,
const char *const gf1_cuda_names[] = {GF1_CUDA_BASE(GF1_CUDA_NAME) GF1_CUDA_LATER(GF1_CUDA_NAME) NULL};

#define GF1_CUDA_ALWAYS(name, args) NULL,
#define GF1_CUDA_SINCE(name, args, since) since,
const char *const gf1_cuda_since[] = {GF1_CUDA_BASE(GF1_CUDA_ALWAYS) GF1_CUDA_LATER(GF1_CUDA_SINCE)};

/* Replacing the top of the thread's stack of contexts, or filling an empty one,
 * and the reverse, leave the stack as it was; and whatever a call in between
 * made current does not stay. */
int gf1_cuda_enter(void *context, void **previous)
{
	gf1_cuda_handle now = 0;
	int rc;

	*previous = NULL;
	if (gf1_cuda.cuCtxGetCurrent == NULL || gf1_cuda.cuCtxSetCurrent == NULL)
		return GF1_CUDA_NOT_INITIALIZED;
	rc = gf1_cuda.cuCtxGetCurrent(&now);
	*previous = (void *)now;
	if (rc != 0 || *previous == context)
		return rc;
	return gf1_cuda.cuCtxSetCurrent((gf1_cuda_handle)context);
}

int gf1_cuda_leave(void *previous)
{
	gf1_cuda_handle now = 0;
	int rc = gf1_cuda.cuCtxGetCurrent(&now);

	if (rc != 0 || (void *)now == previous)
		return rc;
	return gf1_cuda.cuCtxSetCurrent((gf1_cuda_handle)previous);
}
