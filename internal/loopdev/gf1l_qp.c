//go:build linux && cgo

/* Queue pairs: making, changing, asking, destroying. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

/* 0 or an errno. */
static int refusal(struct gf1_context *context, const struct gf1_pd *pd, const struct gf1_qp_init_attr *attr)
{
	const struct gf1_qp_cap *cap = &attr->cap;
	int sends = attr->qp_type != QPT_XRC_RECV;
	int receives = attr->qp_type == QPT_RC || attr->qp_type == QPT_UC || attr->qp_type == QPT_UD;

	if (!receives && attr->qp_type != QPT_XRC_SEND && attr->qp_type != QPT_XRC_RECV)
		return EOPNOTSUPP;
	if (sends != (attr->send_cq != NULL) || receives != (attr->recv_cq != NULL) || (!receives && attr->srq != NULL))
		return EINVAL;
	if (sends && (pd == NULL || pd->context != context || attr->send_cq->context != context))
		return EINVAL;
	if (receives && attr->recv_cq->context != context)
		return EINVAL;
	if (attr->srq != NULL && gf1l_root(attr->srq->pd) != gf1l_root(pd))
		return EINVAL;
	if (cap->max_send_wr > GF1L_MAX_WR || cap->max_send_sge > GF1L_MAX_SGE ||
	    cap->max_inline_data > GF1L_MAX_INLINE)
		return EINVAL;
	if (attr->srq == NULL && (cap->max_recv_wr > GF1L_MAX_WR || cap->max_recv_sge > GF1L_MAX_SGE))
		return EINVAL;
	return 0;
}

static int make_queues(struct gf1l_qp *qp, const struct gf1_qp_cap *cap)
{
	uint32_t room = cap->max_send_sge * (uint32_t)sizeof(struct gf1_sge);

	if (room < cap->max_inline_data)
		room = cap->max_inline_data;
	qp->stride = ((uint32_t)sizeof(struct gf1l_swqe) + room + 7) & ~7u;
	qp->mask = gf1l_slots_for(cap->max_send_wr) - 1;
	qp->slots = calloc((size_t)qp->mask + 1, qp->stride);
	if (qp->slots == NULL)
		return ENOMEM;
	return gf1l_ring_init(&qp->ring, cap->max_recv_wr, cap->max_recv_sge);
}

/* Keeps what the queue pair uses from going. */
static void hold(struct gf1l_qp *qp, const struct gf1_qp_init_attr *attr, struct gf1_xrcd *xrcd)
{
	if (qp->qp.pd != NULL)
		gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, qp->qp.pd)->refs);
	if (attr->send_cq != NULL) {
		qp->send_cq = GF1L_OF(struct gf1l_cq, cq, attr->send_cq);
		gf1l_ref(&qp->send_cq->refs);
	}
	if (attr->recv_cq != NULL) {
		qp->recv_cq = GF1L_OF(struct gf1l_cq, cq, attr->recv_cq);
		gf1l_ref(&qp->recv_cq->refs);
	}
	if (attr->srq != NULL) {
		qp->srq = GF1L_OF(struct gf1l_srq, srq, attr->srq);
		gf1l_ref(&qp->srq->refs);
	}
	if (xrcd != NULL) {
		qp->xrcd = GF1L_OF(struct gf1l_xrcd, xrcd, xrcd);
		gf1l_ref(&qp->xrcd->refs);
	}
}

static void let_go(struct gf1l_qp *qp)
{
	if (qp->send_cq != NULL)
		gf1l_unref(&qp->send_cq->refs);
	if (qp->recv_cq != NULL)
		gf1l_unref(&qp->recv_cq->refs);
	if (qp->srq != NULL)
		gf1l_unref(&qp->srq->refs);
	if (qp->xrcd != NULL)
		gf1l_unref(&qp->xrcd->refs);
	if (qp->qp.pd != NULL)
		gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, qp->qp.pd)->refs);
}

static struct gf1_qp *create(struct gf1_context *context, struct gf1_pd *pd, struct gf1_qp_init_attr *attr,
			     struct gf1_xrcd *xrcd, uint64_t ops)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct gf1l_qp *qp;
	int rc = refusal(context, pd, attr);

	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	if (attr->srq != NULL || attr->recv_cq == NULL)
		attr->cap.max_recv_wr = attr->cap.max_recv_sge = 0;
	if (attr->send_cq == NULL)
		attr->cap.max_send_wr = attr->cap.max_send_sge = attr->cap.max_inline_data = 0;
	qp = gf1l_make(ctx, sizeof(*qp));
	if (qp == NULL)
		return NULL;
	rc = make_queues(qp, &attr->cap);
	if (rc == 0)
		rc = gf1l_make_builders(qp, ops);
	if (rc == 0)
		rc = gf1l_timers_reserve();
	if (rc != 0) {
		free(qp->build);
		gf1l_ring_free(&qp->ring);
		free(qp->slots);
		gf1l_unmake(ctx, qp);
		errno = rc;
		return NULL;
	}
	qp->ctx = ctx;
	qp->refs = 1;
	qp->init = *attr;
	qp->timer.index = -1;
	qp->timer.fire = gf1l_on_timer;
	qp->qp.context = context;
	qp->qp.qp_context = attr->qp_context;
	qp->qp.pd = pd;
	qp->qp.send_cq = attr->send_cq;
	qp->qp.recv_cq = attr->recv_cq;
	qp->qp.srq = attr->srq;
	qp->qp.qp_type = attr->qp_type;
	pthread_mutex_init(&qp->sq_lock, NULL);
	pthread_mutex_init(&qp->rq_lock, NULL);
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
	hold(qp, attr, xrcd);
	rc = gf1l_enter_qp(qp, ctx->dev);
	if (rc != 0) {
		qp->dev = 0;
		gf1l_destroy_qp(&qp->qp);
		errno = rc;
		return NULL;
	}
	qp->qp.handle = qp->qp.qp_num;
	return &qp->qp;
}

struct gf1_qp *gf1l_create_qp(struct gf1_pd *pd, struct gf1_qp_init_attr *attr)
{
	return create(pd->context, pd, attr, NULL, 0);
}

/* The operations that builders of a queue pair may be asked for. */
static uint64_t builders_of(int type)
{
	const uint64_t sends = EX_SEND | EX_SEND_WITH_IMM;
	const uint64_t keys = EX_LOCAL_INV | EX_BIND_MW | EX_SEND_WITH_INV;
	const uint64_t writes = sends | EX_RDMA_WRITE | EX_RDMA_WRITE_WITH_IMM;

	switch (type) {
	case QPT_RC:
	case QPT_XRC_SEND:
		return writes | keys | EX_RDMA_READ | EX_ATOMIC_CMP_AND_SWP | EX_ATOMIC_FETCH_AND_ADD | EX_FLUSH |
		       EX_ATOMIC_WRITE;
	case QPT_UC:
		return writes | keys;
	case QPT_UD:
		return sends;
	}
	return 0;
}

struct gf1_qp *gf1l_create_qp_ex(struct gf1_context *context, struct gf1_qp_init_attr_ex *attr)
{
	const uint32_t known = QP_INIT_PD | QP_INIT_XRCD | QP_INIT_CREATE_FLAGS | QP_INIT_SEND_OPS_FLAGS;
	struct gf1_qp_init_attr init;
	struct gf1_qp *qp;
	uint64_t ops = (attr->comp_mask & QP_INIT_SEND_OPS_FLAGS) != 0 ? attr->send_ops_flags : 0;
	uint32_t owner = attr->qp_type == QPT_XRC_RECV ? QP_INIT_XRCD : QP_INIT_PD;

	errno = 0;
	if ((attr->comp_mask & ~known) != 0 || (ops & ~builders_of(attr->qp_type)) != 0 ||
	    ((attr->comp_mask & QP_INIT_CREATE_FLAGS) != 0 && attr->create_flags != 0))
		errno = EOPNOTSUPP;
	else if ((attr->comp_mask & (QP_INIT_PD | QP_INIT_XRCD)) != owner)
		errno = EINVAL;
	if (errno != 0)
		return NULL;
	memcpy(&init, attr, offsetof(struct gf1_qp_init_attr_ex, comp_mask));
	qp = create(context, owner == QP_INIT_PD ? attr->pd : NULL, &init, owner == QP_INIT_XRCD ? attr->xrcd : NULL,
		    ops);
	if (qp != NULL)
		attr->cap = init.cap;
	return qp;
}

void gf1l_stop_waiting(struct gf1l_qp *qp)
{
	qp->not_before = 0;
	qp->started = qp->lost = 0;
	/* Not the last reference: the caller has one. */
	if (gf1l_timer_cancel(&qp->timer))
		gf1l_put_qp(qp);
}

int gf1l_destroy_qp(struct gf1_qp *q)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);
	struct gf1l_ctx *ctx = qp->ctx;
	uint32_t reported;

	if (qp->qp.qp_type == QPT_XRC_RECV && gf1l_close_handle(qp))
		return 0;
	if (__atomic_load_n(&qp->mcast, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	if (qp->dev != 0)
		gf1l_leave_qp(qp);
	pthread_mutex_lock(&qp->sq_lock);
	pthread_mutex_lock(&qp->rq_lock);
	qp->gone = 1;
	qp->sq_state = QPS_RESET;
	__atomic_store_n(&qp->rq_state, QPS_RESET, __ATOMIC_RELEASE);
	gf1l_stop_waiting(qp);
	pthread_mutex_unlock(&qp->rq_lock);
	pthread_mutex_unlock(&qp->sq_lock);

	gf1l_purge(qp->send_cq, qp);
	gf1l_purge(qp->recv_cq, qp);
	reported = gf1l_retract_async(ctx, &qp->qp, qp->events);
	gf1l_await_acks(&qp->qp.mutex, &qp->qp.cond, &qp->qp.events_completed, reported);
	let_go(qp);
	gf1l_timers_release();
	gf1l_unmake(ctx, NULL);
	gf1l_put_qp(qp);
	return 0;
}

int gf1l_state(struct gf1l_qp *qp)
{
	int responder = __atomic_load_n(&qp->rq_state, __ATOMIC_ACQUIRE);

	return responder == QPS_ERR ? QPS_ERR : qp->sq_state;
}

int gf1l_query_qp(struct gf1_qp *q, struct gf1_qp_attr *attr, int mask, struct gf1_qp_init_attr *init)
{
	struct gf1l_qp *qp = gf1l_behind(q);

	(void)mask;
	if (gf1l_is_removed(qp->ctx))
		return EIO;
	pthread_mutex_lock(&qp->sq_lock);
	*attr = qp->attr;
	attr->qp_state = attr->cur_qp_state = gf1l_state(qp);
	attr->sq_draining = (uint8_t)qp->draining;
	attr->cap = qp->init.cap;
	*init = qp->init;
	qp->qp.state = attr->qp_state;
	pthread_mutex_unlock(&qp->sq_lock);
	return 0;
}

/* The values of the attributes that are given, not which are. */
static int values_hold(struct gf1l_qp *qp, const struct gf1_qp_attr *attr, int mask)
{
	const struct gf1l_dev *dev = qp->ctx->dev;
	uint8_t port = (mask & QP_PORT) != 0 ? attr->port_num : qp->attr.port_num;

	if (port > dev->num_ports || ((mask & QP_PORT) != 0 && port < 1))
		return 0;
	if ((mask & QP_PKEY_INDEX) != 0 && attr->pkey_index >= GF1L_PKEYS)
		return 0;
	if ((mask & QP_AV) != 0 && attr->ah_attr.port_num != port)
		return 0;
	if ((mask & QP_PATH_MTU) != 0 && (attr->path_mtu < MTU_256 || attr->path_mtu > MTU_4096))
		return 0;
	if ((mask & QP_DEST_QPN) != 0 && attr->dest_qp_num > GF1L_MULTICAST_QPN)
		return 0;
	if ((mask & QP_ACCESS_FLAGS) != 0 &&
	    (attr->qp_access_flags &
	     ~(uint32_t)(ACCESS_LOCAL_WRITE | ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC |
			 ACCESS_FLUSH_GLOBAL | ACCESS_FLUSH_PERSISTENT)) != 0)
		return 0;
	if (((mask & QP_MAX_QP_RD_ATOMIC) != 0 && attr->max_rd_atomic > GF1L_MAX_RD_ATOMIC) ||
	    ((mask & QP_MAX_DEST_RD_ATOMIC) != 0 && attr->max_dest_rd_atomic > GF1L_MAX_RD_ATOMIC))
		return 0;
	return ((mask & QP_MIN_RNR_TIMER) == 0 || attr->min_rnr_timer <= 31) &&
	       ((mask & QP_TIMEOUT) == 0 || attr->timeout <= 31) &&
	       ((mask & QP_RETRY_CNT) == 0 || attr->retry_cnt <= 7) &&
	       ((mask & QP_RNR_RETRY) == 0 || attr->rnr_retry <= 7);
}

static void store(struct gf1l_qp *qp, const struct gf1_qp_attr *attr, int mask, const struct gf1l_address *to)
{
	struct gf1_qp_attr *a = &qp->attr;

#define STORE(bit, field) \
	do { \
		if ((mask & (bit)) != 0) \
			a->field = attr->field; \
	} while (0)
	STORE(QP_ACCESS_FLAGS, qp_access_flags);
	STORE(QP_PKEY_INDEX, pkey_index);
	STORE(QP_PORT, port_num);
	STORE(QP_QKEY, qkey);
	STORE(QP_AV, ah_attr);
	STORE(QP_PATH_MTU, path_mtu);
	STORE(QP_TIMEOUT, timeout);
	STORE(QP_RETRY_CNT, retry_cnt);
	STORE(QP_RNR_RETRY, rnr_retry);
	STORE(QP_RQ_PSN, rq_psn);
	STORE(QP_SQ_PSN, sq_psn);
	STORE(QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
	STORE(QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	STORE(QP_MIN_RNR_TIMER, min_rnr_timer);
	STORE(QP_DEST_QPN, dest_qp_num);
	STORE(QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
#undef STORE
	if ((mask & QP_AV) != 0)
		qp->to = *to;
	if ((mask & QP_SQ_PSN) != 0)
		qp->psn = attr->sq_psn & 0xffffff;
	if ((mask & QP_RQ_PSN) != 0)
		qp->expected_psn = attr->rq_psn & 0xffffff;
}

/* Forgets everything that RESET forgets. */
static void reset(struct gf1l_qp *qp)
{
	gf1l_stop_waiting(qp);
	qp->head = qp->tail;
	qp->ring.head = qp->ring.tail;
	qp->draining = qp->established = 0;
	memset(&qp->attr, 0, sizeof(qp->attr));
	memset(&qp->to, 0, sizeof(qp->to));
	gf1l_purge(qp->send_cq, qp);
	gf1l_purge(qp->recv_cq, qp);
	/* Purging has said what the last completions freed; all of it is free. */
	__atomic_store_n(&qp->reclaimed, qp->tail, __ATOMIC_RELEASE);
	__atomic_store_n(&qp->ring.outstanding, 0, __ATOMIC_RELEASE);
}

/* Under both locks. */
static void enter_state(struct gf1l_qp *qp, int from, int to)
{
	if (to == QPS_ERR) {
		qp->sq_state = QPS_ERR;
		gf1l_flush_sq(qp);
		gf1l_fail_rq(qp, NULL);
		return;
	}
	if (to == QPS_RESET)
		reset(qp);
	qp->sq_state = to;
	__atomic_store_n(&qp->rq_state, to, __ATOMIC_RELEASE);
	if (to == QPS_SQD && from == QPS_RTS)
		qp->draining = 1;
}

int gf1l_modify_qp(struct gf1_qp *q, struct gf1_qp_attr *attr, int mask)
{
	struct gf1l_qp *qp = gf1l_behind(q);
	struct gf1l_address to = { 0 };
	struct gf1l_victims victims = { NULL };
	int from, next, rc = 0;

	if (gf1l_is_removed(qp->ctx))
		return EIO;
	/* Not honestly to be had: one path is all there is. */
	if ((mask & (QP_ALT_PATH | QP_PATH_MIG_STATE)) != 0)
		return EOPNOTSUPP;
	if ((mask & QP_AV) != 0)
		rc = gf1l_resolve(qp->ctx->dev, &attr->ah_attr, &to);
	pthread_mutex_lock(&qp->sq_lock);
	pthread_mutex_lock(&qp->rq_lock);
	from = gf1l_state(qp);
	next = (mask & QP_STATE) != 0 ? attr->qp_state : from;
	if (rc == 0 && ((mask & QP_CUR_STATE) != 0 && attr->cur_qp_state != from))
		rc = EINVAL;
	if (rc == 0 && (!gf1l_transition_allowed(qp->qp.qp_type, from, next, mask) || !values_hold(qp, attr, mask)))
		rc = EINVAL;
	/* What drains must be drained before it is changed or goes on. */
	if (rc == 0 && from == QPS_SQD && qp->draining && (next == QPS_SQD || next == QPS_RTS))
		rc = EINVAL;
	if (rc == 0) {
		store(qp, attr, mask, &to);
		enter_state(qp, from, next);
		qp->qp.state = next;
	}
	pthread_mutex_unlock(&qp->rq_lock);
	if (rc == 0)
		gf1l_run(qp, &victims);
	pthread_mutex_unlock(&qp->sq_lock);
	gf1l_settle(&victims);
	return rc;
}
