/* What libcuda's functions take, in our own words. abi/check_cuda.c proves it
 * against NVIDIA's header. A CUresult is an int and an address on a GPU a
 * uint64_t. */
#ifndef GF1_CUDA_ABI_H
#define GF1_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

/* A pointer to what only the driver knows. Some values are no pointers (the
 * streams 1 and 2), so Go must hold all of them as integers. */
typedef uintptr_t gf1_cuda_handle;

enum {
	GF1_CUDA_NOT_INITIALIZED = 3,
	GF1_CUDA_IPC_BYTES = 64, /* of a handle that goes to another process */
};

/* Options of cuModuleLoadDataEx. */
enum {
	GF1_CUDA_JIT_INFO_LOG_BUFFER = 3,
	GF1_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
	GF1_CUDA_JIT_ERROR_LOG_BUFFER = 5,
	GF1_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

/* Markers in the extra argument of cuLaunchKernel, each before its value. */
#define GF1_CUDA_PARAM_END ((void *)0)
#define GF1_CUDA_PARAM_BUFFER ((void *)1)
#define GF1_CUDA_PARAM_BUFFER_SIZE ((void *)2)

/* Attributes of cuPointerGetAttributes. */
enum {
	GF1_CUDA_POINTER_MEMORY_TYPE = 2,
	GF1_CUDA_POINTER_DEVICE_POINTER = 3,
	GF1_CUDA_POINTER_HOST_POINTER = 4,
	GF1_CUDA_POINTER_SYNC_MEMOPS = 6,
	GF1_CUDA_POINTER_BUFFER_ID = 7,
	GF1_CUDA_POINTER_IS_MANAGED = 8,
	GF1_CUDA_POINTER_DEVICE_ORDINAL = 9,
	GF1_CUDA_POINTER_RANGE_START = 11,
	GF1_CUDA_POINTER_RANGE_SIZE = 12,
	GF1_CUDA_POINTER_RDMA_CAPABLE = 15,
};

/* Arguments of cuFlushGPUDirectRDMAWrites. */
enum {
	GF1_CUDA_FLUSH_CURRENT_CONTEXT = 0,
	GF1_CUDA_FLUSH_TO_OWNER = 100,
};

enum {
	GF1_CUDA_ALLOCATION_PINNED = 1,
	GF1_CUDA_LOCATION_DEVICE = 1,
	GF1_CUDA_HANDLE_POSIX_FD = 1,
	GF1_CUDA_ACCESS_READ_WRITE = 3,
	GF1_CUDA_GRANULARITY_RECOMMENDED = 1,
	GF1_CUDA_RANGE_DMA_BUF_FD = 1,
};

struct gf1_cuda_location {
	int32_t type;
	int32_t id;
};

/* CUmemAllocationProp: what cuMemCreate makes. */
struct gf1_cuda_memory {
	int32_t type;
	int32_t handle_types;
	struct gf1_cuda_location location;
	void *win32;
	struct {
		uint8_t compression;
		uint8_t gpu_direct_rdma;
		uint16_t usage;
		uint8_t reserved[4];
	} flags;
};

/* CUmemAccessDesc: who may do what to a mapping. */
struct gf1_cuda_access {
	struct gf1_cuda_location location;
	int32_t flags;
};

/* CUipcMemHandle and CUipcEventHandle, which are passed by value. */
struct gf1_cuda_ipc {
	char bytes[GF1_CUDA_IPC_BYTES];
};

#endif
