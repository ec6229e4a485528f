// What is known about an address, and its export to other processes and devices.
#include "state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct ipc_memory {
	char tag[8];
	u64 pid, fd, head, size, device;
};

static CUresult attribute(void *value, int attribute, CUdeviceptr ptr, bool lenient) {
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	if (r == NULL) {
		if (!lenient || attribute < 1 || attribute > 20)
			return CUDA_ERROR_INVALID_VALUE;
		// cuPointerGetAttributes answers zeros for memory it does not know.
		static const size_t sizes[] = {0, 8, 4, 8, 8, 16, 4, 8, 4, 4, 4, 8, 8, 4, 8, 4, 4, 8, 8, 8, 8};
		memset(value, 0, sizes[attribute]);
		if (attribute == 9)
			*(int *)value = -2;
		return CUDA_SUCCESS;
	}
	bool host = r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED;
	struct mapping *m = r->kind == RANGE_VMM ? gf1_vmm_mapping(r, (size_t)((char *)(uintptr_t)ptr - r->user)) : NULL;
	switch (attribute) {
	case 1:
		*(CUcontext *)value = r->kind == RANGE_VMM ? NULL : r->context;
		break;
	case 2:
		*(int *)value = host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case 3:
		*(CUdeviceptr *)value = ptr;
		break;
	case 4:
		if (!host && r->kind != RANGE_MANAGED)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)value = (void *)(uintptr_t)ptr;
		break;
	case 6:
		*(int *)value = r->sync_memops;
		break;
	case 7:
		*(u64 *)value = r->id;
		break;
	case 8:
		*(int *)value = r->kind == RANGE_MANAGED;
		break;
	case 9:
		*(int *)value = r->device;
		break;
	case 10:
		*(int *)value = r->kind == RANGE_DEVICE;
		break;
	case 11:
		*(CUdeviceptr *)value = (CUdeviceptr)(uintptr_t)r->user + (m != NULL ? m->offset : 0);
		break;
	case 12:
		*(size_t *)value = m != NULL ? m->size : r->size;
		break;
	case 13:
		*(int *)value = r->kind != RANGE_VMM || m != NULL;
		break;
	case 14:
		*(u64 *)value = r->kind == RANGE_VMM ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : 0;
		break;
	case 15:
		*(int *)value = r->kind == RANGE_DEVICE || (m != NULL && r->rdma);
		break;
	case 16:
		*(int *)value = 3;
		break;
	default:
		return attribute > 0 && attribute <= 20 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void *value, int which, CUdeviceptr ptr) {
	ENTER(NULL);
	if (value == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	CUresult r = attribute(value, which, ptr, false);
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuPointerGetAttributes(unsigned int count, int *attributes, void **values, CUdeviceptr ptr) {
	ENTER(NULL);
	if (attributes == NULL || values == NULL || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	CUresult r = CUDA_SUCCESS;
	for (unsigned i = 0; i < count; i++) {
		CUresult one = attribute(values[i], attributes[i], ptr, true);
		if (one == CUDA_ERROR_INVALID_VALUE && attributes[i] == 4)
			*(void **)values[i] = NULL;
		else if (one != CUDA_SUCCESS)
			r = one;
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuPointerSetAttribute(const void *value, int which, CUdeviceptr ptr) {
	ENTER(NULL);
	if (value == NULL || which != 6)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	if (r != NULL)
		r->sync_memops = *(const int *)value != 0;
	pthread_mutex_unlock(&gf1_lock);
	return r == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

// The stand-in for a dma-buf is the file that holds the bytes, so offset 0 of
// the descriptor is the start of the allocation's mapping: a range that begins
// in a later page cannot be exported.
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr ptr, size_t size, int type, unsigned long long flags) {
	CUcontext context;
	ENTER(&context);
	if (handle == NULL || size == 0 || ptr % 4096 != 0 || size % 4096 != 0 || type != 1 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	int supported = 0;
	cuDeviceGetAttribute(&supported, 124, context->device);
	if (!supported)
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&gf1_lock);
	char *p = (char *)(uintptr_t)ptr;
	struct range *r = gf1_find_range(p);
	if (r == NULL) // the page in which a small piece begins
		r = gf1_find_range(p + 4095);
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	size_t at = 0;
	int fd = -1;
	if (r != NULL && r->kind == RANGE_VMM) {
		fd = gf1_vmm_fd(r, (size_t)(p - r->user), size, &at);
	} else if (r != NULL && r->kind == RANGE_DEVICE && size <= r->mapping_size) {
		at = (size_t)(p - (r->user - r->head));
		fd = at + size <= r->mapping_size ? r->fd : -1;
	}
	if (fd >= 0) {
		int copy = at == 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
		result = at != 0 ? CUDA_ERROR_NOT_SUPPORTED : copy < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
		*(int *)handle = copy;
	}
	pthread_mutex_unlock(&gf1_lock);
	return result;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr) {
	CUcontext context;
	ENTER(&context);
	if (handle == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	bool ok = r != NULL && r->kind == RANGE_DEVICE;
	struct ipc_memory ipc = {.tag = "fakemem", .pid = (u64)getpid()};
	if (ok) {
		ipc.fd = (u64)r->fd;
		ipc.head = r->head;
		ipc.size = r->size;
		ipc.device = (u64)r->device;
	}
	pthread_mutex_unlock(&gf1_lock);
	memset(handle, 0, sizeof *handle);
	memcpy(handle, &ipc, sizeof ipc);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ptr, CUipcMemHandle handle, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	struct ipc_memory ipc;
	memcpy(&ipc, &handle, sizeof ipc);
	if (ptr == NULL || flags != 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (memcmp(ipc.tag, "fakemem", 8) != 0)
		return CUDA_ERROR_INVALID_HANDLE;
	if (ipc.pid == (u64)getpid())
		return CUDA_ERROR_INVALID_CONTEXT; // not in the process that made it
	char path[64];
	snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)ipc.pid, (unsigned long long)ipc.fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_MAP_FAILED;
	struct range *r = gf1_map_range(RANGE_IPC, fd, ipc.head, ipc.size, false);
	if (r == NULL) {
		close(fd);
		return CUDA_ERROR_MAP_FAILED;
	}
	r->context = context;
	r->device = (int)ipc.device;
	*ptr = (CUdeviceptr)(uintptr_t)r->user;
	gf1_count(GF1_LIVE_IPC, 1);
	return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr ptr) {
	CUcontext context;
	ENTER(&context);
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	bool ok = r != NULL && r->kind == RANGE_IPC && r->user == (char *)(uintptr_t)ptr;
	if (ok && r->context->alive)
		gf1_wait_context(r->context);
	pthread_mutex_unlock(&gf1_lock);
	if (!ok) {
		gf1_fake_report("cuIpcCloseMemHandle of an address that is not open, or twice");
		return CUDA_ERROR_INVALID_VALUE;
	}
	gf1_unmap_range(r);
	gf1_count(GF1_LIVE_IPC, -1);
	return CUDA_SUCCESS;
}
