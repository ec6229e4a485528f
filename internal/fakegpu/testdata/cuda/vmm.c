// Virtual memory management: reservations, physical pieces and mappings.
#include "state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRANULARITY (2ul << 20)

struct handle {
	struct handle *next;
	u64 id;
	int fd, device;
	size_t size;
	int refs; // the caller's and one a mapping
	int user_refs;
	CUmemAllocationProp prop;
};

static struct handle *handles;

static struct handle *find(CUmemGenericAllocationHandle id) {
	for (struct handle *h = handles; h != NULL; h = h->next) {
		if (h->id == id && h->user_refs > 0)
			return h;
	}
	return NULL;
}

static void drop(struct handle *h) {
	if (--h->refs > 0)
		return;
	for (struct handle **at = &handles; *at != NULL; at = &(*at)->next) {
		if (*at == h) {
			*at = h->next;
			break;
		}
	}
	close(h->fd);
	gf1_charge(h->device, -(int64_t)h->size);
	gf1_count(GF1_LIVE_DEVICE_MEMORY, -1);
	free(h);
}

struct mapping *gf1_vmm_mapping(struct range *range, size_t offset) {
	for (struct mapping *m = range->mappings; m != NULL; m = m->next) {
		if (offset >= m->offset && offset < m->offset + m->size)
			return m;
	}
	return NULL;
}

bool gf1_vmm_reachable(struct range *range, size_t offset, size_t size) {
	size_t end = offset + size;
	while (offset < end) {
		struct mapping *m = gf1_vmm_mapping(range, offset);
		unsigned any = 0;
		for (int d = 0; m != NULL && d < GF1_MAX_DEVICES; d++)
			any |= m->access[d];
		if (any != 3)
			return false;
		offset = m->offset + m->size;
	}
	return true;
}

int gf1_vmm_fd(struct range *range, size_t offset, size_t size, size_t *file_offset) {
	struct mapping *m = gf1_vmm_mapping(range, offset);
	if (m == NULL || size > m->offset + m->size - offset || !m->handle->prop.allocFlags.gpuDirectRDMACapable)
		return -1;
	*file_offset = m->handle_offset + offset - m->offset;
	return m->handle->fd;
}

static CUresult check_prop(const CUmemAllocationProp *prop) {
	if (prop == NULL || prop->type != 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!gf1_device_ok(prop->location.id))
		return CUDA_ERROR_INVALID_DEVICE;
	if ((prop->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop, int option) {
	ENTER(NULL);
	if (granularity == NULL || option < 0 || option > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*granularity = GRANULARITY;
	return check_prop(prop);
}

CUresult cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags) {
	ENTER(NULL);
	(void)hint;
	if (ptr == NULL || size == 0 || size % GRANULARITY != 0 || flags != 0 || (alignment & (alignment - 1)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (alignment < GRANULARITY)
		alignment = GRANULARITY;
	// Room to align, user addresses first, then the shadow.
	char *block = mmap(NULL, 2 * size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	char *user = (char *)(((uintptr_t)block + alignment - 1) / alignment * alignment);
	if (user > block)
		munmap(block, (size_t)(user - block));
	size_t rest = (size_t)(block + alignment - user);
	if (rest > 0)
		munmap(user + 2 * size, rest);
	int fd = memfd_create("fake-gpu-reservation", MFD_CLOEXEC);
	struct range *r = fd < 0 || ftruncate(fd, 4096) != 0 ? NULL : gf1_map_range(RANGE_VMM, fd, 0, 4096, false);
	if (r == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	// The range is only an entry of the list: its one page gives way to the
	// reservation.
	pthread_mutex_lock(&gf1_lock);
	munmap(r->shadow, 4096);
	munmap(r->user, 4096);
	r->user = user;
	r->shadow = user + size;
	r->size = r->mapping_size = size;
	r->device = -2;
	pthread_mutex_unlock(&gf1_lock);
	*ptr = (CUdeviceptr)(uintptr_t)user;
	gf1_count(GF1_LIVE_RESERVATIONS, 1);
	return CUDA_SUCCESS;
}

static struct range *reservation(CUdeviceptr ptr, size_t size) {
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	if (r == NULL || r->kind != RANGE_VMM || size > r->size - (size_t)((char *)(uintptr_t)ptr - r->user))
		return NULL;
	return r;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	struct range *r = reservation(ptr, size);
	bool ok = r != NULL && r->user == (char *)(uintptr_t)ptr && r->size == size && r->mappings == NULL;
	pthread_mutex_unlock(&gf1_lock);
	if (!ok) {
		gf1_fake_report("cuMemAddressFree of no reservation, of a part of one, or of one that is mapped");
		return CUDA_ERROR_INVALID_VALUE;
	}
	gf1_unmap_range(r);
	gf1_count(GF1_LIVE_RESERVATIONS, -1);
	return CUDA_SUCCESS;
}

static struct handle *add(int fd, size_t size, const CUmemAllocationProp *prop) {
	struct handle *h = calloc(1, sizeof *h);
	h->id = gf1_next_id() + 0x100000000ull;
	h->fd = fd;
	h->size = size;
	h->device = prop->location.id;
	h->prop = *prop;
	h->refs = h->user_refs = 1;
	h->next = handles;
	handles = h;
	gf1_count(GF1_LIVE_DEVICE_MEMORY, 1);
	return h;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop,
	unsigned long long flags) {
	ENTER(NULL);
	CUresult r = check_prop(prop);
	if (r != CUDA_SUCCESS)
		return r;
	if (handle == NULL || size == 0 || size % GRANULARITY != 0 || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	r = gf1_unsafe_call();
	if (r == CUDA_SUCCESS && !gf1_charge(prop->location.id, (int64_t)size))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r == CUDA_SUCCESS) {
		int fd = memfd_create("fake-gpu-memory", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
			gf1_charge(prop->location.id, -(int64_t)size);
			r = CUDA_ERROR_OUT_OF_MEMORY;
		} else {
			*handle = add(fd, size, prop)->id;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	struct handle *h = find(handle);
	if (h != NULL) {
		h->user_refs--;
		drop(h);
	}
	pthread_mutex_unlock(&gf1_lock);
	if (h == NULL)
		gf1_fake_report("cuMemRelease of a handle that is not held");
	return h == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
	unsigned long long flags) {
	ENTER(NULL);
	if (size == 0 || size % GRANULARITY != 0 || ptr % GRANULARITY != 0 || offset % GRANULARITY != 0 || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	CUresult result = CUDA_ERROR_INVALID_VALUE;
	struct range *r = reservation(ptr, size);
	struct handle *h = find(handle);
	size_t at = r == NULL ? 0 : (size_t)((char *)(uintptr_t)ptr - r->user);
	bool taken = false;
	for (struct mapping *m = r == NULL ? NULL : r->mappings; m != NULL; m = m->next)
		taken = taken || (m->offset < at + size && at < m->offset + m->size);
	if (r != NULL && h != NULL && !taken && offset <= h->size && size <= h->size - offset) {
		void *p = mmap(r->shadow + at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, h->fd, (off_t)offset);
		result = p == MAP_FAILED ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
	}
	if (result == CUDA_SUCCESS) {
		struct mapping *m = calloc(1, sizeof *m);
		m->offset = at;
		m->size = size;
		m->handle_offset = offset;
		m->handle = h;
		h->refs++;
		m->next = r->mappings;
		r->mappings = m;
		r->device = h->device;
		r->rdma = h->prop.allocFlags.gpuDirectRDMACapable != 0;
	}
	pthread_mutex_unlock(&gf1_lock);
	return result;
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	struct range *r = reservation(ptr, size);
	size_t at = r == NULL ? 0 : (size_t)((char *)(uintptr_t)ptr - r->user);
	size_t covered = 0;
	for (struct mapping **m = r == NULL ? NULL : &r->mappings; m != NULL && *m != NULL;) {
		struct mapping *one = *m;
		if (one->offset < at || one->offset + one->size > at + size) {
			m = &one->next;
			continue;
		}
		covered += one->size;
		*m = one->next;
		mmap(r->shadow + one->offset, one->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
		drop(one->handle);
		free(one);
	}
	pthread_mutex_unlock(&gf1_lock);
	if (covered != size)
		gf1_fake_report("cuMemUnmap of a range that is not, or not all, mapped");
	return covered == size && size > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc, size_t count) {
	ENTER(NULL);
	if (desc == NULL || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE)
			return CUDA_ERROR_NOT_SUPPORTED;
		if (!gf1_device_ok(desc[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		if (desc[i].flags != 0 && desc[i].flags != 1 && desc[i].flags != 3)
			return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&gf1_lock);
	struct range *r = reservation(ptr, size);
	size_t at = r == NULL ? 0 : (size_t)((char *)(uintptr_t)ptr - r->user);
	size_t covered = 0;
	for (struct mapping *m = r == NULL ? NULL : r->mappings; m != NULL; m = m->next) {
		if (m->offset < at || m->offset + m->size > at + size)
			continue;
		covered += m->size;
		for (size_t i = 0; i < count; i++)
			m->access[desc[i].location.id] = (unsigned)desc[i].flags;
	}
	pthread_mutex_unlock(&gf1_lock);
	return covered == size && size > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr ptr) {
	ENTER(NULL);
	if (flags == NULL || location == NULL || !gf1_device_ok(location->id))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	struct range *r = reservation(ptr, 1);
	struct mapping *m = r == NULL ? NULL : gf1_vmm_mapping(r, (size_t)((char *)(uintptr_t)ptr - r->user));
	if (m != NULL)
		*flags = m->access[location->id];
	pthread_mutex_unlock(&gf1_lock);
	return m == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *shareable, CUmemGenericAllocationHandle handle, int type,
	unsigned long long flags) {
	ENTER(NULL);
	if (shareable == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	struct handle *h = find(handle);
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	if (h != NULL && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && (h->prop.requestedHandleTypes & type) != 0) {
		int fd = fcntl(h->fd, F_DUPFD_CLOEXEC, 0);
		*(int *)shareable = fd;
		r = fd < 0 ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

// Importing a descriptor says nothing about the device: it is the current one.
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *shareable, int type) {
	ENTER(NULL);
	struct stat st;
	if (handle == NULL || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	int fd = fcntl((int)(intptr_t)shareable, F_DUPFD_CLOEXEC, 0);
	if (fd < 0 || fstat(fd, &st) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	CUcontext current = gf1_current();
	CUmemAllocationProp prop = {.type = 1, .requestedHandleTypes = type};
	prop.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, current == NULL ? 0 : current->device};
	prop.allocFlags.gpuDirectRDMACapable = 1;
	pthread_mutex_lock(&gf1_lock);
	gf1_charge(prop.location.id, (int64_t)st.st_size);
	*handle = add(fd, (size_t)st.st_size, &prop)->id;
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	struct handle *h = find(handle);
	if (h != NULL && prop != NULL)
		*prop = h->prop;
	pthread_mutex_unlock(&gf1_lock);
	return h == NULL || prop == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *ptr) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	struct range *r = reservation((CUdeviceptr)(uintptr_t)ptr, 1);
	struct mapping *m = r == NULL ? NULL : gf1_vmm_mapping(r, (size_t)((char *)ptr - r->user));
	if (m != NULL && handle != NULL) {
		m->handle->refs++;
		m->handle->user_refs++;
		*handle = m->handle->id;
	}
	pthread_mutex_unlock(&gf1_lock);
	return m == NULL || handle == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
