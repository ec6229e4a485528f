//go:build linux && cgo

#include "gf1_cuda_shim.h"

#include <string.h>

/* The driver ends a log that it writes; an empty one it may leave alone. Both
 * logs share the caller's buffer, errors first. */
int gf1_cuda_module_load(gf1_cuda_handle context, const void *image, char *log, size_t len, gf1_cuda_handle *out)
{
	size_t half = len / 2, used;
	int options[] = {
		GF1_CUDA_JIT_ERROR_LOG_BUFFER, GF1_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
		GF1_CUDA_JIT_INFO_LOG_BUFFER, GF1_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
	};
	void *values[] = {log, (void *)half, log + half, (void *)half};
	void *previous;
	int rc;

	memset(log, 0, len);
	rc = gf1_cuda_enter((void *)context, &previous);
	if (rc != 0)
		return rc;
	rc = gf1_cuda.cuModuleLoadDataEx(out, image, 4, options, values);
	log[half - 1] = log[len - 1] = 0;
	used = strlen(log);
	memmove(log + used, log + half, strlen(log + half) + 1);
	return gf1_cuda_left(previous, rc);
}

int gf1_cuda_module_unload(gf1_cuda_handle context, gf1_cuda_handle module)
{
	GF1_CUDA_IN(context, gf1_cuda.cuModuleUnload(module));
}

int gf1_cuda_module_function(gf1_cuda_handle context, gf1_cuda_handle module, const char *name, gf1_cuda_handle *out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuModuleGetFunction(out, module, name));
}

int gf1_cuda_param(gf1_cuda_handle context, gf1_cuda_handle function, size_t index, size_t *offset, size_t *size)
{
	GF1_CUDA_NEED(cuFuncGetParamInfo);
	GF1_CUDA_IN(context, gf1_cuda.cuFuncGetParamInfo(function, index, offset, size));
}

int gf1_cuda_function_get(gf1_cuda_handle context, gf1_cuda_handle function, int attribute, int *value)
{
	GF1_CUDA_IN(context, gf1_cuda.cuFuncGetAttribute(value, attribute, function));
}

int gf1_cuda_function_set(gf1_cuda_handle context, gf1_cuda_handle function, int attribute, int value)
{
	GF1_CUDA_IN(context, gf1_cuda.cuFuncSetAttribute(function, attribute, value));
}

int gf1_cuda_launch(gf1_cuda_handle context, gf1_cuda_handle function, const struct gf1_cuda_grid *g,
		    gf1_cuda_handle stream, void *args, size_t size)
{
	void *extra[] = {
		GF1_CUDA_PARAM_BUFFER, args, GF1_CUDA_PARAM_BUFFER_SIZE, &size, GF1_CUDA_PARAM_END,
	};

	GF1_CUDA_IN(context,
		    gf1_cuda.cuLaunchKernel(function, g->grid[0], g->grid[1], g->grid[2], g->block[0], g->block[1],
					    g->block[2], g->shared, stream, NULL, size != 0 ? extra : NULL));
}
