// Communicators made from communicators: split, shrink, grow.
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// enter_child publishes or opens the child's world and joins it. barrier is one
// of the ranks that the child is made of.
static ncclResult_t enter_child(struct job *job, int leader, ncclResult_t (*barrier)(struct job *)) {
	ncclComm_t comm = job->comm, child = job->child;
	struct member *m = &comm->world->member[leader];
	int fd = -1;
	ncclResult_t r = ncclSuccess;
	if (leader == comm->rank) {
		child->world = gf1_new_world(&fd);
		if (child->world == NULL)
			return gf1_fail(ncclSystemError, "no memory for a communicator");
		m->child_pid = (uint64_t)getpid();
		m->child_fd = (uint64_t)fd;
		m->child_token = child->world->token;
	}
	r = barrier(job);
	if (r == ncclSuccess && leader != comm->rank) {
		child->world = gf1_open_world((pid_t)m->child_pid, (int)m->child_fd, m->child_token);
		if (child->world == NULL)
			r = gf1_fail(ncclRemoteError, "the rank that leads the new communicator is gone");
	}
	ncclResult_t last = barrier(job);
	if (fd >= 0)
		close(fd);
	if (r == ncclSuccess)
		r = last;
	if (r == ncclSuccess)
		r = gf1_join(child);
	return r;
}

static ncclResult_t deliver(struct job *job, ncclResult_t r) {
	ncclComm_t child = job->child;
	child->parent_abort = NULL;
	if (r == ncclSuccess) {
		child->ready = true;
		*job->newcomm = child;
	} else {
		*job->newcomm = NULL;
		gf1_free_comm(child);
	}
	return r;
}

static ncclComm_t make_child(ncclComm_t comm, const ncclConfig_t *config) {
	ncclComm_t child = gf1_new_comm(comm->device);
	if (child == NULL)
		return NULL;
	child->config = *config;
	child->parent_abort = &comm->abort_flag;
	if (config->commName != NULL)
		strncpy(child->name_copy, config->commName, sizeof child->name_copy - 1);
	return child;
}

static ncclResult_t barrier_of_all(struct job *job) { return gf1_barrier(job->comm, HOST_PLANE); }

static ncclResult_t run_split(struct job *job) {
	ncclComm_t comm = job->comm;
	struct world *w = comm->world;
	w->member[comm->rank].color = job->color;
	w->member[comm->rank].key = job->key;
	ncclResult_t r = gf1_barrier(comm, HOST_PLANE);
	if (job->child == NULL) { // no colour: only to let the others go on
		if (r == ncclSuccess)
			r = gf1_barrier(comm, HOST_PLANE);
		if (r == ncclSuccess)
			r = gf1_barrier(comm, HOST_PLANE);
		return r;
	}
	int leader = -1, rank = 0, size = 0;
	for (int i = 0; r == ncclSuccess && i < comm->nranks; i++) {
		struct member *m = &w->member[i];
		if (m->color != job->color)
			continue;
		if (leader < 0)
			leader = i;
		size++;
		if (m->key < job->key || (m->key == job->key && i < comm->rank))
			rank++;
	}
	job->child->rank = rank;
	job->child->nranks = size;
	if (r == ncclSuccess)
		r = enter_child(job, leader, barrier_of_all);
	return deliver(job, r);
}

static ncclResult_t start(const char *name, struct job *job, ncclComm_t *newcomm, const ncclConfig_t *config, bool child) {
	ncclComm_t comm = job->comm;
	ncclConfig_t parsed;
	ncclResult_t r = gf1_ready(comm, name);
	if (r == ncclSuccess)
		r = gf1_parse_config(config, &comm->config, &parsed);
	if (comm->finalized && !comm->revoked)
		gf1_fake_report("%s after ncclCommFinalize (rank %d)", name, comm->rank);
	gf1_group_open();
	if (r == ncclSuccess) {
		*newcomm = NULL;
		job->newcomm = newcomm;
		job->child = child ? make_child(comm, &parsed) : NULL;
		r = gf1_group_job(job);
	}
	if (r != ncclSuccess)
		free(job);
	gf1_group_fail(r);
	ncclResult_t closed = gf1_group_close();
	gf1_leave(comm, EXCLUSIVE);
	gf1_disturb_context();
	/* Success, although a non-blocking one has only begun: NCCL answers so. */
	return r == ncclSuccess && closed != ncclInProgress ? closed : r;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child, ncclConfig_t *config) {
	FAULT();
	if (child == NULL || color < -1)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclCommSplit : invalid argument"));
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return gf1_group_fail(r);
	gf1_check_context(comm, __func__);
	struct job *job = calloc(1, sizeof *job);
	job->comm = comm;
	job->run = run_split;
	job->color = color;
	job->key = key;
	return start(__func__, job, child, config, color >= 0);
}

static ncclResult_t barrier_of_some(struct job *job) { return gf1_subset_barrier(job->comm, job->mask); }

static ncclResult_t run_shrink(struct job *job) {
	ncclComm_t comm = job->comm;
	int leader = -1, rank = 0, size = 0;
	if (job->flags == 1) {
		atomic_store(&comm->abort_flag, 1);
		gf1_changed_world(comm->world);
		while (atomic_load(&comm->batches) > 0)
			gf1_pause();
		atomic_store(&comm->abort_flag, 0);
		atomic_store(&comm->async, comm->config.blocking ? ncclSuccess : ncclInProgress);
	}
	for (int i = 0; i < comm->nranks; i++) {
		if (!(job->mask >> i & 1))
			continue;
		if (leader < 0)
			leader = i;
		rank += i < comm->rank;
		size++;
	}
	job->child->rank = rank;
	job->child->nranks = size;
	return deliver(job, enter_child(job, leader, barrier_of_some));
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int *excluded, int count, ncclComm_t *child, ncclConfig_t *config, int flags) {
	FAULT();
	if (child == NULL || excluded == NULL || count < 1 || flags < 0 || flags > 1)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclCommShrink : invalid argument"));
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return gf1_group_fail(r);
	gf1_check_context(comm, __func__);
	uint64_t mask = (1ull << comm->nranks) - 1;
	for (int i = 0; r == ncclSuccess && i < count; i++) {
		if (excluded[i] < 0 || excluded[i] >= comm->nranks || excluded[i] == comm->rank)
			r = gf1_fail(ncclInvalidArgument, "ncclCommShrink : invalid excluded rank %d", excluded[i]);
		else
			mask &= ~(1ull << excluded[i]);
	}
	if (r != ncclSuccess) {
		gf1_leave(comm, EXCLUSIVE);
		return gf1_group_fail(r);
	}
	if (flags == 1 && atomic_load(&comm->async) != ncclInProgress)
		atomic_store(&comm->async, ncclSuccess); // shrinking is the way out of an error
	struct job *job = calloc(1, sizeof *job);
	job->comm = comm;
	job->run = run_shrink;
	job->mask = mask;
	job->flags = flags;
	return start(__func__, job, child, config, true);
}

ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId *id) {
	FAULT();
	if (id == NULL)
		return gf1_fail(ncclInvalidArgument, "ncclCommGetUniqueId : uniqueId argument is NULL");
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	r = gf1_ready(comm, __func__);
	uint64_t pid, fd, token;
	if (r == ncclSuccess && atomic_load(&comm->world->grow_generation) > comm->grown)
		r = gf1_fail(ncclInvalidUsage, "ncclCommGetUniqueId : the last id is not used yet");
	if (r == ncclSuccess)
		r = gf1_make_id(id);
	if (r == ncclSuccess)
		r = gf1_parse_id(id, &pid, &fd, &token);
	if (r == ncclSuccess) {
		atomic_store(&comm->world->grow_pid, pid);
		atomic_store(&comm->world->grow_fd, fd);
		atomic_store(&comm->world->grow_token, token);
		atomic_fetch_add(&comm->world->grow_generation, 1);
		gf1_changed_world(comm->world);
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

// run_grow is for ranks that are there already: they take the handle that one of
// them has made.
static ncclResult_t run_grow(struct job *job) {
	ncclComm_t comm = job->comm, child = job->child;
	struct world *w = comm->world;
	ncclResult_t r = ncclSuccess;
	child->rank = comm->rank;
	child->nranks = job->key;
	for (;;) {
		uint32_t tick = atomic_load(&w->tick);
		if (atomic_load(&w->grow_generation) > comm->grown)
			break;
		r = gf1_wait(comm, tick, false);
		if (r != ncclSuccess)
			return deliver(job, r);
	}
	child->world = gf1_open_world((pid_t)atomic_load(&w->grow_pid), (int)atomic_load(&w->grow_fd), atomic_load(&w->grow_token));
	r = child->world == NULL ? gf1_fail(ncclRemoteError, "the rank that made the id is gone") : gf1_join(child);
	if (r == ncclSuccess)
		comm->grown++;
	gf1_sweep_ids();
	return deliver(job, r);
}

ncclResult_t ncclCommGrow(ncclComm_t comm, int nranks, const ncclUniqueId *id, int rank, ncclComm_t *child,
	ncclConfig_t *config) {
	FAULT();
	if (child == NULL || nranks < 1 || (comm == NULL && (id == NULL || rank < 0 || rank >= nranks)) ||
		(comm != NULL && rank != -1))
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclCommGrow : invalid argument"));
	if (comm == NULL)
		return ncclCommInitRankConfig(child, nranks, *id, rank, config);
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return gf1_group_fail(r);
	if (nranks <= comm->nranks || nranks > MAX_RANKS) {
		gf1_leave(comm, EXCLUSIVE);
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclCommGrow: total ranks %d is less than current ranks %d", nranks,
			comm->nranks));
	}
	gf1_check_context(comm, __func__);
	struct job *job = calloc(1, sizeof *job);
	job->comm = comm;
	job->run = run_grow;
	job->key = nranks;
	return start(__func__, job, child, config, true);
}
