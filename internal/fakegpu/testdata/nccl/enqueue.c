// The collectives as the caller sees them: arguments are checked and the op goes
// into the calling thread's group.
#include "state.h"

#include <stdlib.h>
#include <string.h>

static ncclResult_t check(ncclComm_t comm, const char *name, struct op *op) {
	int types = HAS(2, 24, 3) ? ncclNumTypes : ncclFloat8e4m3;
	if (comm->finalized && !comm->revoked)
		gf1_fake_report("%s after ncclCommFinalize (rank %d)", name, comm->rank);
	if (comm->suspended)
		return gf1_fail(ncclInvalidUsage, "%s : the communicator is suspended", name);
	if (op->kind != WAIT && (op->peer < 0 || op->peer >= comm->nranks))
		return gf1_fail(ncclInvalidArgument, "%s : invalid root %d (root should be in the 0..%d range)", name, op->peer,
			comm->nranks);
	if (op->type < 0 || op->type >= types)
		return gf1_fail(ncclInvalidArgument, "%s : invalid type %d", name, op->type);
	if (op->op < 0)
		return gf1_fail(ncclInvalidArgument, "%s : invalid reduction operation %d", name, op->op);
	if (op->op >= ncclNumOps) {
		int i = op->op - ncclNumOps;
		if (i >= 32 || !comm->operators[i].used)
			return gf1_fail(ncclInvalidArgument, "%s : reduction operation %d unknown to this communicator", name, op->op);
		if (comm->operators[i].type != op->type)
			return gf1_fail(ncclInvalidArgument, "%s : data type of the user-defined operation differs", name);
		op->premultiply = true;
		op->scalar = comm->operators[i].scalar;
		op->device_scalar = comm->operators[i].device;
	}
	return ncclSuccess;
}

static ncclResult_t enqueue(ncclComm_t comm, const char *name, struct op op) {
	int code;
	if (gf1_fake_fault(name, &code))
		return gf1_group_fail(gf1_fail(code, "%s: a fault that was asked for", name));
	ncclResult_t r = gf1_enter(comm, name, EXCLUSIVE);
	if (r != ncclSuccess)
		return gf1_group_fail(r);
	if (comm->revoked) {
		gf1_leave(comm, EXCLUSIVE);
		return gf1_group_fail(gf1_fail(ncclInvalidUsage, "%s: communicator was revoked", name));
	}
	gf1_check_context(comm, name);
	gf1_group_open();
	r = gf1_ready(comm, name);
	if (r == ncclSuccess)
		r = check(comm, name, &op);
	if (r == ncclSuccess)
		r = gf1_group_op(comm, &op);
	if (r != ncclSuccess && !comm->config.blocking)
		atomic_store(&comm->async, r);
	gf1_group_fail(r);
	ncclResult_t closed = gf1_group_close();
	if (r == ncclSuccess)
		r = closed;
	if (!comm->config.blocking)
		r = atomic_load(&comm->async);
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = ALL_REDUCE, .send = send, .recv = recv, .count = count, .type = type,
		.op = op, .stream = stream});
}

ncclResult_t ncclReduce(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int root,
	ncclComm_t comm, cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = REDUCE, .send = send, .recv = recv, .count = count, .type = type,
		.op = op, .peer = root, .stream = stream});
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = BROADCAST, .send = send, .recv = recv, .count = count, .type = type,
		.peer = root, .stream = stream});
}

ncclResult_t ncclBcast(void *buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm, cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = BROADCAST, .send = buffer, .recv = buffer, .count = count,
		.type = type, .peer = root, .stream = stream});
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op,
	ncclComm_t comm, cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = REDUCE_SCATTER, .send = send, .recv = recv, .count = count,
		.type = type, .op = op, .stream = stream});
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
	cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = ALL_GATHER, .send = send, .recv = recv, .count = count, .type = type,
		.stream = stream});
}

ncclResult_t ncclAlltoAll(const void *send, void *recv, size_t count, ncclDataType_t type, ncclComm_t comm,
	cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = ALL_TO_ALL, .send = send, .recv = recv, .count = count, .type = type,
		.stream = stream});
}

ncclResult_t ncclGather(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = GATHER, .send = send, .recv = recv, .count = count, .type = type,
		.peer = root, .stream = stream});
}

ncclResult_t ncclScatter(const void *send, void *recv, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
	cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = SCATTER, .send = send, .recv = recv, .count = count, .type = type,
		.peer = root, .stream = stream});
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = SEND, .send = send, .count = count, .type = type, .peer = peer,
		.stream = stream});
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
	return enqueue(comm, __func__, (struct op){.kind = RECV, .recv = recv, .count = count, .type = type, .peer = peer,
		.stream = stream});
}

ncclResult_t ncclPutSignal(const void *local, size_t count, ncclDataType_t type, int peer, ncclWindow_t window,
	size_t offset, int signal, int context, unsigned int flags, ncclComm_t comm, cudaStream_t stream) {
	if (window == NULL || window->magic != MAGIC_WINDOW || window->comm != comm || signal < 0 || signal >= SIGNALS ||
		context != 0 || flags != 0)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclPutSignal : invalid window, signal, context or flags"));
	return enqueue(comm, __func__, (struct op){.kind = PUT, .send = local, .count = count, .type = type, .peer = peer,
		.window = window->index, .offset = offset, .signal = signal, .stream = stream});
}

ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags, ncclComm_t comm, cudaStream_t stream) {
	if (signal < 0 || signal >= SIGNALS || context != 0 || flags != 0)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclSignal : invalid signal, context or flags"));
	return enqueue(comm, __func__, (struct op){.kind = SIGNAL, .peer = peer, .signal = signal, .stream = stream});
}

ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *descs, ncclComm_t comm, cudaStream_t stream) {
	struct op op = {.kind = WAIT, .descs_len = count, .stream = stream};
	bool ok = comm != NULL && descs != NULL && count > 0 && count <= MAX_RANKS;
	for (int i = 0; ok && i < count; i++) {
		ok = descs[i].peer >= 0 && descs[i].peer < comm->nranks && descs[i].sigIdx >= 0 && descs[i].sigIdx < SIGNALS &&
			 descs[i].ctx == 0 && descs[i].opCnt > 0;
		op.descs[i] = descs[i];
	}
	if (!ok)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "ncclWaitSignal : invalid descriptors"));
	return enqueue(comm, __func__, op);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t type, int residence, ncclComm_t comm) {
	FAULT();
	if (op == NULL || scalar == NULL || type < 0 || type >= ncclNumTypes || residence < 0 || residence > 1)
		return gf1_fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum : invalid argument");
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	r = gf1_ready(comm, __func__);
	int i = 0;
	while (i < 32 && comm->operators[i].used)
		i++;
	if (r == ncclSuccess && i == 32)
		r = gf1_fail(ncclInternalError, "the fake has room for 32 operators");
	if (r == ncclSuccess) {
		struct operator *o = &comm->operators[i];
		o->used = true;
		o->type = type;
		o->device = residence == ncclScalarDevice ? scalar : NULL;
		o->scalar = residence == ncclScalarDevice ? 0 : gf1_load(type, scalar);
		*op = ncclNumOps + i;
		comm->live_operators++;
		gf1_count(GF1_LIVE_OPERATORS, 1);
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
	FAULT();
	ncclResult_t r = gf1_enter(comm, __func__, EXCLUSIVE);
	if (r != ncclSuccess)
		return r;
	int i = op - ncclNumOps;
	if (i < 0 || i >= 32 || !comm->operators[i].used) {
		gf1_fake_report("ncclRedOpDestroy of operator %d, which rank %d does not have", op, comm->rank);
		r = gf1_fail(ncclInvalidArgument, "ncclRedOpDestroy : operator unknown to this communicator");
	} else {
		comm->operators[i].used = false;
		comm->live_operators--;
		gf1_count(GF1_LIVE_OPERATORS, -1);
	}
	gf1_leave(comm, EXCLUSIVE);
	return r;
}
