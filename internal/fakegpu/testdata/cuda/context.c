#include "state.h"

#include <stdlib.h>

pthread_mutex_t gf1_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t gf1_changed = PTHREAD_COND_INITIALIZER;

#define STACK 32
static __thread CUcontext stack[STACK];
static __thread int depth;
static __thread bool in_callback;

static struct CUctx_st primaries[GF1_MAX_DEVICES];
static CUcontext all[1024];
static int all_len;
static _Atomic u64 last_id;

bool gf1_in_callback(void) { return in_callback; }
void gf1_set_in_callback(bool in) { in_callback = in; }
u64 gf1_next_id(void) { return atomic_fetch_add(&last_id, 1) + 1; }
CUcontext gf1_current(void) { return depth == 0 ? NULL : stack[depth - 1]; }
CUcontext gf1_primary(int device) { return &primaries[device]; }

CUresult gf1_enter(const char *name, CUcontext *context) {
	int code;
	if (gf1_fake_fault(name, &code))
		return code;
	if (in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	pthread_mutex_lock(&gf1_lock);
	CUresult result = gf1_devices < 0 ? CUDA_ERROR_NOT_INITIALIZED : CUDA_SUCCESS;
	if (result == CUDA_SUCCESS && context != NULL) {
		CUcontext current = gf1_current();
		if (current == NULL)
			result = CUDA_ERROR_INVALID_CONTEXT;
		else if (!current->alive)
			result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
		else
			result = current->sticky;
		*context = current;
	}
	pthread_mutex_unlock(&gf1_lock);
	return result;
}

static bool valid(CUcontext context) { return context != NULL && context->magic == MAGIC_CONTEXT; }

static void start(CUcontext context, int device) {
	context->magic = MAGIC_CONTEXT;
	context->device = device;
	context->alive = true;
	context->id = gf1_next_id();
	context->sticky = CUDA_SUCCESS;
	context->peers = 0;
	context->streams = NULL;
	context->null_stream = gf1_new_stream(context, 0, 0);
	context->null_stream->legacy = true;
	bool known = false;
	for (int i = 0; i < all_len; i++)
		known = known || all[i] == context;
	if (!known && all_len < (int)(sizeof all / sizeof all[0]))
		all[all_len++] = context;
	gf1_count(GF1_CONTEXTS_CREATED + device, 1);
	gf1_count(GF1_CONTEXTS_LIVE + device, 1);
}

static void stop(CUcontext context) {
	gf1_wait_context(context);
	gf1_close_streams(context);
	gf1_release_modules(context);
	gf1_release_memory(context);
	context->alive = false;
	context->refs = 0;
	gf1_count(GF1_CONTEXTS_LIVE + context->device, -1);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
	ENTER(NULL);
	if (context == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&gf1_lock);
	CUcontext p = &primaries[device];
	if (!p->alive) {
		p->primary = true;
		start(p, device);
	}
	p->refs++;
	*context = p;
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
	ENTER(NULL);
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&gf1_lock);
	CUcontext p = &primaries[device];
	if (!p->alive || p->refs == 0)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else if (--p->refs == 0)
		stop(p);
	pthread_mutex_unlock(&gf1_lock);
	return result;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
	ENTER(NULL);
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&gf1_lock);
	if (primaries[device].alive)
		stop(&primaries[device]);
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags) {
	ENTER(NULL);
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if ((flags & ~0xffu) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	primaries[device].flags = flags;
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active) {
	ENTER(NULL);
	if (flags == NULL || active == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&gf1_lock);
	*flags = primaries[device].flags;
	*active = primaries[device].alive;
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

static CUresult push(CUcontext context) {
	if (depth == STACK)
		return CUDA_ERROR_INVALID_VALUE;
	stack[depth++] = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device) {
	ENTER(NULL);
	if (context == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	CUcontext c = calloc(1, sizeof *c);
	if (c == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&gf1_lock);
	c->flags = flags;
	start(c, device);
	pthread_mutex_unlock(&gf1_lock);
	*context = c;
	return push(c);
}

CUresult cuCtxCreate_v4(CUcontext *context, void *params, unsigned int flags, CUdevice device) {
	return params != NULL ? CUDA_ERROR_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext context) {
	ENTER(NULL);
	if (!valid(context) || context->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&gf1_lock);
	CUresult result = context->alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (result == CUDA_SUCCESS)
		stop(context);
	pthread_mutex_unlock(&gf1_lock);
	if (gf1_current() == context)
		depth--;
	return result;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
	ENTER(NULL);
	if (!valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context->alive)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return push(context);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
	ENTER(NULL);
	if (depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (context != NULL)
		*context = stack[depth];
	return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
	ENTER(NULL);
	if (context == NULL) {
		if (depth > 0)
			depth--;
		return CUDA_SUCCESS;
	}
	if (!valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!context->alive)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (depth == 0)
		return push(context);
	stack[depth - 1] = context;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
	ENTER(NULL);
	if (context == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*context = gf1_current();
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
	CUcontext context;
	ENTER(&context);
	if (device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context) {
	if (context == NULL)
		return cuCtxGetDevice(device);
	ENTER(NULL);
	if (device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*device = context->device;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext context, unsigned long long *id) {
	ENTER(NULL);
	if (context == NULL)
		context = gf1_current();
	if (!valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*id = context->id;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int *flags) {
	CUcontext context;
	ENTER(&context);
	*flags = context->flags;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version) {
	ENTER(NULL);
	if (context != NULL && !valid(context))
		return CUDA_ERROR_INVALID_CONTEXT;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, int limit) {
	CUcontext context;
	ENTER(&context);
	if (limit < 0 || limit > 6)
		return CUDA_ERROR_INVALID_VALUE;
	*value = 1024;
	return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(int limit, size_t value) {
	CUcontext context;
	ENTER(&context);
	return limit < 0 || limit > 6 || value == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
	CUcontext context;
	ENTER(&context);
	if (least != NULL)
		*least = 0;
	if (greatest != NULL)
		*greatest = -5;
	return CUDA_SUCCESS;
}

CUresult gf1_wait_context(CUcontext context) {
	for (CUstream s = context->streams; s != NULL; s = s->next)
		gf1_wait_stream(s, s->queued);
	return context->sticky;
}

void gf1_wait_all(void) {
	for (int i = 0; i < all_len; i++) {
		if (all[i]->alive)
			gf1_wait_context(all[i]);
	}
}

bool gf1_idle(void) {
	for (int i = 0; i < all_len; i++) {
		for (CUstream s = all[i]->alive ? all[i]->streams : NULL; s != NULL; s = s->next) {
			if (s->done < s->queued)
				return false;
		}
	}
	return true;
}

static CUresult synchronize(CUcontext context) {
	CUresult result = CUDA_SUCCESS;
	pthread_mutex_lock(&gf1_lock);
	for (CUstream s = context->streams; s != NULL; s = s->next) {
		if (s->capture != NULL)
			result = gf1_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	}
	if (result == CUDA_SUCCESS)
		result = gf1_wait_context(context);
	pthread_mutex_unlock(&gf1_lock);
	return result;
}

CUresult cuCtxSynchronize(void) {
	CUcontext context;
	ENTER(&context);
	return synchronize(context);
}

CUresult cuCtxSynchronize_v2(CUcontext context) {
	if (context == NULL)
		return cuCtxSynchronize();
	ENTER(NULL);
	return valid(context) ? synchronize(context) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!valid(peer) || peer->device == context->device)
		return CUDA_ERROR_INVALID_DEVICE;
	int can = 0;
	cuDeviceCanAccessPeer(&can, context->device, peer->device);
	if (!can)
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	pthread_mutex_lock(&gf1_lock);
	unsigned bit = 1u << peer->device;
	CUresult result = context->peers & bit ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
	context->peers |= bit;
	pthread_mutex_unlock(&gf1_lock);
	return result;
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
	CUcontext context;
	ENTER(&context);
	if (!valid(peer))
		return CUDA_ERROR_INVALID_CONTEXT;
	pthread_mutex_lock(&gf1_lock);
	unsigned bit = 1u << peer->device;
	CUresult result = context->peers & bit ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	context->peers &= ~bit;
	pthread_mutex_unlock(&gf1_lock);
	return result;
}
