//go:build linux && cgo

/* The requester: carries out the requests of a send queue in order, and
 * retries, waits, completes, fails and flushes. */
#include "gf1l.h"

#include <string.h>

static int wc_opcode(int opcode)
{
	switch (opcode) {
	case WR_RDMA_WRITE:
	case WR_RDMA_WRITE_WITH_IMM:
		return WC_RDMA_WRITE;
	case WR_RDMA_READ:
		return WC_RDMA_READ;
	case WR_ATOMIC_CMP_AND_SWP:
		return WC_COMP_SWAP;
	case WR_ATOMIC_FETCH_AND_ADD:
		return WC_FETCH_ADD;
	case WR_BIND_MW:
		return WC_BIND_MW;
	case WR_LOCAL_INV:
		return WC_LOCAL_INV;
	case WR_FLUSH:
		return WC_FLUSH;
	case WR_ATOMIC_WRITE:
		return WC_ATOMIC_WRITE;
	}
	return WC_SEND;
}

/* The queue pair leaves for the error state by its own doing. */
static void enter_error(struct gf1l_qp *qp)
{
	qp->sq_state = QPS_ERR;
	gf1l_flush_sq(qp);
	pthread_mutex_lock(&qp->rq_lock);
	gf1l_fail_rq(qp, NULL);
	pthread_mutex_unlock(&qp->rq_lock);
}

/* Completes the first request. Returns 0, or ENOMEM when the CQ is full. */
static int retire(struct gf1l_qp *qp, int status)
{
	struct gf1l_swqe *wqe = gf1l_swqe_at(qp, qp->head);
	struct gf1l_cqe cqe;

	qp->head++;
	qp->started = qp->lost = 0;
	if (status == WC_SUCCESS && (wqe->flags & SEND_SIGNALED) == 0 && !qp->init.sq_sig_all)
		return 0;
	memset(&cqe, 0, sizeof(cqe));
	cqe.wc.wr_id = wqe->wr_id;
	cqe.wc.status = status;
	cqe.wc.opcode = wc_opcode(wqe->opcode);
	cqe.wc.qp_num = qp->qp.qp_num;
	if (status == WC_SUCCESS && gf1l_is_answered(wqe->opcode))
		cqe.wc.byte_len = (uint32_t)wqe->length;
	cqe.qp = qp;
	cqe.upto = qp->head;
	return gf1l_push(qp->send_cq, &cqe, 0);
}

static void complete(struct gf1l_qp *qp)
{
	if (retire(qp, WC_SUCCESS) == 0)
		return;
	gf1l_raise(qp->ctx, EVENT_QP_FATAL, &qp->qp, &qp->events);
	enter_error(qp);
}

static void fail(struct gf1l_qp *qp, int status)
{
	if (retire(qp, status) != 0)
		gf1l_raise(qp->ctx, EVENT_QP_FATAL, &qp->qp, &qp->events);
	else if (!gf1l_reliable(qp)) {
		qp->sq_state = QPS_SQE;
		return;
	}
	enter_error(qp);
}

void gf1l_flush_sq(struct gf1l_qp *qp)
{
	gf1l_stop_waiting(qp);
	qp->draining = 0;
	/* What a full CQ loses of a flush changes nothing more. */
	while (qp->head != qp->tail)
		retire(qp, WC_WR_FLUSH_ERR);
}

struct gf1l_list gf1l_send_list(struct gf1l_qp *qp, struct gf1l_swqe *wqe)
{
	struct gf1l_list list = { .dev = qp->ctx->dev, .pd = qp->qp.pd };

	if ((wqe->flags & SEND_INLINE) != 0) {
		list.memory = (uint8_t *)wqe->sge;
	} else {
		list.sge = wqe->sge;
		list.num_sge = wqe->num_sge;
	}
	return list;
}

/* What the requester's side finds wrong before anything leaves. */
static int local_status(struct gf1l_qp *qp, struct gf1l_swqe *wqe)
{
	struct gf1l_list list = gf1l_send_list(qp, wqe);
	int access = 0;

	if (wqe->length > GF1L_MAX_MESSAGE)
		return WC_LOC_LEN_ERR;
	switch (wqe->opcode) {
	case WR_ATOMIC_CMP_AND_SWP:
	case WR_ATOMIC_FETCH_AND_ADD:
		if (wqe->length != sizeof(uint64_t))
			return WC_LOC_LEN_ERR;
		/* fall through */
	case WR_RDMA_READ:
	case WR_FLUSH:
	case WR_ATOMIC_WRITE:
		if (qp->attr.max_rd_atomic == 0)
			return WC_LOC_QP_OP_ERR;
		access = ACCESS_LOCAL_WRITE;
	}
	if (qp->qp.qp_type == QPT_UD && wqe->bad_ah)
		return WC_LOC_QP_OP_ERR;
	return gf1l_list_allows(&list, wqe->length, access) ? WC_SUCCESS : WC_LOC_PROT_ERR;
}

static void hold_back(struct gf1l_qp *qp, int64_t ns)
{
	qp->not_before = ns == GF1L_FOREVER ? GF1L_FOREVER : gf1l_now() + ns;
}

/* The local ACK timeout: 4.096 us times a power of two, 0 for no limit. */
static int64_t timeout_ns(const struct gf1l_qp *qp)
{
	if (qp->attr.timeout == 0)
		return GF1L_FOREVER;
	return gf1l_shorten((int64_t)4096 << qp->attr.timeout);
}

static void hear(struct gf1l_qp *qp, enum gf1l_answer answer, int64_t rnr_ns)
{
	switch (answer) {
	case ANSWER_ACK:
		complete(qp);
		return;
	case ANSWER_NONE:
		qp->lost = 1;
		hold_back(qp, timeout_ns(qp));
		return;
	case ANSWER_RNR:
		if (qp->attr.rnr_retry != 7 && qp->rnr_tries >= qp->attr.rnr_retry) {
			fail(qp, WC_RNR_RETRY_EXC_ERR);
			return;
		}
		if (qp->attr.rnr_retry != 7)
			qp->rnr_tries++;
		hold_back(qp, rnr_ns);
		return;
	case ANSWER_INVALID_REQUEST:
		fail(qp, WC_REM_INV_REQ_ERR);
		return;
	case ANSWER_ACCESS:
		fail(qp, WC_REM_ACCESS_ERR);
		return;
	case ANSWER_OPERATION:
		fail(qp, WC_REM_OP_ERR);
		return;
	case ANSWER_LOCAL:
		fail(qp, WC_LOC_PROT_ERR);
		return;
	}
}

/* What concerns only keys of this side sends nothing. */
static void change_key(struct gf1l_qp *qp, const struct gf1l_swqe *wqe)
{
	int binds = wqe->opcode == WR_BIND_MW;
	int rc = binds ? gf1l_window_bind(qp, &wqe->bind) : gf1l_invalidate(qp, wqe->imm);

	if (rc == 0)
		complete(qp);
	else
		fail(qp, binds ? WC_MW_BIND_ERR : WC_LOC_QP_OP_ERR);
}

/* Carries out the first request, or finds out that it has to wait. */
static void step(struct gf1l_qp *qp, struct gf1l_victims *victims)
{
	struct gf1l_swqe *wqe = gf1l_swqe_at(qp, qp->head);
	enum gf1l_answer answer = ANSWER_NONE;
	int64_t rnr_ns = 0, delay;
	int status;

	if (!qp->started) {
		qp->started = 1;
		qp->tries = qp->rnr_tries = 0;
		delay = __atomic_load_n(&qp->delay_ns, __ATOMIC_RELAXED);
		if (delay > 0) {
			hold_back(qp, delay);
			return;
		}
	}
	if (qp->lost) {
		qp->lost = 0;
		if (qp->tries >= qp->attr.retry_cnt) {
			fail(qp, WC_RETRY_EXC_ERR);
			return;
		}
		qp->tries++;
	}
	status = local_status(qp, wqe);
	if (status != WC_SUCCESS) {
		fail(qp, status);
		return;
	}
	switch (wqe->opcode) {
	case WR_BIND_MW:
	case WR_LOCAL_INV:
		change_key(qp, wqe);
		return;
	}
	if (!gf1l_spend(&qp->drop) && gf1l_port_up(qp->ctx->dev, qp->attr.port_num)) {
		if (qp->qp.qp_type == QPT_UD)
			gf1l_deliver_datagram(qp, wqe, victims);
		else
			answer = gf1l_deliver(qp, wqe, &rnr_ns, victims);
	}
	if (gf1l_reliable(qp))
		hear(qp, answer, rnr_ns);
	else
		complete(qp); /* nobody tells the sender what became of it */
}

static void drained(struct gf1l_qp *qp)
{
	if (!qp->draining)
		return;
	qp->draining = 0;
	if (qp->attr.en_sqd_async_notify)
		gf1l_raise(qp->ctx, EVENT_SQ_DRAINED, &qp->qp, &qp->events);
}

void gf1l_run(struct gf1l_qp *qp, struct gf1l_victims *victims)
{
	for (;;) {
		if (gf1l_is_removed(qp->ctx))
			return;
		if (gf1l_state(qp) == QPS_ERR)
			qp->sq_state = QPS_ERR;
		switch (qp->sq_state) {
		case QPS_ERR:
		case QPS_SQE:
			gf1l_flush_sq(qp);
			return;
		case QPS_SQD:
			if (!qp->started) {
				drained(qp);
				return;
			}
			break;
		case QPS_RTS:
			break;
		default:
			return;
		}
		if (qp->head == qp->tail)
			return;
		if (qp->not_before == GF1L_FOREVER)
			return;
		if (qp->not_before != 0 && gf1l_now() < qp->not_before) {
			if (gf1l_timer_set(&qp->timer, qp->not_before))
				gf1l_ref(&qp->refs);
			return;
		}
		qp->not_before = 0;
		step(qp, victims);
	}
}

void gf1l_on_timer(struct gf1l_timer *timer)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, timer, timer);
	struct gf1l_victims victims = { NULL };

	pthread_mutex_lock(&qp->sq_lock);
	if (!qp->gone)
		gf1l_run(qp, &victims);
	pthread_mutex_unlock(&qp->sq_lock);
	gf1l_settle(&victims);
	gf1l_put_qp(qp);
}

void gf1l_flush_rq(struct gf1l_qp *qp)
{
	struct gf1l_rwqe *wqe;
	struct gf1l_cqe cqe;

	while ((wqe = gf1l_ring_first(&qp->ring)) != NULL) {
		memset(&cqe, 0, sizeof(cqe));
		cqe.wc.wr_id = wqe->wr_id;
		cqe.wc.status = WC_WR_FLUSH_ERR;
		cqe.wc.opcode = WC_RECV;
		cqe.wc.qp_num = qp->qp.qp_num;
		cqe.qp = qp;
		cqe.ring = &qp->ring;
		qp->ring.head++;
		if (gf1l_push(qp->recv_cq, &cqe, 0) != 0)
			__atomic_fetch_sub(&qp->ring.outstanding, 1, __ATOMIC_RELEASE);
	}
}

/* With a list of victims the requester's side is settled later; without one
 * the caller, who has its lock, has seen to it. */
void gf1l_fail_rq(struct gf1l_qp *qp, struct gf1l_victims *victims)
{
	if (qp->rq_state == QPS_ERR) {
		gf1l_flush_rq(qp);
		return;
	}
	__atomic_store_n(&qp->rq_state, QPS_ERR, __ATOMIC_RELEASE);
	gf1l_flush_rq(qp);
	if (qp->srq != NULL)
		gf1l_raise(qp->ctx, EVENT_QP_LAST_WQE_REACHED, &qp->qp, &qp->events);
	if (victims == NULL || qp->is_victim)
		return;
	qp->is_victim = 1;
	gf1l_ref(&qp->refs);
	qp->victim_next = victims->first;
	victims->first = qp;
}

void gf1l_settle(struct gf1l_victims *victims)
{
	struct gf1l_qp *qp, *next;

	for (qp = victims->first; qp != NULL; qp = next) {
		pthread_mutex_lock(&qp->sq_lock);
		pthread_mutex_lock(&qp->rq_lock);
		next = qp->victim_next;
		qp->is_victim = 0;
		pthread_mutex_unlock(&qp->rq_lock);
		if (gf1l_state(qp) == QPS_ERR) {
			qp->sq_state = QPS_ERR;
			gf1l_flush_sq(qp);
		}
		pthread_mutex_unlock(&qp->sq_lock);
		gf1l_put_qp(qp);
	}
}
