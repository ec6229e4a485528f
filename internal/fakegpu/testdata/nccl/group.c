// Groups: the state is the calling thread's, errors are sticky, and a group of
// non-blocking communicators is carried out by a thread of its own.
#include "state.h"

#include <signal.h>
#include <stdlib.h>

struct entry {
	ncclComm_t comm;
	struct op op;
};

struct group {
	struct entry *ops;
	size_t len, cap;
	struct job *jobs, **last;
};

static __thread int depth;
static __thread ncclResult_t error;
static __thread int blocking = -1;
static __thread struct group *current;

static struct group *group(void) {
	if (current == NULL) {
		current = calloc(1, sizeof *current);
		current->last = &current->jobs;
	}
	return current;
}

void gf1_group_open(void) { depth++; }

ncclResult_t gf1_group_fail(ncclResult_t result) {
	if (depth > 0 && result != ncclSuccess && result != ncclInProgress)
		error = result;
	return result;
}

static ncclResult_t join(ncclComm_t comm, bool ending) {
	if (ending)
		blocking = 1;
	else if (blocking < 0)
		blocking = comm->config.blocking;
	else if (blocking != comm->config.blocking)
		return gf1_fail(ncclInvalidArgument, "Blocking and nonblocking communicators are not allowed in the same group.");
	if (comm->group != NULL && comm->group != (void *)&depth)
		gf1_fake_report("rank %d has work in open groups of two threads", comm->rank);
	comm->group = &depth;
	return ncclSuccess;
}

ncclResult_t gf1_group_op(ncclComm_t comm, const struct op *op) {
	struct group *g = group();
	ncclResult_t r = join(comm, false);
	if (r != ncclSuccess)
		return r;
	if (g->jobs != NULL)
		gf1_fake_report("a collective in a group with set-up or destruction");
	if (g->len == g->cap) {
		g->cap = g->cap * 2 + 8;
		g->ops = realloc(g->ops, g->cap * sizeof *g->ops);
	}
	g->ops[g->len++] = (struct entry){comm, *op};
	return ncclSuccess;
}

ncclResult_t gf1_group_job(struct job *job) {
	struct group *g = group();
	ncclResult_t r = join(job->comm, job->ending);
	if (r != ncclSuccess)
		return r;
	if (g->len > 0)
		gf1_fake_report("set-up or destruction in a group with collectives");
	*g->last = job;
	g->last = &job->next;
	return ncclSuccess;
}

static void *job_main(void *argument) {
	struct job *job = argument;
	CUcontext before = gf1_enter_context(job->comm->context);
	job->result = job->run(job);
	gf1_leave_context(before);
	return NULL;
}

static ncclResult_t run_jobs(struct group *g) {
	ncclResult_t result = ncclSuccess;
	for (struct job *j = g->jobs; j != NULL; j = j->next) {
		if (j->next == NULL && j == g->jobs)
			job_main(j);
		else if (pthread_create(&j->thread, NULL, job_main, j) != 0)
			return gf1_fail(ncclSystemError, "no thread for a job");
	}
	for (struct job *j = g->jobs; j != NULL; j = j->next) {
		if (g->jobs->next != NULL)
			pthread_join(j->thread, NULL);
		if (j->result != ncclSuccess)
			result = j->result;
	}
	return result;
}

static ncclResult_t run_ops(struct group *g) {
	ncclResult_t result = ncclSuccess;
	for (size_t i = 0; i < g->len; i++) {
		ncclComm_t comm = g->ops[i].comm;
		if (comm == NULL)
			continue;
		struct op *ops = malloc(g->len * sizeof *ops);
		size_t len = 0;
		for (size_t j = i; j < g->len; j++) {
			if (g->ops[j].comm == comm) {
				ops[len++] = g->ops[j].op;
				g->ops[j].comm = NULL;
			}
		}
		ncclResult_t r = gf1_launch(comm, ops, len);
		free(ops);
		if (r != ncclSuccess)
			result = r;
	}
	return result;
}

// each calls f for every communicator of the group.
static void each(struct group *g, void (*f)(ncclComm_t, ncclResult_t), ncclResult_t value) {
	for (struct job *j = g->jobs; j != NULL; j = j->next) {
		if (!j->ending)
			f(j->comm, value);
	}
	for (size_t i = 0; i < g->len; i++) {
		if (g->ops[i].comm != NULL)
			f(g->ops[i].comm, value);
	}
}

static void leave_group(ncclComm_t comm, ncclResult_t unused) {
	(void)unused;
	comm->group = NULL;
}

static void set_error(ncclComm_t comm, ncclResult_t result) {
	if (!comm->config.blocking)
		atomic_store(&comm->async, result);
}

static void begin(ncclComm_t comm, ncclResult_t unused) {
	(void)unused;
	atomic_store(&comm->async, ncclInProgress);
	atomic_fetch_add(&comm->jobs, 1);
}

static void end(ncclComm_t comm, ncclResult_t result) {
	int progress = ncclInProgress;
	atomic_compare_exchange_strong(&comm->async, &progress, result);
	atomic_fetch_sub(&comm->jobs, 1);
}

static void free_group(struct group *g) {
	for (struct job *j = g->jobs, *next; j != NULL; j = next) {
		next = j->next;
		free(j);
	}
	free(g->ops);
	free(g);
}

static void *group_main(void *argument) {
	struct group *g = argument;
	// What is needed after the ops have been taken apart.
	struct group copy = {.ops = malloc((g->len + 1) * sizeof *g->ops), .len = g->len, .jobs = g->jobs};
	for (size_t i = 0; i < g->len; i++)
		copy.ops[i] = g->ops[i];
	ncclComm_t first = g->jobs != NULL ? g->jobs->comm : g->ops[0].comm;
	while (gf1_knob(GF1_KNOB_JOB_HOLD) != 0 && !atomic_load(&first->abort_flag))
		gf1_pause();
	ncclResult_t r = run_jobs(g);
	if (r == ncclSuccess)
		r = run_ops(g);
	each(&copy, end, r);
	free(copy.ops);
	free_group(g);
	return NULL;
}

static ncclResult_t spawn(struct group *g) {
	sigset_t all, before;
	pthread_t thread;
	each(g, begin, ncclSuccess);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&thread, NULL, group_main, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed) {
		each(g, end, ncclSystemError);
		free_group(g);
		return gf1_fail(ncclSystemError, "no thread for a group");
	}
	pthread_detach(thread);
	return ncclInProgress;
}

static ncclResult_t close_group(ncclSimInfo_t *simulation) {
	if (depth == 0)
		return gf1_fail(ncclInvalidUsage, "ncclGroupEnd: not in a group call.");
	if (--depth > 0)
		return ncclSuccess;
	struct group *g = group();
	ncclResult_t result = error;
	int mode = blocking;
	error = ncclSuccess;
	blocking = -1;
	current = NULL;
	each(g, leave_group, ncclSuccess);
	for (struct job *j = g->jobs; j != NULL; j = j->next)
		j->comm->group = NULL;
	if (result != ncclSuccess) {
		each(g, set_error, result);
		free_group(g);
		return result;
	}
	if (g->jobs == NULL && g->len == 0) {
		free_group(g);
		return ncclSuccess;
	}
	gf1_count(GF1_GROUPS_ENDED, 1);
	if (simulation != NULL && mode == 0)
		gf1_fake_report("ncclGroupSimulateEnd of non-blocking communicators runs the group");
	if (mode == 0)
		return spawn(g);
	if (simulation != NULL) {
		simulation->estimatedTime = 10.0f * (float)g->len;
	} else {
		result = run_jobs(g);
		if (result == ncclSuccess)
			result = run_ops(g);
		gf1_disturb_context();
	}
	free_group(g);
	return result;
}

ncclResult_t gf1_group_close(void) { return close_group(NULL); }

ncclResult_t ncclGroupStart(void) {
	FAULT();
	gf1_group_open();
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void) {
	int code;
	if (gf1_fake_fault(__func__, &code))
		gf1_group_fail(gf1_fail(code, "%s: a fault that was asked for", __func__));
	return gf1_group_close();
}

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info) {
	FAULT();
	if (info != NULL && info->magic != NCCL_MAGIC_SIMULATION)
		gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclSimInfo_t argument not initialized"));
	return close_group(info);
}
