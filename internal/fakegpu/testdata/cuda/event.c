#include "state.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

// An event of several processes lives in a file that each of them maps.
struct shared_event {
	_Atomic u64 recorded, done;
};

static CUresult check(CUevent event) {
	if (event == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (event->magic != MAGIC_EVENT) {
		gf1_fake_report("a destroyed event is used");
		return CUDA_ERROR_INVALID_HANDLE;
	}
	return CUDA_SUCCESS;
}

static CUevent new_event(CUcontext context, unsigned flags) {
	CUevent e = calloc(1, sizeof *e);
	e->magic = MAGIC_EVENT;
	e->context = context;
	e->flags = flags;
	gf1_count(GF1_LIVE_EVENTS, 1);
	return e;
}

static struct shared_event *map_shared(int fd) {
	void *p = mmap(NULL, sizeof(struct shared_event), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct ipc_event {
	char tag[8];
	u64 pid, fd;
};

static int shared_fds[256];
static struct shared_event *shared_maps[256];
static int shared_len;

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	if (event == NULL || (flags & ~7u) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	CUevent e = new_event(context, flags);
	if (flags & CU_EVENT_INTERPROCESS) {
		int fd = memfd_create("fake-event", MFD_CLOEXEC);
		if (fd < 0 || ftruncate(fd, 4096) != 0 || (e->shared = map_shared(fd)) == NULL)
			return CUDA_ERROR_OPERATING_SYSTEM;
		pthread_mutex_lock(&gf1_lock);
		if (shared_len < 256) {
			shared_fds[shared_len] = fd;
			shared_maps[shared_len++] = e->shared;
		}
		pthread_mutex_unlock(&gf1_lock);
	}
	*event = e;
	return CUDA_SUCCESS;
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event) {
	CUcontext context;
	ENTER(&context);
	CUresult r = check(event);
	if (r != CUDA_SUCCESS)
		return r;
	if (event->shared == NULL || event->imported)
		return CUDA_ERROR_INVALID_HANDLE;
	struct ipc_event ipc = {.tag = "fakeevt", .pid = (u64)getpid()};
	r = CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&gf1_lock);
	for (int i = 0; i < shared_len; i++) {
		if (shared_maps[i] == event->shared) {
			ipc.fd = (u64)shared_fds[i];
			r = CUDA_SUCCESS;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	memset(handle, 0, sizeof *handle);
	memcpy(handle, &ipc, sizeof ipc);
	return r;
}

CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle) {
	CUcontext context;
	ENTER(&context);
	struct ipc_event ipc;
	memcpy(&ipc, &handle, sizeof ipc);
	if (memcmp(ipc.tag, "fakeevt", 8) != 0)
		return CUDA_ERROR_INVALID_HANDLE;
	if (ipc.pid == (u64)getpid())
		return CUDA_ERROR_INVALID_CONTEXT; // not in the process that made it
	char path[64];
	snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)ipc.pid, (unsigned long long)ipc.fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return CUDA_ERROR_MAP_FAILED;
	CUevent e = new_event(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
	e->shared = map_shared(fd);
	e->imported = true;
	close(fd);
	*event = e;
	return e->shared == NULL ? CUDA_ERROR_MAP_FAILED : CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
	ENTER(NULL);
	CUresult r = check(event);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	event->magic = MAGIC_DEAD;
	free(event->frontier);
	event->frontier = NULL;
	for (int i = 0; i < shared_len; i++) {
		if (shared_maps[i] == event->shared && !event->imported) {
			close(shared_fds[i]);
			shared_fds[i] = shared_fds[--shared_len];
			shared_maps[i] = shared_maps[shared_len];
			break;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	gf1_count(GF1_LIVE_EVENTS, -1);
	return CUDA_SUCCESS;
}

static CUresult run_record(struct work *w) {
	CUevent e = w->a;
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	pthread_mutex_lock(&gf1_lock);
	if (w->value > e->done) {
		e->done = w->value;
		e->nanoseconds = t.tv_sec * 1000000000ll + t.tv_nsec;
	}
	if (e->shared != NULL)
		atomic_store(&e->shared->done, w->n);
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	CUresult r = check(event);
	if (r == CUDA_SUCCESS)
		r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	if (event->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&gf1_lock);
	if (stream->capture != NULL && flags == 0) {
		if (stream->capture->invalid)
			r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		else
			gf1_capture_record(stream, event);
	} else {
		event->capture = NULL;
		struct work *w = gf1_new_work(stream->context, run_record);
		w->always = true;
		w->a = event;
		w->value = event->recorded + 1;
		if (event->shared != NULL)
			w->n = atomic_fetch_add(&event->shared->recorded, 1) + 1;
		r = gf1_submit(stream, w);
		if (r == CUDA_SUCCESS && stream->capture == NULL) {
			event->recorded++;
			event->stream = stream;
			event->seq = stream->queued;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }

static bool finished(CUevent e) {
	if (e->shared != NULL)
		return atomic_load(&e->shared->done) >= atomic_load(&e->shared->recorded);
	return e->done >= e->recorded;
}

static CUresult captured(CUevent e) {
	if (e->capture == NULL)
		return CUDA_SUCCESS;
	for (struct capture *c = gf1_captures; c != NULL; c = c->next) {
		if (c == e->capture)
			return gf1_invalidate(c->origin, CUDA_ERROR_CAPTURED_EVENT);
	}
	return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult cuEventQuery(CUevent event) {
	ENTER(NULL);
	CUresult r = check(event);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	r = captured(event);
	if (r == CUDA_SUCCESS)
		r = gf1_unsafe_call();
	if (r == CUDA_SUCCESS)
		r = event->context->sticky;
	if (r == CUDA_SUCCESS && !finished(event))
		r = CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

static void sleep_briefly(void) {
	struct timespec t = {0, 200000};
	nanosleep(&t, NULL);
}

CUresult cuEventSynchronize(CUevent event) {
	ENTER(NULL);
	CUresult r = check(event);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	r = captured(event);
	if (r == CUDA_SUCCESS)
		r = gf1_unsafe_call();
	u64 until = event->recorded;
	while (r == CUDA_SUCCESS && event->shared == NULL && event->done < until)
		pthread_cond_wait(&gf1_changed, &gf1_lock);
	if (r == CUDA_SUCCESS)
		r = event->context->sticky;
	pthread_mutex_unlock(&gf1_lock);
	while (r == CUDA_SUCCESS && event->shared != NULL && !finished(event))
		sleep_briefly();
	return r;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
	ENTER(NULL);
	if (milliseconds == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult r = check(start);
	if (r == CUDA_SUCCESS)
		r = check(end);
	if (r != CUDA_SUCCESS)
		return r;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING || start->context != end->context)
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&gf1_lock);
	if (start->recorded == 0 || end->recorded == 0)
		r = CUDA_ERROR_INVALID_HANDLE;
	else if (!finished(start) || !finished(end))
		r = CUDA_ERROR_NOT_READY;
	else
		*milliseconds = (float)((double)(end->nanoseconds - start->nanoseconds) / 1e6);
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
	return cuEventElapsedTime(milliseconds, start, end);
}

static CUresult run_nothing(struct work *w) {
	(void)w;
	return CUDA_SUCCESS;
}

static CUresult run_wait_shared(struct work *w) {
	struct shared_event *shared = w->a;
	while (atomic_load(&shared->done) < w->value)
		sleep_briefly();
	return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
	CUcontext context;
	ENTER(&context);
	CUresult r = check(event);
	if (r == CUDA_SUCCESS)
		r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	if (event->capture != NULL) {
		r = gf1_capture_wait(stream, event);
	} else if (stream->capture != NULL && event->recorded == 0 && event->shared == NULL) {
		r = CUDA_SUCCESS;
	} else if (stream->capture != NULL && flags == 0) {
		r = gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	} else if (event->shared != NULL) {
		struct work *w = gf1_new_work(stream->context, run_wait_shared);
		w->a = event->shared;
		w->value = atomic_load(&event->shared->recorded);
		r = gf1_submit(stream, w);
	} else {
		struct work *w = gf1_new_work(stream->context, run_nothing);
		gf1_depend(w, event->stream, event->seq);
		r = gf1_submit(stream, w);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}
