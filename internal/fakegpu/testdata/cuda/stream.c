#include "state.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

// A stream of one thread is found by context id, since contexts are reused.
#define THREAD_STREAMS 8
static __thread struct {
	u64 context_id;
	CUstream stream;
} per_thread[THREAD_STREAMS];

CUstream gf1_new_stream(CUcontext context, unsigned flags, int priority) {
	CUstream s = calloc(1, sizeof *s);
	s->magic = MAGIC_STREAM;
	s->context = context;
	s->flags = flags;
	s->priority = priority;
	s->id = gf1_next_id();
	pthread_cond_init(&s->wake, NULL);
	s->next = context->streams;
	context->streams = s;
	return s;
}

CUresult gf1_resolve(CUcontext context, CUstream handle, CUstream *stream) {
	if (handle == NULL || handle == CU_STREAM_LEGACY) {
		*stream = context->null_stream;
		return CUDA_SUCCESS;
	}
	if (handle == CU_STREAM_PER_THREAD) {
		int slot = -1;
		for (int i = 0; i < THREAD_STREAMS && slot < 0; i++) {
			if (per_thread[i].context_id == context->id || per_thread[i].context_id == 0)
				slot = i;
		}
		if (slot < 0)
			return CUDA_ERROR_OUT_OF_MEMORY;
		if (per_thread[slot].context_id == 0) {
			pthread_mutex_lock(&gf1_lock);
			per_thread[slot].context_id = context->id;
			per_thread[slot].stream = gf1_new_stream(context, 0, 0);
			pthread_mutex_unlock(&gf1_lock);
		}
		*stream = per_thread[slot].stream;
		return CUDA_SUCCESS;
	}
	if (handle->magic != MAGIC_STREAM) {
		gf1_fake_report("a destroyed or foreign stream is used");
		return CUDA_ERROR_INVALID_HANDLE;
	}
	if (handle->context != context)
		gf1_count(GF1_FOREIGN_STREAM_USES, 1);
	*stream = handle;
	return CUDA_SUCCESS;
}

struct work *gf1_new_work(CUcontext context, CUresult (*run)(struct work *)) {
	struct work *w = calloc(1, sizeof *w);
	w->context = context;
	w->run = run;
	return w;
}

void gf1_free_work(struct work *w) {
	if (w->drop != NULL)
		w->drop(w);
	free(w->deps);
	free(w);
}

void gf1_depend(struct work *w, CUstream stream, u64 seq) {
	if (stream == NULL || stream->done >= seq)
		return;
	if (w->deps_len == w->deps_cap) {
		w->deps_cap = w->deps_cap * 2 + 4;
		w->deps = realloc(w->deps, w->deps_cap * sizeof *w->deps);
	}
	w->deps[w->deps_len++] = (struct dep){stream, seq};
}

static void wait_briefly(void) {
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	pthread_cond_timedwait(&gf1_changed, &gf1_lock, &t);
}

static void *worker(void *argument) {
	CUstream s = argument;
	pthread_mutex_lock(&gf1_lock);
	for (;;) {
		while (s->head == NULL && !s->closing)
			pthread_cond_wait(&s->wake, &gf1_lock);
		struct work *w = s->head;
		if (w == NULL)
			break;
		while (gf1_knob(GF1_KNOB_STREAM_HOLD) != 0)
			wait_briefly();
		for (size_t i = 0; i < w->deps_len; i++) {
			while (w->deps[i].stream->done < w->deps[i].seq)
				pthread_cond_wait(&gf1_changed, &gf1_lock);
		}
		s->head = w->next;
		if (s->head == NULL)
			s->tail = NULL;
		CUresult r = CUDA_SUCCESS;
		if (w->context->sticky == CUDA_SUCCESS || w->always) {
			pthread_mutex_unlock(&gf1_lock);
			r = w->run(w);
			pthread_mutex_lock(&gf1_lock);
		}
		if (r != CUDA_SUCCESS && w->context->sticky == CUDA_SUCCESS)
			w->context->sticky = r;
		s->done = w->seq;
		pthread_cond_broadcast(&gf1_changed);
		gf1_free_work(w);
	}
	for (CUstream *at = &s->context->streams; *at != NULL; at = &(*at)->next) {
		if (*at == s) {
			*at = s->next;
			break;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	return NULL;
}

// Workers take no signals: a host program's handlers are not written for them.
static CUresult start_thread(CUstream s) {
	sigset_t all, before;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&thread, NULL, worker, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed)
		return CUDA_ERROR_OPERATING_SYSTEM;
	pthread_detach(thread);
	s->threaded = true;
	return CUDA_SUCCESS;
}

// The null stream waits for all blocking streams of its context, and they for it.
static CUresult order_with_null_stream(CUstream s, struct work *w) {
	CUcontext c = s->context;
	if (s->flags & CU_STREAM_NON_BLOCKING)
		return CUDA_SUCCESS;
	if (!s->legacy) {
		gf1_depend(w, c->null_stream, c->null_stream->queued);
		return CUDA_SUCCESS;
	}
	for (CUstream other = c->streams; other != NULL; other = other->next) {
		if (other == s || other->flags & CU_STREAM_NON_BLOCKING)
			continue;
		if (other->capture != NULL)
			return gf1_invalidate(other, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
		gf1_depend(w, other, other->queued);
	}
	return CUDA_SUCCESS;
}

CUresult gf1_submit(CUstream s, struct work *w) {
	if (s->capture != NULL)
		return gf1_capture_add(s, w);
	CUresult r = s->context->alive ? order_with_null_stream(s, w) : CUDA_ERROR_CONTEXT_IS_DESTROYED;
	if (r == CUDA_SUCCESS && !s->threaded)
		r = start_thread(s);
	if (r != CUDA_SUCCESS) {
		gf1_free_work(w);
		return r;
	}
	w->seq = ++s->queued;
	if (s->tail == NULL)
		s->head = w;
	else
		s->tail->next = w;
	s->tail = w;
	pthread_cond_signal(&s->wake);
	return CUDA_SUCCESS;
}

CUresult gf1_wait_stream(CUstream s, u64 seq) {
	while (s->done < seq)
		pthread_cond_wait(&gf1_changed, &gf1_lock);
	return s->context->sticky;
}

void gf1_close_streams(CUcontext context) {
	for (CUstream s = context->streams; s != NULL; s = s->next) {
		if (s->magic == MAGIC_STREAM && !s->legacy)
			gf1_count(GF1_LIVE_STREAMS, s->flags & STREAM_OWNED ? -1 : 0);
		s->closing = true;
		s->magic = MAGIC_DEAD;
		pthread_cond_signal(&s->wake);
	}
}

CUresult gf1_stream_check(CUstream s) {
	if (s->capture != NULL)
		return gf1_invalidate(s, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CUresult r = gf1_unsafe_call();
	if (r != CUDA_SUCCESS || !s->legacy)
		return r;
	for (CUstream other = s->context->streams; other != NULL; other = other->next) {
		if (other->capture != NULL && !(other->flags & CU_STREAM_NON_BLOCKING))
			return gf1_invalidate(other, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	}
	return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
	CUcontext context;
	ENTER(&context);
	if (stream == NULL || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (priority > 0)
		priority = 0;
	if (priority < -5)
		priority = -5;
	pthread_mutex_lock(&gf1_lock);
	*stream = gf1_new_stream(context, flags | STREAM_OWNED, priority);
	pthread_mutex_unlock(&gf1_lock);
	gf1_count(GF1_LIVE_STREAMS, 1);
	return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) { return cuStreamCreateWithPriority(stream, flags, 0); }

CUresult cuStreamDestroy_v2(CUstream stream) {
	ENTER(NULL);
	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return CUDA_ERROR_INVALID_HANDLE;
	if (stream->magic != MAGIC_STREAM) {
		gf1_fake_report("cuStreamDestroy of a destroyed stream");
		return CUDA_ERROR_INVALID_HANDLE;
	}
	pthread_mutex_lock(&gf1_lock);
	if (stream->capture != NULL)
		gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	stream->magic = MAGIC_DEAD;
	stream->closing = true;
	pthread_cond_signal(&stream->wake);
	if (!stream->threaded) {
		for (CUstream *at = &stream->context->streams; *at != NULL; at = &(*at)->next) {
			if (*at == stream) {
				*at = stream->next;
				break;
			}
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	gf1_count(GF1_LIVE_STREAMS, -1);
	return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	r = gf1_stream_check(stream);
	bool busy = stream->done < stream->queued;
	if (stream->legacy) {
		for (CUstream s = stream->context->streams; s != NULL; s = s->next)
			busy = busy || (!(s->flags & CU_STREAM_NON_BLOCKING) && s->done < s->queued);
	}
	if (r == CUDA_SUCCESS)
		r = stream->context->sticky;
	if (r == CUDA_SUCCESS && busy)
		r = CUDA_ERROR_NOT_READY;
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuStreamSynchronize(CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	r = gf1_stream_check(stream);
	if (r == CUDA_SUCCESS) {
		for (CUstream s = stream->legacy ? stream->context->streams : NULL; s != NULL; s = s->next) {
			if (!(s->flags & CU_STREAM_NON_BLOCKING))
				gf1_wait_stream(s, s->queued);
		}
		r = gf1_wait_stream(stream, stream->queued);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r == CUDA_SUCCESS)
		*flags = stream->flags & 0xff;
	return r;
}

CUresult cuStreamGetPriority(CUstream stream, int *priority) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r == CUDA_SUCCESS)
		*priority = stream->priority;
	return r;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *result) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r == CUDA_SUCCESS)
		*result = stream->context;
	return r;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device) {
	CUcontext context;
	CUresult r = cuStreamGetCtx(stream, &context);
	if (r == CUDA_SUCCESS)
		*device = context->device;
	return r;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r == CUDA_SUCCESS)
		*id = stream->id;
	return r;
}

static CUresult run_host(struct work *w) {
	gf1_set_in_callback(true);
	if (w->fn != NULL)
		w->fn(w->a);
	else
		w->callback(w->stream, w->context->sticky, w->a);
	gf1_set_in_callback(false);
	return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *data) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (fn == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	struct work *w = gf1_new_work(stream->context, run_host);
	w->fn = fn;
	w->a = data;
	r = gf1_submit(stream, w);
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data, unsigned int flags) {
	CUcontext context;
	CUstream stream;
	ENTER(&context);
	CUresult r = gf1_resolve(context, handle, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (callback == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	if (stream->capture != NULL) {
		r = gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	} else {
		struct work *w = gf1_new_work(stream->context, run_host);
		w->callback = callback;
		w->stream = handle;
		w->a = data;
		w->always = true; // a callback is told of the error
		r = gf1_submit(stream, w);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}
