/* Shims of the verbs about memory; the convention is gf1_shim.h's. */
#ifndef GF1_MEMORY_H
#define GF1_MEMORY_H

#include "gf1_verbs.h"

int gf1_reg_dmabuf_mr(const struct gf1_verbs *v, struct gf1_pd *pd, uint64_t offset, size_t length, uint64_t iova,
		      int fd, unsigned int access, struct gf1_mr **out);

#endif
