/* Verbs about memory, for gf1_verbs.h. */
#ifndef GF1_TABLE_MEMORY_H
#define GF1_TABLE_MEMORY_H

#define GF1_MEMORY_VERBS(X) \
	X(struct gf1_mr *, reg_dmabuf_mr, \
	  (struct gf1_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access), "rdma-core 34")

#endif
