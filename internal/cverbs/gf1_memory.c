//go:build linux && cgo

#include "gf1_memory.h"

#include "gf1_call.h"

int gf1_reg_dmabuf_mr(const struct gf1_verbs *v, struct gf1_pd *pd, uint64_t offset, size_t length, uint64_t iova,
		      int fd, unsigned int access, struct gf1_mr **out)
{
	NEED(v, reg_dmabuf_mr);
	return made(v->reg_dmabuf_mr(pd, offset, length, iova, fd, (int)access), out);
}

int gf1_reg_mr_iova(const struct gf1_verbs *v, struct gf1_pd *pd, void *addr, size_t length, uint64_t iova,
		    unsigned int access, struct gf1_mr **out)
{
	if (access >= GF1_ACCESS_OPTIONAL_FIRST) {
		NEED(v, reg_mr_iova2);
		return made(v->reg_mr_iova2(pd, addr, length, iova, access), out);
	}
	NEED(v, reg_mr_iova);
	return made(v->reg_mr_iova(pd, addr, length, iova, (int)access), out);
}

int gf1_rereg_mr(const struct gf1_verbs *v, struct gf1_mr *mr, int flags, struct gf1_pd *pd, void *addr, size_t length,
		 unsigned int access, int *code)
{
	NEED(v, rereg_mr);
	*code = v->rereg_mr(mr, flags, pd, addr, length, (int)access);
	return done(*code < 0 ? -1 : *code);
}

int gf1_advise_mr(struct gf1_pd *pd, int advice, uint32_t flags, struct gf1_sge *sge, uint32_t num_sge)
{
	NEED_OPERATION(pd->context, advise_mr, "ibv_advise_mr");
	return done(ext->advise_mr(pd, advice, flags, sge, num_sge));
}

int gf1_alloc_null_mr(struct gf1_pd *pd, struct gf1_mr **out)
{
	NEED_OPERATION(pd->context, alloc_null_mr, "ibv_alloc_null_mr");
	return made(ext->alloc_null_mr(pd), out);
}

int gf1_alloc_mw(struct gf1_pd *pd, int type, struct gf1_mw **out)
{
	CALLS("ibv_alloc_mw");

	if (pd->context->ops.alloc_mw == NULL)
		return gf1_saw(&seen_, EOPNOTSUPP);
	errno = 0;
	return made(pd->context->ops.alloc_mw(pd, type), out);
}

int gf1_bind_mw(struct gf1_qp *qp, struct gf1_mw *mw, struct gf1_mw_bind *bind)
{
	CALLS("ibv_bind_mw");

	if (mw->context->ops.bind_mw == NULL)
		return gf1_saw(&seen_, EOPNOTSUPP);
	errno = 0;
	return done(mw->context->ops.bind_mw(qp, mw, bind));
}

int gf1_dealloc_mw(struct gf1_mw *mw)
{
	CALLS("ibv_dealloc_mw");

	errno = 0;
	return done(mw->context->ops.dealloc_mw(mw));
}

int gf1_alloc_dm(struct gf1_context *context, size_t length, uint32_t log_align, struct gf1_dm **out)
{
	struct gf1_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };
	NEED_OPERATION(context, alloc_dm, "ibv_alloc_dm");

	return made(ext->alloc_dm(context, &attr), out);
}

int gf1_free_dm(struct gf1_dm *dm)
{
	NEED_OPERATION(dm->context, free_dm, "ibv_free_dm");
	return done(ext->free_dm(dm));
}

int gf1_memcpy_to_dm(struct gf1_dm *dm, uint64_t offset, const void *host, size_t length)
{
	CALLS("ibv_memcpy_to_dm");

	errno = 0;
	return done(dm->memcpy_to_dm(dm, offset, host, length));
}

int gf1_memcpy_from_dm(void *host, struct gf1_dm *dm, uint64_t offset, size_t length)
{
	CALLS("ibv_memcpy_from_dm");

	errno = 0;
	return done(dm->memcpy_from_dm(host, dm, offset, length));
}

int gf1_reg_dm_mr(struct gf1_pd *pd, struct gf1_dm *dm, uint64_t offset, size_t length, unsigned int access,
		  struct gf1_mr **out)
{
	NEED_OPERATION(pd->context, reg_dm_mr, "ibv_reg_dm_mr");
	return made(ext->reg_dm_mr(pd, dm, offset, length, access), out);
}

int gf1_dm_export(const struct gf1_verbs *v, struct gf1_dm *dm, int *fd)
{
	NEED(v, dm_export_dmabuf_fd);
	*fd = v->dm_export_dmabuf_fd(dm);
	return done(*fd < 0 ? -1 : 0);
}

int gf1_import_pd(const struct gf1_verbs *v, struct gf1_context *context, uint32_t handle, struct gf1_pd **out)
{
	NEED(v, import_pd);
	return made(v->import_pd(context, handle), out);
}

int gf1_unimport_pd(const struct gf1_verbs *v, struct gf1_pd *pd)
{
	NEED(v, unimport_pd);
	v->unimport_pd(pd);
	return done(0);
}

int gf1_import_mr(const struct gf1_verbs *v, struct gf1_pd *pd, uint32_t handle, struct gf1_mr **out)
{
	NEED(v, import_mr);
	return made(v->import_mr(pd, handle), out);
}

int gf1_unimport_mr(const struct gf1_verbs *v, struct gf1_mr *mr)
{
	NEED(v, unimport_mr);
	v->unimport_mr(mr);
	return done(0);
}

int gf1_import_dm(const struct gf1_verbs *v, struct gf1_context *context, uint32_t handle, struct gf1_dm **out)
{
	NEED(v, import_dm);
	return made(v->import_dm(context, handle), out);
}

int gf1_unimport_dm(const struct gf1_verbs *v, struct gf1_dm *dm)
{
	NEED(v, unimport_dm);
	v->unimport_dm(dm);
	return done(0);
}

int gf1_reg_mr_ex(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_mr_init_attr *attr, struct gf1_mr **out)
{
	NEED(v, reg_mr_ex);
	return made(v->reg_mr_ex(pd, attr), out);
}

int gf1_alloc_dmah(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_dmah_init_attr *attr,
		   struct gf1_dmah **out)
{
	NEED(v, alloc_dmah);
	return made(v->alloc_dmah(context, attr), out);
}

int gf1_dealloc_dmah(const struct gf1_verbs *v, struct gf1_dmah *dmah)
{
	NEED(v, dealloc_dmah);
	return done(v->dealloc_dmah(dmah));
}

int gf1_alloc_buf(const struct gf1_verbs *v, struct gf1_pd *pd, size_t size, void **addr, struct gf1_buf **buf)
{
	NEED(v, alloc_buf);
	return made(v->alloc_buf(pd, size, buf), addr);
}

int gf1_free_buf(const struct gf1_verbs *v, struct gf1_buf *buf)
{
	NEED(v, free_buf);
	v->free_buf(buf);
	return done(0);
}

int gf1_reg_buf_mr(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_buf *buf, void *addr, size_t length,
		   unsigned int access, struct gf1_mr **out)
{
	NEED(v, reg_buf_mr);
	return made(v->reg_buf_mr(pd, buf, addr, length, (int)access), out);
}
