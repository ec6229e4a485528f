// Collectives in which ranks see one another's data through their slots, a piece
// at a time: publish, barrier, read, barrier.
#include "state.h"

#include <string.h>

static const char *name(enum kind kind) {
	static const char *names[] = {"?", "ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter"};
	return names[kind];
}

// publish says what this rank is about to do; agreed checks, after a barrier, that
// all do the same. NCCL does not look: it hangs or mixes up data.
static void publish(ncclComm_t comm, const struct op *op) {
	struct member *mine = &comm->world->member[comm->rank];
	mine->agreed.kind = op->kind;
	mine->agreed.type = op->type;
	mine->agreed.op = op->op >= ncclNumOps ? ncclNumOps : op->op;
	mine->agreed.root = op->peer;
	mine->agreed.count = op->count;
}

static bool agreed(ncclComm_t comm, const struct op *op) {
	struct member *mine = &comm->world->member[comm->rank];
	for (int i = 0; i < comm->nranks; i++) {
		struct member *m = &comm->world->member[i];
		if (memcmp(&m->agreed, &mine->agreed, sizeof m->agreed) == 0)
			continue;
		gf1_fake_report("ranks differ: rank %d %s count %llu type %d op %d root %d, rank %d operation %d count %llu type %d op %d root %d",
			comm->rank, name(op->kind), (unsigned long long)op->count, op->type, mine->agreed.op, op->peer, i, m->agreed.kind,
			(unsigned long long)m->agreed.count, m->agreed.type, m->agreed.op, m->agreed.root);
		return false;
	}
	return true;
}

static double scalar_of(ncclComm_t comm, const struct op *op) {
	if (op->device_scalar == NULL)
		return op->scalar;
	void *p = gf1_reach(comm, op->device_scalar, gf1_type_size(op->type), "the scalar of an operator");
	return p == NULL ? 0 : gf1_load(op->type, p);
}

// The input and output of a rank: how many elements, and who sees them.
struct shape {
	size_t in, out;
	bool gives, takes;
};

static struct shape shape_of(ncclComm_t comm, const struct op *op) {
	bool root = op->peer == comm->rank;
	size_t n = (size_t)comm->nranks;
	switch (op->kind) {
	case REDUCE: return (struct shape){op->count, op->count, true, root};
	case BROADCAST: return (struct shape){op->count, op->count, root, true};
	case ALL_GATHER: return (struct shape){op->count, op->count * n, true, true};
	case REDUCE_SCATTER: return (struct shape){op->count * n, op->count, true, true};
	default: return (struct shape){op->count, op->count, true, true};
	}
}

static void take(ncclComm_t comm, const struct op *op, char *out, size_t at, size_t n) {
	struct world *w = comm->world;
	size_t width = gf1_type_size(op->type);
	const void *slots[MAX_RANKS];
	for (int r = 0; r < comm->nranks; r++)
		slots[r] = w->slots[r];
	switch (op->kind) {
	case BROADCAST:
		memcpy(out + at * width, w->slots[op->peer], n * width);
		break;
	case ALL_GATHER:
		for (int r = 0; r < comm->nranks; r++)
			memcpy(out + ((size_t)r * op->count + at) * width, slots[r], n * width);
		break;
	case REDUCE_SCATTER: {
		// The piece may hold a part of this rank's block.
		size_t from = (size_t)comm->rank * op->count, to = from + op->count;
		size_t first = from > at ? from : at, last = to < at + n ? to : at + n;
		if (first >= last)
			break;
		for (int r = 0; r < comm->nranks; r++)
			slots[r] = w->slots[r] + (first - at) * width;
		gf1_reduce(op->type, op->premultiply ? ncclSum : op->op, out + (first - from) * width, slots, comm->nranks, last - first);
		break;
	}
	default:
		gf1_reduce(op->type, op->premultiply ? ncclSum : op->op, out + at * width, slots, comm->nranks, n);
	}
}

ncclResult_t gf1_run_exchange(ncclComm_t comm, const struct op *op) {
	size_t width = gf1_type_size(op->type);
	struct shape s = shape_of(comm, op);
	const char *in = s.gives ? gf1_reach(comm, op->send, s.in * width, name(op->kind)) : NULL;
	char *out = s.takes ? gf1_reach(comm, op->recv, s.out * width, name(op->kind)) : NULL;
	double scalar = op->premultiply ? scalar_of(comm, op) : 1;
	// A rank with a bad address stays away, as its kernel would.
	if (op->count > 0 && ((s.gives && in == NULL) || (s.takes && out == NULL)))
		return gf1_fail(ncclUnhandledCudaError, "an illegal memory access was encountered");
	publish(comm, op);
	size_t piece = SLOT_SIZE / width, at = 0;
	do {
		size_t n = s.in - at < piece ? s.in - at : piece;
		if (s.gives && op->premultiply)
			gf1_multiply(op->type, comm->world->slots[comm->rank], in + at * width, n, scalar);
		else if (s.gives && n > 0)
			memcpy(comm->world->slots[comm->rank], in + at * width, n * width);
		ncclResult_t r = gf1_barrier(comm, STREAM_PLANE);
		if (r != ncclSuccess)
			return r;
		if (at == 0 && !agreed(comm, op))
			return gf1_fail(ncclInvalidUsage, "the ranks disagree about a collective");
		if (s.takes && n > 0)
			take(comm, op, out, at, n);
		r = gf1_barrier(comm, STREAM_PLANE);
		if (r != ncclSuccess)
			return r;
		at += n;
	} while (at < s.in);
	return ncclSuccess;
}
