//go:build linux && cgo

#include "gf1_data_ex.h"

#include "gf1_saw.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

enum {
	WITH_BYTE_LEN = 1 << 0,
	WITH_IMM = 1 << 1,
	WITH_QP_NUM = 1 << 2,
	WITH_SRC_QP = 1 << 3,
	WITH_SLID = 1 << 4,
	WITH_SL = 1 << 5,
	WITH_DLID_PATH_BITS = 1 << 6,
	STANDARD = (1 << 7) - 1,
	WITH_TS = 1 << 7,
	WITH_CVLAN = 1 << 8,
	WITH_FLOW_TAG = 1 << 9,
	WITH_TM_INFO = 1 << 10,
	WITH_WALLCLOCK = 1 << 11,

	FLAG_IMM = 1 << 1,
	FLAG_INV = 1 << 3,
	FLAG_TM = 1 << 5 | 1 << 6,
};

/* The functions that read completions: by the bits of enum
 * ibv_create_cq_wc_flags, then those that every completion has. */
enum { READ_OPCODE = 1 << 12, READ_FLAGS = 1 << 13, READ_VENDOR_ERR = 1 << 14, READ_KEY = 1 << 15, READERS = 16 };

static struct gf1_seen readers[READERS] = {
	{ .name = "ibv_wc_read_byte_len" },
	{ .name = "ibv_wc_read_imm_data" },
	{ .name = "ibv_wc_read_qp_num" },
	{ .name = "ibv_wc_read_src_qp" },
	{ .name = "ibv_wc_read_slid" },
	{ .name = "ibv_wc_read_sl" },
	{ .name = "ibv_wc_read_dlid_path_bits" },
	{ .name = "ibv_wc_read_completion_ts" },
	{ .name = "ibv_wc_read_cvlan" },
	{ .name = "ibv_wc_read_flow_tag" },
	{ .name = "ibv_wc_read_tm_info" },
	{ .name = "ibv_wc_read_completion_wallclock_ns" },
	{ .name = "ibv_wc_read_opcode" },
	{ .name = "ibv_wc_read_wc_flags" },
	{ .name = "ibv_wc_read_vendor_err" },
	{ .name = "ibv_wc_read_invalidated_rkey" },
};

/* What was noted in the period that is counted in: a reader is noted once. */
static uint64_t noted;

/* Notes the readers that were called, bits as above. */
static void note_reads(uint32_t reads)
{
	uint64_t period = (uint64_t)__atomic_load_n(&gf1_seen_period, __ATOMIC_RELAXED) << 32;
	uint64_t before = __atomic_load_n(&noted, __ATOMIC_RELAXED);
	int i;

	if (before >> 32 == period >> 32 && (reads & ~(uint32_t)before) == 0)
		return;
	for (i = 0; i < READERS; i++)
		if ((reads >> i & 1) != 0)
			gf1_saw(&readers[i], 0);
	if (before >> 32 == period >> 32)
		reads |= (uint32_t)before;
	__atomic_store_n(&noted, period | reads, __ATOMIC_RELAXED);
}

static int positive(int rc)
{
	return rc < 0 ? -rc : rc;
}

/* A failed start has begun nothing: no end may follow it. */
static int start(struct gf1_cq_ex *cq)
{
	struct gf1_poll_cq_attr attr = { 0 };

	return SAW("ibv_start_poll", positive(cq->start_poll(cq, &attr)));
}

static void end(struct gf1_cq_ex *cq)
{
	SAW_CALL("ibv_end_poll", cq->end_poll(cq));
}

/* Goes to the next completion; unless it answers 0, the poll is over. */
static int next(struct gf1_cq_ex *cq, uint32_t detours)
{
	int rc;

	if ((detours & GF1_NEVER_NEXT_POLL) != 0) {
		end(cq);
		return start(cq);
	}
	rc = SAW("ibv_next_poll", positive(cq->next_poll(cq)));
	if (rc != 0)
		end(cq);
	return rc;
}

/* Reads the completion that the poll stands at, and returns by which readers. Of
 * a failed one only these fields hold. */
static uint32_t read_one(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, uint32_t fields)
{
	uint32_t reads;

	memset(wc, 0, sizeof(*wc));
	wc->wc.wr_id = cq->wr_id;
	wc->wc.status = cq->status;
	wc->wc.qp_num = cq->read_qp_num(cq);
	if (cq->status != 0) {
		wc->wc.vendor_err = cq->read_vendor_err(cq);
		return WITH_QP_NUM | READ_VENDOR_ERR;
	}
	wc->wc.opcode = cq->read_opcode(cq);
	wc->wc.wc_flags = cq->read_wc_flags(cq);
	if ((wc->wc.wc_flags & (FLAG_IMM | FLAG_INV)) == 0)
		fields &= ~(uint32_t)WITH_IMM;
	if ((wc->wc.wc_flags & FLAG_TM) == 0)
		fields &= ~(uint32_t)WITH_TM_INFO;
	wc->fields = fields;
	reads = fields | WITH_QP_NUM | READ_OPCODE | READ_FLAGS;
	if ((wc->wc.wc_flags & FLAG_INV) != 0 && (fields & WITH_IMM) != 0)
		reads = (reads | READ_KEY) & ~(uint32_t)WITH_IMM;
	if ((fields & WITH_BYTE_LEN) != 0)
		wc->wc.byte_len = cq->read_byte_len(cq);
	if ((fields & WITH_IMM) != 0)
		wc->wc.imm_data = cq->read_imm_data(cq);
	if ((fields & WITH_SRC_QP) != 0)
		wc->wc.src_qp = cq->read_src_qp(cq);
	if ((fields & WITH_SLID) != 0) {
		wc->slid = cq->read_slid(cq);
		wc->wc.slid = (uint16_t)wc->slid;
	}
	if ((fields & WITH_SL) != 0)
		wc->wc.sl = cq->read_sl(cq);
	if ((fields & WITH_DLID_PATH_BITS) != 0)
		wc->wc.dlid_path_bits = cq->read_dlid_path_bits(cq);
	if ((fields & ~(uint32_t)STANDARD) == 0)
		return reads;
	if ((fields & WITH_TS) != 0)
		wc->completion_ts = cq->read_completion_ts(cq);
	if ((fields & WITH_WALLCLOCK) != 0)
		wc->wallclock_ns = cq->read_completion_wallclock_ns(cq);
	if ((fields & WITH_CVLAN) != 0)
		wc->cvlan = cq->read_cvlan(cq);
	if ((fields & WITH_FLOW_TAG) != 0)
		wc->flow_tag = cq->read_flow_tag(cq);
	if ((fields & WITH_TM_INFO) != 0) {
		struct gf1_wc_tm_info info;

		cq->read_tm_info(cq, &info);
		wc->tag = info.tag;
		wc->tag_priv = info.priv;
	}
	return reads;
}

static int poll_batch(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours)
{
	int n = 0, kept = 0, rc;
	uint32_t reads = 0;

	rc = start(cq);
	while (rc == 0) {
		n++;
		reads |= read_one(cq, &wc[kept], fields);
		if (gf1_take_completion(&wc[kept].wc.wr_id, wc[kept].wc.status))
			kept++;
		if (kept == entries) {
			end(cq);
			break;
		}
		rc = next(cq, detours);
	}
	note_reads(reads);
	if (n > 0 || rc == ENOENT)
		return kept;
	return -rc;
}

int gf1_poll_ex(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours)
{
	return poll_batch(cq, wc, entries, fields, detours);
}

int gf1_spin_ex(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours, int polls)
{
	int i, n;

	for (i = 0; i < polls; i++) {
		n = poll_batch(cq, wc, entries, fields, detours);
		if (n != 0)
			return n;
	}
	if (polls > 1)
		sched_yield(); /* as gf1_spin; one poll is no spinning */
	return 0;
}

/* Stands at the first completion, from where the poll is, that is somebody's. */
static struct gf1_current stand(struct gf1_cq_ex *cq, int rc, uint32_t detours)
{
	struct gf1_current at = { .rc = rc };

	while (at.rc == 0) {
		at.wr_id = cq->wr_id;
		at.status = cq->status;
		if (gf1_take_completion(&at.wr_id, at.status))
			break;
		at.rc = next(cq, detours);
	}
	return at;
}

struct gf1_current gf1_start_poll(struct gf1_cq_ex *cq, uint32_t detours)
{
	return stand(cq, start(cq), detours);
}

struct gf1_current gf1_next_poll(struct gf1_cq_ex *cq, uint32_t detours)
{
	return stand(cq, next(cq, detours), detours);
}

void gf1_end_poll(struct gf1_cq_ex *cq)
{
	end(cq);
}

uint64_t gf1_wc_read(struct gf1_cq_ex *cq, enum gf1_wc_field field)
{
	switch (field) {
	case GF1_WC_OPCODE:
		note_reads(READ_OPCODE);
		return (uint64_t)cq->read_opcode(cq);
	case GF1_WC_VENDOR_ERR:
		note_reads(READ_VENDOR_ERR);
		return cq->read_vendor_err(cq);
	case GF1_WC_BYTE_LEN:
		note_reads(WITH_BYTE_LEN);
		return cq->read_byte_len(cq);
	case GF1_WC_IMM_DATA:
		note_reads(WITH_IMM);
		return cq->read_imm_data(cq);
	case GF1_WC_INVALIDATED_RKEY:
		note_reads(READ_KEY);
		return cq->read_imm_data(cq);
	case GF1_WC_QP_NUM:
		note_reads(WITH_QP_NUM);
		return cq->read_qp_num(cq);
	case GF1_WC_SRC_QP:
		note_reads(WITH_SRC_QP);
		return cq->read_src_qp(cq);
	case GF1_WC_FLAGS:
		note_reads(READ_FLAGS);
		return cq->read_wc_flags(cq);
	case GF1_WC_SLID:
		note_reads(WITH_SLID);
		return cq->read_slid(cq);
	case GF1_WC_SL:
		note_reads(WITH_SL);
		return cq->read_sl(cq);
	case GF1_WC_DLID_PATH_BITS:
		note_reads(WITH_DLID_PATH_BITS);
		return cq->read_dlid_path_bits(cq);
	case GF1_WC_COMPLETION_TS:
		note_reads(WITH_TS);
		return cq->read_completion_ts(cq);
	case GF1_WC_CVLAN:
		note_reads(WITH_CVLAN);
		return cq->read_cvlan(cq);
	case GF1_WC_FLOW_TAG:
		note_reads(WITH_FLOW_TAG);
		return cq->read_flow_tag(cq);
	case GF1_WC_WALLCLOCK_NS:
		note_reads(WITH_WALLCLOCK);
		return cq->read_completion_wallclock_ns(cq);
	}
	return 0;
}

struct gf1_wc_tm_info gf1_wc_read_tm_info(struct gf1_cq_ex *cq)
{
	struct gf1_wc_tm_info info = { 0 };

	note_reads(WITH_TM_INFO);
	cq->read_tm_info(cq, &info);
	return info;
}
