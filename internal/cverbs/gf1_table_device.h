/* Verbs about devices, ports and domains, for gf1_verbs.h. */
#ifndef GF1_TABLE_DEVICE_H
#define GF1_TABLE_DEVICE_H

#define GF1_DEVICE_VERBS(X) \
	X(const char *, get_device_name, (struct gf1_device * device), "rdma-core 24") \
	X(uint64_t, get_device_guid, (struct gf1_device * device), "rdma-core 24") \
	X(int, get_device_index, (struct gf1_device * device), "rdma-core 30") \
	X(int, query_pkey, (struct gf1_context * context, uint8_t port, int index, uint16_t *pkey), "rdma-core 24") \
	X(int, get_pkey_index, (struct gf1_context * context, uint8_t port, uint16_t pkey), "rdma-core 24") \
	X(int, query_gid, (struct gf1_context * context, uint8_t port, int index, union gf1_gid *gid), "rdma-core 24") \
	X(int, query_port_speed, (struct gf1_context * context, uint32_t port, uint64_t *speed), "rdma-core 62") \
	X(int, resolve_eth_l2_from_gid, \
	  (struct gf1_context * context, struct gf1_ah_attr * attr, uint8_t mac[6], uint16_t *vid), "rdma-core 24")

/* X(result, name, arguments, since): functions of the library that take no
 * context, by their whole names. */
#define GF1_LIBRARY_FUNCTIONS(X) \
	X(int, ibv_fork_init, (void), "rdma-core 24") \
	X(int, ibv_is_fork_initialized, (void), "rdma-core 35") \
	X(struct gf1_context *, ibv_import_device, (int cmd_fd), "rdma-core 31") \
	X(const char *, ibv_node_type_str, (int type), "rdma-core 24") \
	X(const char *, ibv_port_state_str, (int state), "rdma-core 24") \
	X(const char *, ibv_event_type_str, (int event), "rdma-core 24") \
	X(const char *, ibv_wc_status_str, (int status), "rdma-core 24") \
	X(const char *, ibv_wr_opcode_str, (int opcode), "rdma-core 49") \
	X(int, ibv_rate_to_mult, (int rate), "rdma-core 24") \
	X(int, mult_to_ibv_rate, (int mult), "rdma-core 24") \
	X(int, ibv_rate_to_mbps, (int rate), "rdma-core 24") \
	X(int, mbps_to_ibv_rate, (int mbps), "rdma-core 24")

#endif
