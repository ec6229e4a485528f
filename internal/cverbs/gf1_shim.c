//go:build linux && cgo

#include "gf1_shim.h"

#include "gf1_call.h"
#include "gf1_queue.h"

#include <string.h>

const char *const gf1_exported_names[] = {
#define GF1_NAME(result, name, args) "ibv_" #name,
	GF1_EXPORTED_VERBS(GF1_NAME)
#undef GF1_NAME
/* The names of inline verbs' helpers begin with an underscore. */
#define GF1_NAME(result, name, args, since) "_ibv" #name,
	GF1_LATER_VERBS(GF1_NAME)
#undef GF1_NAME
#define GF1_NAME(result, name, args, since) "ibv_" #name,
	GF1_MEMORY_VERBS(GF1_NAME)
	GF1_DEVICE_VERBS(GF1_NAME)
	GF1_QUEUE_VERBS(GF1_NAME)
#undef GF1_NAME
	NULL,
};

const char *const gf1_since[] = {
#define GF1_ALWAYS(result, name, args) NULL,
	GF1_EXPORTED_VERBS(GF1_ALWAYS)
#undef GF1_ALWAYS
#define GF1_SINCE(result, name, args, since) since,
	GF1_LATER_VERBS(GF1_SINCE)
	GF1_MEMORY_VERBS(GF1_SINCE)
	GF1_DEVICE_VERBS(GF1_SINCE)
	GF1_QUEUE_VERBS(GF1_SINCE)
#undef GF1_SINCE
};

const char *const gf1_function_names[] = {
#define GF1_NAME(result, name, args, since) #name,
	GF1_LIBRARY_FUNCTIONS(GF1_NAME)
#undef GF1_NAME
	NULL,
};

const char *const gf1_functions_since[] = {
#define GF1_SINCE(result, name, args, since) since,
	GF1_LIBRARY_FUNCTIONS(GF1_SINCE)
#undef GF1_SINCE
};

static int library_query_port(struct gf1_context *context, uint8_t port, struct gf1_port_attr *attr, size_t len)
{
	struct gf1_verbs_context *ext = extended(context, REACH(query_port));

	if (ext == NULL || ext->query_port == NULL)
		return EOPNOTSUPP;
	return ext->query_port(context, port, attr, len);
}

static int library_modify_cq(struct gf1_cq *cq, struct gf1_modify_cq_attr *attr)
{
	struct gf1_verbs_context *ext = extended(cq->context, REACH(modify_cq));

	if (ext == NULL || ext->modify_cq == NULL)
		return EOPNOTSUPP;
	return ext->modify_cq(cq, attr);
}

void gf1_complete_table(struct gf1_verbs *table)
{
	table->query_port = library_query_port;
	table->modify_cq = library_modify_cq;
	gf1_complete_queue_ops(&table->queue);
}

static int list_devices(const struct gf1_finder *finder, struct gf1_device ***list, int *count)
{
	CALLS("ibv_get_device_list");

	errno = 0;
	*count = 0;
	return made(finder->get_device_list(count), list);
}

static void free_devices(const struct gf1_finder *finder, struct gf1_device **list)
{
	CALLS("ibv_free_device_list");

	finder->free_device_list(list);
	done(0);
}

int gf1_count_devices(const struct gf1_finder *finder, int *count)
{
	struct gf1_device **list;
	int rc = list_devices(finder, &list, count);

	if (rc == 0)
		free_devices(finder, list);
	return rc;
}

int gf1_open(const struct gf1_finder *finder, const char *name, struct gf1_context **out)
{
	struct gf1_device **list;
	int count, i, rc = list_devices(finder, &list, &count);
	CALLS("ibv_open_device");

	if (rc != 0)
		return rc;
	rc = ENODEV;
	for (i = 0; i < count; i++) {
		if (strncmp(list[i]->name, name, sizeof(list[i]->name)) != 0)
			continue;
		errno = 0;
		rc = made(finder->open_device(list[i]), out);
		break;
	}
	free_devices(finder, list);
	return rc;
}

int gf1_close(const struct gf1_verbs *v, struct gf1_context *context)
{
	NEED(v, close_device);
	return done(v->close_device(context));
}

int gf1_query_device(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_device_attr *attr)
{
	NEED(v, query_device);
	return done(v->query_device(context, attr));
}

int gf1_query_port(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, struct gf1_port_attr *attr)
{
	NEED(v, query_port);
	return done(v->query_port(context, port, attr, sizeof(*attr)));
}

ssize_t gf1_query_gid_table(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_gid_entry *entries,
			    size_t max)
{
	CALLS("ibv_query_gid_table");
	ssize_t n;

	if (v->_query_gid_table == NULL)
		return -gf1_saw(&seen_, EOPNOTSUPP);
	errno = 0;
	n = v->_query_gid_table(context, entries, max, 0, sizeof(*entries));
	if (n >= 0) {
		done(0);
		return n;
	}
	/* A failure is a negative errno, or -1 with errno set. */
	return -done(n == -1 ? -1 : (int)-n);
}

int gf1_alloc_pd(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_pd **out)
{
	NEED(v, alloc_pd);
	return made(v->alloc_pd(context), out);
}

int gf1_dealloc_pd(const struct gf1_verbs *v, struct gf1_pd *pd)
{
	NEED(v, dealloc_pd);
	return done(v->dealloc_pd(pd));
}

int gf1_reg_mr(const struct gf1_verbs *v, struct gf1_pd *pd, void *addr, size_t length, unsigned int access,
	       struct gf1_mr **out)
{
	if (access >= GF1_ACCESS_OPTIONAL_FIRST) {
		NEED(v, reg_mr_iova2);
		return made(v->reg_mr_iova2(pd, addr, length, (uintptr_t)addr, access), out);
	}
	NEED(v, reg_mr);
	return made(v->reg_mr(pd, addr, length, (int)access), out);
}

int gf1_dereg_mr(const struct gf1_verbs *v, struct gf1_mr *mr)
{
	NEED(v, dereg_mr);
	return done(v->dereg_mr(mr));
}

int gf1_create_channel(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_comp_channel **out)
{
	NEED(v, create_comp_channel);
	return made(v->create_comp_channel(context), out);
}

int gf1_destroy_channel(const struct gf1_verbs *v, struct gf1_comp_channel *channel)
{
	NEED(v, destroy_comp_channel);
	return done(v->destroy_comp_channel(channel));
}

int gf1_create_cq(const struct gf1_verbs *v, struct gf1_context *context, int cqe, struct gf1_comp_channel *channel,
		  int vector, struct gf1_cq **out)
{
	NEED(v, create_cq);
	return made(v->create_cq(context, cqe, NULL, channel, vector), out);
}

int gf1_destroy_cq(const struct gf1_verbs *v, struct gf1_cq *cq)
{
	NEED(v, destroy_cq);
	return done(v->destroy_cq(cq));
}

int gf1_get_cq_event(const struct gf1_verbs *v, struct gf1_comp_channel *channel, struct gf1_cq **out)
{
	void *cq_context;

	NEED(v, get_cq_event);
	return done(v->get_cq_event(channel, out, &cq_context));
}

int gf1_ack_cq_events(const struct gf1_verbs *v, struct gf1_cq *cq, unsigned int events)
{
	NEED(v, ack_cq_events);
	v->ack_cq_events(cq, events);
	return done(0);
}

int gf1_create_qp(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_qp_init_attr *attr, struct gf1_qp **out)
{
	NEED(v, create_qp);
	return made(v->create_qp(pd, attr), out);
}

int gf1_modify_qp(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask)
{
	NEED(v, modify_qp);
	return done(v->modify_qp(qp, attr, mask));
}

int gf1_query_qp(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask,
		 struct gf1_qp_init_attr *init)
{
	NEED(v, query_qp);
	return done(v->query_qp(qp, attr, mask, init));
}

int gf1_destroy_qp(const struct gf1_verbs *v, struct gf1_qp *qp)
{
	NEED(v, destroy_qp);
	return done(v->destroy_qp(qp));
}

int gf1_resize_cq(const struct gf1_verbs *v, struct gf1_cq *cq, int cqe)
{
	NEED(v, resize_cq);
	return done(v->resize_cq(cq, cqe));
}

int gf1_modify_cq(const struct gf1_verbs *v, struct gf1_cq *cq, struct gf1_modify_cq_attr *attr)
{
	NEED(v, modify_cq);
	return done(v->modify_cq(cq, attr));
}

int gf1_create_srq(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_srq_init_attr *attr, struct gf1_srq **out)
{
	NEED(v, create_srq);
	return made(v->create_srq(pd, attr), out);
}

int gf1_modify_srq(const struct gf1_verbs *v, struct gf1_srq *srq, struct gf1_srq_attr *attr, int mask)
{
	NEED(v, modify_srq);
	return done(v->modify_srq(srq, attr, mask));
}

int gf1_query_srq(const struct gf1_verbs *v, struct gf1_srq *srq, struct gf1_srq_attr *attr)
{
	NEED(v, query_srq);
	return done(v->query_srq(srq, attr));
}

int gf1_destroy_srq(const struct gf1_verbs *v, struct gf1_srq *srq)
{
	NEED(v, destroy_srq);
	return done(v->destroy_srq(srq));
}

int gf1_create_ah(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_ah_attr *attr, struct gf1_ah **out)
{
	NEED(v, create_ah);
	return made(v->create_ah(pd, attr), out);
}

int gf1_destroy_ah(const struct gf1_verbs *v, struct gf1_ah *ah)
{
	NEED(v, destroy_ah);
	return done(v->destroy_ah(ah));
}

int gf1_init_ah_from_wc(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, struct gf1_wc *wc,
			struct gf1_grh *grh, struct gf1_ah_attr *attr)
{
	NEED(v, init_ah_from_wc);
	return done(v->init_ah_from_wc(context, port, wc, grh, attr));
}

int gf1_attach_mcast(const struct gf1_verbs *v, struct gf1_qp *qp, const union gf1_gid *gid, uint16_t lid)
{
	NEED(v, attach_mcast);
	return done(v->attach_mcast(qp, gid, lid));
}

int gf1_detach_mcast(const struct gf1_verbs *v, struct gf1_qp *qp, const union gf1_gid *gid, uint16_t lid)
{
	NEED(v, detach_mcast);
	return done(v->detach_mcast(qp, gid, lid));
}

int gf1_get_async_event(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_async_event *event)
{
	NEED(v, get_async_event);
	return done(v->get_async_event(context, event));
}

int gf1_ack_async_event(const struct gf1_verbs *v, struct gf1_async_event *event)
{
	NEED(v, ack_async_event);
	v->ack_async_event(event);
	return done(0);
}
