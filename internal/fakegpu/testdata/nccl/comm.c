// What can be asked of a communicator, and its end.
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *result) {
	FAULT();
	ncclResult_t r = gf1_enter(comm, __func__, READER);
	if (r != ncclSuccess)
		return r;
	if (result == NULL) {
		r = gf1_fail(ncclInvalidArgument, "ncclGetAsyncError : asyncError argument is NULL");
	} else {
		*result = atomic_load(&comm->async);
		uint64_t code = gf1_knob(GF1_KNOB_ASYNC_ERROR), ranks = gf1_knob(GF1_KNOB_ASYNC_RANKS);
		if (*result == ncclSuccess && code != 0 && (ranks == 0 || ranks >> comm->rank & 1))
			*result = (ncclResult_t)code;
	}
	gf1_leave(comm, READER);
	return r;
}

static ncclResult_t ask(ncclComm_t comm, const char *name, const int *from, int *to) {
	ncclResult_t r = gf1_enter(comm, name, READER);
	if (r != ncclSuccess)
		return r;
	r = to == NULL ? gf1_fail(ncclInvalidArgument, "%s : argument is NULL", name) : gf1_ready(comm, name);
	if (r == ncclSuccess)
		*to = *from;
	gf1_leave(comm, READER);
	return r;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
	FAULT();
	return ask(comm, __func__, comm == NULL ? NULL : &comm->nranks, count);
}

ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device) {
	FAULT();
	return ask(comm, __func__, comm == NULL ? NULL : &comm->device, device);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
	FAULT();
	return ask(comm, __func__, comm == NULL ? NULL : &comm->rank, rank);
}

ncclResult_t ncclCommQueryProperties(ncclComm_t comm, ncclCommProperties_t *properties) {
	FAULT();
	if (properties == NULL || properties->magic != NCCL_MAGIC_CONFIG || properties->size < 32)
		return gf1_fail(ncclInvalidArgument, "ncclCommProperties_t argument not initialized");
	ncclResult_t r = gf1_enter(comm, __func__, READER);
	if (r != ncclSuccess)
		return r;
	r = gf1_ready(comm, __func__);
	if (r == ncclSuccess) {
		ncclCommProperties_t p = *properties;
		p.rank = comm->rank;
		p.nRanks = comm->nranks;
		p.cudaDev = p.nvmlDev = comm->device;
		p.deviceApiSupport = p.multimemSupport = p.hostRmaSupport = false;
		p.ginType = p.railedGinType = 0;
		p.nLsaTeams = 1;
		memcpy(properties, &p, properties->size < sizeof p ? properties->size : sizeof p);
	}
	gf1_leave(comm, READER);
	return r;
}

static ncclResult_t suspend(ncclComm_t comm, const char *name, bool on) {
	ncclResult_t r = gf1_enter(comm, name, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	r = gf1_ready(comm, name);
	if (r == ncclSuccess && comm->suspended == on)
		r = gf1_fail(ncclInvalidUsage, "%s : the communicator is %s", name, on ? "suspended already" : "not suspended");
	if (r == ncclSuccess)
		comm->suspended = on;
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

ncclResult_t ncclCommSuspend(ncclComm_t comm, int flags) {
	FAULT();
	return flags != 1 ? gf1_fail(ncclInvalidArgument, "unknown flags %d", flags) : suspend(comm, __func__, true);
}

ncclResult_t ncclCommResume(ncclComm_t comm) {
	FAULT();
	return suspend(comm, __func__, false);
}

ncclResult_t ncclCommMemStats(ncclComm_t comm, int which, uint64_t *value) {
	FAULT();
	if (value == NULL || which < 0 || which > 3)
		return gf1_fail(ncclInvalidArgument, "ncclCommMemStats : invalid argument");
	ncclResult_t r = gf1_enter(comm, __func__, READER);
	if (r != ncclSuccess)
		return r;
	uint64_t persistent = 4 << 20, dynamic = 64 << 20;
	r = gf1_ready(comm, __func__);
	if (r == ncclSuccess)
		*value = which == 0 ? dynamic : which == 1 ? comm->suspended : which == 2 ? persistent : persistent + dynamic;
	gf1_leave(comm, READER);
	return r;
}

static bool others_finalize(ncclComm_t comm) {
	for (int r = 0; r < comm->nranks; r++) {
		struct member *m = &comm->world->member[r];
		if (m->pid != getpid() && atomic_load(&m->state) == JOINED)
			return false;
	}
	return true;
}

// finish waits for the rank's own work and for the other processes. The ranks of
// one process do not wait for one another: they may be destroyed in a row.
static ncclResult_t finish(ncclComm_t comm) {
	struct world *w = comm->world;
	while (atomic_load(&comm->batches) > 0 && !atomic_load(&comm->abort_flag))
		gf1_pause();
	if (atomic_load(&w->member[comm->rank].state) == JOINED)
		atomic_store(&w->member[comm->rank].state, FINALIZING);
	gf1_changed_world(w);
	for (;;) {
		uint32_t tick = atomic_load(&w->tick);
		if (others_finalize(comm))
			return ncclSuccess;
		ncclResult_t r = gf1_wait(comm, tick, false);
		if (r != ncclSuccess)
			return r;
	}
}

static ncclResult_t run_finalize(struct job *job) { return finish(job->comm); }

static ncclResult_t queue(ncclComm_t comm, ncclResult_t (*run)(struct job *), bool ending) {
	struct job *job = calloc(1, sizeof *job);
	job->comm = comm;
	job->run = run;
	job->ending = ending;
	ncclResult_t r = gf1_group_job(job);
	if (r != ncclSuccess)
		free(job);
	return r;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
	FAULT();
	if (comm == NULL)
		return ncclSuccess;
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	gf1_group_open();
	r = gf1_ready(comm, __func__);
	if (r == ncclSuccess && comm->finalized) {
		gf1_fake_report("ncclCommFinalize twice, or after ncclCommRevoke (rank %d)", comm->rank);
		r = gf1_fail(ncclInvalidArgument, "the communicator is finalized already");
	}
	if (r == ncclSuccess) {
		comm->finalized = true;
		r = queue(comm, run_finalize, false);
	}
	if (r != ncclSuccess && !comm->config.blocking)
		atomic_store(&comm->async, r);
	gf1_group_fail(r);
	ncclResult_t closed = gf1_group_close();
	if (r == ncclSuccess)
		r = closed;
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

static void wait_for_graphs(ncclComm_t comm) {
	while (atomic_load(&comm->graphs) > 0)
		gf1_pause();
}

// wait_for_callers lets calls that should not be there leave first, so that what
// was reported is seen and not a crash.
static void wait_for_callers(ncclComm_t comm) {
	for (int i = 0; i < 5000 && (atomic_load(&comm->inside) & ~0x8000u) != 1; i++)
		gf1_pause();
}

static ncclResult_t run_destroy(struct job *job) {
	ncclComm_t comm = job->comm;
	while (gf1_knob(GF1_KNOB_ABORT_HOLD) != 0)
		gf1_pause();
	ncclResult_t r = ncclSuccess;
	if (comm->world != NULL) {
		if (!comm->finalized)
			r = finish(comm);
		// NCCL hangs here as long as a graph with its work lives.
		wait_for_graphs(comm);
		while (atomic_load(&comm->jobs) > 0 || atomic_load(&comm->batches) > 0)
			gf1_pause();
		atomic_store(&comm->world->member[comm->rank].state, GONE);
		gf1_changed_world(comm->world);
	}
	wait_for_callers(comm);
	gf1_free_comm(comm);
	return r;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
	FAULT();
	if (comm == NULL)
		return ncclSuccess;
	ncclResult_t r = gf1_enter(comm, __func__, ENDING);
	if (r != ncclSuccess)
		return r;
	r = gf1_ready(comm, __func__);
	if (r == ncclSuccess && comm->destroying)
		gf1_fake_report("ncclCommDestroy or ncclCommAbort of rank %d twice in a group", comm->rank);
	if (r != ncclSuccess) {
		if (r != ncclInvalidArgument)
			gf1_fake_report("ncclCommDestroy of rank %d, which failed with %d: NCCL leaks it, abort it", comm->rank, r);
		gf1_leave(comm, ENDING);
		return r;
	}
	comm->destroying = true;
	gf1_group_open();
	gf1_group_fail(queue(comm, run_destroy, true));
	r = gf1_group_close();
	gf1_disturb_context();
	return r;
}

// sibling_runs answers whether a rank of this process is inside a collective of
// the same communicator without being aborted too: NCCL waits for it.
static bool sibling_runs(ncclComm_t comm) {
	for (int r = 0; r < comm->nranks; r++) {
		struct member *m = &comm->world->member[r];
		if (r != comm->rank && m->pid == getpid() && atomic_load(&m->state) == JOINED && atomic_load(&m->running) > 0 &&
			!atomic_load(&m->aborting))
			return true;
	}
	return false;
}

static ncclResult_t run_abort(struct job *job) {
	ncclComm_t comm = job->comm;
	gf1_count(GF1_ABORTS_WAITING, 1);
	while (gf1_knob(GF1_KNOB_ABORT_HOLD) != 0)
		gf1_pause();
	while (atomic_load(&comm->jobs) > 0)
		gf1_pause();
	while (comm->world != NULL && sibling_runs(comm))
		gf1_pause();
	while (atomic_load(&comm->batches) > 0)
		gf1_pause();
	wait_for_graphs(comm);
	if (comm->world != NULL) {
		atomic_store(&comm->world->member[comm->rank].state, ABORTED);
		gf1_changed_world(comm->world);
	}
	gf1_count(GF1_ABORTS_WAITING, -1);
	wait_for_callers(comm);
	gf1_free_comm(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
	FAULT();
	if (comm == NULL)
		return ncclSuccess;
	ncclResult_t r = gf1_enter(comm, __func__, ENDING);
	if (r != ncclSuccess)
		return r;
	if (comm->destroying)
		gf1_fake_report("ncclCommDestroy or ncclCommAbort of rank %d twice in a group", comm->rank);
	comm->destroying = true;
	atomic_store(&comm->abort_flag, 1);
	if (comm->ready) {
		atomic_store(&comm->world->member[comm->rank].aborting, 1);
		gf1_changed_world(comm->world);
	}
	gf1_group_open();
	gf1_group_fail(queue(comm, run_abort, true));
	r = gf1_group_close();
	gf1_disturb_context();
	return r;
}

static ncclResult_t run_revoke(struct job *job) {
	ncclComm_t comm = job->comm;
	while (atomic_load(&comm->batches) > 0)
		gf1_pause();
	atomic_store(&comm->abort_flag, 0);
	return ncclSuccess;
}

ncclResult_t ncclCommRevoke(ncclComm_t comm, int flags) {
	FAULT();
	if (comm == NULL)
		return ncclSuccess;
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	if (flags != 0 || comm->finalized || comm->revoked || comm->destroying)
		r = gf1_fail(ncclInvalidArgument, "the communicator cannot be revoked");
	if (r == ncclSuccess) {
		comm->revoked = comm->finalized = true;
		while (atomic_load(&comm->jobs) > 0)
			gf1_pause();
		atomic_store(&comm->abort_flag, 1);
		gf1_changed_world(comm->world);
		gf1_group_open();
		gf1_group_fail(queue(comm, run_revoke, false));
		r = gf1_group_close();
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}
