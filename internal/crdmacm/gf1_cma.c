//go:build linux && cgo

#include "gf1_cma.h"

#include "../dl/gf1_seen.h"

#include <errno.h>
#include <string.h>

const char *const gf1_cm_names[] = {
#define GF1_NAME(result, name, args, ...) "rdma_" #name,
	GF1_CM_FUNCTIONS(GF1_NAME)
	GF1_CM_LATER_FUNCTIONS(GF1_NAME)
#undef GF1_NAME
	NULL,
};

const char *const gf1_cm_since[] = {
#define GF1_ALWAYS(result, name, args) NULL,
	GF1_CM_FUNCTIONS(GF1_ALWAYS)
#undef GF1_ALWAYS
#define GF1_SINCE(result, name, args, since) since,
	GF1_CM_LATER_FUNCTIONS(GF1_SINCE)
#undef GF1_SINCE
};

/* A call that failed without setting errno still failed. */
static int errno_or_io(void)
{
	return errno != 0 ? errno : EIO;
}

/* Functions return 0, or -1 with errno set; a few forget and return an errno. */
static int done(int rc)
{
	if (rc == 0)
		return 0;
	return rc > 0 ? rc : errno_or_io();
}

/* Calls a function of the library and notes how it ended. */
#define CALL(function, ...) \
	({ \
		static struct gf1_seen seen_ = { .name = "rdma_" #function }; \
		errno = 0; \
		gf1_saw(&seen_, done(v->function(__VA_ARGS__))); \
	})

/* Notes a call that cannot fail, or how one ended that has its own ways. */
#define SAW(function, rc) \
	({ \
		static struct gf1_seen seen_ = { .name = "rdma_" #function }; \
		gf1_saw(&seen_, rc); \
	})

int gf1_cm_create_channel(const struct gf1_cm *v, struct gf1_cm_channel **out)
{
	errno = 0;
	*out = v->create_event_channel();
	return SAW(create_event_channel, *out == NULL ? errno_or_io() : 0);
}

void gf1_cm_destroy_channel(const struct gf1_cm *v, struct gf1_cm_channel *channel)
{
	v->destroy_event_channel(channel);
	SAW(destroy_event_channel, 0);
}

enum {
	GF1_QPT_UD = 4,
	GF1_CM_MULTICAST_JOIN = 12,
	GF1_CM_MULTICAST_ERROR = 13,
	GF1_CM_USER = 18,
};

static void copy_private(struct gf1_cm_news *out, const void *data, uint8_t len)
{
	if (data == NULL)
		return;
	out->private_len = len;
	memcpy(out->private_data, data, len);
}

static void copy_conn(struct gf1_cm_news *out, const struct gf1_cm_conn_param *p)
{
	out->responder_resources = p->responder_resources;
	out->initiator_depth = p->initiator_depth;
	out->flow_control = p->flow_control;
	out->retry_count = p->retry_count;
	out->rnr_retry_count = p->rnr_retry_count;
	out->srq = p->srq;
	out->qp_num = p->qp_num;
	copy_private(out, p->private_data, p->private_data_len);
}

static void copy_ud(struct gf1_cm_news *out, const struct gf1_cm_ud_param *p)
{
	out->datagram = 1;
	out->ah = p->ah_attr;
	out->qp_num = p->qp_num;
	out->qkey = p->qkey;
	/* Of a multicast event it is the caller's context, no data. */
	if (out->type == GF1_CM_MULTICAST_JOIN || out->type == GF1_CM_MULTICAST_ERROR)
		out->arg = (uintptr_t)p->private_data;
	else
		copy_private(out, p->private_data, p->private_data_len);
}

int gf1_cm_next(const struct gf1_cm *v, struct gf1_cm_channel *channel, struct gf1_cm_news *out)
{
	struct gf1_cm_event *event;
	int rc = CALL(get_cm_event, channel, &event);

	if (rc != 0)
		return rc;
	memset(out, 0, sizeof(*out));
	out->event = event;
	out->id = event->id;
	out->listen_id = event->listen_id;
	out->type = event->event;
	out->status = event->status;
	if (out->type == GF1_CM_USER)
		out->arg = event->param.arg;
	else if (event->id->qp_type == GF1_QPT_UD)
		copy_ud(out, &event->param.ud);
	else
		copy_conn(out, &event->param.conn);
	return 0;
}

int gf1_cm_ack(const struct gf1_cm *v, struct gf1_cm_event *event)
{
	return CALL(ack_cm_event, event);
}

int gf1_cm_create_id(const struct gf1_cm *v, struct gf1_cm_channel *channel, int ps, struct gf1_cm_id **out)
{
	return CALL(create_id, channel, out, NULL, ps);
}

int gf1_cm_destroy_id(const struct gf1_cm *v, struct gf1_cm_id *id)
{
	return CALL(destroy_id, id);
}

int gf1_cm_bind(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr)
{
	return CALL(bind_addr, id, addr);
}

int gf1_cm_resolve_addr(const struct gf1_cm *v, struct gf1_cm_id *id, void *source, void *destination, int timeout_ms)
{
	return CALL(resolve_addr, id, source, destination, timeout_ms);
}

int gf1_cm_resolve_route(const struct gf1_cm *v, struct gf1_cm_id *id, int timeout_ms)
{
	return CALL(resolve_route, id, timeout_ms);
}

int gf1_cm_listen(const struct gf1_cm *v, struct gf1_cm_id *id, int backlog)
{
	return CALL(listen, id, backlog);
}

int gf1_cm_connect(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_cm_conn_param *param, const void *data)
{
	param->private_data = data;
	return CALL(connect, id, param);
}

int gf1_cm_accept(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_cm_conn_param *param, const void *data)
{
	param->private_data = data;
	return CALL(accept, id, param);
}

int gf1_cm_establish(const struct gf1_cm *v, struct gf1_cm_id *id)
{
	return CALL(establish, id);
}

int gf1_cm_reject(const struct gf1_cm *v, struct gf1_cm_id *id, const void *data, uint8_t len, int ece)
{
	return ece ? CALL(reject_ece, id, data, len) : CALL(reject, id, data, len);
}

int gf1_cm_notify(const struct gf1_cm *v, struct gf1_cm_id *id, int event)
{
	return CALL(notify, id, event);
}

int gf1_cm_disconnect(const struct gf1_cm *v, struct gf1_cm_id *id)
{
	return CALL(disconnect, id);
}

int gf1_cm_join(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr, uintptr_t context)
{
	return CALL(join_multicast, id, addr, (void *)context);
}

int gf1_cm_join_ex(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr, uint32_t flags, uintptr_t context)
{
	struct gf1_cm_join_attr attr = { .comp_mask = 3, .join_flags = flags, .addr = addr };

	return CALL(join_multicast_ex, id, &attr, (void *)context);
}

int gf1_cm_leave(const struct gf1_cm *v, struct gf1_cm_id *id, void *addr)
{
	return CALL(leave_multicast, id, addr);
}

int gf1_cm_set_option(const struct gf1_cm *v, struct gf1_cm_id *id, int level, int name, void *value, size_t len)
{
	return CALL(set_option, id, level, name, value, len);
}

int gf1_cm_migrate(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_cm_channel *channel)
{
	return CALL(migrate_id, id, channel);
}

int gf1_cm_init_qp_attr(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_qp_attr *attr, int *mask)
{
	return CALL(init_qp_attr, id, attr, mask);
}

int gf1_cm_set_ece(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_ece *ece)
{
	return CALL(set_local_ece, id, ece);
}

int gf1_cm_get_ece(const struct gf1_cm *v, struct gf1_cm_id *id, struct gf1_ece *ece)
{
	return CALL(get_remote_ece, id, ece);
}

int gf1_cm_write_event(const struct gf1_cm *v, struct gf1_cm_id *id, int status, uint64_t arg)
{
	if (v->write_cm_event == NULL)
		return SAW(write_cm_event, EOPNOTSUPP);
	return CALL(write_cm_event, id, GF1_CM_USER, status, arg);
}

int gf1_cm_get_devices(const struct gf1_cm *v, struct gf1_context ***out, int *count)
{
	errno = 0;
	*count = 0;
	*out = v->get_devices(count);
	return SAW(get_devices, *out == NULL ? errno_or_io() : 0);
}

void gf1_cm_free_devices(const struct gf1_cm *v, struct gf1_context **list)
{
	v->free_devices(list);
	SAW(free_devices, 0);
}

const char *gf1_cm_event_str(const struct gf1_cm *v, int event)
{
	SAW(event_str, 0);
	return v->event_str(event);
}

int gf1_cm_ports(const struct gf1_cm *v, struct gf1_cm_id *id, uint16_t *source, uint16_t *destination)
{
	*source = ntohs(v->get_src_port(id));
	*destination = ntohs(v->get_dst_port(id));
	SAW(get_src_port, 0);
	return SAW(get_dst_port, 0);
}

int gf1_cm_getaddrinfo(const struct gf1_cm *v, const char *node, const char *service,
		       const struct gf1_cm_addrinfo *hints, struct gf1_cm_addrinfo **out)
{
	int rc;

	errno = 0;
	rc = v->getaddrinfo(node, service, hints, out);
	/* Codes of getaddrinfo(3) are negative, but for -1 with errno set. */
	if (rc < 0 && errno == 0)
		return SAW(getaddrinfo, ENOENT);
	return SAW(getaddrinfo, done(rc));
}

void gf1_cm_freeaddrinfo(const struct gf1_cm *v, struct gf1_cm_addrinfo *list)
{
	v->freeaddrinfo(list);
	SAW(freeaddrinfo, 0);
}

int gf1_cm_create_ep(const struct gf1_cm *v, struct gf1_cm_addrinfo *info, struct gf1_cm_id **out)
{
	return CALL(create_ep, out, info, NULL, NULL);
}

void gf1_cm_destroy_ep(const struct gf1_cm *v, struct gf1_cm_id *id)
{
	v->destroy_ep(id);
	SAW(destroy_ep, 0);
}
