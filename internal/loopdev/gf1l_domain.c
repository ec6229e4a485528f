//go:build linux && cgo

/* Domains over domains, and what a device tells of itself beyond the basics. */
#include "gf1l.h"

#include <arpa/inet.h>
#include <string.h>

enum { MAX_DM = 1 << 20, FULL_PKEY = 0xffff };

struct thread_domain {
	struct gf1_td td;
	uint32_t refs; /* atomic */
};

static struct gf1_td *alloc_td(struct gf1_context *context, struct gf1_td_init_attr *attr)
{
	struct thread_domain *domain;

	if (attr->comp_mask != 0) {
		errno = EINVAL;
		return NULL;
	}
	domain = gf1l_make(gf1l_ctx_of(context), sizeof(*domain));
	if (domain == NULL)
		return NULL;
	domain->td.context = context;
	return &domain->td;
}

static int dealloc_td(struct gf1_td *td)
{
	struct thread_domain *domain = GF1L_OF(struct thread_domain, td, td);

	if (gf1l_in_use(&domain->refs))
		return EBUSY;
	gf1l_unmake(gf1l_ctx_of(td->context), domain);
	return 0;
}

/* The device's locks stay as they are: the promise is taken and not used. */
static struct gf1_pd *alloc_parent_domain(struct gf1_context *context, struct gf1_parent_domain_init_attr *attr)
{
	struct gf1l_pd *parent;

	if (attr->pd == NULL || attr->comp_mask != 0) {
		errno = EINVAL;
		return NULL;
	}
	parent = gf1l_make(gf1l_ctx_of(context), sizeof(*parent));
	if (parent == NULL)
		return NULL;
	parent->pd.context = context;
	parent->root = gf1l_root(attr->pd);
	parent->td = attr->td;
	gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, parent->root)->refs);
	if (parent->td != NULL)
		gf1l_ref(&GF1L_OF(struct thread_domain, td, parent->td)->refs);
	return &parent->pd;
}

void gf1l_parent_domain_gone(struct gf1l_pd *pd)
{
	gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, pd->root)->refs);
	if (pd->td != NULL)
		gf1l_unref(&GF1L_OF(struct thread_domain, td, pd->td)->refs);
}

static int query_device_ex(struct gf1_context *context, const void *input, struct gf1_device_attr_ex *attr, size_t size)
{
	struct gf1_device_attr_ex all = { 0 };
	int rc = input != NULL ? EINVAL : gf1l_query_device(context, &all.orig_attr);

	if (rc != 0)
		return rc;
	/* The processor that copies takes the page faults. */
	all.odp_caps.general_caps = ODP_SUPPORT;
	all.odp_caps.rc = ODP_SEND | ODP_RECV | ODP_WRITE | ODP_READ | ODP_ATOMIC | ODP_SRQ_RECV;
	all.odp_caps.uc = ODP_SEND | ODP_RECV | ODP_WRITE | ODP_SRQ_RECV;
	all.odp_caps.ud = ODP_SEND | ODP_RECV | ODP_SRQ_RECV;
	all.device_cap_flags_ex = all.orig_attr.device_cap_flags;
	all.completion_timestamp_mask = UINT64_MAX;
	all.hca_core_clock = 1000000; /* kHz: the clock counts nanoseconds */
	all.max_dm_size = MAX_DM;
	all.phys_port_cnt_ex = all.orig_attr.phys_port_cnt;
	memset(attr, 0, size);
	memcpy(attr, &all, size < sizeof(all) ? size : sizeof(all));
	return 0;
}

static int query_rt_values(struct gf1_context *context, struct gf1_values_ex *values)
{
	(void)context;
	values->comp_mask &= VALUES_RAW_CLOCK;
	if (values->comp_mask != 0)
		clock_gettime(CLOCK_MONOTONIC, &values->raw_clock);
	return 0;
}

/* The table's entry, or NULL with errno set. */
static const struct gf1l_gid *gid_at(struct gf1_context *context, uint32_t port, uint32_t index)
{
	const struct gf1l_dev *dev = gf1l_ctx_of(context)->dev;

	if (gf1l_is_removed(gf1l_ctx_of(context)))
		errno = EIO;
	else if (port < 1 || port > (uint32_t)dev->num_ports || index >= GF1L_GIDS)
		errno = EINVAL;
	else
		return &dev->ports[port].gids[index];
	return NULL;
}

int gf1l_query_gid(struct gf1_context *context, uint8_t port, int index, union gf1_gid *gid)
{
	const struct gf1l_gid *entry = gid_at(context, port, (uint32_t)index);

	if (entry == NULL)
		return -1;
	*gid = entry->gid;
	return 0;
}

int gf1l_query_gid_ex(struct gf1_context *context, uint32_t port, uint32_t index, struct gf1_gid_entry *out,
		      uint32_t flags, size_t size)
{
	const struct gf1l_gid *gid = gid_at(context, port, index);
	struct gf1_gid_entry entry = { .gid_index = index, .port_num = port };

	if (gid == NULL)
		return errno;
	if (flags != 0 || size < sizeof(entry))
		return EINVAL;
	if (gid->type == GID_UNUSED)
		return ENODATA;
	entry.gid = gid->gid;
	entry.gid_type = (uint32_t)(gid->type - GID_IB);
	memcpy(out, &entry, sizeof(entry));
	return 0;
}

int gf1l_query_pkey(struct gf1_context *context, uint8_t port, int index, uint16_t *pkey)
{
	if (port < 1 || port > gf1l_ctx_of(context)->dev->num_ports || index < 0 || index >= GF1L_PKEYS) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htons(FULL_PKEY);
	return 0;
}

int gf1l_get_pkey_index(struct gf1_context *context, uint8_t port, uint16_t pkey)
{
	uint16_t key;

	return gf1l_query_pkey(context, port, 0, &key) == 0 && key == pkey ? 0 : -1;
}

const char *gf1l_get_device_name(struct gf1_device *device)
{
	return device->name;
}

uint64_t gf1l_get_device_guid(struct gf1_device *device)
{
	return GF1L_OF(struct gf1l_dev, pub, device)->node_guid;
}

int gf1l_get_device_index(struct gf1_device *device)
{
	return (int)GF1L_OF(struct gf1l_dev, pub, device)->id;
}

void gf1l_fill_domain(struct gf1l_ctx *ctx)
{
	ctx->ext.alloc_td = alloc_td;
	ctx->ext.dealloc_td = dealloc_td;
	ctx->ext.alloc_parent_domain = alloc_parent_domain;
	ctx->ext.query_device_ex = query_device_ex;
	ctx->ext.query_rt_values = query_rt_values;
}
