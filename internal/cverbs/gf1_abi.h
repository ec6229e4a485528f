/* The binary interface of libibverbs as gofabric needs it, declared here so
 * that building takes no header of rdma-core. abi/ proves every size and
 * offset against the real headers of the releases we support.
 *
 * The prefix carries the major version: two majors may share a program. */
#ifndef GF1_ABI_H
#define GF1_ABI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct gf1_context;
struct gf1_pd;
struct gf1_mr;
struct gf1_cq;
struct gf1_qp;
struct gf1_srq;
struct gf1_ah;
struct gf1_mw;
struct gf1_mw_bind;
struct gf1_comp_channel;
/* gf1_abi_queue.h has what these are. */
struct gf1_cq_ex;
struct gf1_cq_init_attr_ex;
struct gf1_flow;
struct gf1_flow_action;
struct gf1_flow_action_esp_attr;
struct gf1_flow_attr;
struct gf1_ops_wr;
struct gf1_qp_init_attr_ex;
struct gf1_qp_open_attr;
struct gf1_qp_rate_limit_attr;
struct gf1_rwq_ind_table;
struct gf1_rwq_ind_table_init_attr;
struct gf1_srq_init_attr_ex;
struct gf1_wq;
struct gf1_wq_attr;
struct gf1_wq_init_attr;
struct gf1_xrcd;
struct gf1_xrcd_init_attr;
struct gf1_flow;

enum { GF1_SYSFS_NAME_MAX = 64, GF1_SYSFS_PATH_MAX = 256 };

struct gf1_device {
	void *unused_ops[2];
	int node_type;
	int transport_type;
	char name[GF1_SYSFS_NAME_MAX];
	char dev_name[GF1_SYSFS_NAME_MAX];
	char dev_path[GF1_SYSFS_PATH_MAX];
	char ibdev_path[GF1_SYSFS_PATH_MAX];
};

union gf1_gid {
	uint8_t raw[16];
	uint64_t align;
};

struct gf1_gid_entry {
	union gf1_gid gid;
	uint32_t gid_index;
	uint32_t port_num;
	uint32_t gid_type;
	uint32_t ndev_ifindex;
};

/* Capabilities of a device. GUIDs are big-endian. */
struct gf1_device_attr {
	char fw_ver[64];
	uint64_t node_guid;
	uint64_t sys_image_guid;
	uint64_t max_mr_size;
	uint64_t page_size_cap;
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint32_t hw_ver;
	int32_t max_qp;
	int32_t max_qp_wr;
	uint32_t device_cap_flags;
	int32_t max_sge;
	int32_t max_sge_rd;
	int32_t max_cq;
	int32_t max_cqe;
	int32_t max_mr;
	int32_t max_pd;
	int32_t max_qp_rd_atom;
	int32_t max_ee_rd_atom;
	int32_t max_res_rd_atom;
	int32_t max_qp_init_rd_atom;
	int32_t max_ee_init_rd_atom;
	int32_t atomic_cap;
	int32_t max_ee;
	int32_t max_rdd;
	int32_t max_mw;
	int32_t max_raw_ipv6_qp;
	int32_t max_raw_ethy_qp;
	int32_t max_mcast_grp;
	int32_t max_mcast_qp_attach;
	int32_t max_total_mcast_qp_attach;
	int32_t max_ah;
	int32_t max_fmr;
	int32_t max_map_per_fmr;
	int32_t max_srq;
	int32_t max_srq_wr;
	int32_t max_srq_sge;
	uint16_t max_pkeys;
	uint8_t local_ca_ack_delay;
	uint8_t phys_port_cnt;
};

/* State of a port, as rdma-core 44 has it. Later releases append fields: the
 * caller of query_port passes the length that it knows. */
struct gf1_port_attr {
	int32_t state;
	int32_t max_mtu;
	int32_t active_mtu;
	int32_t gid_tbl_len;
	uint32_t port_cap_flags;
	uint32_t max_msg_sz;
	uint32_t bad_pkey_cntr;
	uint32_t qkey_viol_cntr;
	uint16_t pkey_tbl_len;
	uint16_t lid;
	uint16_t sm_lid;
	uint8_t lmc;
	uint8_t max_vl_num;
	uint8_t sm_sl;
	uint8_t subnet_timeout;
	uint8_t init_type_reply;
	uint8_t active_width;
	uint8_t active_speed;
	uint8_t phys_state;
	uint8_t link_layer;
	uint8_t flags;
	uint16_t port_cap_flags2;
};

struct gf1_pd {
	struct gf1_context *context;
	uint32_t handle;
};

struct gf1_mr {
	struct gf1_context *context;
	struct gf1_pd *pd;
	void *addr;
	size_t length;
	uint32_t handle;
	uint32_t lkey;
	uint32_t rkey;
};

struct gf1_comp_channel {
	struct gf1_context *context;
	int fd;
	int refcnt;
};

struct gf1_cq {
	struct gf1_context *context;
	struct gf1_comp_channel *channel;
	void *cq_context;
	uint32_t handle;
	int cqe;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t comp_events_completed;
	uint32_t async_events_completed;
};

/* When a CQ raises its event: after so many completions, or so many
 * microseconds after the first of them. */
struct gf1_modify_cq_attr {
	uint32_t attr_mask;
	uint16_t cq_count;
	uint16_t cq_period;
};

struct gf1_qp {
	struct gf1_context *context;
	void *qp_context;
	struct gf1_pd *pd;
	struct gf1_cq *send_cq;
	struct gf1_cq *recv_cq;
	struct gf1_srq *srq;
	uint32_t handle;
	uint32_t qp_num;
	int state;
	int qp_type;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

struct gf1_srq {
	struct gf1_context *context;
	void *srq_context;
	struct gf1_pd *pd;
	uint32_t handle;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint32_t events_completed;
};

struct gf1_srq_attr {
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t srq_limit;
};

struct gf1_srq_init_attr {
	void *srq_context;
	struct gf1_srq_attr attr;
};

struct gf1_ah {
	struct gf1_context *context;
	struct gf1_pd *pd;
	uint32_t handle;
};

/* The header in front of a datagram. All fields are big-endian. */
struct gf1_grh {
	uint32_t version_tclass_flow;
	uint16_t paylen;
	uint8_t next_hdr;
	uint8_t hop_limit;
	union gf1_gid sgid;
	union gf1_gid dgid;
};

/* Something that happened to an object, to a port or to the whole device. */
struct gf1_async_event {
	union {
		struct gf1_cq *cq;
		struct gf1_qp *qp;
		struct gf1_srq *srq;
		int32_t port_num;
	} element;
	int32_t event_type;
};

struct gf1_sge {
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};

/* A send request. The immediate is big-endian. */
struct gf1_send_wr {
	uint64_t wr_id;
	struct gf1_send_wr *next;
	struct gf1_sge *sg_list;
	int32_t num_sge;
	int32_t opcode;
	uint32_t send_flags;
	union {
		uint32_t imm_data;
		uint32_t invalidate_rkey;
	};
	union {
		struct {
			uint64_t remote_addr;
			uint32_t rkey;
		} rdma;
		struct {
			uint64_t remote_addr;
			uint64_t compare_add;
			uint64_t swap;
			uint32_t rkey;
		} atomic;
		struct {
			struct gf1_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		} ud;
	} wr;
	uint32_t remote_srqn;
	union {
		struct {
			struct gf1_mw *mw;
			uint32_t rkey;
			struct gf1_mr *mr;
			uint64_t addr;
			uint64_t length;
			uint32_t mw_access_flags;
		} bind_mw;
		struct {
			void *hdr;
			uint16_t hdr_sz;
			uint16_t mss;
		} tso;
	};
};

struct gf1_recv_wr {
	uint64_t wr_id;
	struct gf1_recv_wr *next;
	struct gf1_sge *sg_list;
	int32_t num_sge;
};

/* A completion. The immediate is big-endian. */
struct gf1_wc {
	uint64_t wr_id;
	int32_t status;
	int32_t opcode;
	uint32_t vendor_err;
	uint32_t byte_len;
	union {
		uint32_t imm_data;
		uint32_t invalidated_rkey;
	};
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t wc_flags;
	uint16_t pkey_index;
	uint16_t slid;
	uint8_t sl;
	uint8_t dlid_path_bits;
};

struct gf1_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
};

struct gf1_global_route {
	union gf1_gid dgid;
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
};

struct gf1_ah_attr {
	struct gf1_global_route grh;
	uint16_t dlid;
	uint8_t sl;
	uint8_t src_path_bits;
	uint8_t static_rate;
	uint8_t is_global;
	uint8_t port_num;
};

struct gf1_qp_attr {
	int32_t qp_state;
	int32_t cur_qp_state;
	int32_t path_mtu;
	int32_t path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags;
	struct gf1_qp_cap cap;
	struct gf1_ah_attr ah_attr;
	struct gf1_ah_attr alt_ah_attr;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	uint32_t rate_limit;
};

struct gf1_qp_init_attr {
	void *qp_context;
	struct gf1_cq *send_cq;
	struct gf1_cq *recv_cq;
	struct gf1_srq *srq;
	struct gf1_qp_cap cap;
	int32_t qp_type;
	int32_t sq_sig_all;
};

#include "gf1_abi_memory.h"
#include "gf1_abi_device.h"

/* The operations that libibverbs calls through the context itself. The unused
 * slots keep the places of functions that moved elsewhere. */
struct gf1_context_ops {
	void *unused_query_device;
	void *unused_query_port;
	void *unused_alloc_pd;
	void *unused_dealloc_pd;
	void *unused_reg_mr;
	void *unused_rereg_mr;
	void *unused_dereg_mr;
	struct gf1_mw *(*alloc_mw)(struct gf1_pd *pd, int type);
	int (*bind_mw)(struct gf1_qp *qp, struct gf1_mw *mw, struct gf1_mw_bind *bind);
	int (*dealloc_mw)(struct gf1_mw *mw);
	void *unused_create_cq;
	int (*poll_cq)(struct gf1_cq *cq, int entries, struct gf1_wc *wc);
	int (*req_notify_cq)(struct gf1_cq *cq, int solicited_only);
	void *unused_cq_event;
	void *unused_resize_cq;
	void *unused_destroy_cq;
	void *unused_create_srq;
	void *unused_modify_srq;
	void *unused_query_srq;
	void *unused_destroy_srq;
	int (*post_srq_recv)(struct gf1_srq *srq, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad);
	void *unused_create_qp;
	void *unused_query_qp;
	void *unused_modify_qp;
	void *unused_destroy_qp;
	int (*post_send)(struct gf1_qp *qp, struct gf1_send_wr *wr, struct gf1_send_wr **bad);
	int (*post_recv)(struct gf1_qp *qp, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad);
	void *unused_create_ah;
	void *unused_destroy_ah;
	void *unused_attach_mcast;
	void *unused_detach_mcast;
	void *unused_async_event;
};

struct gf1_context {
	struct gf1_device *device;
	struct gf1_context_ops ops;
	int cmd_fd;
	int async_fd;
	int num_comp_vectors;
	pthread_mutex_t mutex;
	void *abi_compat;
};

/* The extended context lies in front of the plain one and grows towards lower
 * addresses: an operation exists if it lies within sz bytes of the end. Only
 * what is called through it is spelled out. */
struct gf1_verbs_context {
	int (*query_port)(struct gf1_context *context, uint8_t port, struct gf1_port_attr *attr, size_t len);
	int (*advise_mr)(struct gf1_pd *pd, int advice, uint32_t flags, struct gf1_sge *sge, uint32_t num_sge);
	struct gf1_mr *(*alloc_null_mr)(struct gf1_pd *pd);
	int (*read_counters)(struct gf1_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);
	int (*attach_counters_point_flow)(struct gf1_counters *counters, struct gf1_counter_attach_attr *attr,
					  struct gf1_flow *flow);
	struct gf1_counters *(*create_counters)(struct gf1_context *context, struct gf1_counters_init_attr *attr);
	int (*destroy_counters)(struct gf1_counters *counters);
	struct gf1_mr *(*reg_dm_mr)(struct gf1_pd *pd, struct gf1_dm *dm, uint64_t offset, size_t length,
				    unsigned int access);
	struct gf1_dm *(*alloc_dm)(struct gf1_context *context, struct gf1_alloc_dm_attr *attr);
	int (*free_dm)(struct gf1_dm *dm);
	int (*modify_flow_action_esp)(struct gf1_flow_action *action, struct gf1_flow_action_esp_attr *attr);
	int (*destroy_flow_action)(struct gf1_flow_action *action);
	struct gf1_flow_action *(*create_flow_action_esp)(struct gf1_context *context,
							  struct gf1_flow_action_esp_attr *attr);
	int (*modify_qp_rate_limit)(struct gf1_qp *qp, struct gf1_qp_rate_limit_attr *attr);
	struct gf1_pd *(*alloc_parent_domain)(struct gf1_context *context, struct gf1_parent_domain_init_attr *attr);
	int (*dealloc_td)(struct gf1_td *td);
	struct gf1_td *(*alloc_td)(struct gf1_context *context, struct gf1_td_init_attr *attr);
	int (*modify_cq)(struct gf1_cq *cq, struct gf1_modify_cq_attr *attr);
	int (*post_srq_ops)(struct gf1_srq *srq, struct gf1_ops_wr *op, struct gf1_ops_wr **bad);
	int (*destroy_rwq_ind_table)(struct gf1_rwq_ind_table *table);
	struct gf1_rwq_ind_table *(*create_rwq_ind_table)(struct gf1_context *context,
							  struct gf1_rwq_ind_table_init_attr *attr);
	int (*destroy_wq)(struct gf1_wq *wq);
	int (*modify_wq)(struct gf1_wq *wq, struct gf1_wq_attr *attr);
	struct gf1_wq *(*create_wq)(struct gf1_context *context, struct gf1_wq_init_attr *attr);
	int (*query_rt_values)(struct gf1_context *context, struct gf1_values_ex *values);
	struct gf1_cq_ex *(*create_cq_ex)(struct gf1_context *context, struct gf1_cq_init_attr_ex *attr);
	void *unspelled;
	int (*query_device_ex)(struct gf1_context *context, const void *input, struct gf1_device_attr_ex *attr,
			       size_t size);
	int (*destroy_flow)(struct gf1_flow *flow);
	void *unused_2;
	struct gf1_flow *(*create_flow)(struct gf1_qp *qp, struct gf1_flow_attr *attr);
	void *unused_1;
	struct gf1_qp *(*open_qp)(struct gf1_context *context, struct gf1_qp_open_attr *attr);
	struct gf1_qp *(*create_qp_ex)(struct gf1_context *context, struct gf1_qp_init_attr_ex *attr);
	int (*get_srq_num)(struct gf1_srq *srq, uint32_t *number);
	struct gf1_srq *(*create_srq_ex)(struct gf1_context *context, struct gf1_srq_init_attr_ex *attr);
	struct gf1_xrcd *(*open_xrcd)(struct gf1_context *context, struct gf1_xrcd_init_attr *attr);
	int (*close_xrcd)(struct gf1_xrcd *xrcd);
	uint64_t unused_3;
	size_t sz;
	struct gf1_context context;
};

/* What abi_compat holds in a context that has the extension. */
#define GF1_ABI_IS_EXTENDED ((void *)UINTPTR_MAX)

#endif
