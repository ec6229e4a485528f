/* Proves gf1_abi_queue.h against rdma-core's own header, as check_verbs.c does
 * gf1_abi.h. GF1_RDMA_CORE is the release of that header. */
#include <infiniband/verbs.h>

#include "gf1_abi_queue.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, theirs, field) SAME_FIELD(ours, field, theirs, field)
#define SAME_FIELD(ours, our_field, theirs, their_field) \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field); \
	_Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)

SAME_SIZE(struct gf1_poll_cq_attr, struct ibv_poll_cq_attr);
#define POLL_CQ_ATTR(field) SAME_PLACE(struct gf1_poll_cq_attr, struct ibv_poll_cq_attr, field)
POLL_CQ_ATTR(comp_mask);

SAME_SIZE(struct gf1_wc_tm_info, struct ibv_wc_tm_info);
#define WC_TM_INFO(field) SAME_PLACE(struct gf1_wc_tm_info, struct ibv_wc_tm_info, field)
WC_TM_INFO(tag);
WC_TM_INFO(priv);

SAME_SIZE(struct gf1_cq_ex, struct ibv_cq_ex);
#define CQ_EX(field) SAME_PLACE(struct gf1_cq_ex, struct ibv_cq_ex, field)
CQ_EX(comp_mask);
CQ_EX(status);
CQ_EX(wr_id);
CQ_EX(start_poll);
CQ_EX(next_poll);
CQ_EX(end_poll);
CQ_EX(read_opcode);
CQ_EX(read_vendor_err);
CQ_EX(read_byte_len);
CQ_EX(read_imm_data);
CQ_EX(read_qp_num);
CQ_EX(read_src_qp);
CQ_EX(read_wc_flags);
CQ_EX(read_slid);
CQ_EX(read_sl);
CQ_EX(read_dlid_path_bits);
CQ_EX(read_completion_ts);
CQ_EX(read_cvlan);
CQ_EX(read_flow_tag);
CQ_EX(read_tm_info);
CQ_EX(read_completion_wallclock_ns);

SAME_SIZE(struct gf1_cq_init_attr_ex, struct ibv_cq_init_attr_ex);
#define CQ_INIT_ATTR_EX(field) SAME_PLACE(struct gf1_cq_init_attr_ex, struct ibv_cq_init_attr_ex, field)
CQ_INIT_ATTR_EX(cqe);
CQ_INIT_ATTR_EX(cq_context);
CQ_INIT_ATTR_EX(channel);
CQ_INIT_ATTR_EX(comp_vector);
CQ_INIT_ATTR_EX(wc_flags);
CQ_INIT_ATTR_EX(comp_mask);
CQ_INIT_ATTR_EX(flags);
CQ_INIT_ATTR_EX(parent_domain);

SAME_SIZE(struct gf1_data_buf, struct ibv_data_buf);
#define DATA_BUF(field) SAME_PLACE(struct gf1_data_buf, struct ibv_data_buf, field)
DATA_BUF(addr);
DATA_BUF(length);

/* Releases append. */
#define QP_EX(field) SAME_PLACE(struct gf1_qp_ex, struct ibv_qp_ex, field)
QP_EX(comp_mask);
QP_EX(wr_id);
QP_EX(wr_flags);
QP_EX(wr_atomic_cmp_swp);
QP_EX(wr_atomic_fetch_add);
QP_EX(wr_bind_mw);
QP_EX(wr_local_inv);
QP_EX(wr_rdma_read);
QP_EX(wr_rdma_write);
QP_EX(wr_rdma_write_imm);
QP_EX(wr_send);
QP_EX(wr_send_imm);
QP_EX(wr_send_inv);
QP_EX(wr_send_tso);
QP_EX(wr_set_ud_addr);
QP_EX(wr_set_xrc_srqn);
QP_EX(wr_set_inline_data);
QP_EX(wr_set_inline_data_list);
QP_EX(wr_set_sge);
QP_EX(wr_set_sge_list);
QP_EX(wr_start);
QP_EX(wr_complete);
QP_EX(wr_abort);
QP_EX(wr_atomic_write);
#if GF1_RDMA_CORE >= 45
QP_EX(wr_flush);
#endif

SAME_SIZE(struct gf1_rx_hash_conf, struct ibv_rx_hash_conf);
SAME_FIELD(struct gf1_rx_hash_conf, function, struct ibv_rx_hash_conf, rx_hash_function);
SAME_FIELD(struct gf1_rx_hash_conf, key_len, struct ibv_rx_hash_conf, rx_hash_key_len);
SAME_FIELD(struct gf1_rx_hash_conf, key, struct ibv_rx_hash_conf, rx_hash_key);
SAME_FIELD(struct gf1_rx_hash_conf, fields_mask, struct ibv_rx_hash_conf, rx_hash_fields_mask);

SAME_SIZE(struct gf1_qp_init_attr_ex, struct ibv_qp_init_attr_ex);
#define QP_INIT_ATTR_EX(field) SAME_PLACE(struct gf1_qp_init_attr_ex, struct ibv_qp_init_attr_ex, field)
QP_INIT_ATTR_EX(qp_context);
QP_INIT_ATTR_EX(send_cq);
QP_INIT_ATTR_EX(recv_cq);
QP_INIT_ATTR_EX(srq);
QP_INIT_ATTR_EX(cap);
QP_INIT_ATTR_EX(qp_type);
QP_INIT_ATTR_EX(sq_sig_all);
QP_INIT_ATTR_EX(comp_mask);
QP_INIT_ATTR_EX(pd);
QP_INIT_ATTR_EX(xrcd);
QP_INIT_ATTR_EX(create_flags);
QP_INIT_ATTR_EX(max_tso_header);
QP_INIT_ATTR_EX(rwq_ind_tbl);
QP_INIT_ATTR_EX(rx_hash_conf);
QP_INIT_ATTR_EX(source_qpn);
QP_INIT_ATTR_EX(send_ops_flags);

SAME_SIZE(struct gf1_xrcd, struct ibv_xrcd);
#define XRCD(field) SAME_PLACE(struct gf1_xrcd, struct ibv_xrcd, field)
XRCD(context);

SAME_SIZE(struct gf1_xrcd_init_attr, struct ibv_xrcd_init_attr);
#define XRCD_INIT_ATTR(field) SAME_PLACE(struct gf1_xrcd_init_attr, struct ibv_xrcd_init_attr, field)
XRCD_INIT_ATTR(comp_mask);
XRCD_INIT_ATTR(fd);
XRCD_INIT_ATTR(oflags);

SAME_SIZE(struct gf1_qp_open_attr, struct ibv_qp_open_attr);
#define QP_OPEN_ATTR(field) SAME_PLACE(struct gf1_qp_open_attr, struct ibv_qp_open_attr, field)
QP_OPEN_ATTR(comp_mask);
QP_OPEN_ATTR(qp_num);
QP_OPEN_ATTR(xrcd);
QP_OPEN_ATTR(qp_context);
QP_OPEN_ATTR(qp_type);

SAME_SIZE(struct gf1_tm_cap, struct ibv_tm_cap);
#define TM_CAP(field) SAME_PLACE(struct gf1_tm_cap, struct ibv_tm_cap, field)
TM_CAP(max_num_tags);
TM_CAP(max_ops);

SAME_SIZE(struct gf1_srq_init_attr_ex, struct ibv_srq_init_attr_ex);
#define SRQ_INIT_ATTR_EX(field) SAME_PLACE(struct gf1_srq_init_attr_ex, struct ibv_srq_init_attr_ex, field)
SRQ_INIT_ATTR_EX(srq_context);
SRQ_INIT_ATTR_EX(attr);
SRQ_INIT_ATTR_EX(comp_mask);
SRQ_INIT_ATTR_EX(srq_type);
SRQ_INIT_ATTR_EX(pd);
SRQ_INIT_ATTR_EX(xrcd);
SRQ_INIT_ATTR_EX(cq);
SRQ_INIT_ATTR_EX(tm_cap);

SAME_SIZE(struct gf1_ops_wr, struct ibv_ops_wr);
#define OPS_WR(field) SAME_PLACE(struct gf1_ops_wr, struct ibv_ops_wr, field)
OPS_WR(wr_id);
OPS_WR(next);
OPS_WR(opcode);
OPS_WR(flags);
OPS_WR(tm.unexpected_cnt);
OPS_WR(tm.handle);
OPS_WR(tm.add.recv_wr_id);
OPS_WR(tm.add.sg_list);
OPS_WR(tm.add.num_sge);
OPS_WR(tm.add.tag);
OPS_WR(tm.add.mask);

SAME_SIZE(struct gf1_wq, struct ibv_wq);
#define WQ(field) SAME_PLACE(struct gf1_wq, struct ibv_wq, field)
WQ(context);
WQ(wq_context);
WQ(pd);
WQ(cq);
WQ(wq_num);
WQ(handle);
WQ(state);
WQ(wq_type);
WQ(post_recv);
WQ(mutex);
WQ(cond);
WQ(events_completed);
WQ(comp_mask);

SAME_SIZE(struct gf1_wq_init_attr, struct ibv_wq_init_attr);
#define WQ_INIT_ATTR(field) SAME_PLACE(struct gf1_wq_init_attr, struct ibv_wq_init_attr, field)
WQ_INIT_ATTR(wq_context);
WQ_INIT_ATTR(wq_type);
WQ_INIT_ATTR(max_wr);
WQ_INIT_ATTR(max_sge);
WQ_INIT_ATTR(pd);
WQ_INIT_ATTR(cq);
WQ_INIT_ATTR(comp_mask);
WQ_INIT_ATTR(create_flags);

SAME_SIZE(struct gf1_wq_attr, struct ibv_wq_attr);
#define WQ_ATTR(field) SAME_PLACE(struct gf1_wq_attr, struct ibv_wq_attr, field)
WQ_ATTR(attr_mask);
WQ_ATTR(wq_state);
WQ_ATTR(curr_wq_state);
WQ_ATTR(flags);
WQ_ATTR(flags_mask);

SAME_SIZE(struct gf1_rwq_ind_table, struct ibv_rwq_ind_table);
#define RWQ_IND_TABLE(field) SAME_PLACE(struct gf1_rwq_ind_table, struct ibv_rwq_ind_table, field)
RWQ_IND_TABLE(context);
SAME_FIELD(struct gf1_rwq_ind_table, handle, struct ibv_rwq_ind_table, ind_tbl_handle);
SAME_FIELD(struct gf1_rwq_ind_table, number, struct ibv_rwq_ind_table, ind_tbl_num);
RWQ_IND_TABLE(comp_mask);

SAME_SIZE(struct gf1_rwq_ind_table_init_attr, struct ibv_rwq_ind_table_init_attr);
#define RWQ_IND_TABLE_INIT_ATTR(field) SAME_PLACE(struct gf1_rwq_ind_table_init_attr, struct ibv_rwq_ind_table_init_attr, field)
SAME_FIELD(struct gf1_rwq_ind_table_init_attr, log_size, struct ibv_rwq_ind_table_init_attr, log_ind_tbl_size);
SAME_FIELD(struct gf1_rwq_ind_table_init_attr, table, struct ibv_rwq_ind_table_init_attr, ind_tbl);
RWQ_IND_TABLE_INIT_ATTR(comp_mask);

SAME_SIZE(struct gf1_ece, struct ibv_ece);
#define ECE(field) SAME_PLACE(struct gf1_ece, struct ibv_ece, field)
ECE(vendor_id);
ECE(options);
ECE(comp_mask);

SAME_SIZE(struct gf1_qp_rate_limit_attr, struct ibv_qp_rate_limit_attr);
#define QP_RATE_LIMIT_ATTR(field) SAME_PLACE(struct gf1_qp_rate_limit_attr, struct ibv_qp_rate_limit_attr, field)
QP_RATE_LIMIT_ATTR(rate_limit);
QP_RATE_LIMIT_ATTR(max_burst_sz);
QP_RATE_LIMIT_ATTR(typical_pkt_sz);
QP_RATE_LIMIT_ATTR(comp_mask);

SAME_SIZE(struct gf1_flow_attr, struct ibv_flow_attr);
#define FLOW_ATTR(field) SAME_PLACE(struct gf1_flow_attr, struct ibv_flow_attr, field)
FLOW_ATTR(comp_mask);
FLOW_ATTR(type);
FLOW_ATTR(size);
FLOW_ATTR(priority);
FLOW_ATTR(num_of_specs);
FLOW_ATTR(port);
FLOW_ATTR(flags);

SAME_SIZE(struct gf1_flow, struct ibv_flow);
#define FLOW(field) SAME_PLACE(struct gf1_flow, struct ibv_flow, field)
FLOW(comp_mask);
FLOW(context);
FLOW(handle);

/* The extended context is found from its end: releases add at its start. */
#define FROM_END(type, field) (offsetof(type, context) - offsetof(type, field))
#define OPERATION(field) SAME_OPERATION(field, field)
#define SAME_OPERATION(ours, theirs) \
	_Static_assert(FROM_END(struct gf1_verbs_context, ours) == FROM_END(struct verbs_context, theirs), #theirs)
OPERATION(modify_flow_action_esp);
OPERATION(destroy_flow_action);
OPERATION(create_flow_action_esp);
OPERATION(modify_qp_rate_limit);
OPERATION(post_srq_ops);
OPERATION(destroy_rwq_ind_table);
OPERATION(create_rwq_ind_table);
OPERATION(destroy_wq);
OPERATION(modify_wq);
OPERATION(create_wq);
OPERATION(create_cq_ex);
SAME_OPERATION(destroy_flow, ibv_destroy_flow);
SAME_OPERATION(create_flow, ibv_create_flow);
OPERATION(open_qp);
OPERATION(create_qp_ex);
OPERATION(get_srq_num);
OPERATION(create_srq_ex);
OPERATION(open_xrcd);
OPERATION(close_xrcd);

/* values_later.go, where the header has them. */
#if GF1_RDMA_CORE >= 56
SAME_VALUE(IBV_WR_FLUSH, 14);
SAME_VALUE(IBV_WC_FLUSH, 8);
SAME_VALUE(IBV_QP_EX_WITH_FLUSH, 1 << 11);
SAME_VALUE(IBV_ACCESS_FLUSH_GLOBAL, 1 << 8);
SAME_VALUE(IBV_ACCESS_FLUSH_PERSISTENT, 1 << 9);
SAME_VALUE(IBV_FLUSH_GLOBAL, 1 << 0);
SAME_VALUE(IBV_FLUSH_PERSISTENT, 1 << 1);
SAME_VALUE(IBV_FLUSH_RANGE, 0);
SAME_VALUE(IBV_FLUSH_MR, 1);
SAME_VALUE(IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS, 1 << 0);
SAME_VALUE(IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG, 1 << 0);
SAME_VALUE(IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES, 1 << 1);
#endif

/* verbs/flow_spec.go lays the specifications out by these sizes and offsets. */
#define SPEC(name, bytes, val_at, mask_at) \
	_Static_assert(sizeof(struct ibv_flow_spec_##name) == (bytes), #name); \
	_Static_assert(offsetof(struct ibv_flow_spec_##name, size) == 4, #name ".size"); \
	_Static_assert(offsetof(struct ibv_flow_spec_##name, val) == (val_at), #name ".val"); \
	_Static_assert(offsetof(struct ibv_flow_spec_##name, mask) == (mask_at), #name ".mask")
SPEC(eth, 40, 6, 22);
SPEC(ipv4, 24, 8, 16);
SPEC(ipv4_ext, 32, 8, 20);
SPEC(ipv6, 88, 8, 48);
SPEC(tcp_udp, 16, 6, 10);
SPEC(esp, 24, 8, 16);
SPEC(tunnel, 16, 8, 12);
SPEC(gre, 24, 8, 16);
SPEC(mpls, 16, 8, 12);
_Static_assert(sizeof(struct ibv_flow_spec_action_tag) == 12, "action_tag");
_Static_assert(offsetof(struct ibv_flow_spec_action_tag, tag_id) == 8, "action_tag.tag_id");
_Static_assert(sizeof(struct ibv_flow_spec_action_drop) == 8, "action_drop");
