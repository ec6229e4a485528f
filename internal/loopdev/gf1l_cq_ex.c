//go:build linux && cgo

/* Extended completion queues. A poll takes each completion off the queue as it
 * comes to it, so that no lock is held between its calls. A caller that ends a
 * poll which it did not begin finds the queue in disorder from then on. */
#include "gf1l.h"

#include <string.h>

static struct gf1l_cq *of(struct gf1_cq_ex *ex)
{
	return GF1L_OF(struct gf1l_cq, ex, ex);
}

/* ENOENT if there is nothing. */
static int stand(struct gf1l_cq *cq)
{
	if (!gf1l_take_cqe(cq, &cq->current))
		return gf1l_is_removed(cq->ctx) ? EIO : ENOENT;
	cq->ex.status = cq->current.wc.status;
	cq->ex.wr_id = cq->current.wc.wr_id;
	return 0;
}

static int start_poll(struct gf1_cq_ex *ex, struct gf1_poll_cq_attr *attr)
{
	struct gf1l_cq *cq = of(ex);
	int rc;

	if (attr->comp_mask != 0 || cq->polling || cq->disorder)
		return EINVAL;
	rc = stand(cq);
	cq->polling = rc == 0;
	return rc;
}

static int next_poll(struct gf1_cq_ex *ex)
{
	struct gf1l_cq *cq = of(ex);

	return cq->polling ? stand(cq) : EINVAL;
}

static void end_poll(struct gf1_cq_ex *ex)
{
	struct gf1l_cq *cq = of(ex);

	if (!cq->polling)
		cq->disorder = 1;
	cq->polling = 0;
}

#define READER(type, name, value) \
	static type read_##name(struct gf1_cq_ex *ex) \
	{ \
		return (type)of(ex)->current.value; \
	}
READER(int, opcode, wc.opcode)
READER(uint32_t, vendor_err, wc.vendor_err)
READER(uint32_t, byte_len, wc.byte_len)
READER(uint32_t, imm_data, wc.imm_data)
READER(uint32_t, qp_num, wc.qp_num)
READER(uint32_t, src_qp, wc.src_qp)
READER(unsigned int, wc_flags, wc.wc_flags)
READER(uint32_t, slid, wc.slid)
READER(uint8_t, sl, wc.sl)
READER(uint8_t, dlid_path_bits, wc.dlid_path_bits)
READER(uint64_t, completion_ts, ts)
READER(uint64_t, completion_wallclock_ns, wallclock_ns)

void gf1l_stamp(struct gf1l_cqe *cqe)
{
	struct timespec ts;

	cqe->ts = (uint64_t)gf1l_now();
	clock_gettime(CLOCK_REALTIME, &ts);
	cqe->wallclock_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

struct gf1_cq_ex *gf1l_create_cq_ex(struct gf1_context *context, struct gf1_cq_init_attr_ex *attr)
{
	const uint64_t known = WC_EX_STANDARD | WC_EX_TS | WC_EX_WALLCLOCK;
	uint32_t flags = (attr->comp_mask & CQ_INIT_FLAGS) != 0 ? attr->flags : 0;
	struct gf1l_cq *cq;

	if ((attr->wc_flags & ~known) != 0 ||
	    (attr->comp_mask & ~(uint32_t)(CQ_INIT_FLAGS | CQ_INIT_PD)) != 0 ||
	    (flags & ~(uint32_t)(CQ_SINGLE_THREADED | CQ_IGNORE_OVERRUN)) != 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->cqe > GF1L_MAX_CQE) {
		errno = EINVAL;
		return NULL;
	}
	cq = gf1l_new_cq(context, (int)attr->cqe, attr->cq_context, attr->channel, (int)attr->comp_vector);
	if (cq == NULL)
		return NULL;
	cq->fields = (uint32_t)attr->wc_flags;
	cq->ignores_overrun = (flags & CQ_IGNORE_OVERRUN) != 0;
	cq->ex.start_poll = start_poll;
	cq->ex.next_poll = next_poll;
	cq->ex.end_poll = end_poll;
	cq->ex.read_opcode = read_opcode;
	cq->ex.read_vendor_err = read_vendor_err;
	cq->ex.read_byte_len = read_byte_len;
	cq->ex.read_imm_data = read_imm_data;
	cq->ex.read_qp_num = read_qp_num;
	cq->ex.read_src_qp = read_src_qp;
	cq->ex.read_wc_flags = read_wc_flags;
	cq->ex.read_slid = read_slid;
	cq->ex.read_sl = read_sl;
	cq->ex.read_dlid_path_bits = read_dlid_path_bits;
	cq->ex.read_completion_ts = read_completion_ts;
	cq->ex.read_completion_wallclock_ns = read_completion_wallclock_ns;
	return &cq->ex;
}
