//go:build linux && cgo

/* Completion queues. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

enum { SOLICITED_ONLY = 1, ANY = 2 };

struct gf1l_cq *gf1l_new_cq(struct gf1_context *context, int cqe, void *cq_context, struct gf1_comp_channel *channel,
			    int vector)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct gf1l_cq *cq;

	if (cqe < 1 || cqe > GF1L_MAX_CQE || vector < 0 || vector >= context->num_comp_vectors ||
	    (channel != NULL && channel->context != context)) {
		errno = EINVAL;
		return NULL;
	}
	cq = gf1l_make(ctx, sizeof(*cq));
	if (cq == NULL)
		return NULL;
	cq->limit = (uint32_t)cqe;
	cq->mask = gf1l_slots_for(cq->limit) - 1;
	cq->ring = calloc((size_t)cq->mask + 1, sizeof(*cq->ring));
	if (cq->ring == NULL) {
		gf1l_unmake(ctx, cq);
		errno = ENOMEM;
		return NULL;
	}
	cq->ctx = ctx;
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.cqe = cqe;
	pthread_mutex_init(&cq->lock, NULL);
	pthread_mutex_init(&cq->cq.mutex, NULL);
	pthread_cond_init(&cq->cq.cond, NULL);
	if (channel != NULL) {
		cq->channel = GF1L_OF(struct gf1l_channel, ch, channel);
		__atomic_fetch_add(&channel->refcnt, 1, __ATOMIC_RELAXED);
	}
	return cq;
}

struct gf1_cq *gf1l_create_cq(struct gf1_context *context, int cqe, void *cq_context,
			      struct gf1_comp_channel *channel, int vector)
{
	struct gf1l_cq *cq = gf1l_new_cq(context, cqe, cq_context, channel, vector);

	return cq != NULL ? &cq->cq : NULL;
}

int gf1l_destroy_cq(struct gf1_cq *c)
{
	struct gf1l_cq *cq = GF1L_OF(struct gf1l_cq, cq, c);
	uint32_t reported;

	if (gf1l_in_use(&cq->refs))
		return EBUSY;
	gf1l_forget_events(cq);
	reported = gf1l_retract_async(cq->ctx, &cq->cq, cq->async_events);
	gf1l_await_acks(&cq->cq.mutex, &cq->cq.cond, &cq->cq.async_events_completed, reported);
	if (cq->channel != NULL)
		__atomic_fetch_sub(&cq->channel->ch.refcnt, 1, __ATOMIC_RELEASE);
	pthread_mutex_destroy(&cq->lock);
	pthread_mutex_destroy(&cq->cq.mutex);
	pthread_cond_destroy(&cq->cq.cond);
	free(cq->ring);
	gf1l_unmake(cq->ctx, cq);
	return 0;
}

int gf1l_resize_cq(struct gf1_cq *c, int cqe)
{
	struct gf1l_cq *cq = GF1L_OF(struct gf1l_cq, cq, c);
	struct gf1l_cqe *ring;
	uint32_t mask;
	uint64_t i;
	int rc = 0;

	if (gf1l_is_removed(cq->ctx))
		return EIO;
	if (cqe < 1 || cqe > GF1L_MAX_CQE)
		return EINVAL;
	mask = gf1l_slots_for((uint32_t)cqe) - 1;
	ring = calloc((size_t)mask + 1, sizeof(*ring));
	if (ring == NULL)
		return ENOMEM;
	pthread_mutex_lock(&cq->lock);
	if (cq->tail - cq->head > (uint32_t)cqe) {
		rc = EINVAL;
	} else {
		struct gf1l_cqe *old = cq->ring;

		for (i = cq->head; i != cq->tail; i++)
			ring[i & mask] = old[i & cq->mask];
		cq->ring = ring;
		cq->mask = mask;
		cq->limit = (uint32_t)cqe;
		cq->cq.cqe = cqe;
		ring = old;
	}
	pthread_mutex_unlock(&cq->lock);
	free(ring);
	return rc;
}

static void settle_accounts(const struct gf1l_cqe *cqe)
{
	if (cqe->ring != NULL)
		__atomic_fetch_sub(&cqe->ring->outstanding, 1, __ATOMIC_RELEASE);
	else
		__atomic_store_n(&cqe->qp->reclaimed, cqe->upto, __ATOMIC_RELEASE);
}

int gf1l_take_cqe(struct gf1l_cq *cq, struct gf1l_cqe *cqe)
{
	int there;

	pthread_mutex_lock(&cq->lock);
	there = cq->head != cq->tail;
	if (there) {
		*cqe = cq->ring[cq->head++ & cq->mask];
		settle_accounts(cqe);
	}
	pthread_mutex_unlock(&cq->lock);
	return there;
}

int gf1l_poll_cq(struct gf1_cq *c, int entries, struct gf1_wc *wc)
{
	struct gf1l_cq *cq = GF1L_OF(struct gf1l_cq, cq, c);
	int n = 0;

	pthread_mutex_lock(&cq->lock);
	while (n < entries && cq->head != cq->tail) {
		struct gf1l_cqe *cqe = &cq->ring[cq->head++ & cq->mask];

		wc[n++] = cqe->wc;
		settle_accounts(cqe);
	}
	pthread_mutex_unlock(&cq->lock);
	if (n == 0 && gf1l_is_removed(cq->ctx)) {
		errno = EIO;
		return -1;
	}
	return n;
}

int gf1l_req_notify_cq(struct gf1_cq *c, int solicited_only)
{
	struct gf1l_cq *cq = GF1L_OF(struct gf1l_cq, cq, c);
	int armed = solicited_only ? SOLICITED_ONLY : ANY;

	if (gf1l_is_removed(cq->ctx))
		return EIO;
	pthread_mutex_lock(&cq->lock);
	if (armed > cq->armed)
		cq->armed = armed;
	pthread_mutex_unlock(&cq->lock);
	return 0;
}

int gf1l_push(struct gf1l_cq *cq, const struct gf1l_cqe *cqe, int solicited)
{
	int rc = 0, first = 0;

	pthread_mutex_lock(&cq->lock);
	if (cq->ignores_overrun && cq->tail - cq->head >= cq->limit) {
		settle_accounts(cqe);
	} else if (cq->overrun || cq->tail - cq->head >= cq->limit) {
		first = !cq->overrun;
		cq->overrun = 1;
		rc = ENOMEM;
	} else {
		cq->ring[cq->tail & cq->mask] = *cqe;
		if ((cq->fields & (WC_EX_TS | WC_EX_WALLCLOCK)) != 0)
			gf1l_stamp(&cq->ring[cq->tail & cq->mask]);
		cq->tail++;
		if (cq->armed == ANY || (cq->armed == SOLICITED_ONLY && (solicited || cqe->wc.status != WC_SUCCESS))) {
			cq->armed = 0;
			if (cq->channel != NULL)
				gf1l_signal(cq);
		}
	}
	pthread_mutex_unlock(&cq->lock);
	/* The queue pair that pushes keeps the CQ in being. */
	if (first)
		gf1l_raise(cq->ctx, EVENT_CQ_ERR, &cq->cq, &cq->async_events);
	return rc;
}

/* Removes what a queue pair that goes has left, or what a ring that goes has. */
static void purge(struct gf1l_cq *cq, const struct gf1l_qp *qp, const struct gf1l_ring *ring)
{
	uint64_t from, to;

	if (cq == NULL)
		return;
	pthread_mutex_lock(&cq->lock);
	for (from = to = cq->head; from != cq->tail; from++) {
		struct gf1l_cqe *cqe = &cq->ring[from & cq->mask];

		if (qp != NULL ? cqe->qp == qp : cqe->ring == ring) {
			settle_accounts(cqe);
			continue;
		}
		if (to != from)
			cq->ring[to & cq->mask] = *cqe;
		to++;
	}
	cq->tail = to;
	pthread_mutex_unlock(&cq->lock);
}

void gf1l_purge(struct gf1l_cq *cq, struct gf1l_qp *qp)
{
	purge(cq, qp, NULL);
}

void gf1l_purge_ring(struct gf1l_cq *cq, struct gf1l_ring *ring)
{
	purge(cq, NULL, ring);
}
