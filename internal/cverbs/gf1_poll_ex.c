//go:build linux && cgo

#include "gf1_data_ex.h"

#include "gf1_saw.h"

#include <errno.h>
#include <string.h>

enum {
	WITH_BYTE_LEN = 1 << 0,
	WITH_IMM = 1 << 1,
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

static int positive(int rc)
{
	return rc < 0 ? -rc : rc;
}

/* A failed start has begun nothing: no end may follow it. */
static int start(struct gf1_cq_ex *cq)
{
	struct gf1_poll_cq_attr attr = { 0 };

	return positive(cq->start_poll(cq, &attr));
}

/* Goes to the next completion; unless it answers 0, the poll is over. */
static int next(struct gf1_cq_ex *cq, uint32_t detours)
{
	int rc;

	if ((detours & GF1_NEVER_NEXT_POLL) != 0) {
		cq->end_poll(cq);
		return start(cq);
	}
	SAW("ibv_next_poll", rc = positive(cq->next_poll(cq)));
	if (rc != 0)
		cq->end_poll(cq);
	return rc;
}

/* Reads the completion that the poll stands at. Of a failed one only these
 * fields hold. */
static void read_one(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, uint32_t fields)
{
	memset(wc, 0, sizeof(*wc));
	wc->wc.wr_id = cq->wr_id;
	wc->wc.status = cq->status;
	wc->wc.qp_num = cq->read_qp_num(cq);
	if (cq->status != 0) {
		wc->wc.vendor_err = cq->read_vendor_err(cq);
		return;
	}
	wc->wc.opcode = cq->read_opcode(cq);
	wc->wc.wc_flags = cq->read_wc_flags(cq);
	if ((wc->wc.wc_flags & (FLAG_IMM | FLAG_INV)) == 0)
		fields &= ~(uint32_t)WITH_IMM;
	if ((wc->wc.wc_flags & FLAG_TM) == 0)
		fields &= ~(uint32_t)WITH_TM_INFO;
	wc->fields = fields;
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
		return;
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
}

static int poll_batch(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours)
{
	int n = 0, kept = 0, rc;

	SAW("ibv_start_poll", rc = start(cq));
	while (rc == 0) {
		n++;
		read_one(cq, &wc[kept], fields);
		if (gf1_take_completion(&wc[kept].wc.wr_id, wc[kept].wc.status))
			kept++;
		if (kept == entries) {
			cq->end_poll(cq);
			break;
		}
		rc = next(cq, detours);
	}
	if (n > 0 || rc == ENOENT)
		return kept;
	return -rc;
}

int gf1_poll_ex(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours)
{
	return poll_batch(cq, wc, entries, fields, detours);
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
	int rc;

	SAW("ibv_start_poll", rc = start(cq));
	return stand(cq, rc, detours);
}

struct gf1_current gf1_next_poll(struct gf1_cq_ex *cq, uint32_t detours)
{
	return stand(cq, next(cq, detours), detours);
}

void gf1_end_poll(struct gf1_cq_ex *cq)
{
	cq->end_poll(cq);
}

uint64_t gf1_wc_read(struct gf1_cq_ex *cq, enum gf1_wc_field field)
{
	switch (field) {
	case GF1_WC_OPCODE:
		return (uint64_t)cq->read_opcode(cq);
	case GF1_WC_VENDOR_ERR:
		return cq->read_vendor_err(cq);
	case GF1_WC_BYTE_LEN:
		return cq->read_byte_len(cq);
	case GF1_WC_IMM_DATA:
	case GF1_WC_INVALIDATED_RKEY:
		return cq->read_imm_data(cq);
	case GF1_WC_QP_NUM:
		return cq->read_qp_num(cq);
	case GF1_WC_SRC_QP:
		return cq->read_src_qp(cq);
	case GF1_WC_FLAGS:
		return cq->read_wc_flags(cq);
	case GF1_WC_SLID:
		return cq->read_slid(cq);
	case GF1_WC_SL:
		return cq->read_sl(cq);
	case GF1_WC_DLID_PATH_BITS:
		return cq->read_dlid_path_bits(cq);
	case GF1_WC_COMPLETION_TS:
		return cq->read_completion_ts(cq);
	case GF1_WC_CVLAN:
		return cq->read_cvlan(cq);
	case GF1_WC_FLOW_TAG:
		return cq->read_flow_tag(cq);
	case GF1_WC_WALLCLOCK_NS:
		return cq->read_completion_wallclock_ns(cq);
	}
	return 0;
}

struct gf1_wc_tm_info gf1_wc_read_tm_info(struct gf1_cq_ex *cq)
{
	struct gf1_wc_tm_info info = { 0 };

	cq->read_tm_info(cq, &info);
	return info;
}
