// Sends and receives through a box for each pair of ranks. All of a batch make
// progress together, in order for each pair and direction.
#include "state.h"

#include <stdlib.h>
#include <string.h>

struct transfer {
	bool send;
	int peer;
	char *at;
	size_t size, done;
	bool started, finished;
};

struct list {
	struct transfer *items;
	size_t len;
	bool bad;
};

static void add(ncclComm_t comm, struct list *l, bool send, int peer, const void *at, size_t size) {
	void *p = gf1_reach(comm, at, size, send ? "ncclSend" : "ncclRecv");
	l->bad = l->bad || (p == NULL && size > 0);
	l->items = realloc(l->items, (l->len + 1) * sizeof *l->items);
	l->items[l->len++] = (struct transfer){.send = send, .peer = peer, .at = p, .size = size};
}

static void expand(ncclComm_t comm, struct list *l, const struct op *op) {
	size_t size = op->count * gf1_type_size(op->type);
	bool root = op->peer == comm->rank;
	const char *send = op->send;
	char *recv = op->recv;
	switch (op->kind) {
	case SEND:
		add(comm, l, true, op->peer, send, size);
		break;
	case RECV:
		add(comm, l, false, op->peer, recv, size);
		break;
	case GATHER:
		add(comm, l, true, op->peer, send, size);
		for (int r = 0; root && r < comm->nranks; r++)
			add(comm, l, false, r, recv + (size_t)r * size, size);
		break;
	case SCATTER:
		for (int r = 0; root && r < comm->nranks; r++)
			add(comm, l, true, r, send + (size_t)r * size, size);
		add(comm, l, false, op->peer, recv, size);
		break;
	default:
		for (int r = 0; r < comm->nranks; r++) {
			add(comm, l, true, r, send + (size_t)r * size, size);
			add(comm, l, false, r, recv + (size_t)r * size, size);
		}
	}
}

// step moves one piece if the box lets it, and answers whether it did.
static bool step(ncclComm_t comm, struct transfer *t) {
	struct world *w = comm->world;
	int from = t->send ? comm->rank : t->peer, to = t->send ? t->peer : comm->rank;
	struct box *b = &w->box[from][to];
	char *bytes = w->boxes[from][to];
	if (t->send) {
		if (atomic_load(&b->sent) != atomic_load(&b->taken))
			return false;
		size_t n = t->size - t->done < BOX_SIZE ? t->size - t->done : BOX_SIZE;
		if (n > 0)
			memcpy(bytes, t->at + t->done, n);
		b->size = n;
		b->total = t->size;
		t->done += n;
		t->finished = t->done == t->size;
		atomic_fetch_add(&b->sent, 1);
		return true;
	}
	if (atomic_load(&b->sent) == atomic_load(&b->taken))
		return false;
	if (b->total != t->size)
		gf1_fake_report("rank %d sends %llu bytes, rank %d receives %zu", from, (unsigned long long)b->total, to, t->size);
	size_t n = b->size < t->size - t->done ? b->size : t->size - t->done;
	if (n > 0)
		memcpy(t->at + t->done, bytes, n);
	t->done += n;
	t->finished = t->done == t->size || b->size < BOX_SIZE;
	atomic_fetch_add(&b->taken, 1);
	return true;
}

// first answers whether no earlier transfer of the same pair and direction is
// still to be done.
static bool first(const struct list *l, size_t i) {
	for (size_t j = 0; j < i; j++) {
		if (!l->items[j].finished && l->items[j].peer == l->items[i].peer && l->items[j].send == l->items[i].send)
			return false;
	}
	return true;
}

ncclResult_t gf1_run_p2p(ncclComm_t comm, const struct op *ops, size_t len) {
	struct list l = {0};
	for (size_t i = 0; i < len; i++) {
		if (ops[i].kind >= SEND && ops[i].kind <= SCATTER)
			expand(comm, &l, &ops[i]);
	}
	ncclResult_t r = l.bad ? gf1_fail(ncclUnhandledCudaError, "an illegal memory access was encountered") : ncclSuccess;
	for (bool left = true; left && r == ncclSuccess;) {
		uint32_t tick = atomic_load(&comm->world->tick);
		bool moved = false;
		left = false;
		for (size_t i = 0; i < l.len; i++) {
			if (l.items[i].finished)
				continue;
			if (first(&l, i) && step(comm, &l.items[i]))
				moved = true;
			left = left || !l.items[i].finished;
		}
		if (moved)
			gf1_changed_world(comm->world);
		else if (left)
			r = gf1_wait(comm, tick, true);
	}
	free(l.items);
	return r;
}
