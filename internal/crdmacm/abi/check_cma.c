/* Proves gf1_cma_abi.h against rdma-core's own headers. Compiled, never linked:
 *   cc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I<rdma-core> -I.. -I../../cverbs check_cma.c */
#include <rdma/rdma_cma.h>
#include <infiniband/ib.h>

#include "gf1_cma_abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_FIELD(ours, our_field, theirs, their_field) \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field); \
	_Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #ours "." #our_field)
#define SAME_PLACE(ours, theirs, field) SAME_FIELD(ours, field, theirs, field)

#define SIB(ours, theirs) SAME_FIELD(struct gf1_sockaddr_ib, ours, struct sockaddr_ib, theirs)
SAME_SIZE(struct gf1_sockaddr_ib, struct sockaddr_ib);
SIB(family, sib_family);
SIB(pkey, sib_pkey);
SIB(flowinfo, sib_flowinfo);
SIB(addr, sib_addr);
SIB(sid, sib_sid);
SIB(sid_mask, sib_sid_mask);
SIB(scope_id, sib_scope_id);

SAME_SIZE(struct gf1_cm_ib_addr, struct rdma_ib_addr);
SAME_PLACE(struct gf1_cm_ib_addr, struct rdma_ib_addr, sgid);
SAME_PLACE(struct gf1_cm_ib_addr, struct rdma_ib_addr, dgid);
SAME_PLACE(struct gf1_cm_ib_addr, struct rdma_ib_addr, pkey);

SAME_SIZE(struct gf1_cm_addr, struct rdma_addr);
SAME_FIELD(struct gf1_cm_addr, src, struct rdma_addr, src_storage);
SAME_FIELD(struct gf1_cm_addr, dst, struct rdma_addr, dst_storage);
SAME_FIELD(struct gf1_cm_addr, ib, struct rdma_addr, addr);

#define PATH(field) SAME_PLACE(struct gf1_path_rec, struct ibv_sa_path_rec, field)
SAME_SIZE(struct gf1_path_rec, struct ibv_sa_path_rec);
PATH(dgid);
PATH(sgid);
PATH(dlid);
PATH(slid);
PATH(raw_traffic);
PATH(flow_label);
PATH(hop_limit);
PATH(traffic_class);
PATH(reversible);
PATH(numb_path);
PATH(pkey);
PATH(sl);
PATH(mtu_selector);
PATH(mtu);
PATH(rate_selector);
PATH(rate);
PATH(packet_life_time_selector);
PATH(packet_life_time);
PATH(preference);

#define DATA(ours, theirs) SAME_FIELD(struct gf1_path_data, ours, struct ibv_path_data, theirs)
SAME_SIZE(struct gf1_path_data, struct ibv_path_data);
DATA(flags, flags);
DATA(reserved, reserved);
DATA(service_id, path.service_id);
DATA(dgid, path.dgid);
DATA(sgid, path.sgid);
DATA(dlid, path.dlid);
DATA(slid, path.slid);
DATA(flowlabel_hoplimit, path.flowlabel_hoplimit);
DATA(tclass, path.tclass);
DATA(reversible_numpath, path.reversible_numpath);
DATA(pkey, path.pkey);
DATA(qosclass_sl, path.qosclass_sl);
DATA(mtu, path.mtu);
DATA(rate, path.rate);
DATA(packetlifetime, path.packetlifetime);
DATA(preference, path.preference);
DATA(reserved_end, path.reserved);

SAME_SIZE(struct gf1_cm_route, struct rdma_route);
SAME_PLACE(struct gf1_cm_route, struct rdma_route, addr);
SAME_PLACE(struct gf1_cm_route, struct rdma_route, path_rec);
SAME_PLACE(struct gf1_cm_route, struct rdma_route, num_paths);

SAME_SIZE(struct gf1_cm_channel, struct rdma_event_channel);
SAME_PLACE(struct gf1_cm_channel, struct rdma_event_channel, fd);

#define ID(field) SAME_PLACE(struct gf1_cm_id, struct rdma_cm_id, field)
SAME_SIZE(struct gf1_cm_id, struct rdma_cm_id);
ID(verbs);
ID(channel);
ID(context);
ID(qp);
ID(route);
ID(ps);
ID(port_num);
ID(event);
ID(send_cq_channel);
ID(send_cq);
ID(recv_cq_channel);
ID(recv_cq);
ID(srq);
ID(pd);
ID(qp_type);

#define CONN(field) SAME_PLACE(struct gf1_cm_conn_param, struct rdma_conn_param, field)
SAME_SIZE(struct gf1_cm_conn_param, struct rdma_conn_param);
CONN(private_data);
CONN(private_data_len);
CONN(responder_resources);
CONN(initiator_depth);
CONN(flow_control);
CONN(retry_count);
CONN(rnr_retry_count);
CONN(srq);
CONN(qp_num);

#define UD(field) SAME_PLACE(struct gf1_cm_ud_param, struct rdma_ud_param, field)
SAME_SIZE(struct gf1_cm_ud_param, struct rdma_ud_param);
UD(private_data);
UD(private_data_len);
UD(ah_attr);
UD(qp_num);
UD(qkey);

#define EVENT(field) SAME_PLACE(struct gf1_cm_event, struct rdma_cm_event, field)
SAME_SIZE(struct gf1_cm_event, struct rdma_cm_event);
EVENT(id);
EVENT(listen_id);
EVENT(event);
EVENT(status);
EVENT(param);
EVENT(param.conn);
EVENT(param.ud);

#define INFO(ours, theirs) SAME_FIELD(struct gf1_cm_addrinfo, ours, struct rdma_addrinfo, theirs)
SAME_SIZE(struct gf1_cm_addrinfo, struct rdma_addrinfo);
INFO(flags, ai_flags);
INFO(family, ai_family);
INFO(qp_type, ai_qp_type);
INFO(port_space, ai_port_space);
INFO(src_len, ai_src_len);
INFO(dst_len, ai_dst_len);
INFO(src_addr, ai_src_addr);
INFO(dst_addr, ai_dst_addr);
INFO(src_canonname, ai_src_canonname);
INFO(dst_canonname, ai_dst_canonname);
INFO(route_len, ai_route_len);
INFO(route, ai_route);
INFO(connect_len, ai_connect_len);
INFO(connect, ai_connect);
INFO(next, ai_next);

#define JOIN(field) SAME_PLACE(struct gf1_cm_join_attr, struct rdma_cm_join_mc_attr_ex, field)
SAME_SIZE(struct gf1_cm_join_attr, struct rdma_cm_join_mc_attr_ex);
JOIN(comp_mask);
JOIN(join_flags);
JOIN(addr);
_Static_assert((RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS) == 3, "join mask");

#define ECE(field) SAME_PLACE(struct gf1_ece, struct ibv_ece, field)
SAME_SIZE(struct gf1_ece, struct ibv_ece);
ECE(vendor_id);
ECE(options);
ECE(comp_mask);
