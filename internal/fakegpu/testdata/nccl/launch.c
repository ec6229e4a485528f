// From the end of a group to the stream: one host function for each batch.
#include "state.h"

#include <stdlib.h>
#include <string.h>

struct batch {
	ncclComm_t comm;
	bool captured;
	size_t len;
	struct op ops[];
};

void *gf1_reach(ncclComm_t comm, const void *ptr, size_t size, const char *what) {
	if (size == 0)
		return (void *)ptr;
	void *p = gf1_fake_shadow((CUdeviceptr)(uintptr_t)ptr, size);
	if (p == NULL) {
		gf1_fake_report("%s of rank %d: %zu bytes at %p are not, or not all, memory of a GPU", what, comm->rank, size, ptr);
		gf1_fake_fail_context(comm->context, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
	return p;
}

static bool is_p2p(const struct op *op) { return op->kind >= SEND && op->kind <= SCATTER; }

static ncclResult_t run_ops(ncclComm_t comm, const struct op *ops, size_t len) {
	ncclResult_t r = ncclSuccess;
	bool p2p = false;
	for (size_t i = 0; r == ncclSuccess && i < len; i++) {
		p2p = p2p || is_p2p(&ops[i]);
		if (ops[i].kind < SEND)
			r = gf1_run_exchange(comm, &ops[i]);
	}
	if (r == ncclSuccess && p2p)
		r = gf1_run_p2p(comm, ops, len);
	for (size_t i = 0; r == ncclSuccess && i < len; i++) {
		if (ops[i].kind >= PUT)
			r = gf1_run_one_sided(comm, &ops[i]);
	}
	while (r == ncclSuccess && gf1_knob(GF1_KNOB_COLLECTIVE_HOLD) != 0)
		r = gf1_wait(comm, atomic_load(&comm->world->tick), true);
	return r;
}

static void run_batch(void *argument) {
	struct batch *b = argument;
	ncclComm_t comm = b->comm;
	if (b->captured)
		atomic_fetch_add(&comm->batches, 1);
	gf1_count(GF1_COLLECTIVES_WAITING, 1);
	struct member *m = &comm->world->member[comm->rank];
	atomic_fetch_add(&m->running, 1);
	pthread_mutex_lock(&comm->lock);
	ncclResult_t r = atomic_load(&comm->abort_flag) ? ncclInternalError : run_ops(comm, b->ops, b->len);
	pthread_mutex_unlock(&comm->lock);
	if (r != ncclSuccess && !atomic_load(&comm->abort_flag))
		atomic_store(&comm->async, r);
	atomic_fetch_sub(&m->running, 1);
	gf1_changed_world(comm->world);
	gf1_count(GF1_COLLECTIVES_WAITING, -1);
	gf1_count(GF1_COLLECTIVES_DONE, (int64_t)b->len);
	if (!b->captured)
		free(b);
	atomic_fetch_sub(&comm->batches, 1);
}

static void graph_gone(void *argument) {
	struct batch *b = argument;
	ncclComm_t comm = b->comm;
	free(b);
	atomic_fetch_sub(&comm->graphs, 1);
}

static ncclResult_t cuda(CUresult r, const char *call) {
	return r == CUDA_SUCCESS ? ncclSuccess : gf1_fail(ncclUnhandledCudaError, "Cuda failure %d in %s", r, call);
}

// order puts the batch behind the communicator's last one and joins the streams
// of its ops, as NCCL does with events of its own.
static CUresult order(ncclComm_t comm, const struct op *ops, size_t len, bool before, bool capturing) {
	CUresult r = CUDA_SUCCESS;
	CUevent event = NULL;
	CUstream stream = ops[0].stream;
	if (comm->event == NULL)
		r = cuEventCreate(&comm->event, CU_EVENT_DISABLE_TIMING);
	if (r == CUDA_SUCCESS && before && !capturing && comm->recorded)
		r = cuStreamWaitEvent(stream, comm->event, 0);
	bool several = false;
	for (size_t i = 1; i < len; i++)
		several = several || ops[i].stream != stream;
	if (several)
		r = cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	if (several && !before)
		r = cuEventRecord(event, stream);
	for (size_t i = 1; several && r == CUDA_SUCCESS && i < len; i++) {
		bool done = ops[i].stream == stream;
		for (size_t j = 1; j < i; j++)
			done = done || ops[j].stream == ops[i].stream;
		if (done)
			continue;
		if (before)
			r = cuEventRecord(event, ops[i].stream);
		if (r == CUDA_SUCCESS)
			r = cuStreamWaitEvent(before ? stream : ops[i].stream, event, 0);
	}
	if (event != NULL)
		cuEventDestroy_v2(event);
	if (r == CUDA_SUCCESS && !before && !capturing) {
		r = cuEventRecord(comm->event, stream);
		comm->recorded = r == CUDA_SUCCESS;
	}
	return r;
}

static ncclResult_t launch(ncclComm_t comm, const struct op *ops, size_t len) {
	int status = 0;
	CUgraph graph = NULL;
	CUstream stream = ops[0].stream;
	ncclResult_t r = cuda(cuStreamGetCaptureInfo_v2(stream, &status, NULL, &graph, NULL, NULL), "cuStreamGetCaptureInfo");
	if (r != ncclSuccess)
		return r;
	bool captured = status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
	r = cuda(order(comm, ops, len, true, captured), "ordering streams");
	if (r != ncclSuccess)
		return r;
	struct batch *b = malloc(sizeof *b + len * sizeof *ops);
	b->comm = comm;
	b->captured = captured;
	b->len = len;
	memcpy(b->ops, ops, len * sizeof *ops);
	if (captured) {
		CUuserObject object;
		atomic_fetch_add(&comm->graphs, 1);
		r = cuda(cuUserObjectCreate(&object, b, graph_gone, 1, 1), "cuUserObjectCreate");
		if (r == ncclSuccess)
			r = cuda(cuGraphRetainUserObject(graph, object, 1, 1), "cuGraphRetainUserObject");
		if (r == ncclSuccess)
			r = cuda(cuLaunchHostFunc(stream, run_batch, b), "launch");
	} else {
		atomic_fetch_add(&comm->batches, 1);
		r = cuda(cuLaunchHostFunc(stream, run_batch, b), "launch");
		if (r != ncclSuccess) {
			atomic_fetch_sub(&comm->batches, 1);
			free(b);
		}
	}
	if (r == ncclSuccess)
		r = cuda(order(comm, ops, len, false, captured), "ordering streams");
	return r;
}

ncclResult_t gf1_launch(ncclComm_t comm, const struct op *ops, size_t len) {
	if (atomic_load(&comm->abort_flag))
		return gf1_fail(ncclInternalError, "the communicator is being aborted");
	for (size_t i = 0; i < len; i++) {
		if (ops[i].stream == CU_STREAM_PER_THREAD && !comm->config.blocking)
			gf1_fake_report("the per-thread stream with a non-blocking communicator: NCCL's thread has another one");
	}
	CUcontext before = gf1_enter_context(comm->context);
	ncclResult_t r = launch(comm, ops, len);
	gf1_leave_context(before);
	return r;
}
