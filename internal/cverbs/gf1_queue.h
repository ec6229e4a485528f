/* The control verbs of extended queues, by gf1_shim.h's convention. */
#ifndef GF1_QUEUE_H
#define GF1_QUEUE_H

#include "gf1_verbs.h"

/* Fills in the operations that go through the library's extended context. */
void gf1_complete_queue_ops(struct gf1_queue_ops *ops);

int gf1_create_cq_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_cq_init_attr_ex *attr,
		     struct gf1_cq_ex **out);
int gf1_create_qp_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_qp_init_attr_ex *attr,
		     struct gf1_qp **out);
int gf1_open_qp(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_qp_open_attr *attr,
		struct gf1_qp **out);
/* EINVAL if the queue pair is a plain one. */
int gf1_qp_to_qp_ex(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_ex **out);
int gf1_set_ece(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_ece *ece);
int gf1_query_ece(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_ece *ece);
/* The verb's answer, which is no error. */
int gf1_query_qp_data_in_order(const struct gf1_verbs *v, struct gf1_qp *qp, int opcode, uint32_t flags, int *out);
int gf1_modify_qp_rate_limit(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_rate_limit_attr *attr);
int gf1_open_xrcd(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_xrcd_init_attr *attr,
		  struct gf1_xrcd **out);
int gf1_close_xrcd(const struct gf1_verbs *v, struct gf1_xrcd *xrcd);
int gf1_create_srq_ex(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_srq_init_attr_ex *attr,
		      struct gf1_srq **out);
int gf1_get_srq_num(const struct gf1_verbs *v, struct gf1_srq *srq, uint32_t *number);
int gf1_post_srq_ops(const struct gf1_verbs *v, struct gf1_srq *srq, struct gf1_ops_wr *op);
int gf1_create_wq(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_wq_init_attr *attr,
		  struct gf1_wq **out);
int gf1_modify_wq(const struct gf1_verbs *v, struct gf1_wq *wq, struct gf1_wq_attr *attr);
int gf1_destroy_wq(const struct gf1_verbs *v, struct gf1_wq *wq);
int gf1_create_rwq_ind_table(const struct gf1_verbs *v, struct gf1_context *context,
			     struct gf1_rwq_ind_table_init_attr *attr, struct gf1_rwq_ind_table **out);
int gf1_destroy_rwq_ind_table(const struct gf1_verbs *v, struct gf1_rwq_ind_table *table);
int gf1_create_flow(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_flow_attr *attr, struct gf1_flow **out);
int gf1_destroy_flow(const struct gf1_verbs *v, struct gf1_flow *flow);

#endif
