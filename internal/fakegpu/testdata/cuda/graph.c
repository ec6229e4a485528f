#include "state.h"

#include <signal.h>
#include <stdlib.h>

struct CUuserObject_st {
	uint32_t magic;
	void *ptr;
	CUhostFn destroy;
	unsigned refs;
};

CUresult cuUserObjectCreate(CUuserObject *object, void *ptr, CUhostFn destroy, unsigned int refs, unsigned int flags) {
	ENTER(NULL);
	if (object == NULL || destroy == NULL || refs == 0 || flags != 1)
		return CUDA_ERROR_INVALID_VALUE;
	CUuserObject o = calloc(1, sizeof *o);
	o->magic = MAGIC_OBJECT;
	o->ptr = ptr;
	o->destroy = destroy;
	o->refs = refs;
	*object = o;
	gf1_count(GF1_LIVE_USER_OBJECTS, 1);
	return CUDA_SUCCESS;
}

// release drops references; the destructor runs on a thread of the driver's in
// the original, so it must not call back: it is called here with no lock held.
static CUresult release(CUuserObject o, unsigned count) {
	if (o == NULL || o->magic != MAGIC_OBJECT || count == 0 || count > o->refs)
		return CUDA_ERROR_INVALID_VALUE;
	o->refs -= count;
	if (o->refs == 0) {
		o->magic = MAGIC_DEAD;
		gf1_count(GF1_LIVE_USER_OBJECTS, -1);
		bool in = gf1_in_callback();
		gf1_set_in_callback(true);
		pthread_mutex_unlock(&gf1_lock);
		o->destroy(o->ptr);
		pthread_mutex_lock(&gf1_lock);
		gf1_set_in_callback(in);
	}
	return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(CUuserObject object, unsigned int count) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	bool ok = object != NULL && object->magic == MAGIC_OBJECT && count > 0;
	if (ok)
		object->refs += count;
	pthread_mutex_unlock(&gf1_lock);
	return ok ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuUserObjectRelease(CUuserObject object, unsigned int count) {
	ENTER(NULL);
	pthread_mutex_lock(&gf1_lock);
	CUresult r = release(object, count);
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

static bool live_graph(CUgraph g) { return g != NULL && g->magic == MAGIC_GRAPH; }

// flags 1 moves the caller's reference to the graph.
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count, unsigned int flags) {
	ENTER(NULL);
	if (!live_graph(graph) || object == NULL || object->magic != MAGIC_OBJECT || count == 0 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	if (flags == 0)
		object->refs += count;
	graph->objects = realloc(graph->objects, (graph->objects_len + 1) * sizeof *graph->objects);
	graph->objects[graph->objects_len++] = (struct object_ref){object, count};
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count) {
	ENTER(NULL);
	CUresult r = CUDA_ERROR_INVALID_VALUE;
	if (!live_graph(graph))
		return r;
	pthread_mutex_lock(&gf1_lock);
	for (size_t i = 0; i < graph->objects_len && r != CUDA_SUCCESS; i++) {
		if (graph->objects[i].object == object && graph->objects[i].count >= count) {
			graph->objects[i].count -= count;
			r = release(object, count);
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

static void release_objects(struct object_ref *objects, size_t len) {
	for (size_t i = 0; i < len; i++) {
		if (objects[i].count > 0)
			release(objects[i].object, objects[i].count);
	}
	free(objects);
}

// gf1_graph_release drops one reference: the graph's own, with its user
// objects, or one of an exec.
void gf1_graph_release(CUgraph g) {
	if (g->magic == MAGIC_GRAPH) {
		g->magic = MAGIC_DEAD;
		struct object_ref *objects = g->objects;
		size_t len = g->objects_len;
		g->objects = NULL;
		g->objects_len = 0;
		release_objects(objects, len);
	}
	if (--g->refs > 0)
		return;
	for (size_t i = 0; i < g->len; i++) {
		gf1_free_work(g->nodes[i].work);
		free(g->nodes[i].deps);
	}
	free(g->nodes);
	g->nodes = NULL;
	g->len = 0;
}

CUresult cuGraphCreate(CUgraph *graph, unsigned int flags) {
	ENTER(NULL);
	if (graph == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	CUgraph g = calloc(1, sizeof *g);
	g->magic = MAGIC_GRAPH;
	g->refs = 1;
	g->lanes = 1;
	*graph = g;
	gf1_count(GF1_LIVE_GRAPHS, 1);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph graph) {
	ENTER(NULL);
	if (!live_graph(graph) || graph->capturing) {
		gf1_fake_report("cuGraphDestroy of a graph that is destroyed or being captured");
		return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&gf1_lock);
	gf1_graph_release(graph);
	pthread_mutex_unlock(&gf1_lock);
	gf1_count(GF1_LIVE_GRAPHS, -1);
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
	ENTER(NULL);
	if (!live_graph(graph) || count == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	for (size_t i = 0; nodes != NULL && i < *count; i++)
		nodes[i] = i < graph->len ? (CUgraphNode)&graph->nodes[i] : NULL;
	*count = graph->len;
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
	CUcontext context;
	ENTER(&context);
	if (exec == NULL || !live_graph(graph) || flags > 15)
		return CUDA_ERROR_INVALID_VALUE;
	CUgraphExec x = calloc(1, sizeof *x);
	x->magic = MAGIC_EXEC;
	x->graph = graph;
	x->refs = 1;
	pthread_mutex_lock(&gf1_lock);
	graph->refs++;
	x->objects = malloc((graph->objects_len + 1) * sizeof *x->objects);
	for (size_t i = 0; i < graph->objects_len; i++) {
		if (graph->objects[i].count == 0)
			continue;
		graph->objects[i].object->refs++;
		x->objects[x->objects_len++] = (struct object_ref){graph->objects[i].object, 1};
	}
	pthread_mutex_unlock(&gf1_lock);
	*exec = x;
	gf1_count(GF1_LIVE_EXECS, 1);
	return CUDA_SUCCESS;
}

static CUresult check(CUgraphExec exec) {
	if (exec == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (exec->magic != MAGIC_EXEC) {
		gf1_fake_report("a destroyed graph exec is used");
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = check(exec);
	return r == CUDA_SUCCESS ? gf1_resolve(context, stream, &stream) : r;
}

// One run of a graph: a thread for each stream that was captured, since work in
// two of them may wait for one another.
struct run {
	CUgraph graph;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool *done;
	CUresult result;
};

struct lane {
	struct run *run;
	int lane;
	pthread_t thread;
};

static void *run_lane(void *argument) {
	struct lane *l = argument;
	struct run *r = l->run;
	CUgraph g = r->graph;
	for (size_t i = 0; i < g->len; i++) {
		struct node *n = &g->nodes[i];
		if (n->lane != l->lane)
			continue;
		pthread_mutex_lock(&r->lock);
		for (size_t d = 0; d < n->deps_len; d++) {
			while (!r->done[n->deps[d]])
				pthread_cond_wait(&r->changed, &r->lock);
		}
		pthread_mutex_unlock(&r->lock);
		CUresult result = n->work->run(n->work);
		pthread_mutex_lock(&r->lock);
		if (result != CUDA_SUCCESS)
			r->result = result;
		r->done[i] = true;
		pthread_cond_broadcast(&r->changed);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static CUresult run_graph(struct work *w) {
	CUgraph g = ((CUgraphExec)w->a)->graph;
	struct run r = {.graph = g, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	int lanes = g->lanes > 0 ? g->lanes : 1;
	r.done = calloc(g->len + 1, sizeof *r.done);
	struct lane *l = calloc((size_t)lanes, sizeof *l);
	for (int i = 0; i < lanes; i++)
		l[i] = (struct lane){.run = &r, .lane = i};
	for (int i = 1; i < lanes; i++)
		pthread_create(&l[i].thread, NULL, run_lane, &l[i]);
	run_lane(&l[0]);
	for (int i = 1; i < lanes; i++)
		pthread_join(l[i].thread, NULL);
	free(l);
	free(r.done);
	return r.result;
}

// exec_release drops one reference: the handle's, or that of a launch, since
// an exec may be destroyed while it runs.
static void exec_release(CUgraphExec exec) {
	if (--exec->refs > 0)
		return;
	release_objects(exec->objects, exec->objects_len);
	exec->objects = NULL;
	if (--exec->graph->refs == 0) {
		exec->graph->refs = 1;
		gf1_graph_release(exec->graph);
	}
}

static void drop_launch(struct work *w) { exec_release(w->a); }

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
	CUcontext context;
	ENTER(&context);
	CUresult r = check(exec);
	if (r == CUDA_SUCCESS)
		r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	if (stream->capture != NULL) {
		r = gf1_invalidate(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED); // so says driver 580
	} else {
		struct work *w = gf1_new_work(stream->context, run_graph);
		w->a = exec;
		w->drop = drop_launch;
		exec->refs++;
		gf1_depend(w, exec->stream, exec->seq); // an exec does not run beside itself
		r = gf1_submit(stream, w);
		if (r == CUDA_SUCCESS) {
			exec->stream = stream;
			exec->seq = stream->queued;
		}
	}
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
	ENTER(NULL);
	CUresult r = check(exec);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&gf1_lock);
	exec->magic = MAGIC_DEAD;
	exec_release(exec);
	pthread_mutex_unlock(&gf1_lock);
	gf1_count(GF1_LIVE_EXECS, -1);
	return CUDA_SUCCESS;
}
