/* Shims of the verbs about devices, ports, domains and counters; the convention is gf1_shim.h's. */
#ifndef GF1_DEVICE_H
#define GF1_DEVICE_H

#include "gf1_verbs.h"

/* What the device does not tell is zero. */
int gf1_query_device_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_device_attr_ex *attr);
int gf1_query_rt_values(struct gf1_context *context, struct gf1_values_ex *values);
int gf1_get_device_name(const struct gf1_verbs *v, struct gf1_context *context, const char **name);
/* The GUID is big-endian. */
int gf1_get_device_guid(const struct gf1_verbs *v, struct gf1_context *context, uint64_t *guid);
/* ENODATA where the kernel gives its devices no index. */
int gf1_get_device_index(const struct gf1_verbs *v, struct gf1_context *context, int *index);
/* The key is big-endian. */
int gf1_query_pkey(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, int index, uint16_t *pkey);
/* ENOENT where no entry has the key, which is big-endian. */
int gf1_get_pkey_index(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, uint16_t pkey, int *index);
int gf1_query_gid(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, int index, union gf1_gid *gid);
int gf1_query_gid_ex(const struct gf1_verbs *v, struct gf1_context *context, uint32_t port, uint32_t index,
		     struct gf1_gid_entry *entry);
/* In units of 100 Mb/s. */
int gf1_query_port_speed(const struct gf1_verbs *v, struct gf1_context *context, uint32_t port, uint64_t *speed);
int gf1_resolve_eth_l2(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_ah_attr *attr, uint8_t mac[6],
		       uint16_t *vid);
int gf1_alloc_td(struct gf1_context *context, struct gf1_td **out);
int gf1_dealloc_td(struct gf1_td *td);
int gf1_alloc_parent_domain(struct gf1_pd *pd, struct gf1_td *td, struct gf1_pd **out);
int gf1_create_counters(struct gf1_context *context, struct gf1_counters **out);
int gf1_destroy_counters(struct gf1_counters *counters);
int gf1_attach_counters(struct gf1_counters *counters, int what, uint32_t index, struct gf1_flow *flow);
int gf1_read_counters(struct gf1_counters *counters, uint64_t *values, uint32_t n, uint32_t flags);
int gf1_fork_init(const struct gf1_library *lib);
int gf1_is_fork_initialized(const struct gf1_library *lib, int *status);
int gf1_import_device(const struct gf1_library *lib, int fd, struct gf1_context **out);
int gf1_node_type_str(const struct gf1_library *lib, int value, const char **text);
int gf1_port_state_str(const struct gf1_library *lib, int value, const char **text);
int gf1_event_type_str(const struct gf1_library *lib, int value, const char **text);
int gf1_wc_status_str(const struct gf1_library *lib, int value, const char **text);
int gf1_wr_opcode_str(const struct gf1_library *lib, int value, const char **text);
int gf1_rate_to_mult(const struct gf1_library *lib, int value, int *result);
int gf1_mult_to_rate(const struct gf1_library *lib, int value, int *result);
int gf1_rate_to_mbps(const struct gf1_library *lib, int value, int *result);
int gf1_mbps_to_rate(const struct gf1_library *lib, int value, int *result);

#endif
