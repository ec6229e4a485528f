// Memory of ncclMemAlloc, registrations and windows.
#include "state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct memory {
	struct memory *next;
	CUdeviceptr at;
	size_t size;
} *memory;
static pthread_mutex_t memory_lock = PTHREAD_MUTEX_INITIALIZER;

ncclResult_t ncclMemAlloc(void **ptr, size_t size) {
	FAULT();
	int device = 0, count = 0;
	if (ptr == NULL || size == 0)
		return gf1_fail(ncclInvalidArgument, "ncclMemAlloc : invalid argument");
	ncclResult_t r = gf1_current_device(__func__, &device);
	if (r != ncclSuccess)
		return r;
	CUmemAllocationProp prop = {.type = 1, .requestedHandleTypes = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, device}};
	prop.allocFlags.gpuDirectRDMACapable = 1;
	CUmemGenericAllocationHandle handle;
	CUdeviceptr at = 0;
	size_t granularity = 0;
	CUmemAccessDesc access[16];
	cuDeviceGetCount(&count);
	for (int d = 0; d < count; d++)
		access[d] = (CUmemAccessDesc){{CU_MEM_LOCATION_TYPE_DEVICE, d}, 3};
	CUresult c = cuMemGetAllocationGranularity(&granularity, &prop, 1);
	if (c == CUDA_SUCCESS) {
		size = (size + granularity - 1) / granularity * granularity;
		c = cuMemCreate(&handle, size, &prop, 0);
	}
	if (c != CUDA_SUCCESS)
		return gf1_fail(ncclUnhandledCudaError, "Cuda failure %d in ncclMemAlloc", c);
	c = cuMemAddressReserve(&at, size, 0, 0, 0);
	if (c == CUDA_SUCCESS)
		c = cuMemMap(at, size, 0, handle, 0);
	if (c == CUDA_SUCCESS)
		c = cuMemSetAccess(at, size, access, (size_t)count);
	cuMemRelease(handle);
	if (c != CUDA_SUCCESS)
		return gf1_fail(ncclUnhandledCudaError, "Cuda failure %d in ncclMemAlloc", c);
	struct memory *m = calloc(1, sizeof *m);
	m->at = at;
	m->size = size;
	pthread_mutex_lock(&memory_lock);
	m->next = memory;
	memory = m;
	pthread_mutex_unlock(&memory_lock);
	*ptr = (void *)(uintptr_t)at;
	gf1_count(GF1_LIVE_NCCL_MEMORY, 1);
	gf1_disturb_context();
	return ncclSuccess;
}

ncclResult_t ncclMemFree(void *ptr) {
	FAULT();
	int device = 0;
	if (ptr == NULL)
		return ncclSuccess;
	ncclResult_t r = gf1_current_device(__func__, &device);
	if (r != ncclSuccess)
		return r;
	struct memory *found = NULL;
	pthread_mutex_lock(&memory_lock);
	for (struct memory **at = &memory; *at != NULL && found == NULL; at = &(*at)->next) {
		if ((*at)->at == (CUdeviceptr)(uintptr_t)ptr) {
			found = *at;
			*at = found->next;
			break;
		}
	}
	pthread_mutex_unlock(&memory_lock);
	if (found == NULL) {
		gf1_fake_report("ncclMemFree of memory that is not ncclMemAlloc's, or twice");
		return gf1_fail(ncclInvalidArgument, "ncclMemFree : not an allocation");
	}
	cuCtxSynchronize();
	CUresult c = cuMemUnmap(found->at, found->size);
	if (c == CUDA_SUCCESS)
		c = cuMemAddressFree(found->at, found->size);
	free(found);
	gf1_count(GF1_LIVE_NCCL_MEMORY, -1);
	return c == CUDA_SUCCESS ? ncclSuccess : gf1_fail(ncclUnhandledCudaError, "Cuda failure %d in ncclMemFree", c);
}

struct registration {
	uint32_t magic;
	ncclComm_t comm;
};
#define MAGIC_REGISTRATION 0x52454731u

ncclResult_t ncclCommRegister(const ncclComm_t comm, void *buffer, size_t size, void **handle) {
	FAULT();
	if (buffer == NULL || size == 0 || handle == NULL)
		return gf1_fail(ncclInvalidArgument, "ncclCommRegister : invalid argument");
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	r = gf1_ready(comm, __func__);
	if (r == ncclSuccess && gf1_fake_shadow((CUdeviceptr)(uintptr_t)buffer, size) == NULL)
		r = gf1_fail(ncclUnhandledCudaError, "ncclCommRegister : no memory of a GPU");
	if (r == ncclSuccess) {
		struct registration *reg = calloc(1, sizeof *reg);
		reg->magic = MAGIC_REGISTRATION;
		reg->comm = comm;
		*handle = reg;
		comm->live_registrations++;
		gf1_count(GF1_LIVE_REGISTRATIONS, 1);
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

ncclResult_t ncclCommDeregister(const ncclComm_t comm, void *handle) {
	FAULT();
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	struct registration *reg = handle;
	if (reg == NULL || reg->magic != MAGIC_REGISTRATION || reg->comm != comm) {
		gf1_fake_report("ncclCommDeregister of a handle that rank %d does not have", comm->rank);
		r = gf1_fail(ncclInvalidArgument, "ncclCommDeregister : unknown handle");
	} else {
		reg->magic = MAGIC_GONE;
		comm->live_registrations--;
		gf1_count(GF1_LIVE_REGISTRATIONS, -1);
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

static void unmap_peers(ncclWindow_t w) {
	for (int r = 0; r < MAX_RANKS; r++) {
		if (w->peer[r].base != NULL)
			munmap(w->peer[r].base, w->peer[r].length);
		w->peer[r].base = NULL;
	}
}

static bool map_peer(struct mapped *m, pid_t pid, const struct backing *b) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%llu", (int)pid, (unsigned long long)b->fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	uint64_t start = b->offset / 4096 * 4096;
	m->length = (size_t)(b->offset - start + b->size);
	void *p = mmap(NULL, m->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)start);
	close(fd);
	if (p == MAP_FAILED)
		return false;
	m->base = p;
	m->at = (char *)p + (b->offset - start);
	return true;
}

// gf1_register_window tells the other ranks which file holds the bytes; each maps
// the others'.
ncclResult_t gf1_register_window(struct job *job) {
	ncclComm_t comm = job->comm;
	struct world *world = comm->world;
	int fd = -1;
	ncclWindow_t w = calloc(1, sizeof *w);
	w->magic = MAGIC_WINDOW;
	w->comm = comm;
	w->user = job->buffer;
	w->size = job->size;
	struct backing *mine = &world->member[comm->rank].window;
	bool ok = gf1_fake_backing((CUdeviceptr)(uintptr_t)job->buffer, job->size, &fd, &mine->offset);
	mine->fd = (uint64_t)fd;
	mine->size = ok ? job->size : 0;
	mine->user = (uint64_t)(uintptr_t)job->buffer;
	ncclResult_t r = gf1_barrier(comm, HOST_PLANE);
	for (int i = 0; r == ncclSuccess && i < comm->nranks; i++) {
		struct member *m = &world->member[i];
		w->peer_size[i] = m->window.size;
		w->peer_user[i] = m->pid == getpid() ? m->window.user : 0;
		if (m->window.size == 0 || !map_peer(&w->peer[i], m->pid, &m->window))
			r = gf1_fail(ncclInvalidArgument, "the memory of rank %d cannot be a window", i);
	}
	ncclResult_t barrier = gf1_barrier(comm, HOST_PLANE);
	if (r == ncclSuccess)
		r = barrier;
	if (r == ncclSuccess && comm->windows_len == MAX_WINDOWS)
		r = gf1_fail(ncclInternalError, "the fake has room for %d windows", MAX_WINDOWS);
	if (r != ncclSuccess) {
		unmap_peers(w);
		free(w);
		*job->window = NULL;
		return r;
	}
	w->index = comm->windows_len;
	comm->windows[comm->windows_len++] = w;
	*job->window = w;
	gf1_count(GF1_LIVE_WINDOWS, 1);
	return ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size, ncclWindow_t *window, int flags) {
	FAULT();
	if (buffer == NULL || size == 0 || window == NULL || flags < 0 || flags > 3)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclCommWindowRegister : invalid argument"));
	if ((uintptr_t)buffer % 4096 != 0 && HAS(2, 27, 3))
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclCommWindowRegister : buffer is not aligned to 4096 bytes"));
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	gf1_check_context(comm, __func__);
	gf1_group_open();
	r = gf1_ready(comm, __func__);
	if (r == ncclSuccess) {
		struct job *job = calloc(1, sizeof *job);
		job->comm = comm;
		job->run = gf1_register_window;
		job->buffer = buffer;
		job->size = size;
		job->window = window;
		*window = NULL;
		r = gf1_group_job(job);
		if (r != ncclSuccess)
			free(job);
	}
	gf1_group_fail(r);
	ncclResult_t closed = gf1_group_close();
	/* Success, although a non-blocking one has only begun: NCCL answers so. */
	if (r == ncclSuccess && closed != ncclInProgress)
		r = closed;
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

static bool live(ncclWindow_t w) { return w != NULL && w->magic == MAGIC_WINDOW; }

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
	FAULT();
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	if (!live(window) || window->comm != comm) {
		gf1_fake_report("ncclCommWindowDeregister of a window that rank %d does not have", comm->rank);
		r = gf1_fail(ncclInvalidArgument, "ncclCommWindowDeregister : unknown window");
	} else {
		if (atomic_load(&comm->batches) > 0)
			gf1_fake_report("ncclCommWindowDeregister while work of rank %d is under way", comm->rank);
		window->magic = MAGIC_GONE;
		unmap_peers(window);
		comm->windows[window->index] = NULL;
		gf1_count(GF1_LIVE_WINDOWS, -1);
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t window, void **ptr) {
	FAULT();
	if (comm == NULL || !live(window) || window->comm != comm || ptr == NULL)
		return gf1_fail(ncclInvalidArgument, "ncclWinGetUserPtr : invalid argument");
	*ptr = window->user;
	return ncclSuccess;
}

// A peer in another process has no address here: NULL, as where NCCL cannot
// reach it.
ncclResult_t ncclGetPeerDevicePointer(ncclWindow_t window, size_t offset, int peer, void **ptr) {
	FAULT();
	if (!live(window) || ptr == NULL || peer < 0 || peer >= window->comm->nranks || offset >= window->peer_size[peer])
		return gf1_fail(ncclInvalidArgument, "ncclGetPeerDevicePointer : invalid argument");
	uint64_t user = window->peer_user[peer];
	*ptr = user == 0 ? NULL : (void *)(uintptr_t)(user + offset);
	return ncclSuccess;
}

ncclResult_t ncclGetLsaDevicePointer(ncclWindow_t window, size_t offset, int rank, void **ptr) {
	return ncclGetPeerDevicePointer(window, offset, rank, ptr);
}

ncclResult_t ncclGetLsaMultimemDevicePointer(ncclWindow_t window, size_t offset, void **ptr) {
	FAULT();
	if (!live(window) || ptr == NULL || offset >= window->size)
		return gf1_fail(ncclInvalidArgument, "ncclGetLsaMultimemDevicePointer : invalid argument");
	*ptr = NULL;
	return ncclSuccess;
}
