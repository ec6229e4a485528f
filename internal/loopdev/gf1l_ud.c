//go:build linux && cgo

/* Datagrams: address handles, the header in front of the data, delivery. */
#include "gf1l.h"

#include <arpa/inet.h>
#include <string.h>

enum {
	NEXT_HDR_IBA = 0x1b,
	NEXT_HDR_UDP = 17,
	UDP_LEN = 8,
	BTH_DETH_ICRC_LEN = 12 + 8 + 4,
	IPV4_LEN = 20,
	QKEY_OWN = 1u << 31,
};

struct gf1_ah *gf1l_create_ah(struct gf1_pd *pd, struct gf1_ah_attr *attr)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(pd->context);
	struct gf1l_address to;
	struct gf1l_ah *ah;
	int rc = gf1l_resolve(ctx->dev, attr, &to);

	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	ah = gf1l_make(ctx, sizeof(*ah));
	if (ah == NULL)
		return NULL;
	ah->to = to;
	ah->ah.context = pd->context;
	ah->ah.pd = pd;
	gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, pd)->refs);
	return &ah->ah;
}

int gf1l_destroy_ah(struct gf1_ah *a)
{
	struct gf1l_ah *ah = GF1L_OF(struct gf1l_ah, ah, a);

	gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, a->pd)->refs);
	gf1l_unmake(gf1l_ctx_of(a->context), ah);
	return 0;
}

static int is_ipv4(const union gf1_gid *gid)
{
	static const uint8_t prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

static int is_ipv4_multicast(const uint8_t *ip)
{
	return ip[0] >> 4 == 0xe;
}

static uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < IPV4_LEN; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

/* The 40 bytes: a GRH or, for RoCE v2 over IPv4, an IPv4 header in the last 20
 * of them. */
static void write_header(uint8_t header[GF1L_GRH_LEN], const struct gf1l_qp *from, const struct gf1l_swqe *wqe)
{
	const struct gf1_global_route *route = &wqe->to.attr.grh;
	const union gf1_gid *sgid = &from->ctx->dev->ports[from->attr.port_num].gids[route->sgid_index].gid;
	uint32_t length = (uint32_t)((wqe->length + 3) & ~3ull) + BTH_DETH_ICRC_LEN;
	uint8_t *ip = header + GF1L_GRH_LEN - IPV4_LEN;
	uint32_t first;

	memset(header, 0, GF1L_GRH_LEN);
	if (wqe->to.gid_type == GID_ROCE2)
		length += UDP_LEN;
	if (wqe->to.gid_type == GID_ROCE2 && is_ipv4(sgid) &&
	    (is_ipv4(&route->dgid) || is_ipv4_multicast(route->dgid.raw + 12))) {
		ip[0] = 0x45;
		ip[1] = route->traffic_class;
		put16(ip + 2, length + IPV4_LEN);
		put16(ip + 6, 0x4000);
		ip[8] = route->hop_limit;
		ip[9] = NEXT_HDR_UDP;
		memcpy(ip + 12, sgid->raw + 12, 4);
		memcpy(ip + 16, route->dgid.raw + 12, 4);
		put16(ip + 10, ipv4_checksum(ip));
		return;
	}
	first = htonl(6u << 28 | (uint32_t)route->traffic_class << 20 | (route->flow_label & 0xfffff));
	memcpy(header, &first, sizeof(first));
	put16(header + 4, length);
	header[6] = wqe->to.gid_type == GID_ROCE2 ? NEXT_HDR_UDP : NEXT_HDR_IBA;
	header[7] = route->hop_limit;
	memcpy(header + 8, sgid->raw, sizeof(sgid->raw));
	memcpy(header + 24, route->dgid.raw, sizeof(route->dgid.raw));
}

static void complete_datagram(struct gf1l_qp *to, const struct gf1l_qp *from, const struct gf1l_swqe *wqe,
			      uint64_t wr_id, int status, struct gf1l_victims *victims)
{
	struct gf1_wc wc = { .wr_id = wr_id, .status = status, .opcode = WC_RECV };

	if (status == WC_SUCCESS) {
		wc.byte_len = (uint32_t)wqe->length + GF1L_GRH_LEN;
		wc.src_qp = from->qp.qp_num;
		wc.slid = from->ctx->dev->ports[from->attr.port_num].lid;
		wc.sl = wqe->to.attr.sl;
		if (wqe->to.attr.is_global)
			wc.wc_flags |= WC_GRH;
		if (wqe->opcode == WR_SEND_WITH_IMM) {
			wc.wc_flags |= WC_WITH_IMM;
			wc.imm_data = wqe->imm;
		}
	}
	gf1l_complete_receive(to, &wc, (wqe->flags & SEND_SOLICITED) != 0, victims);
	if (status != WC_SUCCESS)
		gf1l_fail_rq(to, victims);
}

static int write_datagram(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe,
			  const struct gf1l_taken *taken)
{
	struct gf1l_list target = {
		.dev = to->ctx->dev, .pd = to->qp.pd, .sge = taken->sge, .num_sge = taken->num_sge
	};
	struct gf1l_list source = gf1l_send_list(from, wqe);
	uint8_t bytes[GF1L_GRH_LEN];
	struct gf1l_list header = { .memory = bytes };
	uint64_t length = wqe->length + GF1L_GRH_LEN;

	if (gf1l_sge_total(taken->sge, taken->num_sge) < length)
		return WC_LOC_LEN_ERR;
	if (!gf1l_list_allows(&target, length, ACCESS_LOCAL_WRITE))
		return WC_LOC_PROT_ERR;
	if (wqe->to.attr.is_global) {
		write_header(bytes, from, wqe);
		if (gf1l_move(&target, 0, &header, GF1L_GRH_LEN) != 0)
			return WC_LOC_PROT_ERR;
	}
	return gf1l_move(&target, GF1L_GRH_LEN, &source, wqe->length) == 0 ? WC_SUCCESS : WC_LOC_PROT_ERR;
}

/* Under to's rq_lock. What does not fit is dropped, and nobody is told. */
void gf1l_receive_datagram(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe,
			   struct gf1l_victims *victims)
{
	uint32_t qkey = (wqe->remote_qkey & QKEY_OWN) != 0 ? from->attr.qkey : wqe->remote_qkey;
	struct gf1l_taken taken;
	struct gf1l_dev *dev;

	if (to->gone || gf1l_is_removed(to->ctx) || to->qp.qp_type != QPT_UD)
		return;
	if (to->rq_state != QPS_RTR && to->rq_state != QPS_RTS && to->rq_state != QPS_SQD)
		return;
	dev = to->ctx->dev;
	if (!gf1l_port_up(dev, to->attr.port_num))
		return;
	if (to->attr.qkey != qkey) {
		__atomic_fetch_add(&dev->ports[to->attr.port_num].qkey_violations, 1, __ATOMIC_RELAXED);
		return;
	}
	if (gf1l_spend(&to->rnr) || !gf1l_take_receive(to, &taken))
		return;
	complete_datagram(to, from, wqe, taken.wr_id, write_datagram(to, from, wqe, &taken), victims);
}

/* The index of a GID in the port's table. A datagram to a multicast group is
 * answered from the first GID of the same type and family. */
static int own_index(const struct gf1l_port *port, const union gf1_gid *gid, int type, int ipv4)
{
	int i;

	for (i = 0; i < GF1L_GIDS; i++) {
		if (port->gids[i].type != type)
			continue;
		if ((gid->raw[0] == 0xff && is_ipv4(&port->gids[i].gid) == ipv4) ||
		    memcmp(port->gids[i].gid.raw, gid->raw, sizeof(gid->raw)) == 0)
			return i;
	}
	return -1;
}

static void map_ipv4(union gf1_gid *gid, const uint8_t *ip)
{
	memset(gid, 0, sizeof(*gid));
	gid->raw[10] = gid->raw[11] = 0xff;
	memcpy(gid->raw + 12, ip, 4);
}

int gf1l_init_ah_from_wc(struct gf1_context *context, uint8_t port_num, struct gf1_wc *wc, struct gf1_grh *grh,
			 struct gf1_ah_attr *attr)
{
	struct gf1l_dev *dev = gf1l_ctx_of(context)->dev;
	const uint8_t *header = (const uint8_t *)grh, *ip = header + GF1L_GRH_LEN - IPV4_LEN;
	union gf1_gid own;
	int type, index, ipv4 = header[0] >> 4 != 6;

	memset(attr, 0, sizeof(*attr));
	if (port_num < 1 || port_num > dev->num_ports) {
		errno = EINVAL;
		return -1;
	}
	attr->dlid = wc->slid;
	attr->sl = wc->sl;
	attr->src_path_bits = wc->dlid_path_bits;
	attr->port_num = port_num;
	if ((wc->wc_flags & WC_GRH) == 0)
		return 0;
	attr->is_global = 1;
	attr->grh.hop_limit = 0xff;
	if (!ipv4) {
		attr->grh.dgid = grh->sgid;
		own = grh->dgid;
		type = dev->link_layer == LINK_INFINIBAND ? GID_IB :
		       grh->next_hdr == NEXT_HDR_UDP	  ? GID_ROCE2 :
							    GID_ROCE1;
		attr->grh.flow_label = ntohl(grh->version_tclass_flow) & 0xfffff;
		attr->grh.traffic_class = (uint8_t)(ntohl(grh->version_tclass_flow) >> 20);
	} else {
		map_ipv4(&attr->grh.dgid, ip + 12);
		map_ipv4(&own, ip + 16);
		if (is_ipv4_multicast(ip + 16))
			own.raw[0] = 0xff;
		attr->grh.traffic_class = ip[1];
		type = GID_ROCE2;
	}
	index = own_index(&dev->ports[port_num], &own, type, ipv4);
	if (index < 0) {
		errno = EINVAL;
		return -1;
	}
	attr->grh.sgid_index = (uint8_t)index;
	return 0;
}
