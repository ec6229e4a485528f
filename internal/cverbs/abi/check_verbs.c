/* Proves gf1_abi.h against rdma-core's own header. Compiled, never linked:
 *   cc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I<rdma-core> -I.. check_verbs.c */
#include <infiniband/verbs.h>

#include "gf1_abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, theirs, field) SAME_FIELD(ours, field, theirs, field)
#define SAME_FIELD(ours, our_field, theirs, their_field) \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field); \
	_Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #ours "." #our_field)
#define SAME_VALUE(ours, theirs) _Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)

SAME_SIZE(struct gf1_device, struct ibv_device);
SAME_PLACE(struct gf1_device, struct ibv_device, node_type);
SAME_PLACE(struct gf1_device, struct ibv_device, transport_type);
SAME_PLACE(struct gf1_device, struct ibv_device, name);
SAME_PLACE(struct gf1_device, struct ibv_device, dev_name);
SAME_PLACE(struct gf1_device, struct ibv_device, dev_path);
SAME_PLACE(struct gf1_device, struct ibv_device, ibdev_path);

SAME_SIZE(union gf1_gid, union ibv_gid);

#define GID_ENTRY(field) SAME_PLACE(struct gf1_gid_entry, struct ibv_gid_entry, field)
SAME_SIZE(struct gf1_gid_entry, struct ibv_gid_entry);
GID_ENTRY(gid);
GID_ENTRY(gid_index);
GID_ENTRY(port_num);
GID_ENTRY(gid_type);
GID_ENTRY(ndev_ifindex);

#define DEVICE(field) SAME_PLACE(struct gf1_device_attr, struct ibv_device_attr, field)
SAME_SIZE(struct gf1_device_attr, struct ibv_device_attr);
DEVICE(fw_ver);
DEVICE(node_guid);
DEVICE(sys_image_guid);
DEVICE(max_mr_size);
DEVICE(page_size_cap);
DEVICE(vendor_id);
DEVICE(vendor_part_id);
DEVICE(hw_ver);
DEVICE(max_qp);
DEVICE(max_qp_wr);
DEVICE(device_cap_flags);
DEVICE(max_sge);
DEVICE(max_sge_rd);
DEVICE(max_cq);
DEVICE(max_cqe);
DEVICE(max_mr);
DEVICE(max_pd);
DEVICE(max_qp_rd_atom);
DEVICE(max_ee_rd_atom);
DEVICE(max_res_rd_atom);
DEVICE(max_qp_init_rd_atom);
DEVICE(max_ee_init_rd_atom);
DEVICE(atomic_cap);
DEVICE(max_ee);
DEVICE(max_rdd);
DEVICE(max_mw);
DEVICE(max_raw_ipv6_qp);
DEVICE(max_raw_ethy_qp);
DEVICE(max_mcast_grp);
DEVICE(max_mcast_qp_attach);
DEVICE(max_total_mcast_qp_attach);
DEVICE(max_ah);
DEVICE(max_fmr);
DEVICE(max_map_per_fmr);
DEVICE(max_srq);
DEVICE(max_srq_wr);
DEVICE(max_srq_sge);
DEVICE(max_pkeys);
DEVICE(local_ca_ack_delay);
DEVICE(phys_port_cnt);

/* Later releases append: what we know must not move. */
#define PORT(field) SAME_PLACE(struct gf1_port_attr, struct ibv_port_attr, field)
_Static_assert(sizeof(struct gf1_port_attr) <= sizeof(struct ibv_port_attr), "port_attr");
PORT(state);
PORT(max_mtu);
PORT(active_mtu);
PORT(gid_tbl_len);
PORT(port_cap_flags);
PORT(max_msg_sz);
PORT(bad_pkey_cntr);
PORT(qkey_viol_cntr);
PORT(pkey_tbl_len);
PORT(lid);
PORT(sm_lid);
PORT(lmc);
PORT(max_vl_num);
PORT(sm_sl);
PORT(subnet_timeout);
PORT(init_type_reply);
PORT(active_width);
PORT(active_speed);
PORT(phys_state);
PORT(link_layer);
PORT(flags);
PORT(port_cap_flags2);

SAME_SIZE(struct gf1_pd, struct ibv_pd);
SAME_PLACE(struct gf1_pd, struct ibv_pd, context);
SAME_PLACE(struct gf1_pd, struct ibv_pd, handle);

#define MR(field) SAME_PLACE(struct gf1_mr, struct ibv_mr, field)
SAME_SIZE(struct gf1_mr, struct ibv_mr);
MR(context);
MR(pd);
MR(addr);
MR(length);
MR(handle);
MR(lkey);
MR(rkey);

SAME_SIZE(struct gf1_comp_channel, struct ibv_comp_channel);
SAME_PLACE(struct gf1_comp_channel, struct ibv_comp_channel, context);
SAME_PLACE(struct gf1_comp_channel, struct ibv_comp_channel, fd);
SAME_PLACE(struct gf1_comp_channel, struct ibv_comp_channel, refcnt);

#define CQ(field) SAME_PLACE(struct gf1_cq, struct ibv_cq, field)
SAME_SIZE(struct gf1_cq, struct ibv_cq);
CQ(context);
CQ(channel);
CQ(cq_context);
CQ(handle);
CQ(cqe);
CQ(mutex);
CQ(cond);
CQ(comp_events_completed);
CQ(async_events_completed);

#define QP(field) SAME_PLACE(struct gf1_qp, struct ibv_qp, field)
SAME_SIZE(struct gf1_qp, struct ibv_qp);
QP(context);
QP(qp_context);
QP(pd);
QP(send_cq);
QP(recv_cq);
QP(srq);
QP(handle);
QP(qp_num);
QP(state);
QP(qp_type);
QP(mutex);
QP(cond);
QP(events_completed);

#define SRQ(field) SAME_PLACE(struct gf1_srq, struct ibv_srq, field)
SAME_SIZE(struct gf1_srq, struct ibv_srq);
SRQ(context);
SRQ(srq_context);
SRQ(pd);
SRQ(handle);
SRQ(mutex);
SRQ(cond);
SRQ(events_completed);

SAME_SIZE(struct gf1_srq_attr, struct ibv_srq_attr);
SAME_PLACE(struct gf1_srq_attr, struct ibv_srq_attr, max_wr);
SAME_PLACE(struct gf1_srq_attr, struct ibv_srq_attr, max_sge);
SAME_PLACE(struct gf1_srq_attr, struct ibv_srq_attr, srq_limit);
SAME_SIZE(struct gf1_srq_init_attr, struct ibv_srq_init_attr);
SAME_PLACE(struct gf1_srq_init_attr, struct ibv_srq_init_attr, srq_context);
SAME_PLACE(struct gf1_srq_init_attr, struct ibv_srq_init_attr, attr);

SAME_SIZE(struct gf1_ah, struct ibv_ah);
SAME_PLACE(struct gf1_ah, struct ibv_ah, context);
SAME_PLACE(struct gf1_ah, struct ibv_ah, pd);
SAME_PLACE(struct gf1_ah, struct ibv_ah, handle);

SAME_SIZE(struct gf1_grh, struct ibv_grh);
SAME_PLACE(struct gf1_grh, struct ibv_grh, version_tclass_flow);
SAME_PLACE(struct gf1_grh, struct ibv_grh, paylen);
SAME_PLACE(struct gf1_grh, struct ibv_grh, next_hdr);
SAME_PLACE(struct gf1_grh, struct ibv_grh, hop_limit);
SAME_PLACE(struct gf1_grh, struct ibv_grh, sgid);
SAME_PLACE(struct gf1_grh, struct ibv_grh, dgid);

#define EVENT(field) SAME_PLACE(struct gf1_async_event, struct ibv_async_event, field)
SAME_SIZE(struct gf1_async_event, struct ibv_async_event);
EVENT(element.cq);
EVENT(element.qp);
EVENT(element.srq);
EVENT(element.port_num);
EVENT(event_type);

SAME_SIZE(struct gf1_sge, struct ibv_sge);
SAME_PLACE(struct gf1_sge, struct ibv_sge, addr);
SAME_PLACE(struct gf1_sge, struct ibv_sge, length);
SAME_PLACE(struct gf1_sge, struct ibv_sge, lkey);

#define SEND(field) SAME_PLACE(struct gf1_send_wr, struct ibv_send_wr, field)
SAME_SIZE(struct gf1_send_wr, struct ibv_send_wr);
SEND(wr_id);
SEND(next);
SEND(sg_list);
SEND(num_sge);
SEND(opcode);
SEND(send_flags);
SEND(imm_data);
SEND(invalidate_rkey);
SEND(wr.rdma.remote_addr);
SEND(wr.rdma.rkey);
SEND(wr.atomic.remote_addr);
SEND(wr.atomic.compare_add);
SEND(wr.atomic.swap);
SEND(wr.atomic.rkey);
SEND(wr.ud.ah);
SEND(wr.ud.remote_qpn);
SEND(wr.ud.remote_qkey);
SAME_FIELD(struct gf1_send_wr, remote_srqn, struct ibv_send_wr, qp_type.xrc.remote_srqn);
SEND(bind_mw.mw);
SEND(bind_mw.rkey);
SAME_FIELD(struct gf1_send_wr, bind_mw.mr, struct ibv_send_wr, bind_mw.bind_info.mr);
SAME_FIELD(struct gf1_send_wr, bind_mw.addr, struct ibv_send_wr, bind_mw.bind_info.addr);
SAME_FIELD(struct gf1_send_wr, bind_mw.length, struct ibv_send_wr, bind_mw.bind_info.length);
SAME_FIELD(struct gf1_send_wr, bind_mw.mw_access_flags, struct ibv_send_wr, bind_mw.bind_info.mw_access_flags);
SEND(tso.hdr);
SEND(tso.hdr_sz);
SEND(tso.mss);

#define RECV(field) SAME_PLACE(struct gf1_recv_wr, struct ibv_recv_wr, field)
SAME_SIZE(struct gf1_recv_wr, struct ibv_recv_wr);
RECV(wr_id);
RECV(next);
RECV(sg_list);
RECV(num_sge);

#define WC(field) SAME_PLACE(struct gf1_wc, struct ibv_wc, field)
SAME_SIZE(struct gf1_wc, struct ibv_wc);
WC(wr_id);
WC(status);
WC(opcode);
WC(vendor_err);
WC(byte_len);
WC(imm_data);
WC(invalidated_rkey);
WC(qp_num);
WC(src_qp);
WC(wc_flags);
WC(pkey_index);
WC(slid);
WC(sl);
WC(dlid_path_bits);

#define CAP(field) SAME_PLACE(struct gf1_qp_cap, struct ibv_qp_cap, field)
SAME_SIZE(struct gf1_qp_cap, struct ibv_qp_cap);
CAP(max_send_wr);
CAP(max_recv_wr);
CAP(max_send_sge);
CAP(max_recv_sge);
CAP(max_inline_data);

#define GRH(field) SAME_PLACE(struct gf1_global_route, struct ibv_global_route, field)
SAME_SIZE(struct gf1_global_route, struct ibv_global_route);
GRH(dgid);
GRH(flow_label);
GRH(sgid_index);
GRH(hop_limit);
GRH(traffic_class);

#define AH(field) SAME_PLACE(struct gf1_ah_attr, struct ibv_ah_attr, field)
SAME_SIZE(struct gf1_ah_attr, struct ibv_ah_attr);
AH(grh);
AH(dlid);
AH(sl);
AH(src_path_bits);
AH(static_rate);
AH(is_global);
AH(port_num);

#define ATTR(field) SAME_PLACE(struct gf1_qp_attr, struct ibv_qp_attr, field)
SAME_SIZE(struct gf1_qp_attr, struct ibv_qp_attr);
ATTR(qp_state);
ATTR(cur_qp_state);
ATTR(path_mtu);
ATTR(path_mig_state);
ATTR(qkey);
ATTR(rq_psn);
ATTR(sq_psn);
ATTR(dest_qp_num);
ATTR(qp_access_flags);
ATTR(cap);
ATTR(ah_attr);
ATTR(alt_ah_attr);
ATTR(pkey_index);
ATTR(alt_pkey_index);
ATTR(en_sqd_async_notify);
ATTR(sq_draining);
ATTR(max_rd_atomic);
ATTR(max_dest_rd_atomic);
ATTR(min_rnr_timer);
ATTR(port_num);
ATTR(timeout);
ATTR(retry_cnt);
ATTR(rnr_retry);
ATTR(alt_port_num);
ATTR(alt_timeout);
ATTR(rate_limit);

#define INIT(field) SAME_PLACE(struct gf1_qp_init_attr, struct ibv_qp_init_attr, field)
SAME_SIZE(struct gf1_qp_init_attr, struct ibv_qp_init_attr);
INIT(qp_context);
INIT(send_cq);
INIT(recv_cq);
INIT(srq);
INIT(cap);
INIT(qp_type);
INIT(sq_sig_all);

SAME_SIZE(struct gf1_modify_cq_attr, struct ibv_modify_cq_attr);
SAME_PLACE(struct gf1_modify_cq_attr, struct ibv_modify_cq_attr, attr_mask);
SAME_FIELD(struct gf1_modify_cq_attr, cq_count, struct ibv_modify_cq_attr, moderate.cq_count);
SAME_FIELD(struct gf1_modify_cq_attr, cq_period, struct ibv_modify_cq_attr, moderate.cq_period);

#define OP(field) SAME_PLACE(struct gf1_context_ops, struct ibv_context_ops, field)
SAME_SIZE(struct gf1_context_ops, struct ibv_context_ops);
OP(alloc_mw);
OP(bind_mw);
OP(dealloc_mw);
OP(poll_cq);
OP(req_notify_cq);
OP(post_srq_recv);
OP(post_send);
OP(post_recv);

#define CONTEXT(field) SAME_PLACE(struct gf1_context, struct ibv_context, field)
SAME_SIZE(struct gf1_context, struct ibv_context);
CONTEXT(device);
CONTEXT(ops);
CONTEXT(cmd_fd);
CONTEXT(async_fd);
CONTEXT(num_comp_vectors);
CONTEXT(mutex);
CONTEXT(abi_compat);

/* The extended context is found from its end: releases add at its start. */
#define FROM_END(type, field) (offsetof(type, context) - offsetof(type, field))
_Static_assert(FROM_END(struct gf1_verbs_context, query_port) == FROM_END(struct verbs_context, query_port),
	       "query_port");
_Static_assert(FROM_END(struct gf1_verbs_context, modify_cq) == FROM_END(struct verbs_context, modify_cq), "modify_cq");
_Static_assert(FROM_END(struct gf1_verbs_context, sz) == FROM_END(struct verbs_context, sz), "sz");
_Static_assert(sizeof(struct gf1_verbs_context) <= sizeof(struct verbs_context), "verbs_context");
SAME_VALUE((uintptr_t)GF1_ABI_IS_EXTENDED, (uintptr_t)__VERBS_ABI_IS_EXTENDED);
