/* Proves gf1_abi_memory.h and gf1_abi_device.h against rdma-core's own header, as
 * check_verbs.c does gf1_abi.h. What came after rdma-core 56 is not proven here. */
#include <infiniband/verbs.h>

#include "gf1_abi.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours)
#define SAME_PLACE(ours, theirs, field) SAME_FIELD(ours, field, theirs, field)
#define SAME_FIELD(ours, our_field, theirs, their_field) \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #ours "." #our_field); \
	_Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #ours "." #our_field)

SAME_SIZE(struct gf1_mw, struct ibv_mw);
SAME_PLACE(struct gf1_mw, struct ibv_mw, context);
SAME_PLACE(struct gf1_mw, struct ibv_mw, pd);
SAME_PLACE(struct gf1_mw, struct ibv_mw, rkey);
SAME_PLACE(struct gf1_mw, struct ibv_mw, handle);
SAME_PLACE(struct gf1_mw, struct ibv_mw, type);

SAME_SIZE(struct gf1_mw_bind_info, struct ibv_mw_bind_info);
SAME_PLACE(struct gf1_mw_bind_info, struct ibv_mw_bind_info, mr);
SAME_PLACE(struct gf1_mw_bind_info, struct ibv_mw_bind_info, addr);
SAME_PLACE(struct gf1_mw_bind_info, struct ibv_mw_bind_info, length);
SAME_PLACE(struct gf1_mw_bind_info, struct ibv_mw_bind_info, mw_access_flags);

SAME_SIZE(struct gf1_mw_bind, struct ibv_mw_bind);
SAME_PLACE(struct gf1_mw_bind, struct ibv_mw_bind, wr_id);
SAME_PLACE(struct gf1_mw_bind, struct ibv_mw_bind, send_flags);
SAME_PLACE(struct gf1_mw_bind, struct ibv_mw_bind, bind_info);

SAME_SIZE(struct gf1_dm, struct ibv_dm);
SAME_PLACE(struct gf1_dm, struct ibv_dm, context);
SAME_PLACE(struct gf1_dm, struct ibv_dm, memcpy_to_dm);
SAME_PLACE(struct gf1_dm, struct ibv_dm, memcpy_from_dm);
SAME_PLACE(struct gf1_dm, struct ibv_dm, comp_mask);
SAME_PLACE(struct gf1_dm, struct ibv_dm, handle);

SAME_SIZE(struct gf1_alloc_dm_attr, struct ibv_alloc_dm_attr);
SAME_PLACE(struct gf1_alloc_dm_attr, struct ibv_alloc_dm_attr, length);
SAME_PLACE(struct gf1_alloc_dm_attr, struct ibv_alloc_dm_attr, log_align_req);
SAME_PLACE(struct gf1_alloc_dm_attr, struct ibv_alloc_dm_attr, comp_mask);

SAME_SIZE(struct gf1_device_attr_ex, struct ibv_device_attr_ex);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, orig_attr);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, comp_mask);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, odp_caps);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, odp_caps.general_caps);
SAME_FIELD(struct gf1_device_attr_ex, odp_caps.rc, struct ibv_device_attr_ex, odp_caps.per_transport_caps.rc_odp_caps);
SAME_FIELD(struct gf1_device_attr_ex, odp_caps.uc, struct ibv_device_attr_ex, odp_caps.per_transport_caps.uc_odp_caps);
SAME_FIELD(struct gf1_device_attr_ex, odp_caps.ud, struct ibv_device_attr_ex, odp_caps.per_transport_caps.ud_odp_caps);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, completion_timestamp_mask);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, hca_core_clock);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, device_cap_flags_ex);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tso_caps.max_tso);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tso_caps.supported_qpts);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, rss_caps.supported_qpts);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, rss_caps.max_rwq_indirection_tables);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, rss_caps.max_rwq_indirection_table_size);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, rss_caps.rx_hash_fields_mask);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, rss_caps.rx_hash_function);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, max_wq_type_rq);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, packet_pacing_caps.qp_rate_limit_min);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, packet_pacing_caps.qp_rate_limit_max);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, packet_pacing_caps.supported_qpts);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, raw_packet_caps);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tm_caps.max_rndv_hdr_size);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tm_caps.max_num_tags);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tm_caps.flags);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tm_caps.max_ops);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, tm_caps.max_sge);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, cq_mod_caps.max_cq_count);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, cq_mod_caps.max_cq_period);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, max_dm_size);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, pci_atomic_caps.fetch_add);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, pci_atomic_caps.swap);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, pci_atomic_caps.compare_swap);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, xrc_odp_caps);
SAME_PLACE(struct gf1_device_attr_ex, struct ibv_device_attr_ex, phys_port_cnt_ex);

SAME_SIZE(struct gf1_values_ex, struct ibv_values_ex);
SAME_PLACE(struct gf1_values_ex, struct ibv_values_ex, comp_mask);
SAME_PLACE(struct gf1_values_ex, struct ibv_values_ex, raw_clock);

SAME_SIZE(struct gf1_td, struct ibv_td);
SAME_PLACE(struct gf1_td, struct ibv_td, context);

SAME_SIZE(struct gf1_td_init_attr, struct ibv_td_init_attr);
SAME_PLACE(struct gf1_td_init_attr, struct ibv_td_init_attr, comp_mask);

SAME_SIZE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr);
SAME_PLACE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr, pd);
SAME_PLACE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr, td);
SAME_PLACE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr, comp_mask);
SAME_PLACE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr, alloc);
SAME_PLACE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr, free);
SAME_PLACE(struct gf1_parent_domain_init_attr, struct ibv_parent_domain_init_attr, pd_context);

SAME_SIZE(struct gf1_counters, struct ibv_counters);
SAME_PLACE(struct gf1_counters, struct ibv_counters, context);

SAME_SIZE(struct gf1_counters_init_attr, struct ibv_counters_init_attr);
SAME_PLACE(struct gf1_counters_init_attr, struct ibv_counters_init_attr, comp_mask);

SAME_SIZE(struct gf1_counter_attach_attr, struct ibv_counter_attach_attr);
SAME_PLACE(struct gf1_counter_attach_attr, struct ibv_counter_attach_attr, counter_desc);
SAME_PLACE(struct gf1_counter_attach_attr, struct ibv_counter_attach_attr, index);
SAME_PLACE(struct gf1_counter_attach_attr, struct ibv_counter_attach_attr, comp_mask);

#define FROM_END(type, field) (offsetof(type, context) - offsetof(type, field))
#define OPERATION(op) \
	_Static_assert(FROM_END(struct gf1_verbs_context, op) == FROM_END(struct verbs_context, op), #op)
OPERATION(advise_mr);
OPERATION(alloc_null_mr);
OPERATION(read_counters);
OPERATION(attach_counters_point_flow);
OPERATION(create_counters);
OPERATION(destroy_counters);
OPERATION(reg_dm_mr);
OPERATION(alloc_dm);
OPERATION(free_dm);
OPERATION(alloc_parent_domain);
OPERATION(dealloc_td);
OPERATION(alloc_td);
OPERATION(query_rt_values);
OPERATION(query_device_ex);
