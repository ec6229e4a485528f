//go:build linux && cgo

#include "gf1_nccl_run.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Nanoseconds after which a thread is given back, however often it has asked. */
#define LONGEST_SPIN 1000000

const char *const gf1_nccl_names[GF1_NCCL_FUNCTION_COUNT] = {
#define GF1_NAME(result, name, ...) "nccl" #name,
	GF1_NCCL_FUNCTIONS(GF1_NAME)
#undef GF1_NAME
};

const int gf1_nccl_since[GF1_NCCL_FUNCTION_COUNT] = {
#define GF1_SINCE(result, name, args, x, y, z) GF1_NCCL_VERSION(x, y, z),
	GF1_NCCL_FUNCTIONS(GF1_SINCE)
#undef GF1_SINCE
};

/* NCCL has one such text for the whole process and never clears it: take it
 * before anything else can fail, and keep the first. */
static void keep_last(const struct gf1_nccl *lib, gf1_comm comm, char *last)
{
	const char *text;

	if (last[0] != '\0' || lib->GetLastError == NULL)
		return;
	text = lib->GetLastError(comm);
	if (text != NULL)
		snprintf(last, GF1_NCCL_LAST, "%s", text);
}

static bool is_failure(int code)
{
	return code != GF1_NCCL_SUCCESS && code != GF1_NCCL_IN_PROGRESS;
}

/* The thread's context while a batch runs. */
struct gf1_thread {
	const struct gf1_nccl *lib;
	void *previous;
	bool entered;
};

/* Every operation enters its context, since NCCL may have left another behind.
 * The first remembers what the thread had before. */
static int enter(struct gf1_thread *thread, uint64_t context)
{
	void *unused;
	int code;

	if (context == 0)
		return 0;
	code = thread->lib->enter((void *)(uintptr_t)context, thread->entered ? &unused : &thread->previous);
	if (code == 0)
		thread->entered = true;
	return code;
}

static void leave(struct gf1_thread *thread)
{
	if (thread->entered)
		thread->lib->leave(thread->previous);
}

#define P(value) ((void *)(uintptr_t)(value))

#define GF1_CASE(name, ...) \
	case GF1_NCCL_##name: \
		return lib->name(__VA_ARGS__);

static int mem_stats(const struct gf1_nccl *lib, gf1_comm comm, struct gf1_nccl_slot *slot)
{
	for (int i = 0; i < GF1_NCCL_STATS; i++) {
		int code = lib->CommMemStats(comm, i, &slot->stats[i]);

		if (code != GF1_NCCL_SUCCESS)
			return code;
	}
	return GF1_NCCL_SUCCESS;
}

/* Operations that make, change or end a communicator or what belongs to it. */
static int manage(const struct gf1_nccl *lib, const struct gf1_nccl_op *op)
{
	struct gf1_nccl_slot *slot = P(op->slot);
	gf1_comm comm = P(op->comm);
	int flags = (int)op->flags;

	switch (op->function) {
	GF1_CASE(CommInitRankConfig, &slot->comm, op->signal, slot->ids[0], op->peer, &slot->config)
	GF1_CASE(CommInitRank, &slot->comm, op->signal, slot->ids[0], op->peer)
	GF1_CASE(CommInitRankScalable, &slot->comm, op->signal, op->peer, slot->id_count, slot->ids, &slot->config)
	GF1_CASE(CommSplit, comm, op->peer, op->signal, &slot->comm, &slot->config)
	GF1_CASE(CommShrink, comm, slot->excluded, slot->excluded_count, &slot->comm, &slot->config, flags)
	GF1_CASE(CommGrow, comm, op->signal, slot->id_count != 0 ? slot->ids : NULL, op->peer, &slot->comm,
		 &slot->config)
	GF1_CASE(CommGetUniqueId, comm, slot->ids)
	GF1_CASE(CommFinalize, comm)
	GF1_CASE(CommDestroy, comm)
	GF1_CASE(CommAbort, comm)
	GF1_CASE(CommRevoke, comm, flags)
	GF1_CASE(CommSuspend, comm, flags)
	GF1_CASE(CommResume, comm)
	case GF1_NCCL_CommMemStats:
		return mem_stats(lib, comm, slot);
	GF1_CASE(CommQueryProperties, comm, &slot->properties)
	GF1_CASE(CommRegister, comm, P(op->send), op->count, &slot->handle)
	GF1_CASE(CommDeregister, comm, P(op->handle))
	GF1_CASE(CommWindowRegister, comm, P(op->send), op->count, &slot->window, flags)
	GF1_CASE(CommWindowDeregister, comm, P(op->handle))
	GF1_CASE(WinGetUserPtr, comm, P(op->handle), &slot->handle)
	GF1_CASE(GetPeerDevicePointer, P(op->handle), op->offset, op->peer, &slot->handle)
	GF1_CASE(GetLsaDevicePointer, P(op->handle), op->offset, op->peer, &slot->handle)
	GF1_CASE(GetLsaMultimemDevicePointer, P(op->handle), op->offset, &slot->handle)
	GF1_CASE(RedOpCreatePreMulSum, &slot->reduction, op->send != 0 ? P(op->send) : slot->scalar, op->type,
		 op->send != 0 ? 0 : 1, comm)
	GF1_CASE(RedOpDestroy, op->reduction, comm)
	default:
		return GF1_NCCL_MISSING;
	}
}

/* Whether a function's result tells that NCCL goes on behind the caller. Some of
 * those that make something (CommSplit, CommShrink, CommWindowRegister) answer
 * success at once on a non-blocking communicator, so for all but those that work
 * along a stream the communicator has to be asked. */
static bool tells(int function)
{
	switch (function) {
	case GF1_NCCL_AllReduce:
	case GF1_NCCL_Reduce:
	case GF1_NCCL_Broadcast:
	case GF1_NCCL_AllGather:
	case GF1_NCCL_ReduceScatter:
	case GF1_NCCL_AlltoAll:
	case GF1_NCCL_Gather:
	case GF1_NCCL_Scatter:
	case GF1_NCCL_Send:
	case GF1_NCCL_Recv:
	case GF1_NCCL_PutSignal:
	case GF1_NCCL_Signal:
	case GF1_NCCL_WaitSignal:
		return true;
	default:
		return false;
	}
}

/* Any operation; those that move data or signals along a stream come first. */
static int issue(const struct gf1_nccl *lib, const struct gf1_nccl_op *op, struct gf1_nccl_wait *waits)
{
	const void *send = P(op->send);
	void *recv = P(op->recv);
	gf1_comm comm = P(op->comm);
	gf1_stream stream = P(op->stream);

	switch (op->function) {
	GF1_CASE(AllReduce, send, recv, op->count, op->type, op->reduction, comm, stream)
	GF1_CASE(Reduce, send, recv, op->count, op->type, op->reduction, op->peer, comm, stream)
	GF1_CASE(Broadcast, send, recv, op->count, op->type, op->peer, comm, stream)
	GF1_CASE(AllGather, send, recv, op->count, op->type, comm, stream)
	GF1_CASE(ReduceScatter, send, recv, op->count, op->type, op->reduction, comm, stream)
	GF1_CASE(AlltoAll, send, recv, op->count, op->type, comm, stream)
	GF1_CASE(Gather, send, recv, op->count, op->type, op->peer, comm, stream)
	GF1_CASE(Scatter, send, recv, op->count, op->type, op->peer, comm, stream)
	GF1_CASE(Send, send, op->count, op->type, op->peer, comm, stream)
	GF1_CASE(Recv, recv, op->count, op->type, op->peer, comm, stream)
	GF1_CASE(PutSignal, send, op->count, op->type, op->peer, P(op->handle), op->offset, op->signal,
		 op->rma_context, op->flags, comm, stream)
	GF1_CASE(Signal, op->peer, op->signal, op->rma_context, op->flags, comm, stream)
	GF1_CASE(WaitSignal, op->wait_count, waits + op->waits, comm, stream)
	default:
		return manage(lib, op);
	}
}

/* Whether the table has the function: its fields are pointers in that order. */
static bool has(const struct gf1_nccl *lib, int function)
{
	return ((void *const *)lib)[function] != NULL;
}

static int call(struct gf1_nccl_batch *batch, struct gf1_thread *thread, struct gf1_nccl_op *op)
{
	if (!has(batch->lib, op->function)) {
		batch->missing = op->function;
		return GF1_NCCL_MISSING;
	}
	batch->entered = enter(thread, op->context);
	if (batch->entered != 0)
		return GF1_NCCL_NOT_CALLED;
	return issue(batch->lib, op, batch->waits);
}

static void run_ops(struct gf1_nccl_batch *batch, struct gf1_thread *thread)
{
	for (int i = 0; i < batch->op_count; i++) {
		struct gf1_nccl_op *op = &batch->ops[i];

		op->code = call(batch, thread, op);
		if (is_failure(op->code)) {
			batch->failed++;
			if (op->code > 0)
				keep_last(batch->lib, P(op->comm), batch->last);
		}
		/* A group takes every operation, so that each error is known. */
		if (batch->mode == GF1_NCCL_ALONE) {
			batch->code = op->code;
			if (is_failure(op->code))
				return;
		}
	}
}

static int end_group(struct gf1_nccl_batch *batch)
{
	struct gf1_nccl_sim_info info = {
		.size = sizeof(info),
		.magic = GF1_NCCL_SIM_MAGIC,
		.version = (unsigned int)batch->lib->version,
		.microseconds = -1,
	};
	int code;

	if (batch->mode == GF1_NCCL_GROUP)
		return batch->lib->GroupEnd();
	code = batch->lib->GroupSimulateEnd(&info);
	batch->microseconds = info.microseconds;
	return code;
}

static void run_group(struct gf1_nccl_batch *batch, struct gf1_thread *thread)
{
	int code;

	if (batch->mode == GF1_NCCL_SIMULATE && !has(batch->lib, GF1_NCCL_GroupSimulateEnd)) {
		batch->missing = GF1_NCCL_GroupSimulateEnd;
		batch->code = GF1_NCCL_MISSING;
		return;
	}
	/* GroupStart and GroupEnd ask for the thread's device. */
	batch->entered = batch->op_count > 0 ? enter(thread, batch->ops[0].context) : 0;
	if (batch->entered != 0) {
		batch->code = GF1_NCCL_NOT_CALLED;
		return;
	}
	batch->code = batch->lib->GroupStart();
	if (batch->code != GF1_NCCL_SUCCESS) {
		keep_last(batch->lib, NULL, batch->last);
		return;
	}
	run_ops(batch, thread);
	/* Always: without it the thread would stay inside a group for ever. */
	code = end_group(batch);
	batch->code = code;
	if (is_failure(code))
		keep_last(batch->lib, NULL, batch->last);
}

static gf1_comm comm_of(const struct gf1_nccl_member *member)
{
	const struct gf1_nccl_slot *slot;

	if (member->comm != 0)
		return P(member->comm);
	slot = P(member->slot);
	return slot != NULL ? __atomic_load_n(&slot->comm, __ATOMIC_ACQUIRE) : NULL;
}

/* Asks every member once. In progress beats an error: nobody may leave while
 * NCCL still works on one of them. */
static int ask(struct gf1_nccl_batch *batch)
{
	int code = GF1_NCCL_SUCCESS;

	for (int i = 0; i < batch->member_count; i++) {
		struct gf1_nccl_member *member = &batch->members[i];
		gf1_comm comm = comm_of(member);
		int state = GF1_NCCL_SUCCESS;
		int asked;

		if (comm == NULL)
			continue;
		asked = batch->lib->CommGetAsyncError(comm, &state);
		member->code = asked != GF1_NCCL_SUCCESS ? asked : state;
		if (is_failure(member->code)) {
			keep_last(batch->lib, comm, batch->last);
			if (code == GF1_NCCL_SUCCESS)
				code = member->code;
		} else if (member->code == GF1_NCCL_IN_PROGRESS) {
			code = GF1_NCCL_IN_PROGRESS;
		}
	}
	return code;
}

static int64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void poll_members(struct gf1_nccl_batch *batch, struct gf1_thread *thread)
{
	if (batch->member_count == 0)
		return;
	batch->entered = enter(thread, batch->members[0].context);
	if (batch->entered != 0) {
		/* NCCL is at work, and nobody can ask it any more. */
		batch->code = GF1_NCCL_CUDA_ERROR;
		return;
	}
	int64_t begin = batch->spins > 1 ? nanoseconds() : 0;
	for (int i = 0; i < batch->spins || i == 0; i++) {
		batch->code = ask(batch);
		if (batch->code != GF1_NCCL_IN_PROGRESS)
			return;
		sched_yield();
		/* On a busy machine each of these takes milliseconds, and the
		 * caller's context may have ended. */
		if (batch->spins > 1 && nanoseconds() - begin > LONGEST_SPIN)
			return;
	}
}

/* Whether NCCL is, or may be, still at work. */
static bool goes_on(const struct gf1_nccl_batch *batch)
{
	if (batch->code == GF1_NCCL_IN_PROGRESS)
		return true;
	return batch->code == GF1_NCCL_SUCCESS && batch->mode == GF1_NCCL_ALONE && batch->op_count > 0 &&
	       !tells(batch->ops[batch->op_count - 1].function);
}

void gf1_nccl_run(struct gf1_nccl_batch *batch)
{
	struct gf1_thread thread = {.lib = batch->lib};

	batch->code = GF1_NCCL_SUCCESS;
	batch->entered = 0;
	batch->failed = 0;
	batch->missing = -1;
	batch->microseconds = -1;
	batch->last[0] = '\0';
	if (batch->mode == GF1_NCCL_ALONE)
		run_ops(batch, &thread);
	else
		run_group(batch, &thread);
	if (goes_on(batch))
		poll_members(batch, &thread);
	leave(&thread);
}

void gf1_nccl_poll(struct gf1_nccl_batch *batch)
{
	struct gf1_thread thread = {.lib = batch->lib};

	batch->last[0] = '\0';
	poll_members(batch, &thread);
	leave(&thread);
}
