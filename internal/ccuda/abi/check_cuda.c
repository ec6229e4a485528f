/* Proves gf1_cuda_abi.h and gf1_cuda_table.h against NVIDIA's own header.
 * Compiled, never linked:
 *   cc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I$CUDA_HOME/include -I.. check_cuda.c
 * The table comes first: cuda.h has macros of the functions' names. */
#include "gf1_cuda_table.h"

#include <cuda.h>

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, our_field, theirs, their_field) \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field); \
	_Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)

/* The header declares each function of the table. Where it has a macro of the
 * name, what the macro stands for. */
#define DECLARED(name, ...) _Static_assert(sizeof(&name) == sizeof(void (*)(void)), #name);
GF1_CUDA_BASE(DECLARED)
GF1_CUDA_LATER(DECLARED)

SAME_SIZE(int, CUresult);
SAME_SIZE(int, CUdevice);
SAME_SIZE(uint64_t, CUdeviceptr);
SAME_SIZE(uint64_t, CUmemGenericAllocationHandle);
SAME_SIZE(gf1_cuda_handle, CUcontext);
SAME_SIZE(gf1_cuda_handle, CUstream);
SAME_SIZE(gf1_cuda_handle, CUevent);
SAME_SIZE(gf1_cuda_handle, CUgraph);
SAME_SIZE(gf1_cuda_handle, CUgraphExec);
SAME_SIZE(gf1_cuda_handle, CUmodule);
SAME_SIZE(gf1_cuda_handle, CUfunction);
SAME_SIZE(int, CUstreamCaptureMode);
SAME_SIZE(int, CUstreamCaptureStatus);
SAME_SIZE(int, CUdevice_attribute);
SAME_SIZE(int, CUfunction_attribute);
SAME_SIZE(int, CUjit_option);
SAME_SIZE(int, CUpointer_attribute);
SAME_SIZE(int, CUmemRangeHandleType);
SAME_SIZE(int, CUmemAllocationGranularity_flags);
SAME_SIZE(uint32_t, CUmemorytype);

SAME_VALUE(GF1_CUDA_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
SAME_VALUE(GF1_CUDA_IPC_BYTES, CU_IPC_HANDLE_SIZE);
SAME_SIZE(struct gf1_cuda_ipc, CUipcMemHandle);
SAME_SIZE(struct gf1_cuda_ipc, CUipcEventHandle);

SAME_VALUE(GF1_CUDA_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER);
SAME_VALUE(GF1_CUDA_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME_VALUE(GF1_CUDA_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER);
SAME_VALUE(GF1_CUDA_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

SAME_VALUE(0, CU_LAUNCH_PARAM_END_AS_INT);
SAME_VALUE(1, CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT);
SAME_VALUE(2, CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT);

SAME_VALUE(GF1_CUDA_POINTER_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(GF1_CUDA_POINTER_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_VALUE(GF1_CUDA_POINTER_HOST_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME_VALUE(GF1_CUDA_POINTER_SYNC_MEMOPS, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
SAME_VALUE(GF1_CUDA_FLUSH_CURRENT_CONTEXT, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX);
SAME_VALUE(GF1_CUDA_FLUSH_TO_OWNER, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
SAME_VALUE(GF1_CUDA_POINTER_BUFFER_ID, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME_VALUE(GF1_CUDA_POINTER_IS_MANAGED, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(GF1_CUDA_POINTER_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_VALUE(GF1_CUDA_POINTER_RANGE_START, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_VALUE(GF1_CUDA_POINTER_RANGE_SIZE, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_VALUE(GF1_CUDA_POINTER_RDMA_CAPABLE, CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);

SAME_VALUE(GF1_CUDA_ALLOCATION_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_VALUE(GF1_CUDA_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_VALUE(GF1_CUDA_HANDLE_POSIX_FD, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_VALUE(GF1_CUDA_ACCESS_READ_WRITE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_VALUE(GF1_CUDA_GRANULARITY_RECOMMENDED, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
SAME_VALUE(GF1_CUDA_RANGE_DMA_BUF_FD, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);

SAME_SIZE(struct gf1_cuda_location, CUmemLocation);
SAME_FIELD(struct gf1_cuda_location, type, CUmemLocation, type);
SAME_FIELD(struct gf1_cuda_location, id, CUmemLocation, id);

#define MEMORY(ours, theirs) SAME_FIELD(struct gf1_cuda_memory, ours, CUmemAllocationProp, theirs)
SAME_SIZE(struct gf1_cuda_memory, CUmemAllocationProp);
MEMORY(type, type);
MEMORY(handle_types, requestedHandleTypes);
MEMORY(location, location);
MEMORY(win32, win32HandleMetaData);
MEMORY(flags.compression, allocFlags.compressionType);
MEMORY(flags.gpu_direct_rdma, allocFlags.gpuDirectRDMACapable);
MEMORY(flags.usage, allocFlags.usage);

SAME_SIZE(struct gf1_cuda_access, CUmemAccessDesc);
SAME_FIELD(struct gf1_cuda_access, location, CUmemAccessDesc, location);
SAME_FIELD(struct gf1_cuda_access, flags, CUmemAccessDesc, flags);
