/* librdmacm's functions and what Go calls. Every function of ours returns 0 or a
 * positive errno. */
#ifndef GF1_CMA_H
#define GF1_CMA_H

#include "gf1_cma_abi.h"

/* X(result, name, arguments): what librdmacm exports under "rdma_" name. */
#define GF1_CM_FUNCTIONS(X) \
	X(struct gf1_cm_channel *, create_event_channel, (void)) \
	X(void, destroy_event_channel, (struct gf1_cm_channel * channel)) \
	X(int, create_id, (struct gf1_cm_channel * channel, struct gf1_cm_id * *id, void *context, int ps)) \
	X(int, destroy_id, (struct gf1_cm_id * id)) \
	X(int, bind_addr, (struct gf1_cm_id * id, struct sockaddr * addr)) \
	X(int, resolve_addr, \
	  (struct gf1_cm_id * id, struct sockaddr * source, struct sockaddr * destination, int timeout_ms)) \
	X(int, resolve_route, (struct gf1_cm_id * id, int timeout_ms)) \
	X(int, connect, (struct gf1_cm_id * id, struct gf1_cm_conn_param * param)) \
	X(int, establish, (struct gf1_cm_id * id)) \
	X(int, listen, (struct gf1_cm_id * id, int backlog)) \
	X(int, accept, (struct gf1_cm_id * id, struct gf1_cm_conn_param * param)) \
	X(int, reject, (struct gf1_cm_id * id, const void *data, uint8_t len)) \
	X(int, reject_ece, (struct gf1_cm_id * id, const void *data, uint8_t len)) \
	X(int, notify, (struct gf1_cm_id * id, int event)) \
	X(int, disconnect, (struct gf1_cm_id * id)) \
	X(int, join_multicast, (struct gf1_cm_id * id, struct sockaddr * addr, void *context)) \
	X(int, join_multicast_ex, (struct gf1_cm_id * id, struct gf1_cm_join_attr * attr, void *context)) \
	X(int, leave_multicast, (struct gf1_cm_id * id, struct sockaddr * addr)) \
	X(int, get_cm_event, (struct gf1_cm_channel * channel, struct gf1_cm_event * *event)) \
	X(int, ack_cm_event, (struct gf1_cm_event * event)) \
	X(uint16_t, get_src_port, (struct gf1_cm_id * id)) \
	X(uint16_t, get_dst_port, (struct gf1_cm_id * id)) \
	X(struct gf1_context **, get_devices, (int *count)) \
	X(void, free_devices, (struct gf1_context * *list)) \
	X(const char *, event_str, (int event)) \
	X(int, set_option, (struct gf1_cm_id * id, int level, int name, void *value, size_t len)) \
	X(int, migrate_id, (struct gf1_cm_id * id, struct gf1_cm_channel * channel)) \
	X(int, getaddrinfo, \
	  (const char *node, const char *service, const struct gf1_cm_addrinfo *hints, \
	   struct gf1_cm_addrinfo **result)) \
	X(void, freeaddrinfo, (struct gf1_cm_addrinfo * list)) \
	X(int, create_ep, \
	  (struct gf1_cm_id * *id, struct gf1_cm_addrinfo * info, struct gf1_pd * pd, \
	   struct gf1_qp_init_attr * attr)) \
	X(void, destroy_ep, (struct gf1_cm_id * id)) \
	X(int, init_qp_attr, (struct gf1_cm_id * id, struct gf1_qp_attr * attr, int *mask)) \
	X(int, set_local_ece, (struct gf1_cm_id * id, struct gf1_ece * ece)) \
	X(int, get_remote_ece, (struct gf1_cm_id * id, struct gf1_ece * ece))

/* X(result, name, arguments, since): what only later releases export. */
#define GF1_CM_LATER_FUNCTIONS(X) \
	X(int, write_cm_event, (struct gf1_cm_id * id, int event, int status, uint64_t arg), "rdma-core 60")

struct gf1_cm {
#define GF1_CM_FIELD(result, name, args, ...) result(*name) args;
	GF1_CM_FUNCTIONS(GF1_CM_FIELD)
	GF1_CM_LATER_FUNCTIONS(GF1_CM_FIELD)
#undef GF1_CM_FIELD
};

/* The names to resolve, in the order of the table's slots; NULL ends them. An
 * entry of the second list is NULL for a name that every release has. */
extern const char *const gf1_cm_names[];
extern const char *const gf1_cm_since[];

/* An event, copied. The library's own stays until it is acknowledged. */
struct gf1_cm_news {
	struct gf1_cm_event *event;
	struct gf1_cm_id *id;
	struct gf1_cm_id *listen_id;
	uint64_t arg; /* of a user's event; the context of a multicast group */
	int32_t type;
	int32_t status;
	uint32_t qp_num;
	uint32_t qkey;
	struct gf1_ah_attr ah;
	uint8_t datagram;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint8_t private_len;
	uint8_t private_data[256];
};

int gf1_cm_create_channel(const struct gf1_cm *v, struct gf1_cm_channel **out);
void gf1_cm_destroy_channel(const struct gf1_cm *v, struct gf1_cm_channel *channel);
int gf1_cm_next(const struct gf1_cm *v, struct gf1_cm_channel *channel, struct gf1_cm_news *out);
int gf1_cm_ack(const struct gf1_cm *v, struct gf1_cm_event *event);
int gf1_cm_create_id(const struct gf1_cm *v, struct gf1_cm_channel *channel, int ps, struct gf1_cm_id **out);
int gf1_cm_destroy_id(const struct gf1_cm *v, struct gf1_cm_id *id);
int gf1_cm_bind(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr);
int gf1_cm_resolve_addr(const struct gf1_cm *v, struct gf1_cm_id *id, void *source, void *destination, int timeout_ms);
int gf1_cm_resolve_route(const struct gf1_cm *v, struct gf1_cm_id *id, int timeout_ms);
int gf1_cm_listen(const struct gf1_cm *v, struct gf1_cm_id *id, int backlog);
int gf1_cm_connect(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_cm_conn_param *param, const void *data);
int gf1_cm_accept(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_cm_conn_param *param, const void *data);
int gf1_cm_establish(const struct gf1_cm *v, struct gf1_cm_id *id);
int gf1_cm_reject(const struct gf1_cm *v, struct gf1_cm_id *id, const void *data, uint8_t len, int ece);
int gf1_cm_notify(const struct gf1_cm *v, struct gf1_cm_id *id, int event);
int gf1_cm_disconnect(const struct gf1_cm *v, struct gf1_cm_id *id);
int gf1_cm_join(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr, uintptr_t context);
int gf1_cm_join_ex(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr, uint32_t flags, uintptr_t context);
int gf1_cm_leave(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr);
int gf1_cm_set_option(const struct gf1_cm *v, struct gf1_cm_id *id, int level, int name, void *value, size_t len);
int gf1_cm_migrate(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_cm_channel *channel);
int gf1_cm_init_qp_attr(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_qp_attr *attr, int *mask);
int gf1_cm_set_ece(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_ece *ece);
int gf1_cm_get_ece(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_ece *ece);
int gf1_cm_write_event(const struct gf1_cm *v, struct gf1_cm_id *id, int status, uint64_t arg);
int gf1_cm_get_devices(const struct gf1_cm *v, struct gf1_context ***out, int *count);
void gf1_cm_free_devices(const struct gf1_cm *v, struct gf1_context **list);
const char *gf1_cm_event_str(const struct gf1_cm *v, int event);
int gf1_cm_ports(const struct gf1_cm *v, struct gf1_cm_id *id, uint16_t *source, uint16_t *destination);
int gf1_cm_getaddrinfo(const struct gf1_cm *v, const char *node, const char *service,
		       const struct gf1_cm_addrinfo *hints, struct gf1_cm_addrinfo **out);
void gf1_cm_freeaddrinfo(const struct gf1_cm *v, struct gf1_cm_addrinfo *list);
/* The endpoint has no queue pair. */
int gf1_cm_create_ep(const struct gf1_cm *v, struct gf1_cm_addrinfo *info, struct gf1_cm_id **out);
void gf1_cm_destroy_ep(const struct gf1_cm *v, struct gf1_cm_id *id);

#endif
