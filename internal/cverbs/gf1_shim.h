/* One C function per control verb, with one error convention: the result is 0
 * or a positive errno, and what the verb makes is stored through out. */
#ifndef GF1_SHIM_H
#define GF1_SHIM_H

#include "gf1_verbs.h"

/* The names to resolve, in the order of the table's slots; NULL ends them. An
 * entry of gf1_since is NULL for a name that every release has. */
extern const char *const gf1_exported_names[];
extern const char *const gf1_since[];
/* The same of struct gf1_library. */
extern const char *const gf1_function_names[];
extern const char *const gf1_functions_since[];
/* Fills in the table's entries that the library's header has inline. */
void gf1_complete_table(struct gf1_verbs *table);

int gf1_open(const struct gf1_finder *finder, const char *name, struct gf1_context **out);
int gf1_count_devices(const struct gf1_finder *finder, int *count);

int gf1_close(const struct gf1_verbs *v, struct gf1_context *context);
int gf1_query_device(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_device_attr *attr);
int gf1_query_port(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, struct gf1_port_attr *attr);
/* Stores up to max entries; count is how many, or a negative errno. */
ssize_t gf1_query_gid_table(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_gid_entry *entries,
			    size_t max);
int gf1_alloc_pd(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_pd **out);
int gf1_dealloc_pd(const struct gf1_verbs *v, struct gf1_pd *pd);
int gf1_reg_mr(const struct gf1_verbs *v, struct gf1_pd *pd, void *addr, size_t length, unsigned int access,
	       struct gf1_mr **out);
int gf1_dereg_mr(const struct gf1_verbs *v, struct gf1_mr *mr);
int gf1_create_channel(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_comp_channel **out);
int gf1_destroy_channel(const struct gf1_verbs *v, struct gf1_comp_channel *channel);
int gf1_create_cq(const struct gf1_verbs *v, struct gf1_context *context, int cqe, struct gf1_comp_channel *channel,
		  int vector, struct gf1_cq **out);
int gf1_destroy_cq(const struct gf1_verbs *v, struct gf1_cq *cq);
int gf1_get_cq_event(const struct gf1_verbs *v, struct gf1_comp_channel *channel, struct gf1_cq **out);
int gf1_ack_cq_events(const struct gf1_verbs *v, struct gf1_cq *cq, unsigned int events);
int gf1_create_qp(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_qp_init_attr *attr, struct gf1_qp **out);
int gf1_modify_qp(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask);
int gf1_query_qp(const struct gf1_verbs *v, struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask,
		 struct gf1_qp_init_attr *init);
int gf1_destroy_qp(const struct gf1_verbs *v, struct gf1_qp *qp);
int gf1_resize_cq(const struct gf1_verbs *v, struct gf1_cq *cq, int cqe);
int gf1_modify_cq(const struct gf1_verbs *v, struct gf1_cq *cq, struct gf1_modify_cq_attr *attr);
int gf1_create_srq(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_srq_init_attr *attr, struct gf1_srq **out);
int gf1_modify_srq(const struct gf1_verbs *v, struct gf1_srq *srq, struct gf1_srq_attr *attr, int mask);
int gf1_query_srq(const struct gf1_verbs *v, struct gf1_srq *srq, struct gf1_srq_attr *attr);
int gf1_destroy_srq(const struct gf1_verbs *v, struct gf1_srq *srq);
int gf1_create_ah(const struct gf1_verbs *v, struct gf1_pd *pd, struct gf1_ah_attr *attr, struct gf1_ah **out);
int gf1_destroy_ah(const struct gf1_verbs *v, struct gf1_ah *ah);
int gf1_init_ah_from_wc(const struct gf1_verbs *v, struct gf1_context *context, uint8_t port, struct gf1_wc *wc,
			struct gf1_grh *grh, struct gf1_ah_attr *attr);
int gf1_attach_mcast(const struct gf1_verbs *v, struct gf1_qp *qp, const union gf1_gid *gid, uint16_t lid);
int gf1_detach_mcast(const struct gf1_verbs *v, struct gf1_qp *qp, const union gf1_gid *gid, uint16_t lid);
int gf1_get_async_event(const struct gf1_verbs *v, struct gf1_context *context, struct gf1_async_event *event);
int gf1_ack_async_event(const struct gf1_verbs *v, struct gf1_async_event *event);

#endif
