/* The data path of extended CQs and queue pairs: as gf1_data.h, one crossing a
 * batch, over the functions that the objects themselves carry. */
#ifndef GF1_DATA_EX_H
#define GF1_DATA_EX_H

#include "gf1_abi_queue.h"
#include "gf1_data.h"

/* A completion of an extended CQ. fields says which were read, as bits of enum
 * ibv_create_cq_wc_flags; the others are zero. */
struct gf1_wc_ex {
	struct gf1_wc wc;
	uint64_t completion_ts;
	uint64_t wallclock_ns;
	uint64_t tag;
	uint32_t tag_priv;
	uint32_t flow_tag;
	uint32_t slid;
	uint32_t fields;
	uint16_t cvlan;
};

/* What of a provider has to be gone round. */
enum {
	/* A next_poll that finds nothing leaves the CQ in disorder: rxe before
	 * rdma-core 59. Each completion is polled by itself. */
	GF1_NEVER_NEXT_POLL = 1 << 0,
	/* wr_set_sge_list counts the first piece's length for each: rxe before
	 * rdma-core 64. Such requests are posted as classic ones. */
	GF1_CLASSIC_SGE_LIST = 1 << 1,
	/* wr_set_inline_data_list sends other bytes: rxe before rdma-core 64. The
	 * pieces are put together first. */
	GF1_ONE_INLINE_PIECE = 1 << 2,
};

/* How many completions were stored, or a negative errno. fields are the bits of
 * enum ibv_create_cq_wc_flags to be read. */
int gf1_poll_ex(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours);
/* gf1_poll_ex up to polls times, until there is something. */
int gf1_spin_ex(struct gf1_cq_ex *cq, struct gf1_wc_ex *wc, int entries, uint32_t fields, uint32_t detours, int polls);

/* The completion that a poll stands at. */
struct gf1_current {
	int32_t rc; /* 0, ENOENT if there is none, or another errno */
	int32_t status;
	uint64_t wr_id; /* the caller's */
};

/* Begins a poll. Unless rc is 0, none is open and none must be ended. */
struct gf1_current gf1_start_poll(struct gf1_cq_ex *cq, uint32_t detours);
/* Goes on. Unless rc is 0, the poll has been ended. */
struct gf1_current gf1_next_poll(struct gf1_cq_ex *cq, uint32_t detours);
void gf1_end_poll(struct gf1_cq_ex *cq);

enum gf1_wc_field {
	GF1_WC_OPCODE,
	GF1_WC_VENDOR_ERR,
	GF1_WC_BYTE_LEN,
	GF1_WC_IMM_DATA,
	GF1_WC_INVALIDATED_RKEY,
	GF1_WC_QP_NUM,
	GF1_WC_SRC_QP,
	GF1_WC_FLAGS,
	GF1_WC_SLID,
	GF1_WC_SL,
	GF1_WC_DLID_PATH_BITS,
	GF1_WC_COMPLETION_TS,
	GF1_WC_CVLAN,
	GF1_WC_FLOW_TAG,
	GF1_WC_WALLCLOCK_NS,
};

/* Reads a field of the completion that the poll stands at. */
uint64_t gf1_wc_read(struct gf1_cq_ex *cq, enum gf1_wc_field field);
struct gf1_wc_tm_info gf1_wc_read_tm_info(struct gf1_cq_ex *cq);

/* Requests that have no classic form are written into the classic one:
 *   flush         rdma.remote_addr and rkey; compare_add is the length, swap
 *                 has the type in its low byte and the level above it
 *   atomic write  atomic.remote_addr and rkey; compare_add is the value */
enum {
	GF1_WR_FLUSH = 14,
	GF1_WR_ATOMIC_WRITE = 15,
};

/* Posts the first n requests of a chained array through the builders. All or
 * none of them, unless detours has GF1_CLASSIC_SGE_LIST. */
struct gf1_posted gf1_post_send_ex(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours);
/* Builds the requests and takes them back. 0 or a positive errno. */
int gf1_abort_send_ex(struct gf1_qp_ex *qp, struct gf1_send_wr *wr, int n, uint32_t detours);

struct gf1_posted gf1_post_wq_recv(struct gf1_wq *wq, struct gf1_recv_wr *wr, int n);

#endif
