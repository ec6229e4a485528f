/* The function table that every control verb goes through. libibverbs finds
 * its own data behind a context, so a context that is not the library's must
 * never enter it: whoever opens a device brings the table that serves it.
 *
 * Each entry has the signature and the error convention of the verb it is
 * named after. An absent entry is NULL and answers EOPNOTSUPP. */
#ifndef GF1_VERBS_H
#define GF1_VERBS_H

#include "gf1_abi.h"

#include <sys/types.h>

/* X(result, name, arguments): what libibverbs exports under "ibv_" name. */
#define GF1_EXPORTED_VERBS(X) \
	X(int, close_device, (struct gf1_context * context)) \
	X(int, query_device, (struct gf1_context * context, struct gf1_device_attr * attr)) \
	X(struct gf1_pd *, alloc_pd, (struct gf1_context * context)) \
	X(int, dealloc_pd, (struct gf1_pd * pd)) \
	X(struct gf1_mr *, reg_mr, (struct gf1_pd * pd, void *addr, size_t length, int access)) \
	X(struct gf1_mr *, reg_mr_iova2, \
	  (struct gf1_pd * pd, void *addr, size_t length, uint64_t iova, unsigned int access)) \
	X(int, dereg_mr, (struct gf1_mr * mr)) \
	X(struct gf1_comp_channel *, create_comp_channel, (struct gf1_context * context)) \
	X(int, destroy_comp_channel, (struct gf1_comp_channel * channel)) \
	X(struct gf1_cq *, create_cq, \
	  (struct gf1_context * context, int cqe, void *cq_context, struct gf1_comp_channel *channel, int vector)) \
	X(int, destroy_cq, (struct gf1_cq * cq)) \
	X(int, get_cq_event, (struct gf1_comp_channel * channel, struct gf1_cq * *cq, void **cq_context)) \
	X(void, ack_cq_events, (struct gf1_cq * cq, unsigned int events)) \
	X(struct gf1_qp *, create_qp, (struct gf1_pd * pd, struct gf1_qp_init_attr * attr)) \
	X(int, modify_qp, (struct gf1_qp * qp, struct gf1_qp_attr * attr, int mask)) \
	X(int, query_qp, (struct gf1_qp * qp, struct gf1_qp_attr * attr, int mask, struct gf1_qp_init_attr * init)) \
	X(int, destroy_qp, (struct gf1_qp * qp)) \
	X(int, resize_cq, (struct gf1_cq * cq, int cqe)) \
	X(struct gf1_srq *, create_srq, (struct gf1_pd * pd, struct gf1_srq_init_attr * attr)) \
	X(int, modify_srq, (struct gf1_srq * srq, struct gf1_srq_attr * attr, int mask)) \
	X(int, query_srq, (struct gf1_srq * srq, struct gf1_srq_attr * attr)) \
	X(int, destroy_srq, (struct gf1_srq * srq)) \
	X(struct gf1_ah *, create_ah, (struct gf1_pd * pd, struct gf1_ah_attr * attr)) \
	X(int, destroy_ah, (struct gf1_ah * ah)) \
	X(int, init_ah_from_wc, \
	  (struct gf1_context * context, uint8_t port, struct gf1_wc * wc, struct gf1_grh * grh, \
	   struct gf1_ah_attr * attr)) \
	X(int, attach_mcast, (struct gf1_qp * qp, const union gf1_gid *gid, uint16_t lid)) \
	X(int, detach_mcast, (struct gf1_qp * qp, const union gf1_gid *gid, uint16_t lid)) \
	X(int, get_async_event, (struct gf1_context * context, struct gf1_async_event * event)) \
	X(void, ack_async_event, (struct gf1_async_event * event))

/* X(result, name, arguments, since): what only later releases export. */
#define GF1_LATER_VERBS(X) \
	X(ssize_t, _query_gid_table, \
	  (struct gf1_context * context, struct gf1_gid_entry * entries, size_t max, uint32_t flags, size_t size), \
	  "rdma-core 32") \
	X(int, _query_gid_ex, \
	  (struct gf1_context * context, uint32_t port, uint32_t index, struct gf1_gid_entry *entry, uint32_t flags, \
	   size_t size), \
	  "rdma-core 32")

/* X(result, name, arguments, since): further exports, a list a topic. */
#include "gf1_table_device.h"
#include "gf1_table_memory.h"
#include "gf1_table_queue.h"

struct gf1_verbs {
#define GF1_FIELD(result, name, args, ...) result(*name) args;
	GF1_EXPORTED_VERBS(GF1_FIELD)
	GF1_LATER_VERBS(GF1_FIELD)
	GF1_MEMORY_VERBS(GF1_FIELD)
	GF1_DEVICE_VERBS(GF1_FIELD)
	GF1_QUEUE_VERBS(GF1_FIELD)
#undef GF1_FIELD
	/* Inline functions in the library's header, not exports. */
	int (*query_port)(struct gf1_context *context, uint8_t port, struct gf1_port_attr *attr, size_t len);
	int (*modify_cq)(struct gf1_cq *cq, struct gf1_modify_cq_attr *attr);
	struct gf1_queue_ops queue;
};

/* The library's functions for finding devices, which take no context. */
struct gf1_finder {
	struct gf1_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct gf1_device **list);
	struct gf1_context *(*open_device)(struct gf1_device *device);
};

/* The library's functions that concern no device, or find one by other means. */
struct gf1_library {
#define GF1_FUNCTION(result, name, args, since) result(*name) args;
	GF1_LIBRARY_FUNCTIONS(GF1_FUNCTION)
#undef GF1_FUNCTION
};

#endif
