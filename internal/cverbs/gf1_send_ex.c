//go:build linux && cgo

#include "gf1_data_ex.h"

#include "gf1_saw.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	WR_RDMA_WRITE = 0,
	WR_RDMA_WRITE_WITH_IMM = 1,
	WR_SEND = 2,
	WR_SEND_WITH_IMM = 3,
	WR_RDMA_READ = 4,
	WR_ATOMIC_CMP_AND_SWP = 5,
	WR_ATOMIC_FETCH_AND_ADD = 6,
	WR_LOCAL_INV = 7,
	WR_BIND_MW = 8,
	WR_SEND_WITH_INV = 9,
	WR_TSO = 10,

	SEND_INLINE = 1 << 3,
	QPT_UD = 4,
	QPT_XRC_SEND = 9,

	MOST_PIECES = 64, /* of which no memory has to be allocated */
};

#define BUILD(name, ...) SAW_CALL("ibv_wr_" #name, qp->wr_##name(qp, ##__VA_ARGS__))

/* Builds the request without its data; 1 if it has none. */
static int build_head(struct gf1_qp_ex *qp, struct gf1_send_wr *wr)
{
	struct gf1_mw_bind_info info;

	qp->wr_id = wr->wr_id;
	qp->wr_flags = wr->send_flags;
	switch (wr->opcode) {
	case WR_RDMA_WRITE:
		BUILD(rdma_write, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		return 0;
	case WR_RDMA_WRITE_WITH_IMM:
		BUILD(rdma_write_imm, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		return 0;
	case WR_SEND:
		BUILD(send);
		return 0;
	case WR_SEND_WITH_IMM:
		BUILD(send_imm, wr->imm_data);
		return 0;
	case WR_SEND_WITH_INV:
		BUILD(send_inv, wr->invalidate_rkey);
		return 0;
	case WR_TSO:
		BUILD(send_tso, wr->tso.hdr, wr->tso.hdr_sz, wr->tso.mss);
		return 0;
	case WR_RDMA_READ:
		BUILD(rdma_read, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		return 0;
	case WR_ATOMIC_CMP_AND_SWP:
		BUILD(atomic_cmp_swp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, wr->wr.atomic.compare_add,
		      wr->wr.atomic.swap);
		return 0;
	case WR_ATOMIC_FETCH_AND_ADD:
		BUILD(atomic_fetch_add, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
		      wr->wr.atomic.compare_add);
		return 0;
	case WR_LOCAL_INV:
		BUILD(local_inv, wr->invalidate_rkey);
		return 1;
	case WR_BIND_MW:
		info.mr = wr->bind_mw.mr;
		info.addr = wr->bind_mw.addr;
		info.length = wr->bind_mw.length;
		info.mw_access_flags = wr->bind_mw.mw_access_flags;
		BUILD(bind_mw, wr->bind_mw.mw, wr->bind_mw.rkey, &info);
		return 1;
	case GF1_WR_FLUSH:
		BUILD(flush, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, (size_t)wr->wr.atomic.compare_add,
		      (uint8_t)wr->wr.atomic.swap, (uint8_t)(wr->wr.atomic.swap >> 8));
		return 1;
	case GF1_WR_ATOMIC_WRITE:
		BUILD(atomic_write, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
		      &wr->wr.atomic.compare_add);
		return 1;
	}
	return -EOPNOTSUPP;
}

/* Puts inline pieces together. The pieces' memory may change at any time, so
 * their lengths are those that were counted. */
static int build_one_inline_piece(struct gf1_qp_ex *qp, const struct gf1_send_wr *wr)
{
	size_t total = 0, at = 0;
	uint8_t *whole;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	whole = malloc(total + 1);
	if (whole == NULL)
		return -ENOMEM;
	for (i = 0; i < wr->num_sge; i++) {
		memcpy(whole + at, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	BUILD(set_inline_data, whole, total);
	free(whole);
	return 0;
}

static int build_inline(struct gf1_qp_ex *qp, const struct gf1_send_wr *wr, uint32_t detours)
{
	struct gf1_data_buf few[MOST_PIECES], *bufs = few;
	int i;

	if (wr->num_sge == 1) {
		BUILD(set_inline_data, (void *)(uintptr_t)wr->sg_list[0].addr, wr->sg_list[0].length);
		return 0;
	}
	if ((detours & GF1_ONE_INLINE_PIECE) != 0)
		return build_one_inline_piece(qp, wr);
	if (wr->num_sge > MOST_PIECES) {
		bufs = malloc((size_t)wr->num_sge * sizeof(*bufs));
		if (bufs == NULL)
			return -ENOMEM;
	}
	for (i = 0; i < wr->num_sge; i++) {
		bufs[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
		bufs[i].length = wr->sg_list[i].length;
	}
	BUILD(set_inline_data_list, (size_t)wr->num_sge, bufs);
	if (bufs != few)
		free(bufs);
	return 0;
}

/* 0 or a negative errno. */
static int build(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, uint32_t detours)
{
	int rc = build_head(qp, wr);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	if (qp->base.qp_type == QPT_UD)
		BUILD(set_ud_addr, wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	else if (qp->base.qp_type == QPT_XRC_SEND)
		BUILD(set_xrc_srqn, wr->remote_srqn);
	if ((wr->send_flags & SEND_INLINE) != 0)
		return build_inline(qp, wr, detours);
	if (wr->num_sge == 1)
		BUILD(set_sge, wr->sg_list[0].lkey, wr->sg_list[0].addr, wr->sg_list[0].length);
	else
		BUILD(set_sge_list, (size_t)wr->num_sge, wr->sg_list);
	return 0;
}

/* Builds n requests between a start and what the caller ends it with. */
static int build_all(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours)
{
	int i, rc = 0;

	BUILD(start);
	for (i = 0; i < n && rc == 0; i++)
		rc = build(qp, &wr[i], detours);
	return -rc;
}

static struct gf1_posted post_built(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours)
{
	struct gf1_posted result = { 0 };
	int rc = build_all(qp, wr, n, detours);

	if (rc != 0) {
		BUILD(abort);
		result.rc = rc;
		return result;
	}
	errno = 0;
	rc = qp->wr_complete(qp);
	if (rc == -1)
		rc = errno > 0 ? errno : EIO;
	result.rc = SAW("ibv_wr_complete", rc < 0 ? -rc : rc);
	result.posted = result.rc == 0 ? n : 0;
	return result;
}

/* Whether the pieces differ in length, and the classic form can carry them. */
static int wants_classic(const struct gf1_send_wr *wr)
{
	int i;

	if (wr->opcode == GF1_WR_FLUSH || wr->opcode == GF1_WR_ATOMIC_WRITE || wr->opcode == WR_LOCAL_INV ||
	    wr->opcode == WR_BIND_MW || (wr->send_flags & SEND_INLINE) != 0)
		return 0;
	for (i = 1; i < wr->num_sge; i++)
		if (wr->sg_list[i].length != wr->sg_list[0].length)
			return 1;
	return 0;
}

/* Posts runs of requests, each in the form that it needs. */
static struct gf1_posted post_runs(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours)
{
	struct gf1_posted all = { 0 }, run;
	int i, classic;

	while (all.posted < n) {
		classic = wants_classic(&wr[all.posted]);
		for (i = all.posted + 1; i < n && wants_classic(&wr[i]) == classic;)
			i++;
		i -= all.posted;
		run = classic ? gf1_post_send(&qp->base, &wr[all.posted], i) :
				post_built(qp, &wr[all.posted], i, detours);
		all.posted += run.posted;
		all.rc = run.rc;
		if (run.rc != 0)
			break;
	}
	return all;
}

struct gf1_posted gf1_post_send_ex(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours)
{
	if ((detours & GF1_CLASSIC_SGE_LIST) != 0)
		return post_runs(qp, wr, n, detours);
	return post_built(qp, wr, n, detours);
}

int gf1_abort_send_ex(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours)
{
	int rc = build_all(qp, wr, n, detours);

	BUILD(abort);
	return rc;
}

struct gf1_posted gf1_post_wq_recv(struct gf1_wq *wq, struct gf1_recv_wr *wr, int n)
{
	static struct gf1_seen seen = { .name = "ibv_post_wq_recv" };
	struct gf1_recv_wr *next = wr[n - 1].next, *bad = NULL;
	int rc;

	wr[n - 1].next = NULL;
	rc = wq->post_recv(wq, wr, &bad);
	wr[n - 1].next = next;
	return gf1_outcome(&seen, rc, n, bad != NULL ? bad - wr : 0);
}
