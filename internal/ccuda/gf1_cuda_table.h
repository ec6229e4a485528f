/* The functions of libcuda that we call, by the names that the library exports:
 * where a function was changed, its header's name is a macro for a later one.
 * An entry that the library lacks is NULL. */
#ifndef GF1_CUDA_TABLE_H
#define GF1_CUDA_TABLE_H

#include "gf1_cuda_abi.h"

/* X(name, arguments): what every driver since CUDA 11.0 has. */
#define GF1_CUDA_BASE(X) \
	X(cuInit, (unsigned int flags)) \
	X(cuDriverGetVersion, (int *version)) \
	X(cuGetErrorName, (int code, const char **name)) \
	X(cuGetErrorString, (int code, const char **text)) \
	X(cuDeviceGet, (int *device, int ordinal)) \
	X(cuDeviceGetCount, (int *count)) \
	X(cuDeviceGetName, (char *name, int len, int device)) \
	X(cuDeviceGetUuid, (char *uuid, int device)) \
	X(cuDeviceGetPCIBusId, (char *address, int len, int device)) \
	X(cuDeviceTotalMem_v2, (size_t *bytes, int device)) \
	X(cuDeviceGetAttribute, (int *value, int attribute, int device)) \
	X(cuDeviceCanAccessPeer, (int *can, int device, int peer)) \
	X(cuDevicePrimaryCtxRetain, (gf1_cuda_handle *context, int device)) \
	X(cuDevicePrimaryCtxRelease_v2, (int device)) \
	X(cuDevicePrimaryCtxGetState, (int device, unsigned int *flags, int *active)) \
	X(cuCtxGetCurrent, (gf1_cuda_handle *context)) \
	X(cuCtxSetCurrent, (gf1_cuda_handle context)) \
	X(cuCtxSynchronize, (void)) \
	X(cuCtxGetStreamPriorityRange, (int *least, int *greatest)) \
	X(cuCtxEnablePeerAccess, (gf1_cuda_handle peer, unsigned int flags)) \
	X(cuCtxDisablePeerAccess, (gf1_cuda_handle peer)) \
	X(cuStreamCreateWithPriority, (gf1_cuda_handle *stream, unsigned int flags, int priority)) \
	X(cuStreamDestroy_v2, (gf1_cuda_handle stream)) \
	X(cuStreamQuery, (gf1_cuda_handle stream)) \
	X(cuStreamGetCtx, (gf1_cuda_handle stream, gf1_cuda_handle *context)) \
	X(cuStreamWaitEvent, (gf1_cuda_handle stream, gf1_cuda_handle event, unsigned int flags)) \
	X(cuStreamBeginCapture_v2, (gf1_cuda_handle stream, int mode)) \
	X(cuStreamEndCapture, (gf1_cuda_handle stream, gf1_cuda_handle *graph)) \
	X(cuStreamIsCapturing, (gf1_cuda_handle stream, int *status)) \
	X(cuEventCreate, (gf1_cuda_handle *event, unsigned int flags)) \
	X(cuEventDestroy_v2, (gf1_cuda_handle event)) \
	X(cuEventRecord, (gf1_cuda_handle event, gf1_cuda_handle stream)) \
	X(cuEventQuery, (gf1_cuda_handle event)) \
	X(cuEventElapsedTime, (float *milliseconds, gf1_cuda_handle start, gf1_cuda_handle end)) \
	X(cuMemGetInfo_v2, (size_t *free, size_t *total)) \
	X(cuMemAlloc_v2, (uint64_t *address, size_t size)) \
	X(cuMemFree_v2, (uint64_t address)) \
	X(cuMemGetAddressRange_v2, (uint64_t *base, size_t *size, uint64_t address)) \
	X(cuMemHostAlloc, (void **memory, size_t size, unsigned int flags)) \
	X(cuMemFreeHost, (void *memory)) \
	X(cuMemcpyAsync, (uint64_t to, uint64_t from, size_t size, gf1_cuda_handle stream)) \
	X(cuMemcpyHtoDAsync_v2, (uint64_t to, const void *from, size_t size, gf1_cuda_handle stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, uint64_t from, size_t size, gf1_cuda_handle stream)) \
	X(cuMemcpyDtoDAsync_v2, (uint64_t to, uint64_t from, size_t size, gf1_cuda_handle stream)) \
	X(cuMemsetD8Async, (uint64_t to, unsigned char value, size_t count, gf1_cuda_handle stream)) \
	X(cuMemsetD16Async, (uint64_t to, unsigned short value, size_t count, gf1_cuda_handle stream)) \
	X(cuMemsetD32Async, (uint64_t to, unsigned int value, size_t count, gf1_cuda_handle stream)) \
	X(cuPointerGetAttributes, (unsigned int count, int *attributes, void **values, uint64_t address)) \
	X(cuPointerSetAttribute, (const void *value, int attribute, uint64_t address)) \
	X(cuIpcGetMemHandle, (struct gf1_cuda_ipc * handle, uint64_t address)) \
	X(cuIpcOpenMemHandle_v2, (uint64_t *address, struct gf1_cuda_ipc handle, unsigned int flags)) \
	X(cuIpcCloseMemHandle, (uint64_t address)) \
	X(cuIpcGetEventHandle, (struct gf1_cuda_ipc * handle, gf1_cuda_handle event)) \
	X(cuIpcOpenEventHandle, (gf1_cuda_handle *event, struct gf1_cuda_ipc handle)) \
	X(cuGraphGetNodes, (gf1_cuda_handle graph, gf1_cuda_handle *nodes, size_t *count)) \
	X(cuGraphDestroy, (gf1_cuda_handle graph)) \
	X(cuGraphLaunch, (gf1_cuda_handle exec, gf1_cuda_handle stream)) \
	X(cuGraphExecDestroy, (gf1_cuda_handle exec)) \
	X(cuModuleLoadDataEx, \
	  (gf1_cuda_handle *module, const void *image, unsigned int count, int *options, void **values)) \
	X(cuModuleUnload, (gf1_cuda_handle module)) \
	X(cuModuleGetFunction, (gf1_cuda_handle *function, gf1_cuda_handle module, const char *name)) \
	X(cuFuncGetAttribute, (int *value, int attribute, gf1_cuda_handle function)) \
	X(cuFuncSetAttribute, (gf1_cuda_handle function, int attribute, int value)) \
	X(cuLaunchKernel, \
	  (gf1_cuda_handle function, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by, \
	   unsigned int bz, unsigned int shared, gf1_cuda_handle stream, void **params, void **extra))

/* X(name, arguments, since): what only later releases have, and the memory
 * mapping that some systems' drivers leave out. */
#define GF1_CUDA_LATER(X) \
	X(cuMemGetAllocationGranularity, (size_t *bytes, const struct gf1_cuda_memory *memory, int option), "10.2") \
	X(cuMemCreate, (uint64_t *handle, size_t size, const struct gf1_cuda_memory *memory, unsigned long long flags), \
	  "10.2") \
	X(cuMemRelease, (uint64_t handle), "10.2") \
	X(cuMemAddressReserve, \
	  (uint64_t *address, size_t size, size_t alignment, uint64_t at, unsigned long long flags), "10.2") \
	X(cuMemAddressFree, (uint64_t address, size_t size), "10.2") \
	X(cuMemMap, (uint64_t address, size_t size, size_t offset, uint64_t handle, unsigned long long flags), "10.2") \
	X(cuMemUnmap, (uint64_t address, size_t size), "10.2") \
	X(cuMemSetAccess, (uint64_t address, size_t size, const struct gf1_cuda_access *who, size_t count), "10.2") \
	X(cuFlushGPUDirectRDMAWrites, (int target, int scope), "11.3") \
	X(cuDeviceGetUuid_v2, (char *uuid, int device), "11.4") \
	X(cuGraphInstantiateWithFlags, (gf1_cuda_handle *exec, gf1_cuda_handle graph, unsigned long long flags), "11.4") \
	X(cuMemGetHandleForAddressRange, \
	  (void *handle, uint64_t address, size_t size, int type, unsigned long long flags), "11.7") \
	X(cuFuncGetParamInfo, (gf1_cuda_handle function, size_t index, size_t *offset, size_t *size), "12.4")

struct gf1_cuda_table {
#define GF1_CUDA_FIELD(name, args, ...) int(*name) args;
	GF1_CUDA_BASE(GF1_CUDA_FIELD)
	GF1_CUDA_LATER(GF1_CUDA_FIELD)
#undef GF1_CUDA_FIELD
};

/* Filled before the first call. */
extern struct gf1_cuda_table gf1_cuda;

/* The names in the order of the table's slots; NULL ends them. An entry of
 * gf1_cuda_since is NULL for what every driver that we support has. */
extern const char *const gf1_cuda_names[];
extern const char *const gf1_cuda_since[];

/* The result of calling what the library lacks: the slot's number, below zero. */
#define GF1_CUDA_MISSING(name) (-1 - (int)(offsetof(struct gf1_cuda_table, name) / sizeof(void (*)(void))))
#define GF1_CUDA_NEED(name) \
	do { \
		if (gf1_cuda.name == NULL) \
			return GF1_CUDA_MISSING(name); \
	} while (0)

/* Make a context current on this thread, and put back what the thread had. */
int gf1_cuda_enter(void *context, void **previous);
int gf1_cuda_leave(void *previous);

/* Leaves, and answers the first failure of the two. */
static inline int gf1_cuda_left(void *previous, int rc)
{
	int left = gf1_cuda_leave(previous);

	return rc != 0 ? rc : left;
}

/* The rest of a function: one call inside a context. */
#define GF1_CUDA_IN(context, call) \
	do { \
		void *previous_; \
		int rc_ = gf1_cuda_enter((void *)(context), &previous_); \
		if (rc_ != 0) \
			return rc_; \
		return gf1_cuda_left(previous_, call); \
	} while (0)

#endif
