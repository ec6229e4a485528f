/* gf1_abi.h goes on: windows and the memory of devices. */
#ifndef GF1_ABI_MEMORY_H
#define GF1_ABI_MEMORY_H

struct gf1_mw {
	struct gf1_context *context;
	struct gf1_pd *pd;
	uint32_t rkey;
	uint32_t handle;
	int32_t type;
};

struct gf1_mw_bind_info {
	struct gf1_mr *mr;
	uint64_t addr;
	uint64_t length;
	uint32_t mw_access_flags;
};

struct gf1_mw_bind {
	uint64_t wr_id;
	uint32_t send_flags;
	struct gf1_mw_bind_info bind_info;
};

struct gf1_dm {
	struct gf1_context *context;
	int (*memcpy_to_dm)(struct gf1_dm *dm, uint64_t offset, const void *host, size_t length);
	int (*memcpy_from_dm)(void *host, struct gf1_dm *dm, uint64_t offset, size_t length);
	uint32_t comp_mask;
	uint32_t handle;
};

struct gf1_alloc_dm_attr {
	size_t length;
	uint32_t log_align_req;
	uint32_t comp_mask;
};

/* What ibv_reg_mr_ex takes, from rdma-core 59 on; buf came with 64. */
struct gf1_mr_init_attr {
	size_t length;
	int32_t access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int32_t fd;
	uint64_t fd_offset;
	struct gf1_dmah *dmah;
	struct gf1_buf *buf;
};

/* A DMA handle: hints for the device's accesses to memory. */
struct gf1_dmah {
	struct gf1_context *context;
};

struct gf1_dmah_init_attr {
	uint32_t comp_mask;
	uint32_t cpu_id;
	uint8_t ph;
	uint8_t tph_mem_type;
};

#endif
