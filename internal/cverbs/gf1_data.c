//go:build linux && cgo

#include "gf1_data.h"

#include "../dl/gf1_seen.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUEUES = 1 << GF1_QUEUE_BITS,
	USES = 1 << GF1_USE_BITS,
	QUEUE_SHIFT = 64 - GF1_QUEUE_BITS,
	USE_SHIFT = 32,
};

/* Records by index. The table is never moved, so polling needs no lock: only
 * touched pages of it cost memory. */
static struct gf1_queue *queues[QUEUES];
static uint16_t uses[QUEUES];
static uint32_t free_from;
static pthread_mutex_t queues_lock = PTHREAD_MUTEX_INITIALIZER;

static uint32_t slots_for(uint32_t depth)
{
	uint32_t slots = 1;

	while (slots < depth)
		slots <<= 1;
	return slots;
}

/* Takes the next free index after the one handed out last, so that an index
 * rests as long as possible before it is used again. */
static int enter(struct gf1_queue *queue)
{
	uint32_t i, index;

	for (i = 0; i < QUEUES; i++) {
		index = (free_from + i) & (QUEUES - 1);
		if (__atomic_load_n(&queues[index], __ATOMIC_RELAXED) != NULL)
			continue;
		free_from = index + 1;
		uses[index] = (uses[index] + 1) & (USES - 1);
		queue->base = (uint64_t)index << QUEUE_SHIFT | (uint64_t)uses[index] << USE_SHIFT;
		__atomic_store_n(&queues[index], queue, __ATOMIC_RELEASE);
		return 0;
	}
	return ENFILE;
}

void gf1_queue_free(struct gf1_queue *queue)
{
	free(queue->next);
	free(queue->ids);
	free(queue);
}

enum kind { OWN, SHARED, PASSING };

static struct gf1_queue *new_queue(uint32_t depth, enum kind kind)
{
	uint32_t slots = slots_for(depth), i;
	struct gf1_queue *queue = calloc(1, sizeof(*queue));
	int rc = ENOMEM;

	if (queue == NULL)
		return NULL;
	if (kind != PASSING) {
		queue->ids = calloc(slots, sizeof(*queue->ids));
		if (queue->ids == NULL)
			goto fail;
	}
	queue->mask = slots - 1;
	if (kind != OWN) {
		queue->next = calloc(slots, sizeof(*queue->next));
		if (queue->next == NULL)
			goto fail;
		for (i = 0; i + 1 < depth; i++)
			queue->next[i] = i + 2;
		queue->own = depth > 0 ? 1 : 0;
	}
	pthread_mutex_lock(&queues_lock);
	rc = enter(queue);
	pthread_mutex_unlock(&queues_lock);
	if (rc == 0)
		return queue;
fail:
	gf1_queue_free(queue);
	errno = rc;
	return NULL;
}

struct gf1_queue *gf1_queue_new(uint32_t depth)
{
	return new_queue(depth, OWN);
}

struct gf1_queue *gf1_queue_new_shared(uint32_t depth)
{
	return new_queue(depth, SHARED);
}

struct gf1_queue *gf1_queue_new_passing(void)
{
	return new_queue(1, PASSING);
}

static void leave(struct gf1_queue *queue)
{
	__atomic_store_n(&queues[queue->base >> QUEUE_SHIFT], NULL, __ATOMIC_RELEASE);
}

void gf1_queue_leave(struct gf1_queue *queue)
{
	pthread_mutex_lock(&queues_lock);
	leave(queue);
	pthread_mutex_unlock(&queues_lock);
}

int gf1_queue_renew(struct gf1_queue *queue)
{
	int rc;

	pthread_mutex_lock(&queues_lock);
	leave(queue);
	__atomic_store_n(&queue->head, 0, __ATOMIC_RELEASE);
	rc = enter(queue);
	pthread_mutex_unlock(&queues_lock);
	return rc;
}

/* Notes the completion of a shared receive and gives its slot back. The pollers
 * of several CQs may be here at once. */
static void finish_shared(struct gf1_queue *queue, uint64_t *wr_id, int status)
{
	uint32_t first = __atomic_load_n(&queue->returned, __ATOMIC_RELAXED);
	uint32_t slot = (uint32_t)*wr_id;

	__atomic_fetch_add(&queue->completed, 1, __ATOMIC_RELAXED);
	if (status != 0)
		__atomic_fetch_add(&queue->failed, 1, __ATOMIC_RELAXED);
	if (queue->ids == NULL) {
		*wr_id = slot;
		return;
	}
	slot &= queue->mask;
	*wr_id = queue->ids[slot];
	do {
		queue->next[slot] = first;
	} while (!__atomic_compare_exchange_n(&queue->returned, &first, slot + 1, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/* Notes a run of completions of one queue. Only the poller of the queue's CQ
 * writes these. */
static void finish_run(struct gf1_queue *queue, uint32_t head, uint32_t completed, uint32_t failed)
{
	__atomic_store_n(&queue->completed, queue->completed + completed, __ATOMIC_RELAXED);
	if (failed != 0)
		__atomic_store_n(&queue->failed, queue->failed + failed, __ATOMIC_RELAXED);
	__atomic_store_n(&queue->head, head, __ATOMIC_RELEASE);
}

/* The queue whose request carries this wr_id, or NULL if it is gone. */
static struct gf1_queue *find(uint64_t wr_id)
{
	struct gf1_queue *queue = __atomic_load_n(&queues[wr_id >> QUEUE_SHIFT], __ATOMIC_ACQUIRE);

	return queue != NULL && (queue->base ^ wr_id) >> USE_SHIFT == 0 ? queue : NULL;
}

int gf1_take_completion(uint64_t *wr_id, int status)
{
	struct gf1_queue *queue = find(*wr_id);
	uint32_t seq = (uint32_t)*wr_id;
	int shown;

	if (queue == NULL)
		return 0;
	if (queue->next != NULL) {
		finish_shared(queue, wr_id, status);
		return 1;
	}
	shown = !queue->has_beacon || seq != queue->beacon;
	if (shown)
		*wr_id = queue->ids[seq & queue->mask];
	finish_run(queue, seq + 1, (uint32_t)shown, shown && status != 0);
	return shown;
}

/* Turns device completions into the caller's, in place; returns how many stay.
 * Each turn of the outer loop takes a run of one queue. */
static int translate(struct gf1_wc *wc, int n)
{
	int kept = 0, i = 0;

	while (i < n) {
		uint64_t base = wc[i].wr_id >> USE_SHIFT << USE_SHIFT;
		struct gf1_queue *queue = find(base);
		uint32_t seq = 0, completed = 0, failed = 0;
		int64_t beacon;
		const uint64_t *ids;
		uint32_t mask;

		if (queue == NULL) {
			i++;
			continue;
		}
		if (queue->next != NULL) {
			finish_shared(queue, &wc[i].wr_id, wc[i].status);
			wc[kept++] = wc[i++];
			continue;
		}
		beacon = queue->has_beacon ? (int64_t)queue->beacon : -1;
		ids = queue->ids;
		mask = queue->mask;
		for (; i < n && (wc[i].wr_id ^ base) >> USE_SHIFT == 0; i++) {
			seq = (uint32_t)wc[i].wr_id;
			if (seq == beacon)
				continue;
			if (kept != i)
				wc[kept] = wc[i];
			wc[kept].wr_id = ids[seq & mask];
			failed += wc[kept].status != 0;
			completed++;
			kept++;
		}
		finish_run(queue, seq + 1, completed, failed);
	}
	return kept;
}

int gf1_poll(struct gf1_cq *cq, struct gf1_wc *wc, int entries)
{
	static struct gf1_seen seen = { .name = "ibv_poll_cq" };
	int n;

	/* Dropped completions must not make a full CQ look empty. */
	do {
		n = cq->context->ops.poll_cq(cq, entries, wc);
		if (n < 0)
			return errno > 0 ? -errno : -EIO;
		if (n == 0)
			return 0;
		gf1_saw(&seen, 0);
		n = translate(wc, n);
	} while (n == 0);
	return n;
}

int gf1_spin(struct gf1_cq *cq, struct gf1_wc *wc, int entries, int polls)
{
	int i, n;

	for (i = 0; i < polls; i++) {
		n = gf1_poll(cq, wc, entries);
		if (n != 0)
			return n;
	}
	/* What fills the CQ may be a thread of the kernel on this processor. */
	sched_yield();
	return 0;
}

int gf1_arm(struct gf1_cq *cq, int solicited_only)
{
	static struct gf1_seen seen = { .name = "ibv_req_notify_cq" };
	int rc = cq->context->ops.req_notify_cq(cq, solicited_only);

	if (rc < 0)
		rc = errno > 0 ? errno : EIO;
	return gf1_saw(&seen, rc);
}

/* Providers return a positive errno; some old ones -1 with errno set. */
static int32_t post_rc(int rc)
{
	if (rc == -1)
		return errno > 0 ? errno : EIO;
	return rc < 0 ? -rc : rc;
}

struct gf1_posted gf1_outcome(struct gf1_seen *seen, int rc, int n, ptrdiff_t taken)
{
	struct gf1_posted result = { .posted = n };

	if (rc != 0) {
		result.rc = post_rc(rc);
		result.posted = (int32_t)taken;
	}
	gf1_saw(seen, result.rc);
	return result;
}

struct gf1_posted gf1_post_send(struct gf1_qp *qp, struct gf1_send_wr *wr, int n)
{
	static struct gf1_seen seen = { .name = "ibv_post_send" };
	struct gf1_send_wr *next = wr[n - 1].next, *bad = NULL;
	int rc;

	wr[n - 1].next = NULL;
	rc = qp->context->ops.post_send(qp, wr, &bad);
	wr[n - 1].next = next;
	return gf1_outcome(&seen, rc, n, bad != NULL ? bad - wr : 0);
}

struct gf1_posted gf1_post_recv(struct gf1_qp *qp, struct gf1_recv_wr *wr, int n)
{
	static struct gf1_seen seen = { .name = "ibv_post_recv" };
	struct gf1_recv_wr *next = wr[n - 1].next, *bad = NULL;
	int rc;

	wr[n - 1].next = NULL;
	rc = qp->context->ops.post_recv(qp, wr, &bad);
	wr[n - 1].next = next;
	return gf1_outcome(&seen, rc, n, bad != NULL ? bad - wr : 0);
}

struct gf1_posted gf1_post_srq_recv(struct gf1_srq *srq, struct gf1_recv_wr *wr, int n)
{
	static struct gf1_seen seen = { .name = "ibv_post_srq_recv" };
	struct gf1_recv_wr *next = wr[n - 1].next, *bad = NULL;
	int rc;

	wr[n - 1].next = NULL;
	rc = srq->context->ops.post_srq_recv(srq, wr, &bad);
	wr[n - 1].next = next;
	return gf1_outcome(&seen, rc, n, bad != NULL ? bad - wr : 0);
}

struct gf1_posted gf1_post_and_poll(struct gf1_qp *qp, struct gf1_send_wr *wr, int n, struct gf1_cq *cq,
				    struct gf1_wc *wc, int entries)
{
	struct gf1_posted result = { 0 };
	int polled;

	if (n > 0)
		result = gf1_post_send(qp, wr, n);
	if (entries > 0) {
		polled = gf1_poll(cq, wc, entries);
		if (polled < 0)
			result.poll_rc = -polled;
		else
			result.polled = polled;
	}
	return result;
}
