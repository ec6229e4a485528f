//go:build linux && cgo

/* The responder: what a message does at the other end. */
#include "gf1l.h"

#include <string.h>

/* Nanoseconds of the 32 values of the RNR NAK timer field. */
static int64_t rnr_timer_ns(uint8_t code)
{
	static const int32_t hundredths_of_ms[32] = {
		65536, 1,   2,   3,   4,   6,    8,    12,   16,   24,   32,	48,    64,    96,    128,   192,
		256,   384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return gf1l_shorten((int64_t)hundredths_of_ms[code & 31] * 10000);
}

int gf1l_take_receive(struct gf1l_qp *to, struct gf1l_taken *taken)
{
	struct gf1l_ring *ring = to->srq != NULL ? &to->srq->ring : &to->ring;
	struct gf1l_rwqe *wqe;

	if (to->srq != NULL)
		pthread_mutex_lock(&to->srq->lock);
	wqe = gf1l_ring_first(ring);
	if (wqe != NULL) {
		taken->wr_id = wqe->wr_id;
		taken->num_sge = wqe->num_sge;
		memcpy(taken->sge, wqe->sge, wqe->num_sge * sizeof(*wqe->sge));
		ring->head++;
		if (to->srq != NULL)
			gf1l_srq_taken(to->srq);
	}
	if (to->srq != NULL)
		pthread_mutex_unlock(&to->srq->lock);
	return wqe != NULL;
}

void gf1l_complete_receive(struct gf1l_qp *to, struct gf1_wc *wc, int solicited, struct gf1l_victims *victims)
{
	/* What an XRC SRQ has on its CQ stays when the queue pair goes. */
	struct gf1l_cqe cqe = {
		.wc = *wc,
		.qp = to->xrcd == NULL ? to : NULL,
		.ring = to->srq != NULL ? &to->srq->ring : &to->ring,
	};

	cqe.wc.qp_num = to->qp.qp_num;
	if (gf1l_push(to->recv_cq, &cqe, solicited) == 0)
		return;
	__atomic_fetch_sub(&cqe.ring->outstanding, 1, __ATOMIC_RELEASE);
	gf1l_raise(to->ctx, EVENT_QP_FATAL, &to->qp, &to->events);
	gf1l_fail_rq(to, victims);
}

/* The type of a queue pair's peer. */
static int answers(int type)
{
	return type == QPT_XRC_SEND ? QPT_XRC_RECV : type;
}

/* Whether messages of from reach to and it listens. */
static int listens(const struct gf1l_qp *to, const struct gf1l_qp *from)
{
	if (to->gone || gf1l_is_removed(to->ctx) || !gf1l_port_up(to->ctx->dev, to->attr.port_num))
		return 0;
	switch (to->rq_state) {
	case QPS_RTR:
	case QPS_RTS:
	case QPS_SQD:
		break;
	default:
		return 0;
	}
	return answers(from->qp.qp_type) == to->qp.qp_type && from->to.port == to->attr.port_num;
}

/* Whether to is connected to from: the wire names only the one who is to get
 * it, but the address it comes from is checked. */
static int connected(const struct gf1l_qp *to, const struct gf1l_qp *from)
{
	return to->attr.dest_qp_num == from->qp.qp_num && to->to.dev == from->dev && to->to.port == from->attr.port_num;
}

/* What a one-sided message that is refused does to a reliable responder. An
 * unreliable one drops the message and goes on. */
static enum gf1l_answer refuse(struct gf1l_qp *to, enum gf1l_answer answer, struct gf1l_victims *victims)
{
	if (!gf1l_reliable(to))
		return answer;
	switch (answer) {
	case ANSWER_INVALID_REQUEST:
		gf1l_raise(to->ctx, EVENT_QP_REQ_ERR, &to->qp, &to->events);
		gf1l_fail_rq(to, victims);
		break;
	case ANSWER_ACCESS:
		gf1l_raise(to->ctx, EVENT_QP_ACCESS_ERR, &to->qp, &to->events);
		gf1l_fail_rq(to, victims);
		break;
	default:
		break;
	}
	return answer;
}

/* The completion of a receive that took the connected message. */
static void received(struct gf1l_qp *to, const struct gf1l_swqe *wqe, const struct gf1l_taken *taken, int status,
		     struct gf1l_victims *victims)
{
	struct gf1_wc wc = { .wr_id = taken->wr_id, .status = status, .opcode = WC_RECV };

	if (status == WC_SUCCESS) {
		wc.byte_len = (uint32_t)wqe->length;
		if (wqe->opcode == WR_RDMA_WRITE_WITH_IMM)
			wc.opcode = WC_RECV_RDMA_WITH_IMM;
		if (wqe->opcode == WR_RDMA_WRITE_WITH_IMM || wqe->opcode == WR_SEND_WITH_IMM) {
			wc.wc_flags = WC_WITH_IMM;
			wc.imm_data = wqe->imm;
		}
		if (wqe->opcode == WR_SEND_WITH_INV) {
			wc.wc_flags = WC_WITH_INV;
			wc.invalidated_rkey = wqe->imm;
		}
	}
	gf1l_complete_receive(to, &wc, (wqe->flags & SEND_SOLICITED) != 0, victims);
}

static enum gf1l_answer receive_send(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe,
				     struct gf1l_taken *taken, struct gf1l_victims *victims)
{
	struct gf1l_list target = {
		.dev = to->ctx->dev, .pd = to->qp.pd, .sge = taken->sge, .num_sge = taken->num_sge
	};
	struct gf1l_list source = gf1l_send_list(from, wqe);
	enum gf1l_answer answer = ANSWER_OPERATION;
	int status = WC_LOC_PROT_ERR;

	if (gf1l_sge_total(taken->sge, taken->num_sge) < wqe->length) {
		status = WC_LOC_LEN_ERR;
		answer = ANSWER_INVALID_REQUEST;
	} else if (gf1l_list_allows(&target, wqe->length, ACCESS_LOCAL_WRITE) &&
		   gf1l_move(&target, 0, &source, wqe->length) == 0) {
		status = WC_SUCCESS;
		answer = ANSWER_ACK;
	}
	if (status == WC_SUCCESS && wqe->opcode == WR_SEND_WITH_INV && gf1l_invalidate(to, wqe->imm) != 0) {
		status = WC_REM_INV_REQ_ERR;
		answer = ANSWER_INVALID_REQUEST;
	}
	received(to, wqe, taken, status, victims);
	if (status != WC_SUCCESS)
		gf1l_fail_rq(to, victims);
	return answer;
}

/* Carries out an atomic operation and stores what was there before. */
static int change(uint8_t *at, int place, const struct gf1l_swqe *wqe, uint64_t *old)
{
	int is_add = wqe->opcode == WR_ATOMIC_FETCH_AND_ADD;

	*old = wqe->compare_add;
	if (place != GF1L_HOST)
		return gf1l_gpu_atomic(at, place, is_add, wqe->compare_add, wqe->swap, old);
	if (is_add)
		*old = __atomic_fetch_add((uint64_t *)at, wqe->compare_add, __ATOMIC_SEQ_CST);
	else
		__atomic_compare_exchange_n((uint64_t *)at, old, wqe->swap, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return 0;
}

/* One-sided access to the responder's memory. */
static enum gf1l_answer access_memory(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe, int right)
{
	struct gf1l_list local = gf1l_send_list(from, wqe), remote = { 0 };
	struct gf1l_slot *slot;
	uint64_t old;
	int rc;

	if ((to->attr.qp_access_flags & (uint32_t)right) == 0)
		return ANSWER_INVALID_REQUEST;
	if (gf1l_is_answered(wqe->opcode) && to->attr.max_dest_rd_atomic == 0)
		return ANSWER_INVALID_REQUEST;
	/* Nothing of the memory is touched, so that the key is not looked at. */
	if (wqe->length == 0)
		return ANSWER_ACK;
	if (right == ACCESS_REMOTE_ATOMIC && wqe->remote_addr % sizeof(uint64_t) != 0)
		return ANSWER_INVALID_REQUEST;
	remote.memory = gf1l_open_mem(to->ctx->dev, to->qp.pd, wqe->rkey, 1, wqe->remote_addr, wqe->length, right,
				      &slot);
	if (remote.memory == NULL)
		return ANSWER_ACCESS;
	if (gf1l_is_anothers(slot, to)) {
		gf1l_close_mem(slot);
		return ANSWER_ACCESS;
	}
	remote.place = gf1l_place_of(slot);
	switch (wqe->opcode) {
	case WR_RDMA_READ:
		rc = gf1l_move(&local, 0, &remote, wqe->length);
		break;
	case WR_ATOMIC_CMP_AND_SWP:
	case WR_ATOMIC_FETCH_AND_ADD:
		if ((uintptr_t)remote.memory % sizeof(uint64_t) != 0) {
			gf1l_close_mem(slot);
			return ANSWER_INVALID_REQUEST;
		}
		rc = change(remote.memory, remote.place, wqe, &old);
		if (rc != 0) {
			gf1l_close_mem(slot);
			return ANSWER_OPERATION;
		}
		remote.place = GF1L_HOST;
		remote.memory = (uint8_t *)&old;
		rc = gf1l_move(&local, 0, &remote, sizeof(old));
		break;
	default:
		rc = gf1l_move(&remote, 0, &local, wqe->length);
	}
	gf1l_close_mem(slot);
	if (rc == 0)
		return ANSWER_ACK;
	/* A GPU that failed. */
	return remote.place != GF1L_HOST ? ANSWER_OPERATION : ANSWER_LOCAL;
}

static enum gf1l_answer receive_write_imm(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe,
					  struct gf1l_victims *victims)
{
	struct gf1l_taken taken;
	enum gf1l_answer answer;

	/* A reliable message is written when a receive has been found for it. An
	 * unreliable one that is dropped takes none. */
	if (!gf1l_reliable(to)) {
		answer = access_memory(to, from, wqe, ACCESS_REMOTE_WRITE);
		if (answer == ANSWER_ACK && gf1l_take_receive(to, &taken))
			received(to, wqe, &taken, WC_SUCCESS, victims);
		return answer;
	}
	if (!gf1l_take_receive(to, &taken))
		return ANSWER_RNR;
	answer = access_memory(to, from, wqe, ACCESS_REMOTE_WRITE);
	received(to, wqe, &taken, answer == ANSWER_ACK ? WC_SUCCESS : WC_WR_FLUSH_ERR, victims);
	return answer;
}

/* Makes earlier writes seen by everybody. */
static enum gf1l_answer flush(struct gf1l_qp *to, const struct gf1l_swqe *wqe)
{
	uint8_t type = (uint8_t)wqe->swap;
	int rights = ((type & FLUSH_GLOBAL) != 0 ? ACCESS_FLUSH_GLOBAL : 0) |
		     ((type & FLUSH_PERSISTENT) != 0 ? ACCESS_FLUSH_PERSISTENT : 0);
	uint64_t length = (wqe->swap >> 8) == FLUSH_MR ? 0 : wqe->compare_add;
	struct gf1l_slot *slot;

	if (rights == 0 || (to->attr.qp_access_flags & (uint32_t)rights) != (uint32_t)rights)
		return ANSWER_INVALID_REQUEST;
	if (gf1l_open_mem(to->ctx->dev, to->qp.pd, wqe->rkey, 1, wqe->remote_addr, length, rights, &slot) == NULL)
		return ANSWER_ACCESS;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	gf1l_close_mem(slot);
	return ANSWER_ACK;
}

static enum gf1l_answer write_at_once(struct gf1l_qp *to, const struct gf1l_swqe *wqe)
{
	struct gf1l_slot *slot;
	uint8_t *at;
	int rc = 0;

	if ((to->attr.qp_access_flags & ACCESS_REMOTE_WRITE) == 0 || wqe->remote_addr % sizeof(uint64_t) != 0)
		return ANSWER_INVALID_REQUEST;
	at = gf1l_open_mem(to->ctx->dev, to->qp.pd, wqe->rkey, 1, wqe->remote_addr, sizeof(uint64_t),
			   ACCESS_REMOTE_WRITE, &slot);
	if (at == NULL)
		return ANSWER_ACCESS;
	if (gf1l_place_of(slot) != GF1L_HOST)
		rc = gf1l_gpu_move(at, gf1l_place_of(slot), &wqe->compare_add, GF1L_HOST, sizeof(uint64_t));
	else
		__atomic_store_n((uint64_t *)at, wqe->compare_add, __ATOMIC_SEQ_CST);
	gf1l_close_mem(slot);
	return rc == 0 ? ANSWER_ACK : ANSWER_OPERATION;
}

/* Under to's rq_lock. */
static enum gf1l_answer receive(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe,
				struct gf1l_victims *victims)
{
	struct gf1l_taken taken;

	switch (wqe->opcode) {
	case WR_SEND:
	case WR_SEND_WITH_IMM:
	case WR_SEND_WITH_INV:
		if (gf1l_spend(&to->rnr) || !gf1l_take_receive(to, &taken))
			return ANSWER_RNR;
		return receive_send(to, from, wqe, &taken, victims);
	case WR_RDMA_WRITE_WITH_IMM:
		if (gf1l_spend(&to->rnr))
			return ANSWER_RNR;
		return refuse(to, receive_write_imm(to, from, wqe, victims), victims);
	case WR_RDMA_WRITE:
		return refuse(to, access_memory(to, from, wqe, ACCESS_REMOTE_WRITE), victims);
	case WR_RDMA_READ:
		return refuse(to, access_memory(to, from, wqe, ACCESS_REMOTE_READ), victims);
	case WR_FLUSH:
		return refuse(to, flush(to, wqe), victims);
	case WR_ATOMIC_WRITE:
		return refuse(to, write_at_once(to, wqe), victims);
	}
	return refuse(to, access_memory(to, from, wqe, ACCESS_REMOTE_ATOMIC), victims);
}

static uint32_t packets(const struct gf1l_qp *from, uint64_t length)
{
	uint64_t mtu = (uint64_t)128 << from->attr.path_mtu;

	return length == 0 ? 1 : (uint32_t)((length + mtu - 1) / mtu);
}

enum gf1l_answer gf1l_deliver(struct gf1l_qp *from, struct gf1l_swqe *wqe, int64_t *rnr_ns,
			      struct gf1l_victims *victims)
{
	struct gf1l_qp *to = gf1l_find_qp(from->to.dev, from->attr.dest_qp_num);
	enum gf1l_answer answer = ANSWER_NONE;
	uint32_t psn = packets(from, wqe->length);

	if (to == NULL)
		return ANSWER_NONE;
	pthread_mutex_lock(&to->rq_lock);
	/* A receiver that expects another sequence number answers that, or calls
	 * it a duplicate: either way the request is not carried out. */
	if (listens(to, from) && connected(to, from) &&
	    (!gf1l_reliable(to) || to->expected_psn == from->psn)) {
		if (to->rq_state == QPS_RTR && !to->established) {
			to->established = 1;
			gf1l_raise(to->ctx, EVENT_COMM_EST, &to->qp, &to->events);
		}
		*rnr_ns = rnr_timer_ns(to->attr.min_rnr_timer);
		if (to->xrcd == NULL) {
			answer = receive(to, from, wqe, victims);
		} else if (gf1l_lend_srq(to, wqe->remote_srqn)) {
			answer = receive(to, from, wqe, victims);
			gf1l_return_srq(to);
		} else {
			answer = refuse(to, ANSWER_INVALID_REQUEST, victims);
		}
		if (answer == ANSWER_ACK)
			to->expected_psn = from->psn = (from->psn + psn) & 0xffffff;
	}
	pthread_mutex_unlock(&to->rq_lock);
	gf1l_put_qp(to);
	return answer;
}

void gf1l_deliver_datagram(struct gf1l_qp *from, struct gf1l_swqe *wqe, struct gf1l_victims *victims)
{
	struct gf1l_qp *to;

	/* C10-93.1.1: what is longer than the MTU is not sent, and no error. */
	if (wqe->length > (uint64_t)128 << MTU_4096)
		return;
	if (wqe->to.multicast) {
		if (wqe->remote_qpn == GF1L_MULTICAST_QPN)
			gf1l_deliver_multicast(from, wqe, victims);
		return;
	}
	to = gf1l_find_qp(wqe->to.dev, wqe->remote_qpn);
	if (to == NULL)
		return;
	pthread_mutex_lock(&to->rq_lock);
	if (to->attr.port_num == wqe->to.port)
		gf1l_receive_datagram(to, from, wqe, victims);
	pthread_mutex_unlock(&to->rq_lock);
	gf1l_put_qp(to);
}
