//go:build linux && cgo

#include "gf1_null.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	RING = 1024, /* completions that a CQ holds; a power of two */
	SEND_WRITE = 0,
	SIGNALED = 2,
	MAX_BATCH = 256,
	PIECES = 32,
};

struct null_cq {
	union {
		struct gf1_cq cq;
		struct gf1_cq_ex ex;
	};
	uint32_t head, tail;
	uint64_t wr_id[RING];
	uint32_t qp_num;
};

static int query_device(struct gf1_context *context, struct gf1_device_attr *attr)
{
	(void)context;
	memset(attr, 0, sizeof(*attr));
	attr->phys_port_cnt = 1;
	attr->max_qp_wr = RING / 2;
	attr->max_sge = 4;
	attr->max_cqe = RING;
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
	return 0;
}

static int query_port(struct gf1_context *context, uint8_t port, struct gf1_port_attr *attr, size_t len)
{
	(void)context;
	(void)port;
	(void)len;
	memset(attr, 0, sizeof(*attr));
	attr->state = 4;
	attr->active_mtu = attr->max_mtu = 5;
	attr->link_layer = 2;
	attr->gid_tbl_len = 1;
	return 0;
}

static struct gf1_pd *alloc_pd(struct gf1_context *context)
{
	struct gf1_pd *pd = calloc(1, sizeof(*pd));

	if (pd != NULL)
		pd->context = context;
	return pd;
}

static int dealloc_pd(struct gf1_pd *pd)
{
	free(pd);
	return 0;
}

static struct gf1_mr *reg_mr(struct gf1_pd *pd, void *addr, size_t length, int access)
{
	struct gf1_mr *mr = calloc(1, sizeof(*mr));

	(void)access;
	if (mr == NULL)
		return NULL;
	mr->context = pd->context;
	mr->pd = pd;
	mr->addr = addr;
	mr->length = length;
	mr->lkey = mr->rkey = 1;
	return mr;
}

static int dereg_mr(struct gf1_mr *mr)
{
	free(mr);
	return 0;
}

static struct gf1_cq *create_cq(struct gf1_context *context, int cqe, void *cq_context,
				struct gf1_comp_channel *channel, int vector)
{
	struct null_cq *cq = calloc(1, sizeof(*cq));

	(void)cqe;
	(void)vector;
	if (cq == NULL)
		return NULL;
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.cqe = RING;
	return &cq->cq;
}

static int start_poll(struct gf1_cq_ex *ex, struct gf1_poll_cq_attr *attr)
{
	struct null_cq *cq = (struct null_cq *)ex;

	(void)attr;
	if (cq->head == cq->tail)
		return ENOENT;
	ex->wr_id = cq->wr_id[cq->head++ % RING];
	ex->status = 0;
	return 0;
}

static int next_poll(struct gf1_cq_ex *ex)
{
	return start_poll(ex, NULL);
}

static void end_poll(struct gf1_cq_ex *ex)
{
	(void)ex;
}

static uint32_t read_zero(struct gf1_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static int read_opcode(struct gf1_cq_ex *ex)
{
	(void)ex;
	return 1;
}

static uint32_t read_qp_num(struct gf1_cq_ex *ex)
{
	return ((struct null_cq *)ex)->qp_num;
}

static uint8_t read_byte(struct gf1_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static struct gf1_cq_ex *create_cq_ex(struct gf1_context *context, struct gf1_cq_init_attr_ex *attr)
{
	struct gf1_cq *cq = create_cq(context, (int)attr->cqe, attr->cq_context, attr->channel, 0);
	struct gf1_cq_ex *ex = (struct gf1_cq_ex *)cq;

	if (cq == NULL)
		return NULL;
	ex->start_poll = start_poll;
	ex->next_poll = next_poll;
	ex->end_poll = end_poll;
	ex->read_opcode = read_opcode;
	ex->read_wc_flags = read_zero;
	ex->read_vendor_err = read_zero;
	ex->read_byte_len = read_zero;
	ex->read_imm_data = read_zero;
	ex->read_qp_num = read_qp_num;
	ex->read_src_qp = read_zero;
	ex->read_slid = read_zero;
	ex->read_sl = read_byte;
	ex->read_dlid_path_bits = read_byte;
	return ex;
}

static int destroy_cq(struct gf1_cq *cq)
{
	free(cq);
	return 0;
}

/* What is built becomes complete when the next request begins. */
struct null_qp {
	struct gf1_qp_ex ex;
	uint32_t pending;
	struct gf1_sge sge;
	uint64_t remote_addr;
	uint32_t rkey;
};

static void wr_start(struct gf1_qp_ex *ex)
{
	((struct null_qp *)ex)->pending = 0;
}

static void wr_rdma_write(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	struct null_qp *qp = (struct null_qp *)ex;
	struct null_cq *cq = (struct null_cq *)ex->base.send_cq;

	qp->remote_addr = addr;
	qp->rkey = rkey;
	cq->wr_id[(cq->tail + qp->pending++) % RING] = ex->wr_id;
}

static void wr_set_sge(struct gf1_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct null_qp *qp = (struct null_qp *)ex;

	qp->sge.addr = addr;
	qp->sge.length = length;
	qp->sge.lkey = lkey;
}

static int wr_complete(struct gf1_qp_ex *ex)
{
	struct null_cq *cq = (struct null_cq *)ex->base.send_cq;

	cq->tail += ((struct null_qp *)ex)->pending;
	cq->qp_num = ex->base.qp_num;
	return 0;
}

static struct gf1_qp *create_qp(struct gf1_pd *pd, struct gf1_qp_init_attr *attr)
{
	struct null_qp *null = calloc(1, sizeof(*null));
	struct gf1_qp *qp = &null->ex.base;

	if (null == NULL)
		return NULL;
	qp->context = pd->context;
	qp->pd = pd;
	qp->send_cq = attr->send_cq;
	qp->recv_cq = attr->recv_cq;
	qp->qp_num = 1;
	return qp;
}

static struct gf1_qp *create_qp_ex(struct gf1_context *context, struct gf1_qp_init_attr_ex *attr)
{
	struct gf1_qp_init_attr init = { .send_cq = attr->send_cq, .recv_cq = attr->recv_cq };
	struct gf1_qp_ex *ex = (struct gf1_qp_ex *)create_qp(attr->pd, &init);

	(void)context;
	if (ex == NULL)
		return NULL;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_set_sge = wr_set_sge;
	return &ex->base;
}

static struct gf1_qp_ex *qp_to_qp_ex(struct gf1_qp *qp)
{
	return (struct gf1_qp_ex *)qp;
}

static int modify_qp(struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask)
{
	(void)mask;
	qp->state = attr->qp_state;
	return 0;
}

static int query_qp(struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask, struct gf1_qp_init_attr *init)
{
	(void)mask;
	memset(attr, 0, sizeof(*attr));
	memset(init, 0, sizeof(*init));
	attr->qp_state = qp->state;
	return 0;
}

static int destroy_qp(struct gf1_qp *qp)
{
	free(qp);
	return 0;
}

static int close_device(struct gf1_context *context)
{
	free(context);
	return 0;
}

static int post_send(struct gf1_qp *qp, struct gf1_send_wr *wr, struct gf1_send_wr **bad)
{
	struct null_cq *cq = (struct null_cq *)qp->send_cq;

	(void)bad;
	for (; wr != NULL; wr = wr->next)
		cq->wr_id[cq->tail++ % RING] = wr->wr_id;
	cq->qp_num = qp->qp_num;
	return 0;
}

static int poll_cq(struct gf1_cq *ibcq, int entries, struct gf1_wc *wc)
{
	struct null_cq *cq = (struct null_cq *)ibcq;
	int n;

	for (n = 0; n < entries && cq->head != cq->tail; n++) {
		wc[n].wr_id = cq->wr_id[cq->head++ % RING];
		wc[n].status = 0;
		wc[n].opcode = 1;
		wc[n].qp_num = cq->qp_num;
		wc[n].wc_flags = 0;
	}
	return n;
}

static const struct gf1_verbs table = {
	.close_device = close_device,
	.query_device = query_device,
	.query_port = query_port,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_mr = reg_mr,
	.dereg_mr = dereg_mr,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.query_qp = query_qp,
	.destroy_qp = destroy_qp,
	.qp_to_qp_ex = qp_to_qp_ex,
	.queue = { .create_cq_ex = create_cq_ex, .create_qp_ex = create_qp_ex },
};

const struct gf1_verbs *gf1_null_table(void)
{
	return &table;
}

struct gf1_context *gf1_null_open(void)
{
	struct gf1_context *context = calloc(1, sizeof(*context));

	if (context == NULL)
		return NULL;
	context->num_comp_vectors = 1;
	context->async_fd = -1;
	context->ops.post_send = post_send;
	context->ops.poll_cq = poll_cq;
	return context;
}

void gf1_null_call(void)
{
}

static int64_t thread_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t gf1_null_loop(struct gf1_context *context, int batch, int rounds)
{
	static struct gf1_send_wr ring[MAX_BATCH];
	static struct gf1_sge sges[MAX_BATCH];
	static struct gf1_wc wc[MAX_BATCH];
	static char memory[4096];
	static struct gf1_sge local[PIECES];
	static uint64_t remote[PIECES];
	struct gf1_pd *pd = alloc_pd(context);
	struct gf1_cq *cq = create_cq(context, RING, NULL, NULL, 0);
	struct gf1_qp_init_attr init = { .send_cq = cq, .recv_cq = cq };
	struct gf1_qp *qp = create_qp(pd, &init);
	struct gf1_send_wr *bad;
	uint64_t id = 0;
	int64_t start;
	int i, round, left;

	for (i = 0; i < batch; i++) {
		ring[i].sg_list = &sges[i];
		ring[i].next = i + 1 < batch ? &ring[i + 1] : NULL;
	}
	for (i = 0; i < PIECES; i++) {
		local[i] = (struct gf1_sge){ .addr = (uintptr_t)memory + 64 * i, .length = 64, .lkey = 1 };
		remote[i] = local[i].addr;
	}
	start = thread_ns();
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < batch; i++) {
			ring[i].wr_id = id++;
			ring[i].opcode = SEND_WRITE;
			ring[i].send_flags = SIGNALED;
			ring[i].num_sge = 1;
			ring[i].wr.rdma.remote_addr = remote[i % PIECES];
			ring[i].wr.rdma.rkey = 1;
			sges[i] = local[i % PIECES];
		}
		if (context->ops.post_send(qp, ring, &bad) != 0)
			break;
		for (left = batch; left > 0;)
			left -= context->ops.poll_cq(cq, left, wc);
	}
	start = thread_ns() - start;
	destroy_qp(qp);
	destroy_cq(cq);
	dealloc_pd(pd);
	return start;
}

/* What a C program asks of each completion: all that Go reads. */
static uint64_t read_all(struct gf1_cq_ex *cq)
{
	return (uint64_t)cq->read_opcode(cq) + cq->read_wc_flags(cq) + cq->read_byte_len(cq) + cq->read_qp_num(cq) +
	       cq->read_src_qp(cq) + cq->read_slid(cq) + cq->read_sl(cq) + cq->read_dlid_path_bits(cq) + cq->wr_id +
	       (uint64_t)cq->status;
}

int64_t gf1_null_loop_ex(struct gf1_context *context, int batch, int rounds)
{
	static char memory[4096];
	static volatile uint64_t sum;
	struct gf1_pd *pd = alloc_pd(context);
	struct gf1_cq_init_attr_ex cq_init = { .cqe = RING };
	struct gf1_cq_ex *cq = create_cq_ex(context, &cq_init);
	struct gf1_qp_init_attr_ex init = { .pd = pd, .send_cq = &cq->base, .recv_cq = &cq->base };
	struct gf1_qp_ex *qp = (struct gf1_qp_ex *)create_qp_ex(context, &init);
	struct gf1_poll_cq_attr none = { 0 };
	uint64_t id = 0, addr;
	int64_t start;
	int i, round, left;

	start = thread_ns();
	for (round = 0; round < rounds; round++) {
		qp->wr_start(qp);
		for (i = 0; i < batch; i++) {
			qp->wr_id = id++;
			qp->wr_flags = SIGNALED;
			addr = (uintptr_t)memory + 64 * (unsigned int)(i % PIECES);
			qp->wr_rdma_write(qp, 1, addr);
			qp->wr_set_sge(qp, 1, addr, 64);
		}
		if (qp->wr_complete(qp) != 0)
			break;
		for (left = batch; left > 0;) {
			if (cq->start_poll(cq, &none) != 0)
				continue;
			do {
				sum += read_all(cq);
				left--;
			} while (left > 0 && cq->next_poll(cq) == 0);
			cq->end_poll(cq);
		}
	}
	start = thread_ns() - start;
	destroy_qp(&qp->base);
	destroy_cq(&cq->base);
	dealloc_pd(pd);
	return start;
}
