/* The binary interface of the extended queues, as gf1_abi.h has that of the
 * plain ones: extended CQs and queue pairs, XRC, extended shared receive queues
 * and tag matching, work queues, flow steering. */
#ifndef GF1_ABI_QUEUE_H
#define GF1_ABI_QUEUE_H

#include "gf1_abi.h"

struct gf1_poll_cq_attr {
	uint32_t comp_mask;
};

struct gf1_wc_tm_info {
	uint64_t tag;
	uint32_t priv;
};

/* Begins as struct gf1_cq does. A reader that was not asked for at creation may
 * be NULL. */
struct gf1_cq_ex {
	struct gf1_cq base;
	uint32_t comp_mask;
	int32_t status;
	uint64_t wr_id;
	int (*start_poll)(struct gf1_cq_ex *cq, struct gf1_poll_cq_attr *attr);
	int (*next_poll)(struct gf1_cq_ex *cq);
	void (*end_poll)(struct gf1_cq_ex *cq);
	int (*read_opcode)(struct gf1_cq_ex *cq);
	uint32_t (*read_vendor_err)(struct gf1_cq_ex *cq);
	uint32_t (*read_byte_len)(struct gf1_cq_ex *cq);
	uint32_t (*read_imm_data)(struct gf1_cq_ex *cq);
	uint32_t (*read_qp_num)(struct gf1_cq_ex *cq);
	uint32_t (*read_src_qp)(struct gf1_cq_ex *cq);
	unsigned int (*read_wc_flags)(struct gf1_cq_ex *cq);
	uint32_t (*read_slid)(struct gf1_cq_ex *cq);
	uint8_t (*read_sl)(struct gf1_cq_ex *cq);
	uint8_t (*read_dlid_path_bits)(struct gf1_cq_ex *cq);
	uint64_t (*read_completion_ts)(struct gf1_cq_ex *cq);
	uint16_t (*read_cvlan)(struct gf1_cq_ex *cq);
	uint32_t (*read_flow_tag)(struct gf1_cq_ex *cq);
	void (*read_tm_info)(struct gf1_cq_ex *cq, struct gf1_wc_tm_info *info);
	uint64_t (*read_completion_wallclock_ns)(struct gf1_cq_ex *cq);
};

struct gf1_cq_init_attr_ex {
	uint32_t cqe;
	void *cq_context;
	struct gf1_comp_channel *channel;
	uint32_t comp_vector;
	uint64_t wc_flags;
	uint32_t comp_mask;
	uint32_t flags;
	struct gf1_pd *parent_domain;
};

struct gf1_data_buf {
	void *addr;
	size_t length;
};

/* Begins as struct gf1_qp does. wr_atomic_write is there from rdma-core 44 on,
 * wr_flush from 45 on: a queue pair that was made for them has them. */
struct gf1_qp_ex {
	struct gf1_qp base;
	uint64_t comp_mask;
	uint64_t wr_id;
	uint32_t wr_flags;
	void (*wr_atomic_cmp_swp)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare, uint64_t swap);
	void (*wr_atomic_fetch_add)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add);
	void (*wr_bind_mw)(struct gf1_qp_ex *qp, struct gf1_mw *mw, uint32_t rkey, const struct gf1_mw_bind_info *info);
	void (*wr_local_inv)(struct gf1_qp_ex *qp, uint32_t rkey);
	void (*wr_rdma_read)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr);
	void (*wr_rdma_write)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr);
	void (*wr_rdma_write_imm)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr, uint32_t imm);
	void (*wr_send)(struct gf1_qp_ex *qp);
	void (*wr_send_imm)(struct gf1_qp_ex *qp, uint32_t imm);
	void (*wr_send_inv)(struct gf1_qp_ex *qp, uint32_t rkey);
	void (*wr_send_tso)(struct gf1_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss);
	void (*wr_set_ud_addr)(struct gf1_qp_ex *qp, struct gf1_ah *ah, uint32_t qpn, uint32_t qkey);
	void (*wr_set_xrc_srqn)(struct gf1_qp_ex *qp, uint32_t srqn);
	void (*wr_set_inline_data)(struct gf1_qp_ex *qp, void *addr, size_t length);
	void (*wr_set_inline_data_list)(struct gf1_qp_ex *qp, size_t n, const struct gf1_data_buf *list);
	void (*wr_set_sge)(struct gf1_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length);
	void (*wr_set_sge_list)(struct gf1_qp_ex *qp, size_t n, const struct gf1_sge *list);
	void (*wr_start)(struct gf1_qp_ex *qp);
	int (*wr_complete)(struct gf1_qp_ex *qp);
	void (*wr_abort)(struct gf1_qp_ex *qp);
	void (*wr_atomic_write)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr, const void *value);
	void (*wr_flush)(struct gf1_qp_ex *qp, uint32_t rkey, uint64_t addr, size_t len, uint8_t type, uint8_t level);
};

struct gf1_rx_hash_conf {
	uint8_t function;
	uint8_t key_len;
	uint8_t *key;
	uint64_t fields_mask;
};

/* Begins as struct gf1_qp_init_attr does, whose size ends differently. */
struct gf1_qp_init_attr_ex {
	void *qp_context;
	struct gf1_cq *send_cq;
	struct gf1_cq *recv_cq;
	struct gf1_srq *srq;
	struct gf1_qp_cap cap;
	int32_t qp_type;
	int32_t sq_sig_all;
	uint32_t comp_mask;
	struct gf1_pd *pd;
	struct gf1_xrcd *xrcd;
	uint32_t create_flags;
	uint16_t max_tso_header;
	struct gf1_rwq_ind_table *rwq_ind_tbl;
	struct gf1_rx_hash_conf rx_hash_conf;
	uint32_t source_qpn;
	uint64_t send_ops_flags;
};

struct gf1_xrcd {
	struct gf1_context *context;
};

struct gf1_xrcd_init_attr {
	uint32_t comp_mask;
	int32_t fd;
	int32_t oflags;
};

struct gf1_qp_open_attr {
	uint32_t comp_mask;
	uint32_t qp_num;
	struct gf1_xrcd *xrcd;
	void *qp_context;
	int32_t qp_type;
};

struct gf1_tm_cap {
	uint32_t max_num_tags;
	uint32_t max_ops;
};

/* Begins as struct gf1_srq_init_attr does, whose size ends differently. */
struct gf1_srq_init_attr_ex {
	void *srq_context;
	struct gf1_srq_attr attr;
	uint32_t comp_mask;
	int32_t srq_type;
	struct gf1_pd *pd;
	struct gf1_xrcd *xrcd;
	struct gf1_cq *cq;
	struct gf1_tm_cap tm_cap;
};

/* A request to the tag matching list of an SRQ. */
struct gf1_ops_wr {
	uint64_t wr_id;
	struct gf1_ops_wr *next;
	int32_t opcode;
	int32_t flags;
	struct {
		uint32_t unexpected_cnt;
		uint32_t handle;
		struct {
			uint64_t recv_wr_id;
			struct gf1_sge *sg_list;
			int32_t num_sge;
			uint64_t tag;
			uint64_t mask;
		} add;
	} tm;
};

struct gf1_wq {
	struct gf1_context *context;
	void *wq_context;
	struct gf1_pd *pd;
	struct gf1_cq *cq;
	uint32_t wq_num;
	uint32_t handle;
	int32_t state;
	int32_t wq_type;
	int (*post_recv)(struct gf1_wq *wq, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad);
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
	uint32_t comp_mask;
};

struct gf1_wq_init_attr {
	void *wq_context;
	int32_t wq_type;
	uint32_t max_wr;
	uint32_t max_sge;
	struct gf1_pd *pd;
	struct gf1_cq *cq;
	uint32_t comp_mask;
	uint32_t create_flags;
};

struct gf1_wq_attr {
	uint32_t attr_mask;
	int32_t wq_state;
	int32_t curr_wq_state;
	uint32_t flags;
	uint32_t flags_mask;
};

struct gf1_rwq_ind_table {
	struct gf1_context *context;
	int32_t handle;
	int32_t number;
	uint32_t comp_mask;
};

struct gf1_rwq_ind_table_init_attr {
	uint32_t log_size;
	struct gf1_wq **table;
	uint32_t comp_mask;
};

struct gf1_ece {
	uint32_t vendor_id;
	uint32_t options;
	uint32_t comp_mask;
};

struct gf1_qp_rate_limit_attr {
	uint32_t rate_limit;
	uint32_t max_burst_sz;
	uint16_t typical_pkt_sz;
	uint32_t comp_mask;
};

/* The specifications follow in memory. */
struct gf1_flow_attr {
	uint32_t comp_mask;
	int32_t type;
	uint16_t size;
	uint16_t priority;
	uint8_t num_of_specs;
	uint8_t port;
	uint32_t flags;
};

struct gf1_flow {
	uint32_t comp_mask;
	struct gf1_context *context;
	uint32_t handle;
};

#endif
