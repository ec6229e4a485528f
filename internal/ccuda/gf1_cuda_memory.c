//go:build linux && cgo

#include "gf1_cuda_shim.h"

#include <fcntl.h>
#include <string.h>

enum { INVALID_VALUE = 1 };

int gf1_cuda_alloc(gf1_cuda_handle context, size_t size, uint64_t *out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemAlloc_v2(out, size));
}

int gf1_cuda_free(gf1_cuda_handle context, uint64_t address)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemFree_v2(address));
}

int gf1_cuda_host_alloc(gf1_cuda_handle context, size_t size, unsigned int flags, void **out)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemHostAlloc(out, size, flags));
}

int gf1_cuda_host_free(gf1_cuda_handle context, void *memory)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemFreeHost(memory));
}

int gf1_cuda_copy(gf1_cuda_handle context, uint64_t to, uint64_t from, size_t size, gf1_cuda_handle stream)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemcpyAsync(to, from, size, stream));
}

static int fill(uint64_t to, uint32_t value, int width, size_t count, gf1_cuda_handle stream)
{
	switch (width) {
	case 1:
		return gf1_cuda.cuMemsetD8Async(to, (unsigned char)value, count, stream);
	case 2:
		return gf1_cuda.cuMemsetD16Async(to, (unsigned short)value, count, stream);
	default:
		return gf1_cuda.cuMemsetD32Async(to, value, count, stream);
	}
}

int gf1_cuda_fill(gf1_cuda_handle context, uint64_t to, uint32_t value, int width, size_t count, gf1_cuda_handle stream)
{
	GF1_CUDA_IN(context, fill(to, value, width, count, stream));
}

/* The driver writes each value in a width of its own; of a boolean, which is
 * not documented, there is room for any. */
static int pointer(uint64_t address, struct gf1_cuda_pointer *out)
{
	int attributes[] = {
		GF1_CUDA_POINTER_MEMORY_TYPE, GF1_CUDA_POINTER_DEVICE_POINTER, GF1_CUDA_POINTER_HOST_POINTER,
		GF1_CUDA_POINTER_BUFFER_ID,   GF1_CUDA_POINTER_IS_MANAGED,     GF1_CUDA_POINTER_DEVICE_ORDINAL,
		GF1_CUDA_POINTER_RANGE_START, GF1_CUDA_POINTER_RANGE_SIZE,     GF1_CUDA_POINTER_RDMA_CAPABLE,
	};
	uint64_t managed = 0, rdma = 0;
	void *values[] = {
		&out->memory_type, &out->device_pointer, &out->host_pointer, &out->buffer, &managed,
		&out->ordinal,     &out->start,          &out->size,         &rdma,
	};
	int rc = gf1_cuda.cuPointerGetAttributes(sizeof(attributes) / sizeof(*attributes), attributes, values, address);

	out->managed = managed != 0;
	out->rdma_capable = rdma != 0;
	return rc;
}

int gf1_cuda_pointer(gf1_cuda_handle context, uint64_t address, struct gf1_cuda_pointer *out)
{
	memset(out, 0, sizeof(*out));
	GF1_CUDA_IN(context, pointer(address, out));
}

int gf1_cuda_range(gf1_cuda_handle context, uint64_t address, uint64_t *base, size_t *size)
{
	GF1_CUDA_IN(context, gf1_cuda.cuMemGetAddressRange_v2(base, size, address));
}

/* A descriptor that a child process inherited would keep the memory. */
static int dma_buf(uint64_t address, size_t size, int *fd)
{
	int rc = gf1_cuda.cuMemGetHandleForAddressRange(fd, address, size, GF1_CUDA_RANGE_DMA_BUF_FD, 0);

	if (rc == 0) {
		fcntl(*fd, F_SETFD, FD_CLOEXEC);
		gf1_cuda_exported(*fd, address, size);
	}
	return rc;
}

int gf1_cuda_dma_buf(gf1_cuda_handle context, uint64_t address, size_t size, int *fd)
{
	GF1_CUDA_NEED(cuMemGetHandleForAddressRange);
	GF1_CUDA_IN(context, dma_buf(address, size, fd));
}

/* Gives read and write access to the devices one after the other. */
static int give_access(uint64_t address, size_t size, const int32_t *devices, int count)
{
	for (int i = 0; i < count; i++) {
		struct gf1_cuda_access access = {
			.location = {.type = GF1_CUDA_LOCATION_DEVICE, .id = devices[i]},
			.flags = GF1_CUDA_ACCESS_READ_WRITE,
		};
		int rc = gf1_cuda.cuMemSetAccess(address, size, &access, 1);

		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The mapping keeps the memory, so the handle is released in any case. */
static int map(const struct gf1_cuda_memory *memory, size_t size, const int32_t *devices, int count, uint64_t *address)
{
	uint64_t handle;
	int rc = gf1_cuda.cuMemCreate(&handle, size, memory, 0);

	if (rc != 0)
		return rc;
	rc = gf1_cuda.cuMemAddressReserve(address, size, 0, 0, 0);
	if (rc == 0) {
		rc = gf1_cuda.cuMemMap(*address, size, 0, handle, 0);
		if (rc == 0) {
			rc = give_access(*address, size, devices, count);
			if (rc != 0)
				gf1_cuda.cuMemUnmap(*address, size);
		}
		if (rc != 0)
			gf1_cuda.cuMemAddressFree(*address, size);
	}
	gf1_cuda.cuMemRelease(handle);
	return rc;
}

static int map_rounded(const struct gf1_cuda_memory *memory, size_t size, const int32_t *devices, int count,
		       uint64_t *address, size_t *mapped)
{
	size_t grain = 0;
	int rc = gf1_cuda.cuMemGetAllocationGranularity(&grain, memory, GF1_CUDA_GRANULARITY_RECOMMENDED);

	if (rc != 0)
		return rc;
	if (grain == 0 || size > SIZE_MAX - grain)
		return INVALID_VALUE;
	*mapped = (size + grain - 1) / grain * grain;
	return map(memory, *mapped, devices, count, address);
}

int gf1_cuda_map(gf1_cuda_handle context, size_t size, int gpu_direct_rdma, int shareable, const int32_t *devices,
		 int count, uint64_t *address, size_t *mapped)
{
	struct gf1_cuda_memory memory = {
		.type = GF1_CUDA_ALLOCATION_PINNED,
		.handle_types = shareable ? GF1_CUDA_HANDLE_POSIX_FD : 0,
		.location = {.type = GF1_CUDA_LOCATION_DEVICE, .id = devices[0]},
		.flags = {.gpu_direct_rdma = gpu_direct_rdma != 0},
	};

	GF1_CUDA_NEED(cuMemGetAllocationGranularity);
	GF1_CUDA_NEED(cuMemCreate);
	GF1_CUDA_NEED(cuMemRelease);
	GF1_CUDA_NEED(cuMemAddressReserve);
	GF1_CUDA_NEED(cuMemAddressFree);
	GF1_CUDA_NEED(cuMemMap);
	GF1_CUDA_NEED(cuMemUnmap);
	GF1_CUDA_NEED(cuMemSetAccess);
	GF1_CUDA_IN(context, map_rounded(&memory, size, devices, count, address, mapped));
}

static int unmap(uint64_t address, size_t mapped)
{
	int rc = gf1_cuda.cuMemUnmap(address, mapped);

	return rc != 0 ? rc : gf1_cuda.cuMemAddressFree(address, mapped);
}

int gf1_cuda_unmap(gf1_cuda_handle context, uint64_t address, size_t mapped)
{
	GF1_CUDA_IN(context, unmap(address, mapped));
}
