/* Verbs about memory, for gf1_verbs.h. */
#ifndef GF1_TABLE_MEMORY_H
#define GF1_TABLE_MEMORY_H

#define GF1_MEMORY_VERBS(X) \
	X(struct gf1_mr *, reg_mr_iova, \
	  (struct gf1_pd * pd, void *addr, size_t length, uint64_t iova, int access), "rdma-core 25") \
	X(struct gf1_mr *, reg_dmabuf_mr, \
	  (struct gf1_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access), "rdma-core 34") \
	X(int, rereg_mr, \
	  (struct gf1_mr * mr, int flags, struct gf1_pd *pd, void *addr, size_t length, int access), "rdma-core 24") \
	X(struct gf1_pd *, import_pd, (struct gf1_context * context, uint32_t handle), "rdma-core 31") \
	X(void, unimport_pd, (struct gf1_pd * pd), "rdma-core 31") \
	X(struct gf1_mr *, import_mr, (struct gf1_pd * pd, uint32_t handle), "rdma-core 31") \
	X(void, unimport_mr, (struct gf1_mr * mr), "rdma-core 31") \
	X(struct gf1_dm *, import_dm, (struct gf1_context * context, uint32_t handle), "rdma-core 35") \
	X(void, unimport_dm, (struct gf1_dm * dm), "rdma-core 35") \
	X(struct gf1_mr *, reg_mr_ex, (struct gf1_pd * pd, struct gf1_mr_init_attr * attr), "rdma-core 59") \
	X(struct gf1_dmah *, alloc_dmah, \
	  (struct gf1_context * context, struct gf1_dmah_init_attr * attr), "rdma-core 59") \
	X(int, dealloc_dmah, (struct gf1_dmah * dmah), "rdma-core 59") \
	X(int, dm_export_dmabuf_fd, (struct gf1_dm * dm), "rdma-core 62") \
	X(void *, alloc_buf, (struct gf1_pd * pd, size_t size, struct gf1_buf * *buf), "rdma-core 64") \
	X(void, free_buf, (struct gf1_buf * buf), "rdma-core 64") \
	X(struct gf1_mr *, reg_buf_mr, \
	  (struct gf1_pd * pd, struct gf1_buf * buf, void *addr, size_t length, int access), "rdma-core 64")

#endif
