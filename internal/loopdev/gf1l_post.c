//go:build linux && cgo

/* Posting: what is refused at once, and what is written into the queue. */
#include "gf1l.h"

#include <string.h>

struct gf1l_swqe *gf1l_swqe_at(struct gf1l_qp *qp, uint64_t n)
{
	return (struct gf1l_swqe *)(qp->slots + (n & qp->mask) * qp->stride);
}

static int opcode_fits(int type, int opcode)
{
	switch (opcode) {
	case WR_SEND:
	case WR_SEND_WITH_IMM:
		return 1;
	case WR_RDMA_WRITE:
	case WR_RDMA_WRITE_WITH_IMM:
		return type != QPT_UD;
	case WR_SEND_WITH_INV:
	case WR_LOCAL_INV:
	case WR_BIND_MW:
		return type != QPT_UD;
	case WR_RDMA_READ:
	case WR_ATOMIC_CMP_AND_SWP:
	case WR_ATOMIC_FETCH_AND_ADD:
	case WR_FLUSH:
	case WR_ATOMIC_WRITE:
		return type == QPT_RC || type == QPT_XRC_SEND;
	}
	return 0;
}

/* Inline bytes are taken by the CPU, which cannot reach a GPU's. */
static int inline_of_gpu(const struct gf1_send_wr *wr)
{
	int32_t i;
	int place;

	for (i = 0; i < wr->num_sge; i++)
		if (gf1l_gpu_find(wr->sg_list[i].addr, wr->sg_list[i].length, &place) != 0)
			return 1;
	return 0;
}

static void store_inline(struct gf1l_swqe *wqe, const struct gf1_send_wr *wr)
{
	uint8_t *at = (uint8_t *)wqe->sge;
	int32_t i;

	for (i = 0; i < wr->num_sge; i++) {
		memcpy(at, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
}

static void store_target(struct gf1l_qp *qp, struct gf1l_swqe *wqe, const struct gf1_send_wr *wr)
{
	struct gf1l_ah *ah;

	switch (wr->opcode) {
	case WR_ATOMIC_CMP_AND_SWP:
	case WR_ATOMIC_FETCH_AND_ADD:
	case WR_ATOMIC_WRITE:
	case WR_FLUSH:
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->compare_add = wr->wr.atomic.compare_add;
		wqe->swap = wr->wr.atomic.swap;
		return;
	case WR_BIND_MW:
		gf1l_store_bind(&wqe->bind, wr);
		return;
	case WR_SEND_WITH_INV:
	case WR_LOCAL_INV:
		return;
	case WR_SEND:
	case WR_SEND_WITH_IMM:
		if (qp->qp.qp_type != QPT_UD)
			return;
		/* The handle may be destroyed before the request is carried out. */
		ah = GF1L_OF(struct gf1l_ah, ah, wr->wr.ud.ah);
		wqe->to = ah->to;
		wqe->bad_ah = gf1l_root(ah->ah.pd) != gf1l_root(qp->qp.pd) || ah->to.attr.port_num != qp->attr.port_num;
		wqe->remote_qpn = wr->wr.ud.remote_qpn;
		wqe->remote_qkey = wr->wr.ud.remote_qkey;
		return;
	}
	wqe->remote_addr = wr->wr.rdma.remote_addr;
	wqe->rkey = wr->wr.rdma.rkey;
}

int gf1l_store_send(struct gf1l_qp *qp, const struct gf1_send_wr *wr)
{
	const struct gf1_qp_cap *cap = &qp->init.cap;
	struct gf1l_swqe *wqe;
	uint64_t length;

	if (!opcode_fits(qp->qp.qp_type, wr->opcode))
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > cap->max_send_sge)
		return EINVAL;
	if (qp->qp.qp_type == QPT_UD && wr->wr.ud.ah == NULL)
		return EINVAL;
	length = gf1l_sge_total(wr->sg_list, (uint32_t)wr->num_sge);
	if ((wr->send_flags & SEND_INLINE) != 0 && (length > cap->max_inline_data || gf1l_is_answered(wr->opcode)))
		return EINVAL;
	if ((wr->send_flags & SEND_INLINE) != 0 && inline_of_gpu(wr))
		return EFAULT;
	if (qp->tail - __atomic_load_n(&qp->reclaimed, __ATOMIC_ACQUIRE) >= cap->max_send_wr)
		return ENOMEM;
	wqe = gf1l_swqe_at(qp, qp->tail);
	wqe->wr_id = wr->wr_id;
	wqe->opcode = wr->opcode;
	wqe->flags = wr->send_flags;
	wqe->imm = wr->imm_data;
	wqe->num_sge = (uint32_t)wr->num_sge;
	wqe->length = length;
	wqe->remote_srqn = wr->remote_srqn;
	store_target(qp, wqe, wr);
	if ((wr->send_flags & SEND_INLINE) != 0)
		store_inline(wqe, wr);
	else if (wr->num_sge > 0)
		memcpy(wqe->sge, wr->sg_list, (size_t)wr->num_sge * sizeof(*wqe->sge));
	qp->tail++;
	return 0;
}

/* By the state's posting rules. */
int gf1l_send_refused(struct gf1l_qp *qp)
{
	if (gf1l_is_removed(qp->ctx))
		return EIO;
	switch (gf1l_state(qp)) {
	case QPS_RESET:
	case QPS_INIT:
	case QPS_RTR:
		return EINVAL;
	}
	return gf1l_spend(&qp->fail_posts) ? ENOMEM : 0;
}

int gf1l_post_send(struct gf1_qp *q, struct gf1_send_wr *wr, struct gf1_send_wr **bad)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);
	struct gf1l_victims victims = { NULL };
	int rc;

	pthread_mutex_lock(&qp->sq_lock);
	rc = gf1l_send_refused(qp);
	while (rc == 0 && wr != NULL) {
		rc = wr->opcode < WR_FLUSH ? gf1l_store_send(qp, wr) : EINVAL;
		if (rc == 0)
			wr = wr->next;
	}
	gf1l_run(qp, &victims);
	pthread_mutex_unlock(&qp->sq_lock);
	gf1l_settle(&victims);
	if (rc != 0)
		*bad = wr;
	return rc;
}

int gf1l_post_recv(struct gf1_qp *q, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);
	int rc = 0;

	pthread_mutex_lock(&qp->rq_lock);
	if (gf1l_is_removed(qp->ctx))
		rc = EIO;
	else if (qp->rq_state == QPS_RESET || qp->init.recv_cq == NULL || qp->srq != NULL)
		rc = EINVAL;
	else if (gf1l_spend(&qp->fail_posts))
		rc = ENOMEM;
	while (rc == 0 && wr != NULL) {
		rc = gf1l_ring_post(&qp->ring, wr);
		if (rc == 0)
			wr = wr->next;
	}
	if (qp->rq_state == QPS_ERR)
		gf1l_flush_rq(qp);
	pthread_mutex_unlock(&qp->rq_lock);
	if (rc != 0)
		*bad = wr;
	return rc;
}
