//go:build linux && cgo

/* Memory of the device, and the operations on memory that go through the context. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

enum { DM_MOST = 1 << 20, DM_LOG_ALIGN_MOST = 12 };

struct device_memory {
	struct gf1_dm dm;
	uint32_t users; /* atomic */
	uint8_t *bytes;
	size_t length;
};

static int outside(const struct device_memory *memory, uint64_t offset, size_t length)
{
	return offset > memory->length || length > memory->length - offset;
}

static int copy_in(struct gf1_dm *dm, uint64_t offset, const void *host, size_t length)
{
	struct device_memory *memory = GF1L_OF(struct device_memory, dm, dm);

	if (outside(memory, offset, length))
		return EINVAL;
	memcpy(memory->bytes + offset, host, length);
	return 0;
}

static int copy_out(void *host, struct gf1_dm *dm, uint64_t offset, size_t length)
{
	struct device_memory *memory = GF1L_OF(struct device_memory, dm, dm);

	if (outside(memory, offset, length))
		return EINVAL;
	memcpy(host, memory->bytes + offset, length);
	return 0;
}

static struct gf1_dm *alloc_dm(struct gf1_context *context, struct gf1_alloc_dm_attr *attr)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct device_memory *memory;
	void *bytes;
	size_t align;

	if (attr->length == 0 || attr->log_align_req > DM_LOG_ALIGN_MOST || attr->comp_mask != 0) {
		errno = EINVAL;
		return NULL;
	}
	if (attr->length > DM_MOST) {
		errno = ENOMEM;
		return NULL;
	}
	align = (size_t)1 << attr->log_align_req;
	if (align < sizeof(uint64_t))
		align = sizeof(uint64_t);
	errno = posix_memalign(&bytes, align, attr->length);
	if (errno != 0)
		return NULL;
	memory = gf1l_make(ctx, sizeof(*memory));
	if (memory == NULL) {
		free(bytes);
		return NULL;
	}
	memset(bytes, 0, attr->length);
	memory->bytes = bytes;
	memory->length = attr->length;
	memory->dm.context = context;
	memory->dm.memcpy_to_dm = copy_in;
	memory->dm.memcpy_from_dm = copy_out;
	return &memory->dm;
}

static int free_dm(struct gf1_dm *dm)
{
	struct device_memory *memory = GF1L_OF(struct device_memory, dm, dm);

	if (gf1l_in_use(&memory->users))
		return EBUSY;
	free(memory->bytes);
	gf1l_unmake(gf1l_ctx_of(dm->context), memory);
	return 0;
}

static struct gf1_mr *reg_dm_mr(struct gf1_pd *pd, struct gf1_dm *dm, uint64_t offset, size_t length,
				unsigned int access)
{
	struct device_memory *memory = GF1L_OF(struct device_memory, dm, dm);

	if (outside(memory, offset, length)) {
		errno = EINVAL;
		return NULL;
	}
	return gf1l_reg_own(pd, memory->bytes + offset, length, access, &memory->users);
}

void gf1l_fill_memory(struct gf1l_ctx *ctx)
{
	ctx->ext.advise_mr = gf1l_advise_mr;
	ctx->ext.alloc_null_mr = gf1l_alloc_null_mr;
	ctx->ext.alloc_dm = alloc_dm;
	ctx->ext.free_dm = free_dm;
	ctx->ext.reg_dm_mr = reg_dm_mr;
	ctx->ext.context.ops.alloc_mw = gf1l_alloc_mw;
	ctx->ext.context.ops.dealloc_mw = gf1l_dealloc_mw;
	ctx->ext.context.ops.bind_mw = gf1l_bind_mw;
}
