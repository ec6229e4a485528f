//go:build linux && cgo

/* Builders of work requests: each request is put together in the classic form
 * and stored in the queue when the next one begins, or when all are done. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

struct gf1l_build {
	struct gf1_send_wr wr;
	struct gf1_sge sge[GF1L_MAX_SGE];
	uint8_t bytes[GF1L_MAX_INLINE];
	uint64_t from; /* the queue's tail at the start */
	int open, rc;
};

static struct gf1l_qp *of(struct gf1_qp_ex *ex)
{
	return GF1L_OF(struct gf1l_qp, ex, ex);
}

/* Stores the request that is being built, if there is one. */
static void store(struct gf1l_qp *qp)
{
	struct gf1l_build *b = qp->build;

	if (b->open && b->rc == 0)
		b->rc = gf1l_store_send(qp, &b->wr);
	b->open = 0;
}

static struct gf1_send_wr *begin(struct gf1_qp_ex *ex, int opcode)
{
	struct gf1l_qp *qp = of(ex);
	struct gf1l_build *b = qp->build;

	store(qp);
	memset(&b->wr, 0, sizeof(b->wr));
	b->wr.wr_id = ex->wr_id;
	b->wr.send_flags = ex->wr_flags & ~(uint32_t)SEND_INLINE;
	b->wr.opcode = opcode;
	b->wr.sg_list = b->sge;
	b->open = 1;
	return &b->wr;
}

static void wr_start(struct gf1_qp_ex *ex)
{
	struct gf1l_qp *qp = of(ex);

	pthread_mutex_lock(&qp->sq_lock);
	qp->build->from = qp->tail;
	qp->build->open = 0;
	qp->build->rc = gf1l_send_refused(qp);
}

static int wr_complete(struct gf1_qp_ex *ex)
{
	struct gf1l_qp *qp = of(ex);
	struct gf1l_victims victims = { NULL };
	int rc;

	store(qp);
	rc = qp->build->rc;
	if (rc != 0)
		qp->tail = qp->build->from;
	gf1l_run(qp, &victims);
	pthread_mutex_unlock(&qp->sq_lock);
	gf1l_settle(&victims);
	return rc;
}

static void wr_abort(struct gf1_qp_ex *ex)
{
	struct gf1l_qp *qp = of(ex);

	qp->tail = qp->build->from;
	pthread_mutex_unlock(&qp->sq_lock);
}

static void one_sided(struct gf1_qp_ex *ex, int opcode, uint32_t rkey, uint64_t addr)
{
	struct gf1_send_wr *wr = begin(ex, opcode);

	wr->wr.rdma.remote_addr = addr;
	wr->wr.rdma.rkey = rkey;
}

static void operands(struct gf1_qp_ex *ex, int opcode, uint32_t rkey, uint64_t addr, uint64_t first, uint64_t second)
{
	struct gf1_send_wr *wr = begin(ex, opcode);

	wr->wr.atomic.remote_addr = addr;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.compare_add = first;
	wr->wr.atomic.swap = second;
}

static void wr_rdma_write(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	one_sided(ex, WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr, uint32_t imm)
{
	one_sided(ex, WR_RDMA_WRITE_WITH_IMM, rkey, addr);
	of(ex)->build->wr.imm_data = imm;
}

static void wr_rdma_read(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr)
{
	one_sided(ex, WR_RDMA_READ, rkey, addr);
}

static void wr_send(struct gf1_qp_ex *ex)
{
	begin(ex, WR_SEND);
}

static void wr_send_imm(struct gf1_qp_ex *ex, uint32_t imm)
{
	begin(ex, WR_SEND_WITH_IMM)->imm_data = imm;
}

static void wr_atomic_cmp_swp(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap)
{
	operands(ex, WR_ATOMIC_CMP_AND_SWP, rkey, addr, compare, swap);
}

static void wr_atomic_fetch_add(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr, uint64_t add)
{
	operands(ex, WR_ATOMIC_FETCH_AND_ADD, rkey, addr, add, 0);
}

static void wr_atomic_write(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr, const void *value)
{
	uint64_t v;

	memcpy(&v, value, sizeof(v));
	operands(ex, WR_ATOMIC_WRITE, rkey, addr, v, 0);
}

static void wr_flush(struct gf1_qp_ex *ex, uint32_t rkey, uint64_t addr, size_t len, uint8_t type, uint8_t level)
{
	operands(ex, WR_FLUSH, rkey, addr, len, (uint64_t)level << 8 | type);
}

static void wr_send_inv(struct gf1_qp_ex *ex, uint32_t rkey)
{
	begin(ex, WR_SEND_WITH_INV)->invalidate_rkey = rkey;
}

static void wr_local_inv(struct gf1_qp_ex *ex, uint32_t rkey)
{
	begin(ex, WR_LOCAL_INV)->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct gf1_qp_ex *ex, struct gf1_mw *mw, uint32_t rkey, const struct gf1_mw_bind_info *info)
{
	struct gf1_send_wr *wr = begin(ex, WR_BIND_MW);

	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.mr = info->mr;
	wr->bind_mw.addr = info->addr;
	wr->bind_mw.length = info->length;
	wr->bind_mw.mw_access_flags = info->mw_access_flags;
}

static void wr_set_ud_addr(struct gf1_qp_ex *ex, struct gf1_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct gf1_send_wr *wr = &of(ex)->build->wr;

	wr->wr.ud.ah = ah;
	wr->wr.ud.remote_qpn = qpn;
	wr->wr.ud.remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct gf1_qp_ex *ex, uint32_t number)
{
	of(ex)->build->wr.remote_srqn = number;
}

static void wr_set_sge_list(struct gf1_qp_ex *ex, size_t n, const struct gf1_sge *list)
{
	struct gf1l_build *b = of(ex)->build;

	if (n > GF1L_MAX_SGE) {
		b->rc = EINVAL;
		return;
	}
	if (n > 0)
		memcpy(b->sge, list, n * sizeof(*list));
	b->wr.num_sge = (int32_t)n;
}

static void wr_set_sge(struct gf1_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct gf1_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct gf1_qp_ex *ex, size_t n, const struct gf1_data_buf *list)
{
	struct gf1l_build *b = of(ex)->build;
	size_t i, at = 0;

	for (i = 0; i < n; i++) {
		if (list[i].length > sizeof(b->bytes) - at) {
			b->rc = EINVAL;
			return;
		}
		memcpy(b->bytes + at, list[i].addr, list[i].length);
		at += list[i].length;
	}
	b->sge[0] = (struct gf1_sge){ .addr = (uintptr_t)b->bytes, .length = (uint32_t)at };
	b->wr.num_sge = 1;
	b->wr.send_flags |= SEND_INLINE;
}

static void wr_set_inline_data(struct gf1_qp_ex *ex, void *addr, size_t length)
{
	const struct gf1_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &buf);
}

struct gf1_qp_ex *gf1l_qp_to_qp_ex(struct gf1_qp *q)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);

	return qp->build != NULL ? &qp->ex : NULL;
}

int gf1l_make_builders(struct gf1l_qp *qp, uint64_t ops)
{
	struct gf1_qp_ex *ex = &qp->ex;

	if (ops == 0)
		return 0;
	qp->build = calloc(1, sizeof(*qp->build));
	if (qp->build == NULL)
		return ENOMEM;
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_atomic_write = wr_atomic_write;
	ex->wr_flush = wr_flush;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	return 0;
}
