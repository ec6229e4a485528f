// Copies and fills. Host memory that is not pinned is staged, as by the driver:
// a copy from it has read it, and a copy to it has written it, when the call
// returns.
#include "state.h"

#include <stdlib.h>
#include <string.h>

static CUresult run_copy(struct work *w) {
	memmove(w->a, w->b, w->n);
	return CUDA_SUCCESS;
}

static void drop_staging(struct work *w) { free(w->b); }

static CUresult run_fill(struct work *w) {
	char *to = w->a;
	for (u64 i = 0; i < w->n; i++)
		memcpy(to + i * w->width, &w->value, w->width);
	return CUDA_SUCCESS;
}

// end is where a copy starts or ends: device-visible memory, or plain host
// memory where the call allows it.
struct end {
	void *at;
	bool pageable, ok;
};

static struct end resolve(CUdeviceptr ptr, size_t size, bool host_allowed) {
	struct range *r = gf1_find_range((void *)(uintptr_t)ptr);
	struct end e = {.at = (void *)(uintptr_t)ptr, .ok = ptr != 0};
	if (r != NULL) {
		e.at = gf1_shadow(ptr, size);
		e.ok = e.at != NULL;
	} else {
		e.pageable = true;
		e.ok = e.ok && host_allowed;
	}
	return e;
}

enum { HOST_FROM = 1, HOST_TO = 2 };

static CUresult copy(CUcontext context, CUstream handle, CUdeviceptr to, CUdeviceptr from, size_t size, int host, bool wait) {
	CUstream s;
	CUresult r = gf1_resolve(context, handle, &s);
	if (r != CUDA_SUCCESS || size == 0)
		return r;
	pthread_mutex_lock(&gf1_lock);
	struct end source = resolve(from, size, host & HOST_FROM);
	struct end target = resolve(to, size, host & HOST_TO);
	if (!source.ok || !target.ok) {
		pthread_mutex_unlock(&gf1_lock);
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (wait)
		r = gf1_unsafe_call();
	if (r == CUDA_SUCCESS && wait)
		r = gf1_stream_check(s);
	if (r != CUDA_SUCCESS) {
		pthread_mutex_unlock(&gf1_lock);
		return r;
	}
	struct work *w = gf1_new_work(s->context, run_copy);
	w->a = target.at;
	w->b = source.at;
	w->n = size;
	bool capturing = s->capture != NULL;
	if (source.pageable && !capturing && !wait) {
		w->b = malloc(size);
		memcpy(w->b, source.at, size);
		w->drop = drop_staging;
	}
	r = gf1_submit(s, w);
	if (r == CUDA_SUCCESS && (wait || (target.pageable && !capturing)))
		r = gf1_wait_stream(s, s->queued);
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
	CUcontext context;
	ENTER(&context);
	return copy(context, NULL, to, from, size, HOST_FROM | HOST_TO, true);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	return copy(context, stream, to, from, size, HOST_FROM | HOST_TO, false);
}

static CUresult peers(CUcontext a, CUcontext b) {
	if (a == NULL || b == NULL || a->magic != MAGIC_CONTEXT || b->magic != MAGIC_CONTEXT || !a->alive || !b->alive)
		return CUDA_ERROR_INVALID_CONTEXT;
	return CUDA_SUCCESS;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size) {
	CUcontext context;
	ENTER(&context);
	CUresult r = peers(to_context, from_context);
	return r != CUDA_SUCCESS ? r : copy(context, NULL, to, from, size, 0, true);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t size,
	CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = peers(to_context, from_context);
	return r != CUDA_SUCCESS ? r : copy(context, stream, to, from, size, 0, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
	CUcontext context;
	ENTER(&context);
	return copy(context, NULL, to, (CUdeviceptr)(uintptr_t)from, size, HOST_FROM, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	return copy(context, stream, to, (CUdeviceptr)(uintptr_t)from, size, HOST_FROM, false);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
	CUcontext context;
	ENTER(&context);
	return copy(context, NULL, (CUdeviceptr)(uintptr_t)to, from, size, HOST_TO, true);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	return copy(context, stream, (CUdeviceptr)(uintptr_t)to, from, size, HOST_TO, false);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
	CUcontext context;
	ENTER(&context);
	return copy(context, NULL, to, from, size, 0, true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	return copy(context, stream, to, from, size, 0, false);
}

static CUresult fill(CUcontext context, CUstream handle, CUdeviceptr to, unsigned value, unsigned width, size_t count, bool wait) {
	CUstream s;
	CUresult r = gf1_resolve(context, handle, &s);
	if (r != CUDA_SUCCESS || count == 0)
		return r;
	if (to % width != 0 || count > SIZE_MAX / width)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	void *at = gf1_shadow(to, count * width);
	r = at == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	if (r == CUDA_SUCCESS && wait)
		r = gf1_stream_check(s);
	if (r == CUDA_SUCCESS) {
		struct work *w = gf1_new_work(s->context, run_fill);
		w->a = at;
		w->value = value;
		w->width = width;
		w->n = count;
		r = gf1_submit(s, w);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

#define FILL(name, type, width)                                                      \
	CUresult name##_v2(CUdeviceptr to, type value, size_t count) {                   \
		CUcontext context;                                                           \
		ENTER(&context);                                                             \
		return fill(context, NULL, to, value, width, count, true);                   \
	}                                                                                \
	CUresult name##Async(CUdeviceptr to, type value, size_t count, CUstream stream) { \
		CUcontext context;                                                           \
		ENTER(&context);                                                             \
		return fill(context, stream, to, value, width, count, false);                \
	}

FILL(cuMemsetD8, unsigned char, 1)
FILL(cuMemsetD16, unsigned short, 2)
FILL(cuMemsetD32, unsigned int, 4)
