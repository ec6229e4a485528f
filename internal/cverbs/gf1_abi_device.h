/* gf1_abi.h goes on: what a device tells of itself, domains and counters. */
#ifndef GF1_ABI_DEVICE_H
#define GF1_ABI_DEVICE_H

#include <time.h>

struct gf1_device_attr_ex {
	struct gf1_device_attr orig_attr;
	uint32_t comp_mask;
	struct {
		uint64_t general_caps;
		uint32_t rc;
		uint32_t uc;
		uint32_t ud;
	} odp_caps;
	uint64_t completion_timestamp_mask;
	uint64_t hca_core_clock;
	uint64_t device_cap_flags_ex;
	struct {
		uint32_t max_tso;
		uint32_t supported_qpts;
	} tso_caps;
	struct {
		uint32_t supported_qpts;
		uint32_t max_rwq_indirection_tables;
		uint32_t max_rwq_indirection_table_size;
		uint64_t rx_hash_fields_mask;
		uint8_t rx_hash_function;
	} rss_caps;
	uint32_t max_wq_type_rq;
	struct {
		uint32_t qp_rate_limit_min;
		uint32_t qp_rate_limit_max;
		uint32_t supported_qpts;
	} packet_pacing_caps;
	uint32_t raw_packet_caps;
	struct {
		uint32_t max_rndv_hdr_size;
		uint32_t max_num_tags;
		uint32_t flags;
		uint32_t max_ops;
		uint32_t max_sge;
	} tm_caps;
	struct {
		uint16_t max_cq_count;
		uint16_t max_cq_period;
	} cq_mod_caps;
	uint64_t max_dm_size;
	struct {
		uint16_t fetch_add;
		uint16_t swap;
		uint16_t compare_swap;
	} pci_atomic_caps;
	uint32_t xrc_odp_caps;
	uint32_t phys_port_cnt_ex;
};

/* The device's clock; comp_mask says what is asked for, and what was given. */
struct gf1_values_ex {
	uint32_t comp_mask;
	struct timespec raw_clock;
};

struct gf1_td {
	struct gf1_context *context;
};

struct gf1_td_init_attr {
	uint32_t comp_mask;
};

struct gf1_parent_domain_init_attr {
	struct gf1_pd *pd;
	struct gf1_td *td;
	uint32_t comp_mask;
	void *alloc;
	void *free;
	void *pd_context;
};

struct gf1_counters {
	struct gf1_context *context;
};

struct gf1_counters_init_attr {
	uint32_t comp_mask;
};

struct gf1_counter_attach_attr {
	int32_t counter_desc;
	uint32_t index;
	uint32_t comp_mask;
};

#endif
