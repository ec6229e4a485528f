//go:build linux && cgo

/* Rings of receives, and the shared ones. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

uint32_t gf1l_slots_for(uint32_t n)
{
	uint32_t slots = 1;

	while (slots < n)
		slots <<= 1;
	return slots;
}

int gf1l_ring_init(struct gf1l_ring *ring, uint32_t limit, uint32_t max_sge)
{
	ring->stride = (uint32_t)(sizeof(struct gf1l_rwqe) + max_sge * sizeof(struct gf1_sge));
	ring->mask = gf1l_slots_for(limit) - 1;
	ring->limit = limit;
	ring->max_sge = max_sge;
	ring->slots = calloc((size_t)ring->mask + 1, ring->stride);
	return ring->slots != NULL ? 0 : ENOMEM;
}

void gf1l_ring_free(struct gf1l_ring *ring)
{
	free(ring->slots);
}

static struct gf1l_rwqe *at(struct gf1l_ring *ring, uint64_t n)
{
	return (struct gf1l_rwqe *)(ring->slots + (n & ring->mask) * ring->stride);
}

/* Under the lock of the ring's owner, as everything about rings. */
int gf1l_ring_post(struct gf1l_ring *ring, const struct gf1_recv_wr *wr)
{
	struct gf1l_rwqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > ring->max_sge)
		return EINVAL;
	if (__atomic_load_n(&ring->outstanding, __ATOMIC_ACQUIRE) >= ring->limit)
		return ENOMEM;
	__atomic_fetch_add(&ring->outstanding, 1, __ATOMIC_RELAXED);
	wqe = at(ring, ring->tail++);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = (uint32_t)wr->num_sge;
	if (wr->num_sge > 0)
		memcpy(wqe->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*wqe->sge));
	return 0;
}

struct gf1l_rwqe *gf1l_ring_first(struct gf1l_ring *ring)
{
	return ring->head != ring->tail ? at(ring, ring->head) : NULL;
}

int gf1l_ring_grow(struct gf1l_ring *ring, uint32_t limit)
{
	struct gf1l_ring bigger = *ring;
	uint64_t i;

	if (limit < __atomic_load_n(&ring->outstanding, __ATOMIC_ACQUIRE))
		return EINVAL;
	if (gf1l_ring_init(&bigger, limit, ring->max_sge) != 0)
		return ENOMEM;
	for (i = ring->head; i != ring->tail; i++)
		memcpy(at(&bigger, i), at(ring, i), ring->stride);
	gf1l_ring_free(ring);
	ring->slots = bigger.slots;
	ring->mask = bigger.mask;
	ring->limit = bigger.limit;
	return 0;
}

struct gf1_srq *gf1l_create_srq(struct gf1_pd *pd, struct gf1_srq_init_attr *attr)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(pd->context);
	struct gf1l_srq *srq;

	if (attr->attr.max_wr < 1 || attr->attr.max_wr > GF1L_MAX_SRQ_WR || attr->attr.max_sge > GF1L_MAX_SGE) {
		errno = EINVAL;
		return NULL;
	}
	srq = gf1l_make(ctx, sizeof(*srq));
	if (srq == NULL)
		return NULL;
	if (gf1l_ring_init(&srq->ring, attr->attr.max_wr, attr->attr.max_sge) != 0) {
		gf1l_unmake(ctx, srq);
		errno = ENOMEM;
		return NULL;
	}
	srq->ctx = ctx;
	srq->srq.context = pd->context;
	srq->srq.srq_context = attr->srq_context;
	srq->srq.pd = pd;
	pthread_mutex_init(&srq->lock, NULL);
	pthread_mutex_init(&srq->srq.mutex, NULL);
	pthread_cond_init(&srq->srq.cond, NULL);
	gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, pd)->refs);
	return &srq->srq;
}

/* The event comes once; the limit has to be set again. */
void gf1l_srq_taken(struct gf1l_srq *srq)
{
	if (srq->armed_limit == 0 || srq->ring.tail - srq->ring.head >= srq->armed_limit)
		return;
	srq->armed_limit = 0;
	gf1l_raise(srq->ctx, EVENT_SRQ_LIMIT_REACHED, &srq->srq, &srq->events);
}

int gf1l_modify_srq(struct gf1_srq *s, struct gf1_srq_attr *attr, int mask)
{
	struct gf1l_srq *srq = GF1L_OF(struct gf1l_srq, srq, s);
	int rc = 0;

	if (gf1l_is_removed(srq->ctx))
		return EIO;
	if ((mask & ~(SRQ_MAX_WR | SRQ_LIMIT)) != 0)
		return EINVAL;
	pthread_mutex_lock(&srq->lock);
	if ((mask & SRQ_MAX_WR) != 0) {
		if (attr->max_wr < 1 || attr->max_wr > GF1L_MAX_SRQ_WR)
			rc = EINVAL;
		else
			rc = gf1l_ring_grow(&srq->ring, attr->max_wr);
	}
	if (rc == 0 && (mask & SRQ_LIMIT) != 0) {
		if (attr->srq_limit > srq->ring.limit)
			rc = EINVAL;
		else
			srq->armed_limit = attr->srq_limit;
		gf1l_srq_taken(srq);
	}
	pthread_mutex_unlock(&srq->lock);
	return rc;
}

int gf1l_query_srq(struct gf1_srq *s, struct gf1_srq_attr *attr)
{
	struct gf1l_srq *srq = GF1L_OF(struct gf1l_srq, srq, s);

	if (gf1l_is_removed(srq->ctx))
		return EIO;
	pthread_mutex_lock(&srq->lock);
	attr->max_wr = srq->ring.limit;
	attr->max_sge = srq->ring.max_sge;
	attr->srq_limit = srq->armed_limit;
	pthread_mutex_unlock(&srq->lock);
	return 0;
}

int gf1l_destroy_srq(struct gf1_srq *s)
{
	struct gf1l_srq *srq = GF1L_OF(struct gf1l_srq, srq, s);
	uint32_t reported;

	if (gf1l_in_use(&srq->refs))
		return EBUSY;
	gf1l_leave_domain(srq);
	reported = gf1l_retract_async(srq->ctx, &srq->srq, srq->events);
	gf1l_await_acks(&srq->srq.mutex, &srq->srq.cond, &srq->srq.events_completed, reported);
	pthread_mutex_destroy(&srq->lock);
	pthread_mutex_destroy(&srq->srq.mutex);
	pthread_cond_destroy(&srq->srq.cond);
	gf1l_ring_free(&srq->ring);
	gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, srq->srq.pd)->refs);
	gf1l_unmake(srq->ctx, srq);
	return 0;
}

int gf1l_post_srq_recv(struct gf1_srq *s, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad)
{
	struct gf1l_srq *srq = GF1L_OF(struct gf1l_srq, srq, s);
	int rc = 0;

	pthread_mutex_lock(&srq->lock);
	for (; wr != NULL && rc == 0; wr = rc == 0 ? wr->next : wr)
		rc = gf1l_is_removed(srq->ctx) ? EIO : gf1l_ring_post(&srq->ring, wr);
	pthread_mutex_unlock(&srq->lock);
	if (rc != 0)
		*bad = wr;
	return rc;
}
