/* Shims of the verbs about memory; the convention is gf1_shim.h's. */
#ifndef GF1_MEMORY_H
#define GF1_MEMORY_H

#include "gf1_verbs.h"

int gf1_reg_dmabuf_mr(const struct gf1_verbs *v, struct gf1_pd *pd, uint64_t offset, size_t length, uint64_t iova,
		      int fd, unsigned int access, struct gf1_mr **out);
int gf1_reg_mr_iova(const struct gf1_verbs *v, struct gf1_pd *pd, void *addr, size_t length, uint64_t iova,
		    unsigned int access, struct gf1_mr **out);
/* What a failure leaves of the region is stored in code: 0 when it is as it was,
 * or the library's negative code. */
int gf1_rereg_mr(const struct gf1_verbs *v, struct gf1_mr *mr, int flags, struct gf1_pd *pd, void *addr, size_t length,
		 unsigned int access, int *code);
int gf1_advise_mr(struct gf1_pd *pd, int advice, uint32_t flags, struct gf1_sge *sge, uint32_t num_sge);
int gf1_alloc_null_mr(struct gf1_pd *pd, struct gf1_mr **out);
int gf1_alloc_mw(struct gf1_pd *pd, int type, struct gf1_mw **out);
/* Posts the binding of a window of type 1, which gets its new key at once. */
int gf1_bind_mw(struct gf1_qp *qp, struct gf1_mw *mw, struct gf1_mw_bind *bind);
int gf1_dealloc_mw(struct gf1_mw *mw);
int gf1_alloc_dm(struct gf1_context *context, size_t length, uint32_t log_align, struct gf1_dm **out);
int gf1_free_dm(struct gf1_dm *dm);
int gf1_memcpy_to_dm(struct gf1_dm *dm, uint64_t offset, const void *host, size_t length);
int gf1_memcpy_from_dm(void *host, struct gf1_dm *dm, uint64_t offset, size_t length);
int gf1_reg_dm_mr(struct gf1_pd *pd, struct gf1_dm *dm, uint64_t offset, size_t length, unsigned int access,
		  struct gf1_mr **out);
/* Stores a new descriptor. */
int gf1_dm_export(const struct gf1_verbs *v, struct gf1_dm *dm, int *fd);
int gf1_import_pd(const struct gf1_verbs *v, struct gf1_context *context, uint32_t handle, struct gf1_pd **out);
int gf1_unimport_pd(const struct gf1_verbs *v, struct gf1_pd *pd);
int gf1_import_mr(const struct gf1_verbs *v, struct gf1_pd *pd, uint32_t handle, struct gf1_mr **out);
int gf1_unimport_mr(const struct gf1_verbs *v, struct gf1_mr *mr);
int gf1_import_dm(const struct gf1_verbs *v, struct gf1_context *context, uint32_t handle, struct gf1_dm **out);
int gf1_unimport_dm(const struct gf1_verbs *v, struct gf1_dm *dm);
int gf1_reg_mr_ex(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_mr_init_attr *attr, struct gf1_mr **out);
int gf1_alloc_dmah(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_dmah_init_attr *attr,
		   struct gf1_dmah **out);
int gf1_dealloc_dmah(const struct gf1_verbs *v, struct gf1_dmah *dmah);
/* Stores the memory's address and its handle. */
int gf1_alloc_buf(const struct gf1_verbs *v, struct gf1_pd *pd, size_t size, void **addr, struct gf1_buf **buf);
int gf1_free_buf(const struct gf1_verbs *v, struct gf1_buf *buf);
int gf1_reg_buf_mr(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_buf *buf, void *addr, size_t length,
		   unsigned int access, struct gf1_mr **out);

#endif
