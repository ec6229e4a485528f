/* Verbs about extended queues, for gf1_verbs.h. */
#ifndef GF1_TABLE_QUEUE_H
#define GF1_TABLE_QUEUE_H

#include "gf1_abi_queue.h"

/* X(result, name, arguments, since): exports. */
#define GF1_QUEUE_VERBS(X) \
	X(struct gf1_qp_ex *, qp_to_qp_ex, (struct gf1_qp * qp), "rdma-core 25") \
	X(int, set_ece, (struct gf1_qp * qp, struct gf1_ece * ece), "rdma-core 30") \
	X(int, query_ece, (struct gf1_qp * qp, struct gf1_ece * ece), "rdma-core 30") \
	X(int, query_qp_data_in_order, (struct gf1_qp * qp, int opcode, uint32_t flags), "rdma-core 41")

/* X(result, name, arguments, how to find the context): verbs that the library's
 * header has inline, each an operation of the extended context. */
#define GF1_QUEUE_INLINE_VERBS(X) \
	X(struct gf1_cq_ex *, create_cq_ex, (struct gf1_context * context, struct gf1_cq_init_attr_ex * attr), \
	  context, (context, attr), NULL) \
	X(struct gf1_qp *, create_qp_ex, (struct gf1_context * context, struct gf1_qp_init_attr_ex * attr), context, \
	  (context, attr), NULL) \
	X(struct gf1_qp *, open_qp, (struct gf1_context * context, struct gf1_qp_open_attr * attr), context, \
	  (context, attr), NULL) \
	X(struct gf1_xrcd *, open_xrcd, (struct gf1_context * context, struct gf1_xrcd_init_attr * attr), context, \
	  (context, attr), NULL) \
	X(int, close_xrcd, (struct gf1_xrcd * xrcd), xrcd->context, (xrcd), EOPNOTSUPP) \
	X(struct gf1_srq *, create_srq_ex, (struct gf1_context * context, struct gf1_srq_init_attr_ex * attr), \
	  context, (context, attr), NULL) \
	X(int, get_srq_num, (struct gf1_srq * srq, uint32_t * number), srq->context, (srq, number), EOPNOTSUPP) \
	X(int, post_srq_ops, (struct gf1_srq * srq, struct gf1_ops_wr * op, struct gf1_ops_wr * *bad), srq->context, \
	  (srq, op, bad), EOPNOTSUPP) \
	X(struct gf1_wq *, create_wq, (struct gf1_context * context, struct gf1_wq_init_attr * attr), context, \
	  (context, attr), NULL) \
	X(int, modify_wq, (struct gf1_wq * wq, struct gf1_wq_attr * attr), wq->context, (wq, attr), EOPNOTSUPP) \
	X(int, destroy_wq, (struct gf1_wq * wq), wq->context, (wq), EOPNOTSUPP) \
	X(struct gf1_rwq_ind_table *, create_rwq_ind_table, \
	  (struct gf1_context * context, struct gf1_rwq_ind_table_init_attr * attr), context, (context, attr), NULL) \
	X(int, destroy_rwq_ind_table, (struct gf1_rwq_ind_table * table), table->context, (table), EOPNOTSUPP) \
	X(struct gf1_flow *, create_flow, (struct gf1_qp * qp, struct gf1_flow_attr * attr), qp->context, (qp, attr), \
	  NULL) \
	X(int, destroy_flow, (struct gf1_flow * flow), flow->context, (flow), EOPNOTSUPP) \
	X(int, modify_qp_rate_limit, (struct gf1_qp * qp, struct gf1_qp_rate_limit_attr * attr), qp->context, \
	  (qp, attr), EOPNOTSUPP)

struct gf1_queue_ops {
#define GF1_INLINE_FIELD(result, name, args, ...) result(*name) args;
	GF1_QUEUE_INLINE_VERBS(GF1_INLINE_FIELD)
#undef GF1_INLINE_FIELD
};

#endif
