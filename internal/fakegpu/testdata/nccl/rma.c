// One-sided operations, on a stream's thread: the peer takes no part.
#include "state.h"

#include <string.h>

static void signal_peer(ncclComm_t comm, int peer, int signal) {
	atomic_fetch_add(&comm->world->signal[peer][comm->rank][signal], 1);
	gf1_changed_world(comm->world);
}

static ncclResult_t put(ncclComm_t comm, const struct op *op) {
	size_t size = op->count * gf1_type_size(op->type);
	ncclWindow_t w = comm->windows[op->window];
	if (w == NULL || op->offset > w->peer_size[op->peer] || size > w->peer_size[op->peer] - op->offset) {
		gf1_fake_report("ncclPutSignal of rank %d leaves the window of rank %d, or the window is gone", comm->rank, op->peer);
		return gf1_fail(ncclInvalidArgument, "ncclPutSignal : outside the window");
	}
	void *from = gf1_reach(comm, op->send, size, "ncclPutSignal");
	if (from == NULL && size > 0)
		return gf1_fail(ncclUnhandledCudaError, "an illegal memory access was encountered");
	if (size > 0)
		memcpy(w->peer[op->peer].at + op->offset, from, size);
	signal_peer(comm, op->peer, op->signal);
	return ncclSuccess;
}

static ncclResult_t wait(ncclComm_t comm, const ncclWaitSignalDesc_t *d) {
	_Atomic uint64_t *counter = &comm->world->signal[comm->rank][d->peer][d->sigIdx];
	uint64_t *waited = &comm->waited[d->peer][d->sigIdx];
	for (;;) {
		uint32_t tick = atomic_load(&comm->world->tick);
		if (atomic_load(counter) >= *waited + (uint64_t)d->opCnt)
			break;
		ncclResult_t r = gf1_wait(comm, tick, true);
		if (r != ncclSuccess)
			return r;
	}
	*waited += (uint64_t)d->opCnt;
	return ncclSuccess;
}

ncclResult_t gf1_run_one_sided(ncclComm_t comm, const struct op *op) {
	ncclResult_t r = ncclSuccess;
	switch (op->kind) {
	case PUT:
		return put(comm, op);
	case SIGNAL:
		signal_peer(comm, op->peer, op->signal);
		return r;
	default:
		for (int i = 0; r == ncclSuccess && i < op->descs_len; i++)
			r = wait(comm, &op->descs[i]);
		return r;
	}
}
