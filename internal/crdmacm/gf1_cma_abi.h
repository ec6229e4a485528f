/* The binary interface of librdmacm as gofabric needs it, declared here so that
 * building takes no header of rdma-core. abi/ proves every size and offset
 * against the real headers of the releases we support. */
#ifndef GF1_CMA_ABI_H
#define GF1_CMA_ABI_H

#include "gf1_abi.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* A native InfiniBand address (AF_IB). All but the scope are big-endian. */
struct gf1_sockaddr_ib {
	unsigned short family;
	uint16_t pkey;
	uint32_t flowinfo;
	uint8_t addr[16];
	uint64_t sid;
	uint64_t sid_mask;
	uint64_t scope_id;
};

struct gf1_cm_ib_addr {
	union gf1_gid sgid;
	union gf1_gid dgid;
	uint16_t pkey;
};

struct gf1_cm_addr {
	struct sockaddr_storage src;
	struct sockaddr_storage dst;
	struct gf1_cm_ib_addr ib;
};

/* A path record as the library hands it out. 16- and 32-bit fields are
 * big-endian. */
struct gf1_path_rec {
	union gf1_gid dgid;
	union gf1_gid sgid;
	uint16_t dlid;
	uint16_t slid;
	int32_t raw_traffic;
	uint32_t flow_label;
	uint8_t hop_limit;
	uint8_t traffic_class;
	int32_t reversible;
	uint8_t numb_path;
	uint16_t pkey;
	uint8_t sl;
	uint8_t mtu_selector;
	uint8_t mtu;
	uint8_t rate_selector;
	uint8_t rate;
	uint8_t packet_life_time_selector;
	uint8_t packet_life_time;
	uint8_t preference;
};

/* A path record as the subnet administrator sends it, to set a route. */
struct gf1_path_data {
	uint32_t flags;
	uint32_t reserved;
	uint64_t service_id;
	union gf1_gid dgid;
	union gf1_gid sgid;
	uint16_t dlid;
	uint16_t slid;
	uint32_t flowlabel_hoplimit;
	uint8_t tclass;
	uint8_t reversible_numpath;
	uint16_t pkey;
	uint16_t qosclass_sl;
	uint8_t mtu;
	uint8_t rate;
	uint8_t packetlifetime;
	uint8_t preference;
	uint8_t reserved_end[6];
};

struct gf1_cm_route {
	struct gf1_cm_addr addr;
	struct gf1_path_rec *path_rec;
	int num_paths;
};

struct gf1_cm_channel {
	int fd;
};

struct gf1_cm_event;

struct gf1_cm_id {
	struct gf1_context *verbs;
	struct gf1_cm_channel *channel;
	void *context;
	struct gf1_qp *qp;
	struct gf1_cm_route route;
	int32_t ps;
	uint8_t port_num;
	struct gf1_cm_event *event;
	struct gf1_comp_channel *send_cq_channel;
	struct gf1_cq *send_cq;
	struct gf1_comp_channel *recv_cq_channel;
	struct gf1_cq *recv_cq;
	struct gf1_srq *srq;
	struct gf1_pd *pd;
	int32_t qp_type;
};

struct gf1_cm_conn_param {
	const void *private_data;
	uint8_t private_data_len;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint32_t qp_num;
};

struct gf1_cm_ud_param {
	const void *private_data;
	uint8_t private_data_len;
	struct gf1_ah_attr ah_attr;
	uint32_t qp_num;
	uint32_t qkey;
};

struct gf1_cm_event {
	struct gf1_cm_id *id;
	struct gf1_cm_id *listen_id;
	int32_t event;
	int32_t status;
	union {
		struct gf1_cm_conn_param conn;
		struct gf1_cm_ud_param ud;
		uint64_t arg;
	} param;
};

struct gf1_cm_addrinfo {
	int flags;
	int family;
	int qp_type;
	int port_space;
	socklen_t src_len;
	socklen_t dst_len;
	struct sockaddr *src_addr;
	struct sockaddr *dst_addr;
	char *src_canonname;
	char *dst_canonname;
	size_t route_len;
	void *route;
	size_t connect_len;
	void *connect;
	struct gf1_cm_addrinfo *next;
};

struct gf1_cm_join_attr {
	uint32_t comp_mask;
	uint32_t join_flags;
	struct sockaddr *addr;
};

/* Enhanced connection establishment: options of a vendor. */
struct gf1_ece {
	uint32_t vendor_id;
	uint32_t options;
	uint32_t comp_mask;
};

#endif
