//go:build linux && cgo

#include "gf1_memory.h"

#include "gf1_call.h"

int gf1_reg_dmabuf_mr(const struct gf1_verbs *v, struct gf1_pd *pd, uint64_t offset, size_t length, uint64_t iova,
		      int fd, unsigned int access, struct gf1_mr **out)
{
	NEED(v, reg_dmabuf_mr);
	return made(v->reg_dmabuf_mr(pd, offset, length, iova, fd, (int)access), out);
}
