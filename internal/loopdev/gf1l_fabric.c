//go:build linux && cgo

/* The fabric: devices, their ports and addresses, and who has them open. */
#include "gf1l.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t fabric = PTHREAD_MUTEX_INITIALIZER;
static struct gf1l_dev *devices;
static uint64_t last_id;
static uint32_t contexts;

/* Under the fabric's lock. */
static struct gf1l_dev *look(const char *name)
{
	struct gf1l_dev *dev = devices;

	while (dev != NULL && strcmp(dev->pub.name, name) != 0)
		dev = dev->next;
	return dev;
}

static void put(struct gf1l_dev *dev)
{
	if (--dev->refs != 0)
		return;
	gf1l_keys_free(&dev->keys);
	free(dev);
}

struct gf1l_dev *gf1l_find_device(const char *name)
{
	struct gf1l_dev *dev;

	pthread_mutex_lock(&fabric);
	dev = look(name);
	if (dev != NULL)
		dev->refs++;
	pthread_mutex_unlock(&fabric);
	return dev;
}

void gf1l_put_device(struct gf1l_dev *dev)
{
	pthread_mutex_lock(&fabric);
	put(dev);
	pthread_mutex_unlock(&fabric);
}

/* A locally administered EUI-64: the device's number, then the port's, where 0
 * is the node. */
static void write_guid(uint8_t *at, int number, int port)
{
	static const uint8_t guid[8] = { 0x02, 0x00, 0x00, 0xff, 0xfe, 0x00, 0x00, 0x00 };

	memcpy(at, guid, sizeof(guid));
	at[6] = (uint8_t)number;
	at[7] = (uint8_t)port;
}

static void set_gid(struct gf1l_port *port, int index, int type, const union gf1_gid *gid)
{
	port->gids[index].type = type;
	port->gids[index].gid = *gid;
}

/* Addresses of RoCE ports are of the range for benchmarks, 198.18.0.0/15. */
static void address_port(struct gf1l_dev *dev, int number, int n)
{
	struct gf1l_port *port = &dev->ports[n];
	union gf1_gid link_local = { .raw = { 0xfe, 0x80 } };
	union gf1_gid ip = { .raw = { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18 } };

	port->up = 1;
	write_guid(link_local.raw + 8, number, n);
	if (dev->link_layer == LINK_INFINIBAND) {
		port->lid = (uint16_t)(number * GF1L_MAX_PORTS + n);
		set_gid(port, 0, GID_IB, &link_local);
		return;
	}
	ip.raw[14] = (uint8_t)number;
	ip.raw[15] = (uint8_t)n;
	set_gid(port, 0, GID_ROCE1, &link_local);
	set_gid(port, 1, GID_ROCE2, &link_local);
	set_gid(port, 2, GID_ROCE1, &ip);
	set_gid(port, 3, GID_ROCE2, &ip);
}

int gf1l_add_device(const char *name, int number, int ports, int link_layer)
{
	struct gf1l_dev *dev;
	int i, rc = 0;

	if (number < 0 || number > 255 || ports < 1 || ports > GF1L_MAX_PORTS || strlen(name) >= GF1_SYSFS_NAME_MAX ||
	    (link_layer != LINK_ETHERNET && link_layer != LINK_INFINIBAND))
		return EINVAL;
	dev = calloc(1, sizeof(*dev));
	if (dev == NULL)
		return ENOMEM;
	snprintf(dev->pub.name, sizeof(dev->pub.name), "%s", name);
	snprintf(dev->pub.dev_name, sizeof(dev->pub.dev_name), "uverbs_%s", name);
	dev->pub.node_type = NODE_CA;
	dev->pub.transport_type = TRANSPORT_IB;
	dev->num_ports = ports;
	dev->link_layer = link_layer;
	dev->refs = 1;
	write_guid((uint8_t *)&dev->node_guid, number, 0);
	pthread_mutex_init(&dev->keys.lock, NULL);
	for (i = 1; i <= ports; i++)
		address_port(dev, number, i);
	pthread_mutex_lock(&fabric);
	if (look(name) != NULL) {
		rc = EEXIST;
		put(dev);
	} else {
		dev->id = ++last_id;
		dev->next = devices;
		devices = dev;
	}
	pthread_mutex_unlock(&fabric);
	return rc;
}

/* As when a device is pulled out: its contexts stay and answer EIO, and the
 * name is free for a new device. */
int gf1l_remove_device(const char *name)
{
	struct gf1l_dev *dev, **at;
	struct gf1l_ctx *ctx;

	pthread_mutex_lock(&fabric);
	dev = look(name);
	if (dev == NULL) {
		pthread_mutex_unlock(&fabric);
		return ENODEV;
	}
	for (at = &devices; *at != dev; at = &(*at)->next)
		;
	*at = dev->next;
	__atomic_store_n(&dev->removed, 1, __ATOMIC_RELEASE);
	for (ctx = dev->contexts; ctx != NULL; ctx = ctx->next) {
		gf1l_raise(ctx, EVENT_DEVICE_FATAL, NULL, NULL);
		gf1l_break_channels(ctx);
	}
	put(dev);
	pthread_mutex_unlock(&fabric);
	return 0;
}

int gf1l_port_up(struct gf1l_dev *dev, int port)
{
	return __atomic_load_n(&dev->ports[port].up, __ATOMIC_ACQUIRE);
}

int gf1l_set_port(const char *name, int port, int up)
{
	struct gf1l_dev *dev;
	struct gf1l_ctx *ctx;
	int rc = 0;

	pthread_mutex_lock(&fabric);
	dev = look(name);
	if (dev == NULL)
		rc = ENODEV;
	else if (port < 1 || port > dev->num_ports)
		rc = EINVAL;
	else if (__atomic_exchange_n(&dev->ports[port].up, up, __ATOMIC_ACQ_REL) != up)
		for (ctx = dev->contexts; ctx != NULL; ctx = ctx->next)
			gf1l_raise(ctx, up ? EVENT_PORT_ACTIVE : EVENT_PORT_ERR, (void *)(uintptr_t)port, NULL);
	pthread_mutex_unlock(&fabric);
	return rc;
}

/* Under the fabric's lock: where a GID of that type, or a LID, is. */
static void route(struct gf1l_address *to)
{
	const struct gf1l_dev *dev;
	int port, i;

	for (dev = devices; dev != NULL; dev = dev->next) {
		for (port = 1; port <= dev->num_ports; port++) {
			const struct gf1l_port *p = &dev->ports[port];
			int found = !to->attr.is_global && p->lid != 0 && p->lid == to->attr.dlid;

			for (i = 0; i < GF1L_GIDS && to->attr.is_global; i++)
				if (p->gids[i].type == to->gid_type &&
				    memcmp(p->gids[i].gid.raw, to->attr.grh.dgid.raw, 16) == 0)
					found = 1;
			if (found) {
				to->dev = dev->id;
				to->port = (uint8_t)port;
				return;
			}
		}
	}
}

/* An address that leads nowhere is no error: a device cannot know that. */
int gf1l_resolve(struct gf1l_dev *dev, const struct gf1_ah_attr *attr, struct gf1l_address *to)
{
	memset(to, 0, sizeof(*to));
	to->attr = *attr;
	if (attr->port_num < 1 || attr->port_num > dev->num_ports)
		return EINVAL;
	if (!attr->is_global && dev->link_layer == LINK_ETHERNET)
		return EINVAL;
	if (attr->is_global) {
		if (attr->grh.sgid_index >= GF1L_GIDS)
			return EINVAL;
		to->gid_type = dev->ports[attr->port_num].gids[attr->grh.sgid_index].type;
		if (to->gid_type == GID_UNUSED)
			return EINVAL;
		to->multicast = (uint8_t)gf1l_is_multicast(&attr->grh.dgid);
	}
	if (!to->multicast) {
		pthread_mutex_lock(&fabric);
		route(to);
		pthread_mutex_unlock(&fabric);
	}
	return 0;
}

void *gf1l_make(struct gf1l_ctx *ctx, size_t size)
{
	void *object = NULL;

	if (gf1l_is_removed(ctx)) {
		errno = EIO;
		return NULL;
	}
	if (!gf1l_spend(&ctx->dev->fail_allocs))
		object = calloc(1, size);
	if (object == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	gf1l_ref(&ctx->objects);
	return object;
}

void gf1l_unmake(struct gf1l_ctx *ctx, void *object)
{
	free(object);
	gf1l_unref(&ctx->objects);
}

static void fill_context(struct gf1l_ctx *ctx, struct gf1l_dev *dev)
{
	struct gf1_context *context = &ctx->ext.context;

	ctx->dev = dev;
	ctx->ext.sz = sizeof(ctx->ext);
	ctx->ext.query_port = gf1l_verbs.query_port;
	context->device = &dev->pub;
	context->cmd_fd = -1;
	context->async_fd = ctx->async.read_fd;
	context->num_comp_vectors = 1;
	context->abi_compat = GF1_ABI_IS_EXTENDED;
	context->ops.poll_cq = gf1l_poll_cq;
	context->ops.req_notify_cq = gf1l_req_notify_cq;
	context->ops.post_srq_recv = gf1l_post_srq_recv;
	context->ops.post_send = gf1l_post_send;
	context->ops.post_recv = gf1l_post_recv;
	gf1l_fill_memory(ctx);
	gf1l_fill_domain(ctx);
	pthread_mutex_init(&context->mutex, NULL);
	pthread_mutex_init(&ctx->lock, NULL);
}

int gf1l_open_device(const char *name, struct gf1_context **out)
{
	struct gf1l_ctx *ctx = calloc(1, sizeof(*ctx));
	struct gf1l_dev *dev;
	int rc;

	if (ctx == NULL)
		return ENOMEM;
	rc = gf1l_pipe_open(&ctx->async);
	if (rc != 0) {
		free(ctx);
		return rc;
	}
	pthread_mutex_lock(&fabric);
	dev = look(name);
	rc = dev == NULL ? ENODEV : 0;
	if (rc == 0 && contexts == 0)
		rc = gf1l_timers_start();
	if (rc == 0) {
		contexts++;
		dev->refs++;
		fill_context(ctx, dev);
		ctx->next = dev->contexts;
		dev->contexts = ctx;
		*out = &ctx->ext.context;
	}
	pthread_mutex_unlock(&fabric);
	if (rc != 0) {
		gf1l_pipe_close(&ctx->async);
		free(ctx);
	}
	return rc;
}

int gf1l_close_device(struct gf1_context *context)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context), **at;

	if (gf1l_in_use(&ctx->objects))
		return EBUSY;
	pthread_mutex_lock(&fabric);
	for (at = &ctx->dev->contexts; *at != ctx; at = &(*at)->next)
		;
	*at = ctx->next;
	put(ctx->dev);
	if (--contexts == 0)
		gf1l_timers_stop();
	pthread_mutex_unlock(&fabric);
	gf1l_pipe_close(&ctx->async);
	pthread_mutex_destroy(&context->mutex);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
	return 0;
}
