// Memory that a GPU can reach. Each piece lies in a file of its own (memfd),
// so that other processes can map it. Device memory is mapped twice: its
// addresses are reserved and cannot be read, and the fake works on a shadow.
#include "state.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define SMALL (64ul << 10)

static struct range *ranges;
static unsigned small_count;

struct range *gf1_find_range(const void *ptr) {
	const char *p = ptr;
	for (struct range *r = ranges; r != NULL; r = r->next) {
		if (p >= r->user && p < r->user + r->size)
			return r;
	}
	return NULL;
}

void *gf1_shadow(CUdeviceptr ptr, size_t size) {
	char *p = (char *)(uintptr_t)ptr;
	struct range *r = gf1_find_range(p);
	if (r == NULL || size > r->size - (size_t)(p - r->user))
		return NULL;
	if (r->kind == RANGE_VMM && !gf1_vmm_reachable(r, (size_t)(p - r->user), size))
		return NULL;
	return r->shadow + (p - r->user);
}

struct range *gf1_map_range(enum range_kind kind, int fd, size_t head, size_t size, bool readable) {
	size_t whole = (head + size + PAGE - 1) / PAGE * PAGE;
	char *shadow = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shadow == MAP_FAILED)
		return NULL;
	char *user = shadow;
	if (!readable) {
		user = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (user == MAP_FAILED) {
			munmap(shadow, whole);
			return NULL;
		}
	}
	struct range *r = calloc(1, sizeof *r);
	r->kind = kind;
	r->user = user + head;
	r->shadow = shadow + head;
	r->head = head;
	r->size = size;
	r->mapping_size = whole;
	r->fd = fd;
	r->id = gf1_next_id();
	r->rdma = true;
	pthread_mutex_lock(&gf1_lock);
	r->next = ranges;
	ranges = r;
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

// gf1_unmap_range forgets a range; it is called without the lock.
void gf1_unmap_range(struct range *range) {
	pthread_mutex_lock(&gf1_lock);
	for (struct range **at = &ranges; *at != NULL; at = &(*at)->next) {
		if (*at == range) {
			*at = range->next;
			break;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	if (range->kind != RANGE_REGISTERED) {
		munmap(range->shadow - range->head, range->mapping_size);
		if (range->user != range->shadow)
			munmap(range->user - range->head, range->mapping_size);
		if (range->fd >= 0)
			close(range->fd);
	}
	free(range);
}

static void forget(struct range *r) {
	if (r->kind == RANGE_DEVICE || r->kind == RANGE_MANAGED) {
		gf1_charge(r->device, -(int64_t)r->size);
		gf1_count(GF1_LIVE_DEVICE_MEMORY, -1);
	} else {
		gf1_count(r->kind == RANGE_IPC ? GF1_LIVE_IPC : GF1_LIVE_HOST_MEMORY, -1);
	}
}

// gf1_release_memory frees what a context that ends leaves behind.
void gf1_release_memory(CUcontext context) {
	for (;;) {
		struct range *r = ranges;
		while (r != NULL && (r->context != context || r->kind == RANGE_VMM))
			r = r->next;
		if (r == NULL)
			return;
		forget(r);
		pthread_mutex_unlock(&gf1_lock);
		gf1_unmap_range(r);
		pthread_mutex_lock(&gf1_lock);
	}
}

static struct range *allocate(enum range_kind kind, size_t head, size_t size, bool readable) {
	size_t whole = (head + size + PAGE - 1) / PAGE * PAGE;
	int fd = memfd_create("fake-gpu-memory", MFD_CLOEXEC);
	if (fd < 0)
		return NULL;
	struct range *r = ftruncate(fd, (off_t)whole) == 0 ? gf1_map_range(kind, fd, head, size, readable) : NULL;
	if (r == NULL)
		close(fd);
	return r;
}

// Allocation is ordered with work under way on demand only: GF1_KNOB_ALLOC_SYNC.
static CUresult before_allocation(const char *name) {
	u64 knob = gf1_knob(GF1_KNOB_ALLOC_SYNC);
	pthread_mutex_lock(&gf1_lock);
	CUresult r = gf1_unsafe_call();
	if (r == CUDA_SUCCESS && knob == 2 && !gf1_idle())
		gf1_fake_report("%s while work is under way on a GPU of this process", name);
	if (r == CUDA_SUCCESS && knob == 1)
		gf1_wait_all();
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

static CUresult device_memory(CUcontext context, enum range_kind kind, CUdeviceptr *ptr, size_t size, bool readable) {
	if (ptr == NULL || size == 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	bool fits = gf1_charge(context->device, (int64_t)size);
	// The driver packs small pieces into blocks: their addresses are not a
	// page's.
	size_t head = size < SMALL ? 512 * (small_count++ % 8) : 0;
	pthread_mutex_unlock(&gf1_lock);
	struct range *r = fits ? allocate(kind, head, size, readable) : NULL;
	if (r == NULL) {
		pthread_mutex_lock(&gf1_lock);
		gf1_charge(context->device, fits ? -(int64_t)size : 0);
		pthread_mutex_unlock(&gf1_lock);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	r->context = context;
	r->device = context->device;
	*ptr = (CUdeviceptr)(uintptr_t)r->user;
	gf1_count(GF1_LIVE_DEVICE_MEMORY, 1);
	return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *ptr, size_t size) {
	CUcontext context;
	ENTER(&context);
	CUresult r = before_allocation(__func__);
	return r != CUDA_SUCCESS ? r : device_memory(context, RANGE_DEVICE, ptr, size, false);
}

CUresult cuMemAllocManaged(CUdeviceptr *ptr, size_t size, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	if (flags != 1 && flags != 2)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = before_allocation(__func__);
	return r != CUDA_SUCCESS ? r : device_memory(context, RANGE_MANAGED, ptr, size, true);
}

// Freeing waits for the context's work, as the driver's does.
CUresult cuMemFree_v2(CUdeviceptr ptr) {
	CUcontext context;
	ENTER(&context);
	if (ptr == 0)
		return CUDA_SUCCESS;
	CUresult r = before_allocation(__func__);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	struct range *range = gf1_find_range((void *)(uintptr_t)ptr);
	if (range == NULL || (range->kind != RANGE_DEVICE && range->kind != RANGE_MANAGED) ||
		range->user != (char *)(uintptr_t)ptr) {
		pthread_mutex_unlock(&gf1_lock);
		gf1_fake_report("cuMemFree of an address that is no allocation, or twice");
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (range->context->alive)
		gf1_wait_context(range->context);
	gf1_charge(range->device, -(int64_t)range->size);
	pthread_mutex_unlock(&gf1_lock);
	gf1_unmap_range(range);
	gf1_count(GF1_LIVE_DEVICE_MEMORY, -1);
	return CUDA_SUCCESS;
}

static CUresult run_free(struct work *w) {
	pthread_mutex_lock(&gf1_lock);
	struct range *range = gf1_find_range(w->a);
	if (range != NULL)
		gf1_charge(range->device, -(int64_t)range->size);
	pthread_mutex_unlock(&gf1_lock);
	if (range == NULL)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	gf1_unmap_range(range);
	gf1_count(GF1_LIVE_DEVICE_MEMORY, -1);
	return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *ptr, size_t size, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r == CUDA_SUCCESS && stream->capture != NULL)
		r = CUDA_ERROR_NOT_SUPPORTED; // memory nodes: the fake has none
	return r != CUDA_SUCCESS ? r : device_memory(context, RANGE_DEVICE, ptr, size, false);
}

CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	struct range *range = gf1_find_range((void *)(uintptr_t)ptr);
	if (range == NULL || range->kind != RANGE_DEVICE || range->user != (char *)(uintptr_t)ptr) {
		r = CUDA_ERROR_INVALID_VALUE;
	} else {
		struct work *w = gf1_new_work(stream->context, run_free);
		w->a = range->user;
		r = gf1_submit(stream, w);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

// gf1_fake_shadow, gf1_fake_backing and gf1_fake_fail_context are what the fake
// NCCL needs of the driver besides its interface: where bytes can be reached,
// which file holds them, and a kernel's fault.
void *gf1_fake_shadow(CUdeviceptr ptr, size_t size) {
	pthread_mutex_lock(&gf1_lock);
	void *p = gf1_shadow(ptr, size);
	pthread_mutex_unlock(&gf1_lock);
	return p;
}

bool gf1_fake_backing(CUdeviceptr ptr, size_t size, int *fd, u64 *offset) {
	size_t at = 0;
	*fd = -1;
	pthread_mutex_lock(&gf1_lock);
	char *p = (char *)(uintptr_t)ptr;
	struct range *r = gf1_find_range(p);
	if (r != NULL && r->kind == RANGE_VMM) {
		*fd = gf1_vmm_fd(r, (size_t)(p - r->user), size, &at);
	} else if (r != NULL && size <= r->size - (size_t)(p - r->user)) {
		*fd = r->fd;
		at = (size_t)(p - r->user) + r->head;
	}
	pthread_mutex_unlock(&gf1_lock);
	*offset = at;
	return *fd >= 0;
}

void gf1_fake_fail_context(CUcontext context, CUresult error) {
	pthread_mutex_lock(&gf1_lock);
	if (context->sticky == CUDA_SUCCESS)
		context->sticky = error;
	pthread_mutex_unlock(&gf1_lock);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr) {
	CUcontext context;
	ENTER(&context);
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	if (r != NULL) {
		size_t offset = (size_t)((char *)(uintptr_t)ptr - r->user);
		struct mapping *m = r->kind == RANGE_VMM ? gf1_vmm_mapping(r, offset) : NULL;
		if (base != NULL)
			*base = (CUdeviceptr)(uintptr_t)r->user + (m != NULL ? m->offset : 0);
		if (size != NULL)
			*size = m != NULL ? m->size : r->size;
		if (r->kind == RANGE_VMM && m == NULL)
			r = NULL;
	}
	pthread_mutex_unlock(&gf1_lock);
	return r == NULL ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuMemHostAlloc(void **ptr, size_t size, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	if (ptr == NULL || size == 0 || flags > 7)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = before_allocation(__func__);
	if (result != CUDA_SUCCESS)
		return result;
	struct range *r = allocate(RANGE_HOST, 0, size, true);
	if (r == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	r->context = context;
	r->device = context->device;
	r->flags = flags;
	*ptr = r->user;
	gf1_count(GF1_LIVE_HOST_MEMORY, 1);
	return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **ptr, size_t size) { return cuMemHostAlloc(ptr, size, 0); }

static CUresult host_gone(void *ptr, enum range_kind kind, CUresult missing) {
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range(ptr);
	bool ok = r != NULL && r->kind == kind && r->user == ptr;
	if (ok && r->context->alive)
		gf1_wait_context(r->context);
	pthread_mutex_unlock(&gf1_lock);
	if (!ok) {
		gf1_fake_report("pinned host memory is released that is not held, or twice");
		return missing;
	}
	gf1_unmap_range(r);
	gf1_count(GF1_LIVE_HOST_MEMORY, -1);
	return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *ptr) {
	CUcontext context;
	ENTER(&context);
	if (ptr == NULL)
		return CUDA_SUCCESS;
	CUresult r = before_allocation(__func__);
	return r != CUDA_SUCCESS ? r : host_gone(ptr, RANGE_HOST, CUDA_ERROR_INVALID_VALUE);
}

CUresult cuMemHostRegister_v2(void *ptr, size_t size, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	if (ptr == NULL || size == 0 || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	struct range *r = calloc(1, sizeof *r);
	r->kind = RANGE_REGISTERED;
	r->user = r->shadow = ptr;
	r->size = size;
	r->fd = -1;
	r->flags = flags;
	r->context = context;
	r->device = context->device;
	r->id = gf1_next_id();
	pthread_mutex_lock(&gf1_lock);
	bool taken = gf1_find_range(ptr) != NULL || gf1_find_range((char *)ptr + size - 1) != NULL;
	if (!taken) {
		r->next = ranges;
		ranges = r;
	}
	pthread_mutex_unlock(&gf1_lock);
	if (taken) {
		free(r);
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	}
	gf1_count(GF1_LIVE_HOST_MEMORY, 1);
	return CUDA_SUCCESS;
}

CUresult cuMemHostUnregister(void *ptr) {
	CUcontext context;
	ENTER(&context);
	return host_gone(ptr, RANGE_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *device, void *ptr, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	if (device == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range(ptr);
	bool ok = r != NULL && (r->kind == RANGE_HOST || r->kind == RANGE_REGISTERED);
	pthread_mutex_unlock(&gf1_lock);
	*device = ok ? (CUdeviceptr)(uintptr_t)ptr : 0;
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *ptr) {
	CUcontext context;
	ENTER(&context);
	pthread_mutex_lock(&gf1_lock);
	struct range *r = gf1_find_range(ptr);
	bool ok = r != NULL && r->kind == RANGE_HOST;
	if (ok)
		*flags = r->flags;
	pthread_mutex_unlock(&gf1_lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
