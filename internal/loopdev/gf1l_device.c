//go:build linux && cgo

/* What a device says of itself, protection domains, and the function table. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

int gf1l_query_device(struct gf1_context *context, struct gf1_device_attr *attr)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);

	if (gf1l_is_removed(ctx))
		return EIO;
	memset(attr, 0, sizeof(*attr));
	strcpy(attr->fw_ver, "1.0");
	attr->node_guid = attr->sys_image_guid = ctx->dev->node_guid;
	attr->max_mr_size = UINT64_MAX;
	attr->page_size_cap = 4096;
	attr->max_qp = attr->max_cq = attr->max_mr = attr->max_mw = attr->max_pd = attr->max_ah = attr->max_srq = GF1L_MAX_OBJECTS;
	attr->max_qp_wr = GF1L_MAX_WR;
	attr->device_cap_flags = DEVICE_BAD_QKEY_CNTR | DEVICE_UD_AV_PORT_ENFORCE | DEVICE_CURR_QP_STATE_MOD |
				 DEVICE_PORT_ACTIVE_EVENT | DEVICE_SYS_IMAGE_GUID | DEVICE_RC_RNR_NAK_GEN |
				 DEVICE_SRQ_RESIZE | DEVICE_MEM_WINDOW | DEVICE_MEM_WINDOW_TYPE_2B;
	attr->max_sge = attr->max_sge_rd = attr->max_srq_sge = GF1L_MAX_SGE;
	attr->max_cqe = GF1L_MAX_CQE;
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = GF1L_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = GF1L_MAX_RD_ATOMIC * GF1L_MAX_OBJECTS;
	/* The processor's own atomic instructions. */
	attr->atomic_cap = ATOMIC_GLOB;
	attr->max_mcast_grp = attr->max_mcast_qp_attach = attr->max_total_mcast_qp_attach = GF1L_MAX_MCAST;
	attr->max_srq_wr = GF1L_MAX_SRQ_WR;
	attr->max_pkeys = GF1L_PKEYS;
	attr->phys_port_cnt = (uint8_t)ctx->dev->num_ports;
	return 0;
}

static int query_port(struct gf1_context *context, uint8_t port, struct gf1_port_attr *out, size_t len)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct gf1l_dev *dev = ctx->dev;
	struct gf1_port_attr attr = { 0 };
	int up;

	if (gf1l_is_removed(ctx))
		return EIO;
	if (port < 1 || port > dev->num_ports)
		return EINVAL;
	up = gf1l_port_up(dev, port);
	attr.state = up ? PORT_ACTIVE : PORT_DOWN;
	attr.phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED;
	attr.max_mtu = attr.active_mtu = MTU_4096;
	attr.gid_tbl_len = GF1L_GIDS;
	attr.max_msg_sz = GF1L_MAX_MESSAGE;
	attr.qkey_viol_cntr = __atomic_load_n(&dev->ports[port].qkey_violations, __ATOMIC_RELAXED);
	attr.pkey_tbl_len = GF1L_PKEYS;
	attr.lid = dev->ports[port].lid;
	attr.sm_lid = attr.lid != 0 ? 1 : 0;
	attr.max_vl_num = 1;
	attr.active_width = 2; /* 4 lanes */
	attr.active_speed = 32; /* EDR: a link has to say something */
	attr.link_layer = (uint8_t)dev->link_layer;
	memset(out, 0, len);
	memcpy(out, &attr, len < sizeof(attr) ? len : sizeof(attr));
	return 0;
}

/* The entries in use of all ports, as many as fit; or a negative errno. */
static ssize_t query_gid_table(struct gf1_context *context, struct gf1_gid_entry *entries, size_t max, uint32_t flags,
			       size_t size)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	const struct gf1l_dev *dev = ctx->dev;
	struct gf1_gid_entry entry = { 0 };
	size_t n = 0;
	int port, i;

	if (gf1l_is_removed(ctx))
		return -EIO;
	if (flags != 0 || size < sizeof(entry))
		return -EINVAL;
	for (port = 1; port <= dev->num_ports; port++) {
		for (i = 0; i < GF1L_GIDS; i++) {
			const struct gf1l_gid *gid = &dev->ports[port].gids[i];

			if (gid->type == GID_UNUSED)
				continue;
			if (n == max)
				return -EINVAL;
			entry.gid = gid->gid;
			entry.gid_index = (uint32_t)i;
			entry.port_num = (uint32_t)port;
			entry.gid_type = (uint32_t)(gid->type - GID_IB);
			memcpy((uint8_t *)entries + n * size, &entry, sizeof(entry));
			n++;
		}
	}
	return (ssize_t)n;
}

static struct gf1_pd *alloc_pd(struct gf1_context *context)
{
	struct gf1l_pd *pd = gf1l_make(gf1l_ctx_of(context), sizeof(*pd));

	if (pd == NULL)
		return NULL;
	pd->pd.context = context;
	pd->root = &pd->pd;
	return &pd->pd;
}

static int dealloc_pd(struct gf1_pd *p)
{
	struct gf1l_pd *pd = GF1L_OF(struct gf1l_pd, pd, p);

	if (gf1l_in_use(&pd->refs))
		return EBUSY;
	if (pd->root != p)
		gf1l_parent_domain_gone(pd);
	gf1l_unmake(gf1l_ctx_of(p->context), pd);
	return 0;
}

/* Bytes are not promised to come in order. */
static int data_in_order(struct gf1_qp *qp, int opcode, uint32_t flags)
{
	(void)qp;
	(void)opcode;
	(void)flags;
	return 0;
}

const struct gf1_verbs gf1l_verbs = {
	.close_device = gf1l_close_device,
	.query_device = gf1l_query_device,
	.query_port = query_port,
	._query_gid_table = query_gid_table,
	._query_gid_ex = gf1l_query_gid_ex,
	.query_gid = gf1l_query_gid,
	.query_pkey = gf1l_query_pkey,
	.get_pkey_index = gf1l_get_pkey_index,
	.get_device_name = gf1l_get_device_name,
	.get_device_guid = gf1l_get_device_guid,
	.get_device_index = gf1l_get_device_index,
	.alloc_pd = alloc_pd,
	.dealloc_pd = dealloc_pd,
	.reg_mr = gf1l_reg_mr,
	.reg_mr_iova = gf1l_reg_mr_iova,
	.reg_mr_iova2 = gf1l_reg_mr_iova2,
	.rereg_mr = gf1l_rereg_mr,
	.reg_dmabuf_mr = gf1l_reg_dmabuf_mr,
	.dereg_mr = gf1l_dereg_mr,
	.create_comp_channel = gf1l_create_channel,
	.destroy_comp_channel = gf1l_destroy_channel,
	.create_cq = gf1l_create_cq,
	.resize_cq = gf1l_resize_cq,
	.destroy_cq = gf1l_destroy_cq,
	.get_cq_event = gf1l_get_cq_event,
	.ack_cq_events = gf1l_ack_cq_events,
	.create_qp = gf1l_create_qp,
	.modify_qp = gf1l_modify_qp,
	.query_qp = gf1l_query_qp,
	.destroy_qp = gf1l_destroy_qp,
	.create_srq = gf1l_create_srq,
	.modify_srq = gf1l_modify_srq,
	.query_srq = gf1l_query_srq,
	.destroy_srq = gf1l_destroy_srq,
	.create_ah = gf1l_create_ah,
	.destroy_ah = gf1l_destroy_ah,
	.init_ah_from_wc = gf1l_init_ah_from_wc,
	.attach_mcast = gf1l_attach_mcast,
	.detach_mcast = gf1l_detach_mcast,
	.get_async_event = gf1l_get_async_event,
	.ack_async_event = gf1l_ack_async_event,
	.qp_to_qp_ex = gf1l_qp_to_qp_ex,
	.query_qp_data_in_order = data_in_order,
	.queue = {
		.create_cq_ex = gf1l_create_cq_ex,
		.create_qp_ex = gf1l_create_qp_ex,
		.open_qp = gf1l_open_qp,
		.open_xrcd = gf1l_open_xrcd,
		.close_xrcd = gf1l_close_xrcd,
		.create_srq_ex = gf1l_create_srq_ex,
		.get_srq_num = gf1l_get_srq_num,
	},
};
