//go:build linux && cgo

#include "gf1_queue.h"

#include "gf1_call.h"

/* NULL is for verbs that make something: they tell by errno. */
#define GF1_DISPATCH(result, name, args, where, values, refusal) \
	static result library_##name args \
	{ \
		struct gf1_verbs_context *ext = extended(where, REACH(name)); \
\
		if (ext == NULL || ext->name == NULL) { \
			errno = EOPNOTSUPP; \
			return refusal; \
		} \
		return ext->name values; \
	}
GF1_QUEUE_INLINE_VERBS(GF1_DISPATCH)
#undef GF1_DISPATCH

#define NEED_INLINE(v, name) NEED_AS(v, queue.name, "ibv_" #name)

/* The inline function makes what a provider leaves to it. */
static struct gf1_wq *library_whole_wq(struct gf1_context *context, struct gf1_wq_init_attr *attr)
{
	struct gf1_wq *wq = library_create_wq(context, attr);

	if (wq == NULL)
		return NULL;
	wq->wq_context = attr->wq_context;
	wq->events_completed = 0;
	pthread_mutex_init(&wq->mutex, NULL);
	pthread_cond_init(&wq->cond, NULL);
	return wq;
}

void gf1_complete_queue_ops(struct gf1_queue_ops *ops)
{
#define GF1_STORE(result, name, ...) ops->name = library_##name;
	GF1_QUEUE_INLINE_VERBS(GF1_STORE)
#undef GF1_STORE
	ops->create_wq = library_whole_wq;
}

int gf1_create_cq_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_cq_init_attr_ex *attr,
		     struct gf1_cq_ex **out)
{
	NEED_INLINE(v, create_cq_ex);
	return made(v->queue.create_cq_ex(context, attr), out);
}

int gf1_create_qp_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_qp_init_attr_ex *attr,
		     struct gf1_qp **out)
{
	NEED_INLINE(v, create_qp_ex);
	return made(v->queue.create_qp_ex(context, attr), out);
}

int gf1_open_qp(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_qp_open_attr *attr,
		struct gf1_qp **out)
{
	NEED_INLINE(v, open_qp);
	return made(v->queue.open_qp(context, attr), out);
}

int gf1_qp_to_qp_ex(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_ex **out)
{
	NEED(v, qp_to_qp_ex);
	*out = v->qp_to_qp_ex(qp);
	return done(*out != NULL ? 0 : EINVAL);
}

int gf1_set_ece(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_ece *ece)
{
	NEED(v, set_ece);
	return done(v->set_ece(qp, ece));
}

int gf1_query_ece(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_ece *ece)
{
	NEED(v, query_ece);
	return done(v->query_ece(qp, ece));
}

int gf1_query_qp_data_in_order(const struct gf1_verbs *v, struct gf1_qp *qp, int opcode, uint32_t flags, int *out)
{
	NEED(v, query_qp_data_in_order);
	*out = v->query_qp_data_in_order(qp, opcode, flags);
	return done(0);
}

int gf1_modify_qp_rate_limit(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_rate_limit_attr *attr)
{
	NEED_INLINE(v, modify_qp_rate_limit);
	return done(v->queue.modify_qp_rate_limit(qp, attr));
}

int gf1_open_xrcd(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_xrcd_init_attr *attr,
		  struct gf1_xrcd **out)
{
	NEED_INLINE(v, open_xrcd);
	return made(v->queue.open_xrcd(context, attr), out);
}

int gf1_close_xrcd(const struct gf1_verbs *v, struct gf1_xrcd *xrcd)
{
	NEED_INLINE(v, close_xrcd);
	return done(v->queue.close_xrcd(xrcd));
}

int gf1_create_srq_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_srq_init_attr_ex *attr,
		      struct gf1_srq **out)
{
	NEED_INLINE(v, create_srq_ex);
	return made(v->queue.create_srq_ex(context, attr), out);
}

int gf1_get_srq_num(const struct gf1_verbs *v, struct gf1_srq *srq, uint32_t *number)
{
	NEED_INLINE(v, get_srq_num);
	return done(v->queue.get_srq_num(srq, number));
}

int gf1_post_srq_ops(const struct gf1_verbs *v, struct gf1_srq *srq, struct gf1_ops_wr *op)
{
	struct gf1_ops_wr *bad = NULL;

	NEED_INLINE(v, post_srq_ops);
	return done(v->queue.post_srq_ops(srq, op, &bad));
}

int gf1_create_wq(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_wq_init_attr *attr,
		  struct gf1_wq **out)
{
	NEED_INLINE(v, create_wq);
	return made(v->queue.create_wq(context, attr), out);
}

int gf1_modify_wq(const struct gf1_verbs *v, struct gf1_wq *wq, struct gf1_wq_attr *attr)
{
	NEED_INLINE(v, modify_wq);
	return done(v->queue.modify_wq(wq, attr));
}

int gf1_destroy_wq(const struct gf1_verbs *v, struct gf1_wq *wq)
{
	NEED_INLINE(v, destroy_wq);
	return done(v->queue.destroy_wq(wq));
}

int gf1_create_rwq_ind_table(const struct gf1_verbs *v, struct gf1_context *context,
			     struct gf1_rwq_ind_table_init_attr *attr, struct gf1_rwq_ind_table **out)
{
	NEED_INLINE(v, create_rwq_ind_table);
	return made(v->queue.create_rwq_ind_table(context, attr), out);
}

int gf1_destroy_rwq_ind_table(const struct gf1_verbs *v, struct gf1_rwq_ind_table *table)
{
	NEED_INLINE(v, destroy_rwq_ind_table);
	return done(v->queue.destroy_rwq_ind_table(table));
}

int gf1_create_flow(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_flow_attr *attr, struct gf1_flow **out)
{
	NEED_INLINE(v, create_flow);
	return made(v->queue.create_flow(qp, attr), out);
}

int gf1_destroy_flow(const struct gf1_verbs *v, struct gf1_flow *flow)
{
	NEED_INLINE(v, destroy_flow);
	return done(v->queue.destroy_flow(flow));
}
