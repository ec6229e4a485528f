#include "state.h"

#include <stdlib.h>
#include <string.h>

struct capture *gf1_captures;
static __thread int thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult gf1_invalidate(CUstream stream, CUresult why) {
	stream->capture->invalid = true;
	return why;
}

// gf1_unsafe_call follows cudaThreadExchangeStreamCaptureMode: what a thread
// must not call depends on its own mode and on the captures under way.
CUresult gf1_unsafe_call(void) {
	CUresult r = CUDA_SUCCESS;
	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return r;
	for (struct capture *c = gf1_captures; c != NULL; c = c->next) {
		bool mine = pthread_equal(c->thread, pthread_self());
		bool global = c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL && thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
		if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && (mine || global)) {
			c->invalid = true;
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	return r;
}

CUresult cuThreadExchangeStreamCaptureMode(int *mode) {
	ENTER(NULL);
	if (mode == NULL || *mode < 0 || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	int before = thread_mode;
	thread_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

static int *merge(int *a, size_t *len, const int *b, size_t b_len) {
	for (size_t i = 0; i < b_len; i++) {
		bool there = false;
		for (size_t j = 0; j < *len; j++)
			there = there || a[j] == b[i];
		if (there)
			continue;
		a = realloc(a, (*len + 1) * sizeof *a);
		a[(*len)++] = b[i];
	}
	return a;
}

static void join(struct capture *c, CUstream stream) {
	stream->capture = c;
	stream->lane = (int)c->streams_len;
	c->streams = realloc(c->streams, (c->streams_len + 1) * sizeof *c->streams);
	c->streams[c->streams_len++] = stream;
	c->graph->lanes = (int)c->streams_len;
}

CUresult gf1_capture_add(CUstream stream, struct work *w) {
	struct capture *c = stream->capture;
	if (c->invalid) {
		gf1_free_work(w);
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	}
	CUgraph g = c->graph;
	if (g->len == g->cap) {
		g->cap = g->cap * 2 + 8;
		g->nodes = realloc(g->nodes, g->cap * sizeof *g->nodes);
	}
	int index = (int)g->len;
	g->nodes[g->len++] = (struct node){.work = w, .lane = stream->lane, .deps = stream->frontier, .deps_len = stream->frontier_len};
	stream->frontier = malloc(sizeof *stream->frontier);
	stream->frontier[0] = index;
	stream->frontier_len = 1;
	return CUDA_SUCCESS;
}

void gf1_capture_record(CUstream stream, CUevent event) {
	free(event->frontier);
	event->frontier = NULL;
	event->frontier_len = 0;
	event->capture = stream->capture;
	event->frontier = merge(NULL, &event->frontier_len, stream->frontier, stream->frontier_len);
}

CUresult gf1_capture_wait(CUstream stream, CUevent event) {
	struct capture *c = gf1_captures;
	while (c != NULL && c != event->capture)
		c = c->next;
	if (c == NULL) // its capture has ended
		return stream->capture == NULL ? CUDA_ERROR_CAPTURED_EVENT
									   : gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	if (c->invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (stream->legacy) {
		c->invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	if (stream->capture == NULL)
		join(c, stream);
	if (stream->capture != c) {
		c->invalid = true;
		return gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
	}
	stream->frontier = merge(stream->frontier, &stream->frontier_len, event->frontier, event->frontier_len);
	return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (mode < 0 || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&gf1_lock);
	if (stream->capture != NULL) {
		r = gf1_invalidate(stream, CUDA_ERROR_INVALID_VALUE);
	} else {
		struct capture *c = calloc(1, sizeof *c);
		c->graph = calloc(1, sizeof *c->graph);
		c->graph->magic = MAGIC_GRAPH;
		c->graph->refs = 1;
		c->graph->capturing = true;
		c->origin = stream;
		c->mode = mode;
		c->id = gf1_next_id();
		c->thread = pthread_self();
		c->next = gf1_captures;
		gf1_captures = c;
		join(c, stream);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

static void reach(CUgraph g, const int *from, size_t len, bool *seen) {
	for (size_t i = 0; i < len; i++) {
		if (seen[from[i]])
			continue;
		seen[from[i]] = true;
		reach(g, g->nodes[from[i]].deps, g->nodes[from[i]].deps_len, seen);
	}
}

// unjoined answers whether a stream of the capture has work that the origin
// does not wait for.
static bool unjoined(struct capture *c) {
	CUgraph g = c->graph;
	bool *seen = calloc(g->len + 1, sizeof *seen), found = false;
	reach(g, c->origin->frontier, c->origin->frontier_len, seen);
	for (size_t i = 0; i < g->len; i++)
		found = found || (!seen[i] && g->nodes[i].lane != 0);
	free(seen);
	return found;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (graph == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*graph = NULL;
	pthread_mutex_lock(&gf1_lock);
	struct capture *c = stream->capture;
	if (c == NULL) {
		pthread_mutex_unlock(&gf1_lock);
		return CUDA_ERROR_INVALID_VALUE; // as the driver answers for a stream that does not capture
	}
	if (c->origin != stream)
		r = gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	else if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
		r = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (r != CUDA_SUCCESS) {
		pthread_mutex_unlock(&gf1_lock);
		return r;
	}
	if (c->invalid)
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (unjoined(c))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	for (size_t i = 0; i < c->streams_len; i++) {
		CUstream s = c->streams[i];
		s->capture = NULL;
		free(s->frontier);
		s->frontier = NULL;
		s->frontier_len = 0;
	}
	for (struct capture **at = &gf1_captures; *at != NULL; at = &(*at)->next) {
		if (*at == c) {
			*at = c->next;
			break;
		}
	}
	c->graph->capturing = false;
	CUgraph g = c->graph;
	free(c->streams);
	free(c);
	if (r == CUDA_SUCCESS) {
		*graph = g;
		gf1_count(GF1_LIVE_GRAPHS, 1);
	} else {
		gf1_graph_release(g);
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuStreamIsCapturing(CUstream stream, int *status) {
	return cuStreamGetCaptureInfo_v2(stream, status, NULL, NULL, NULL, NULL);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, unsigned long long *id, CUgraph *graph,
	const CUgraphNode **nodes, size_t *count) {
	CUcontext context;
	ENTER(&context);
	CUresult r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	if (status == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	if (stream->legacy && gf1_stream_check(stream) != CUDA_SUCCESS)
		r = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	struct capture *c = stream->capture;
	*status = c == NULL ? CU_STREAM_CAPTURE_STATUS_NONE
						: c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
	if (id != NULL)
		*id = c == NULL ? 0 : c->id;
	if (graph != NULL)
		*graph = c == NULL ? NULL : c->graph;
	if (nodes != NULL)
		*nodes = NULL;
	if (count != NULL)
		*count = 0;
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, int *status, unsigned long long *id, CUgraph *graph,
	const CUgraphNode **nodes, const void **edges, size_t *count) {
	if (edges != NULL)
		*edges = NULL;
	return cuStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}
