// Collectives in which ranks see one another's data through their slots, a piece
// at a time: publish, barrier, read, barrier.
#include "state.h"

#include <string.h>

static const char *name(enum kind kind) {
	static const char *names[] = {"?", "ncclAllReduce", "ncclReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter"};
	return names[kind];
}

// agree publishes what this rank is about to do and checks that all do the same.
// NCCL does not look: it hangs or mixes up data.
static ncclResult_t agree(ncclComm_t comm, const struct op *op) {
	struct member *mine = &comm->world->member[comm->rank];
	mine->agreed.kind = op->kind;
	mine->agreed.type = op->type;
	mine->agreed.op = op->op >= ncclNumOps ? ncclNumOps : op->op;
	mine->agreed.root = op->peer;
	mine->agreed.count = op->count;
	ncclResult_t r = gf1_barrier(comm, STREAM_PLANE);
	if (r != ncclSuccess)
		return r;
	for (int i = 0; i < comm->nranks; i++) {
		struct member *m = &comm->world->member[i];
		if (memcmp(&m->agreed, &mine->agreed, sizeof m->agreed) == 0)
			continue;
		gf1_fake_report("ranks differ: rank %d %s count %llu type %d op %d root %d, rank %d operation %d count %llu type %d op %d root %d",
			comm->rank, name(op->kind), (unsigned long long)op->count, op->type, mine->agreed.op, op->peer, i, m->agreed.kind,
			(unsigned long long)m->agreed.count, m->agreed.type, m->agreed.op, m->agreed.root);
		r = gf1_fail(ncclInvalidUsage, "the ranks disagree about a collective");
	}
	ncclResult_t barrier = gf1_barrier(comm, STREAM_PLANE); // before the next one is published
	return r != ncclSuccess ? r : barrier;
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
	ncclResult_t r = agree(comm, op);
	if (r != ncclSuccess || op->count == 0)
		return r;
	const char *in = s.gives ? gf1_reach(comm, op->send, s.in * width, name(op->kind)) : NULL;
	char *out = s.takes ? gf1_reach(comm, op->recv, s.out * width, name(op->kind)) : NULL;
	double scalar = op->premultiply ? scalar_of(comm, op) : 1;
	if ((s.gives && in == NULL) || (s.takes && out == NULL))
		r = gf1_fail(ncclUnhandledCudaError, "an illegal memory access was encountered");
	size_t piece = SLOT_SIZE / width;
	for (size_t at = 0; at < s.in; at += piece) {
		size_t n = s.in - at < piece ? s.in - at : piece;
		if (r == ncclSuccess && s.gives) {
			if (op->premultiply)
				gf1_multiply(op->type, comm->world->slots[comm->rank], in + at * width, n, scalar);
			else
				memcpy(comm->world->slots[comm->rank], in + at * width, n * width);
		}
		// A rank with a bad address stays away, as its kernel would.
		ncclResult_t barrier = r == ncclSuccess ? gf1_barrier(comm, STREAM_PLANE) : r;
		if (barrier != ncclSuccess)
			return barrier;
		if (s.takes)
			take(comm, op, out, at, n);
		barrier = gf1_barrier(comm, STREAM_PLANE);
		if (barrier != ncclSuccess)
			return barrier;
	}
	return r;
}
