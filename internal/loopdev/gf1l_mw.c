//go:build linux && cgo

/* Memory windows: keys to a piece of a region, made and taken away by requests. */
#include "gf1l.h"

struct window {
	struct gf1_mw mw;
	struct gf1l_slot *slot;
};

struct gf1_mw *gf1l_alloc_mw(struct gf1_pd *pd, int type)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(pd->context);
	struct window *window;

	if (type != MW_TYPE_1 && type != MW_TYPE_2) {
		errno = EINVAL;
		return NULL;
	}
	window = gf1l_make(ctx, sizeof(*window));
	if (window == NULL)
		return NULL;
	window->slot = gf1l_window_new(ctx->dev, pd, &window->mw.rkey);
	if (window->slot == NULL) {
		gf1l_unmake(ctx, window);
		errno = ENOMEM;
		return NULL;
	}
	window->mw.context = pd->context;
	window->mw.pd = pd;
	window->mw.type = type;
	gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, pd)->refs);
	return &window->mw;
}

int gf1l_dealloc_mw(struct gf1_mw *mw)
{
	struct window *window = GF1L_OF(struct window, mw, mw);
	struct gf1l_ctx *ctx = gf1l_ctx_of(mw->context);

	gf1l_window_free(ctx->dev, window->slot);
	gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, mw->pd)->refs);
	gf1l_unmake(ctx, window);
	return 0;
}

/* The next key: the lowest byte is the owner's. */
static uint32_t next_key(uint32_t key)
{
	return (key & ~0xffu) | ((key + 1) & 0xff);
}

int gf1l_bind_mw(struct gf1_qp *qp, struct gf1_mw *mw, struct gf1_mw_bind *bind)
{
	struct gf1_send_wr wr = { .wr_id = bind->wr_id, .opcode = WR_BIND_MW, .send_flags = bind->send_flags }, *bad;
	int rc;

	if (mw->type != MW_TYPE_1)
		return EINVAL;
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = next_key(mw->rkey);
	wr.bind_mw.mr = bind->bind_info.mr;
	wr.bind_mw.addr = bind->bind_info.addr;
	wr.bind_mw.length = bind->bind_info.length;
	wr.bind_mw.mw_access_flags = bind->bind_info.mw_access_flags;
	rc = gf1l_post_send(qp, &wr, &bad);
	if (rc == 0)
		mw->rkey = wr.bind_mw.rkey;
	return rc;
}

void gf1l_store_bind(struct gf1l_bind *bind, const struct gf1_send_wr *wr)
{
	const struct gf1_mr *mr = wr->bind_mw.mr;

	bind->window = GF1L_OF(struct window, mw, wr->bind_mw.mw)->slot;
	bind->window_key = wr->bind_mw.rkey;
	bind->type = wr->bind_mw.mw->type;
	bind->of = mr != NULL ? gf1l_slot_of(mr) : NULL;
	bind->of_key = mr != NULL ? mr->lkey : 0;
	bind->addr = wr->bind_mw.addr;
	bind->length = wr->bind_mw.length;
	bind->access = wr->bind_mw.mw_access_flags;
}

int gf1l_invalidate(struct gf1l_qp *qp, uint32_t key)
{
	return gf1l_window_unbind(qp->ctx->dev, qp->qp.pd, key, qp);
}
