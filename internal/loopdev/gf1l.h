/* The in-process RDMA device: its objects and what the files share.
 *
 * Where the work is done. A request is carried out in the thread that posts
 * it, as far as it can be at once. What has to wait (a receiver that is not
 * ready, a lost message, an injected delay) sets a timer, and one worker thread
 * goes on with the queue when it is due. A message moves whole: it is checked
 * at both ends first and then copied. Protocol times are shortened by
 * gf1l_shorten, so that their order stays and tests are fast.
 *
 * Order of locks; nobody holds two of one row:
 *   fabric, context           finding and making things
 *   qp->sq_lock               a queue pair as a requester
 *   multicast groups          shared for delivery
 *   qp->rq_lock               a queue pair as a responder
 *   srq->lock
 *   cq->lock
 *   channel, async pipe, QP table
 *   timers
 * A responder that fails its own queue pair cannot take that one's sq_lock. It
 * changes rq_state, which the requester side obeys wherever it looks, and puts
 * the queue pair on a list of victims that is settled when no lock is held.
 *
 * Names with external linkage carry the major version. */
#ifndef GF1L_H
#define GF1L_H

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "gf1_verbs.h"
#include "gf1l_values.h"

enum {
	GF1L_MAX_PORTS = 8,
	GF1L_GIDS = 8,
	GF1L_PKEYS = 1,
	GF1L_MAX_SGE = 32,
	GF1L_MAX_WR = 1 << 15,
	GF1L_MAX_INLINE = 1024,
	GF1L_MAX_CQE = 1 << 22,
	GF1L_MAX_SRQ_WR = 1 << 15,
	GF1L_MAX_OBJECTS = 1 << 20,
	GF1L_MAX_MCAST = 8192,
	GF1L_MAX_RD_ATOMIC = 128,
	GF1L_FIRST_QPN = 0x11,
	GF1L_LAST_QPN = 0xfffffe,
	GF1L_MULTICAST_QPN = 0xffffff,
	GF1L_GRH_LEN = 40,
};

#define GF1L_MAX_MESSAGE (1u << 31)
#define GF1L_FOREVER INT64_MAX

enum gf1l_gid_type { GID_UNUSED, GID_IB, GID_ROCE1, GID_ROCE2 };

struct gf1l_ctx;
struct gf1l_qp;

struct gf1l_gid {
	union gf1_gid gid;
	int type;
};

struct gf1l_port {
	int up; /* atomic */
	uint16_t lid;
	uint32_t qkey_violations; /* atomic */
	struct gf1l_gid gids[GF1L_GIDS];
};

/* Memory keys by index; see mr.c. */
struct gf1l_slot;
struct gf1l_keys {
	pthread_mutex_t lock;
	struct gf1l_slot **chunks;
	uint32_t made;
	uint32_t free_first, free_last;
};

struct gf1l_dev {
	struct gf1_device pub;
	uint64_t id; /* never used twice */
	uint64_t node_guid;
	int num_ports;
	int link_layer;
	struct gf1l_port ports[GF1L_MAX_PORTS + 1];
	int removed; /* atomic */
	uint32_t refs; /* the fabric's lock */
	struct gf1l_dev *next;
	struct gf1l_ctx *contexts; /* the fabric's lock */
	uint32_t next_qpn;         /* atomic */
	struct gf1l_keys keys;
	/* Injected faults; atomic. */
	int fail_allocs;
	int64_t late_ns;
};

struct gf1l_timer {
	int64_t due;
	int index; /* place in the heap, -1 when not in it */
	void (*fire)(struct gf1l_timer *timer);
};

/* The write end of a pipe whose read end the user has. */
struct gf1l_pipe {
	pthread_mutex_t lock;
	int read_fd, write_fd;
};

struct gf1l_channel {
	struct gf1_comp_channel ch;
	struct gf1l_ctx *ctx;
	struct gf1l_pipe pipe;
	struct gf1l_cq *held; /* CQs with events that wait; the pipe's lock */
	struct gf1l_timer timer;
	struct gf1l_channel *prev, *next; /* the context's lock */
};

struct gf1l_ctx {
	struct gf1_verbs_context ext;
	struct gf1l_dev *dev;
	struct gf1l_ctx *next;
	uint32_t objects; /* atomic */
	struct gf1l_pipe async;
	pthread_mutex_t lock;
	struct gf1l_channel *channels;
};

struct gf1l_pd {
	struct gf1_pd pd;
	uint32_t refs; /* atomic */
	struct gf1_pd *root; /* whom a parent domain stands for: itself if it is none */
	struct gf1_td *td;
};

/* A ring of receives: a queue pair's own or a shared one. */
struct gf1l_ring {
	uint8_t *slots;
	uint32_t stride, mask, limit, max_sge;
	uint64_t head, tail;
	uint32_t outstanding; /* posted and not polled yet; atomic */
};

struct gf1l_rwqe {
	uint64_t wr_id;
	uint32_t num_sge;
	struct gf1_sge sge[];
};

/* Of one file, or of whoever made it: what its handles share. */
struct gf1l_domain {
	uint64_t dev, file[2];
	uint32_t handles; /* the list's lock */
	struct gf1l_domain *next;
	pthread_mutex_t lock;
	struct gf1l_srq *srqs; /* those of the domain, by number */
	uint32_t last_number;
};

struct gf1l_xrcd {
	struct gf1_xrcd xrcd;
	struct gf1l_domain *domain;
	uint32_t refs; /* atomic */
};

struct gf1l_srq {
	struct gf1_srq srq;
	struct gf1l_ctx *ctx;
	uint32_t refs; /* atomic */
	/* Of XRC: the rest is NULL otherwise. */
	struct gf1l_xrcd *xrcd;
	struct gf1l_cq *cq;
	uint32_t number;
	struct gf1l_srq *next;
	pthread_mutex_t lock;
	struct gf1l_ring ring;
	uint32_t armed_limit;
	uint32_t events; /* the async pipe's lock */
};

struct gf1l_cqe {
	struct gf1_wc wc;
	uint64_t ts, wallclock_ns; /* if the CQ was made for them */
	struct gf1l_qp *qp;
	struct gf1l_ring *ring; /* NULL for a send completion */
	uint64_t upto;          /* send requests below this one are done */
};

struct gf1l_cq {
	union {
		struct gf1_cq cq;
		struct gf1_cq_ex ex;
	};
	struct gf1l_ctx *ctx;
	struct gf1l_channel *channel;
	uint32_t refs; /* atomic */
	pthread_mutex_t lock;
	struct gf1l_cqe *ring;
	uint32_t mask, limit;
	uint64_t head, tail;
	int armed; /* 0, SOLICITED_ONLY or ANY */
	int overrun, ignores_overrun;
	uint32_t fields; /* of an extended one */
	/* Of the poller. */
	struct gf1l_cqe current;
	int polling, disorder;
	/* The channel's lock. */
	uint32_t events; /* written to the channel */
	uint32_t held;
	struct gf1l_cq *held_next;
	/* The async pipe's lock. */
	uint32_t async_events;
};

/* An address vector and where in the fabric it leads. */
struct gf1l_address {
	struct gf1_ah_attr attr;
	uint64_t dev; /* 0: nowhere */
	uint8_t port;
	uint8_t multicast;
	int gid_type;
};

struct gf1l_ah {
	struct gf1_ah ah;
	struct gf1l_address to;
};

/* What a window is to be bound to. Slots stay when what they stand for is gone. */
struct gf1l_bind {
	struct gf1l_slot *window, *of; /* of is NULL for nothing */
	uint32_t window_key, of_key;
	int type;
	uint64_t addr, length;
	uint32_t access;
};

struct gf1l_swqe {
	uint64_t wr_id;
	int32_t opcode;
	uint32_t flags;
	uint32_t imm;
	uint32_t num_sge;
	uint64_t length;
	uint64_t remote_addr;
	uint32_t rkey;
	uint32_t remote_qpn, remote_qkey, remote_srqn;
	uint32_t bad_ah;
	uint64_t compare_add, swap;
	struct gf1l_bind bind;
	struct gf1l_address to;
	struct gf1_sge sge[]; /* or the inline bytes */
};

/* A request that builders make; see build.c. */
struct gf1l_build;

struct gf1l_qp {
	union {
		struct gf1_qp qp;
		struct gf1_qp_ex ex;
	};
	struct gf1l_build *build; /* NULL without builders; sq_lock */
	struct gf1l_ctx *ctx;
	struct gf1l_cq *send_cq, *recv_cq; /* NULL where there is none */
	/* Of a receiving XRC queue pair: the SRQ that a message names, while it is
	 * delivered, as is recv_cq and qp.pd; rq_lock. */
	struct gf1l_srq *srq;
	struct gf1l_xrcd *xrcd;
	struct gf1l_qp *opened; /* of a handle that open_qp made: the queue pair */
	uint32_t handles;       /* that open_qp made; the xrcd list's lock */
	int closed;             /* by its maker; the xrcd list's lock */
	uint64_t dev; /* its device's id */
	uint32_t refs; /* atomic */
	struct gf1l_qp *hash_next;
	struct gf1_qp_init_attr init;

	/* Set by modify under both locks; either one is enough to read. */
	struct gf1_qp_attr attr;
	struct gf1l_address to;

	pthread_mutex_t sq_lock;
	int sq_state;
	int draining;
	uint8_t *slots;
	uint32_t stride, mask;
	uint64_t head, tail;
	uint64_t reclaimed; /* slots below this one are free again; atomic */
	uint32_t psn;
	int64_t not_before; /* the first request waits until then */
	uint8_t tries, rnr_tries, started, lost;
	struct gf1l_timer timer; /* holds a reference while set */

	pthread_mutex_t rq_lock;
	int rq_state; /* written under rq_lock; atomic */
	int gone;
	struct gf1l_ring ring;
	uint32_t expected_psn;
	int established;
	int is_victim;
	struct gf1l_qp *victim_next;

	uint32_t events; /* the async pipe's lock */
	uint32_t mcast;  /* groups joined; the groups' lock */

	/* Injected faults; atomic. */
	int drop, rnr, fail_posts;
	int64_t delay_ns;
};

#define GF1L_OF(type, member, ptr) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline struct gf1l_ctx *gf1l_ctx_of(struct gf1_context *context)
{
	return GF1L_OF(struct gf1l_ctx, ext.context, context);
}

/* The domain that another stands for. */
static inline struct gf1_pd *gf1l_root(const struct gf1_pd *pd)
{
	return GF1L_OF(struct gf1l_pd, pd, pd)->root;
}

/* Whether a request's answer brings data. */
static inline int gf1l_is_answered(int opcode)
{
	return opcode == WR_RDMA_READ || opcode == WR_ATOMIC_CMP_AND_SWP || opcode == WR_ATOMIC_FETCH_AND_ADD;
}

static inline int gf1l_is_removed(struct gf1l_ctx *ctx)
{
	return __atomic_load_n(&ctx->dev->removed, __ATOMIC_ACQUIRE);
}

/* Whether each message is acknowledged. */
static inline int gf1l_reliable(const struct gf1l_qp *qp)
{
	return qp->qp.qp_type == QPT_RC || qp->qp.qp_type == QPT_XRC_SEND || qp->qp.qp_type == QPT_XRC_RECV;
}

/* Takes one from an injected count if there is any left. */
static inline int gf1l_spend(int *count)
{
	int n = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (n > 0)
		if (__atomic_compare_exchange_n(count, &n, n - 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return 1;
	return 0;
}

/* What a protocol's wait is here: of what goes beyond 100 us, a sixteenth. */
static inline int64_t gf1l_shorten(int64_t ns)
{
	const int64_t whole = 100000;

	return ns <= whole ? ns : whole + (ns - whole) / 16;
}

static inline int64_t gf1l_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static inline void gf1l_ref(uint32_t *refs)
{
	__atomic_fetch_add(refs, 1, __ATOMIC_RELAXED);
}

/* Returns whether that was the last one. */
static inline int gf1l_unref(uint32_t *refs)
{
	return __atomic_sub_fetch(refs, 1, __ATOMIC_ACQ_REL) == 0;
}

static inline int gf1l_in_use(uint32_t *refs)
{
	return __atomic_load_n(refs, __ATOMIC_ACQUIRE) != 0;
}

uint32_t gf1l_slots_for(uint32_t n); /* the power of two that holds n */

/* fabric.c */
void *gf1l_make(struct gf1l_ctx *ctx, size_t size); /* zeroed; counts as an object of ctx */
void gf1l_unmake(struct gf1l_ctx *ctx, void *object);
int gf1l_resolve(struct gf1l_dev *dev, const struct gf1_ah_attr *attr, struct gf1l_address *to);
int gf1l_port_up(struct gf1l_dev *dev, int port);

/* table.c: queue pairs by device and number */
int gf1l_enter_qp(struct gf1l_qp *qp, struct gf1l_dev *dev);
void gf1l_leave_qp(struct gf1l_qp *qp);
struct gf1l_qp *gf1l_find_qp(uint64_t dev, uint32_t qpn); /* with a reference */
void gf1l_put_qp(struct gf1l_qp *qp);

/* timer.c */
int gf1l_timers_start(void);
void gf1l_timers_stop(void);
int gf1l_timers_reserve(void); /* room for one more timer */
void gf1l_timers_release(void);
int gf1l_timer_set(struct gf1l_timer *timer, int64_t due); /* 1 if it was not set before */
int gf1l_timer_cancel(struct gf1l_timer *timer);           /* 1 if it was set */
void gf1l_timer_quiesce(struct gf1l_timer *timer);         /* cancels, waits for fire to return */

/* event.c */
int gf1l_pipe_open(struct gf1l_pipe *pipe);
void gf1l_pipe_close(struct gf1l_pipe *pipe);
void gf1l_raise(struct gf1l_ctx *ctx, int type, void *object, uint32_t *events);
/* Takes unread events of the object back; what was read must be acknowledged. */
uint32_t gf1l_retract_async(struct gf1l_ctx *ctx, const void *object, uint32_t events);
uint32_t gf1l_retract(struct gf1l_pipe *pipe, const void *object, size_t size);
void gf1l_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked, uint32_t reported);
int gf1l_get_async_event(struct gf1_context *context, struct gf1_async_event *event);
void gf1l_ack_async_event(struct gf1_async_event *event);

/* channel.c */
struct gf1_comp_channel *gf1l_create_channel(struct gf1_context *context);
int gf1l_destroy_channel(struct gf1_comp_channel *channel);
int gf1l_get_cq_event(struct gf1_comp_channel *channel, struct gf1_cq **cq, void **cq_context);
void gf1l_ack_cq_events(struct gf1_cq *cq, unsigned int events);
void gf1l_signal(struct gf1l_cq *cq);
void gf1l_forget_events(struct gf1l_cq *cq);
void gf1l_break_channels(struct gf1l_ctx *ctx);

/* cq.c */
struct gf1_cq *gf1l_create_cq(struct gf1_context *context, int cqe, void *cq_context,
			      struct gf1_comp_channel *channel, int vector);
int gf1l_resize_cq(struct gf1_cq *cq, int cqe);
int gf1l_destroy_cq(struct gf1_cq *cq);
int gf1l_poll_cq(struct gf1_cq *cq, int entries, struct gf1_wc *wc);
int gf1l_req_notify_cq(struct gf1_cq *cq, int solicited_only);
/* 0, or ENOMEM when the CQ is full: then the queue pair has to fail. */
int gf1l_push(struct gf1l_cq *cq, const struct gf1l_cqe *cqe, int solicited);
void gf1l_purge(struct gf1l_cq *cq, struct gf1l_qp *qp);
void gf1l_purge_ring(struct gf1l_cq *cq, struct gf1l_ring *ring);
/* Takes the oldest completion, or answers 0. */
int gf1l_take_cqe(struct gf1l_cq *cq, struct gf1l_cqe *cqe);
struct gf1l_cq *gf1l_new_cq(struct gf1_context *context, int cqe, void *cq_context, struct gf1_comp_channel *channel,
			    int vector);

/* cq_ex.c, build.c */
struct gf1_cq_ex *gf1l_create_cq_ex(struct gf1_context *context, struct gf1_cq_init_attr_ex *attr);
void gf1l_stamp(struct gf1l_cqe *cqe);
/* The operations' bits, and memory for a request; 0 or an errno. */
int gf1l_make_builders(struct gf1l_qp *qp, uint64_t ops);
struct gf1_qp_ex *gf1l_qp_to_qp_ex(struct gf1_qp *qp);

/* xrc.c */
struct gf1_xrcd *gf1l_open_xrcd(struct gf1_context *context, struct gf1_xrcd_init_attr *attr);
int gf1l_close_xrcd(struct gf1_xrcd *xrcd);
struct gf1_srq *gf1l_create_srq_ex(struct gf1_context *context, struct gf1_srq_init_attr_ex *attr);
int gf1l_get_srq_num(struct gf1_srq *srq, uint32_t *number);
void gf1l_leave_domain(struct gf1l_srq *srq);
struct gf1_qp *gf1l_open_qp(struct gf1_context *context, struct gf1_qp_open_attr *attr);
/* The queue pair behind a handle. */
struct gf1l_qp *gf1l_behind(struct gf1_qp *qp);
/* Whether destroying the handle leaves the queue pair to others. */
int gf1l_close_handle(struct gf1l_qp *handle);
/* Lends the SRQ that a message names to its receiver, or answers 0. Under the
 * receiver's rq_lock. */
int gf1l_lend_srq(struct gf1l_qp *to, uint32_t number);
void gf1l_return_srq(struct gf1l_qp *to);

/* mr.c */
struct gf1_mr *gf1l_reg_mr(struct gf1_pd *pd, void *addr, size_t length, int access);
struct gf1_mr *gf1l_reg_mr_iova(struct gf1_pd *pd, void *addr, size_t length, uint64_t iova, int access);
struct gf1_mr *gf1l_reg_mr_iova2(struct gf1_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access);
struct gf1_mr *gf1l_reg_dmabuf_mr(struct gf1_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access);
int gf1l_dereg_mr(struct gf1_mr *mr);
int gf1l_rereg_mr(struct gf1_mr *mr, int flags, struct gf1_pd *pd, void *addr, size_t length, int access);
struct gf1_mr *gf1l_alloc_null_mr(struct gf1_pd *pd);
int gf1l_advise_mr(struct gf1_pd *pd, int advice, uint32_t flags, struct gf1_sge *sge, uint32_t num_sge);
/* A region over memory of the device, which keeps users of it counted. */
struct gf1_mr *gf1l_reg_own(struct gf1_pd *pd, void *addr, size_t length, unsigned int access, uint32_t *users);
void gf1l_keys_free(struct gf1l_keys *keys);
/* Opens memory for access: NULL if the key, the domain, the bounds or the
 * rights do not allow it. Close it with the slot that is stored. */
uint8_t *gf1l_open_mem(struct gf1l_dev *dev, struct gf1_pd *pd, uint32_t key, int remote, uint64_t addr,
		       uint64_t length, int access, struct gf1l_slot **slot);
void gf1l_close_mem(struct gf1l_slot *slot);
int gf1l_place_of(const struct gf1l_slot *slot); /* GF1L_HOST, or a GPU's */
/* Whether nothing lies behind what was opened. */
int gf1l_is_nothing(const struct gf1l_slot *slot);
/* Whether what was opened is reached only through another queue pair. */
int gf1l_is_anothers(const struct gf1l_slot *slot, const struct gf1l_qp *qp);

/* mw.c */
struct gf1_mw *gf1l_alloc_mw(struct gf1_pd *pd, int type);
int gf1l_dealloc_mw(struct gf1_mw *mw);
int gf1l_bind_mw(struct gf1_qp *qp, struct gf1_mw *mw, struct gf1_mw_bind *bind);
void gf1l_store_bind(struct gf1l_bind *bind, const struct gf1_send_wr *wr);
int gf1l_invalidate(struct gf1l_qp *qp, uint32_t key); /* 0 or an errno */
/* What a window's place among the keys takes and gives. */
struct gf1l_slot *gf1l_window_new(struct gf1l_dev *dev, struct gf1_pd *pd, uint32_t *key);
void gf1l_window_free(struct gf1l_dev *dev, struct gf1l_slot *slot);
struct gf1l_slot *gf1l_slot_of(const struct gf1_mr *mr);
/* Binds for a queue pair, whose own a window of type 2 becomes. 0 or an errno. */
int gf1l_window_bind(struct gf1l_qp *qp, const struct gf1l_bind *bind);
int gf1l_window_unbind(struct gf1l_dev *dev, struct gf1_pd *pd, uint32_t key, const struct gf1l_qp *qp);

/* memory.c, domain.c */
void gf1l_fill_memory(struct gf1l_ctx *ctx);
void gf1l_fill_domain(struct gf1l_ctx *ctx);
void gf1l_parent_domain_gone(struct gf1l_pd *pd);
int gf1l_query_gid(struct gf1_context *context, uint8_t port, int index, union gf1_gid *gid);
int gf1l_query_gid_ex(struct gf1_context *context, uint32_t port, uint32_t index, struct gf1_gid_entry *entry,
		      uint32_t flags, size_t size);
int gf1l_query_pkey(struct gf1_context *context, uint8_t port, int index, uint16_t *pkey);
int gf1l_get_pkey_index(struct gf1_context *context, uint8_t port, uint16_t pkey);
const char *gf1l_get_device_name(struct gf1_device *device);
uint64_t gf1l_get_device_guid(struct gf1_device *device);
int gf1l_get_device_index(struct gf1_device *device);
int gf1l_query_device(struct gf1_context *context, struct gf1_device_attr *attr);
void gf1l_copy(void *to, const void *from, size_t n);

/* gpu.c: a place is GF1L_HOST for memory of the host, else a GPU. The functions
 * are those of package gpumem. */
enum { GF1L_HOST = 0 };
struct gf1l_gpu_functions {
	int (*find)(uint64_t address, uint64_t length, int *place);
	int (*find_dma_buf)(int fd, uint64_t *address, uint64_t *size);
	int (*move)(void *to, int to_place, const void *from, int from_place, size_t n);
};
void gf1l_provide_gpu(const struct gf1l_gpu_functions *given);
/* 1 if the bytes are a GPU's, 0 if not, an errno below zero if they are and
 * cannot be had. */
int gf1l_gpu_find(uint64_t address, uint64_t length, int *place);
int gf1l_gpu_find_dma_buf(int fd, uint64_t *address, uint64_t *size);
/* 0, or -1 when the memory went away or its GPU failed. */
int gf1l_gpu_move(void *to, int to_place, const void *from, int from_place, uint64_t n);
/* Adds, or compares and swaps, 8 bytes: atomic towards the same of any device of
 * this process, and nothing else. */
int gf1l_gpu_atomic(uint8_t *at, int place, int is_add, uint64_t operand, uint64_t swap, uint64_t *old);

/* scatter.c: a gather or scatter list in a domain, or plain memory */
struct gf1l_list {
	uint8_t *memory;
	int place; /* of memory */
	struct gf1l_dev *dev;
	struct gf1_pd *pd;
	const struct gf1_sge *sge;
	uint32_t num_sge;
};
uint64_t gf1l_sge_total(const struct gf1_sge *sge, uint32_t n);
/* Whether the first length bytes of a list may be used with these rights. */
int gf1l_list_allows(const struct gf1l_list *list, uint64_t length, int access);
/* Copies length bytes to the place skip bytes into a list. 0, or -1 when
 * memory of a list went away since it was checked. */
int gf1l_move(const struct gf1l_list *to, uint64_t skip, const struct gf1l_list *from, uint64_t length);

/* ring.c, srq.c */
int gf1l_ring_init(struct gf1l_ring *ring, uint32_t limit, uint32_t max_sge);
void gf1l_ring_free(struct gf1l_ring *ring);
int gf1l_ring_post(struct gf1l_ring *ring, const struct gf1_recv_wr *wr);
struct gf1l_rwqe *gf1l_ring_first(struct gf1l_ring *ring);
int gf1l_ring_grow(struct gf1l_ring *ring, uint32_t limit);
struct gf1_srq *gf1l_create_srq(struct gf1_pd *pd, struct gf1_srq_init_attr *attr);
int gf1l_modify_srq(struct gf1_srq *srq, struct gf1_srq_attr *attr, int mask);
int gf1l_query_srq(struct gf1_srq *srq, struct gf1_srq_attr *attr);
int gf1l_destroy_srq(struct gf1_srq *srq);
int gf1l_post_srq_recv(struct gf1_srq *srq, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad);
void gf1l_srq_taken(struct gf1l_srq *srq); /* under its lock, after a receive left it */

/* state.c */
int gf1l_transition_allowed(int type, int from, int to, int mask);

/* qp.c */
struct gf1_qp *gf1l_create_qp(struct gf1_pd *pd, struct gf1_qp_init_attr *attr);
struct gf1_qp *gf1l_create_qp_ex(struct gf1_context *context, struct gf1_qp_init_attr_ex *attr);
int gf1l_query_qp(struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask, struct gf1_qp_init_attr *init);
int gf1l_destroy_qp(struct gf1_qp *qp);
int gf1l_modify_qp(struct gf1_qp *qp, struct gf1_qp_attr *attr, int mask);
int gf1l_state(struct gf1l_qp *qp); /* under either lock */
void gf1l_stop_waiting(struct gf1l_qp *qp); /* under sq_lock */

/* post.c */
int gf1l_post_send(struct gf1_qp *qp, struct gf1_send_wr *wr, struct gf1_send_wr **bad);
int gf1l_post_recv(struct gf1_qp *qp, struct gf1_recv_wr *wr, struct gf1_recv_wr **bad);
struct gf1l_swqe *gf1l_swqe_at(struct gf1l_qp *qp, uint64_t n);
/* Both under sq_lock: 0 or an errno. */
int gf1l_send_refused(struct gf1l_qp *qp);
int gf1l_store_send(struct gf1l_qp *qp, const struct gf1_send_wr *wr);

/* engine.c */
struct gf1l_victims {
	struct gf1l_qp *first;
};
void gf1l_run(struct gf1l_qp *qp, struct gf1l_victims *victims); /* under sq_lock */
void gf1l_flush_sq(struct gf1l_qp *qp);                          /* under sq_lock */
void gf1l_flush_rq(struct gf1l_qp *qp);                          /* under rq_lock */
void gf1l_fail_rq(struct gf1l_qp *qp, struct gf1l_victims *victims); /* under rq_lock */
void gf1l_settle(struct gf1l_victims *victims);                  /* under no lock */
void gf1l_on_timer(struct gf1l_timer *timer);

/* respond.c */
enum gf1l_answer {
	ANSWER_ACK,
	ANSWER_NONE, /* lost: nobody answers */
	ANSWER_RNR,
	ANSWER_INVALID_REQUEST,
	ANSWER_ACCESS,
	ANSWER_OPERATION,
	ANSWER_LOCAL, /* the requester's own memory went away */
};
/* Both under the requester's sq_lock. */
enum gf1l_answer gf1l_deliver(struct gf1l_qp *from, struct gf1l_swqe *wqe, int64_t *rnr_ns,
			      struct gf1l_victims *victims);
void gf1l_deliver_datagram(struct gf1l_qp *from, struct gf1l_swqe *wqe, struct gf1l_victims *victims);
/* Under to's rq_lock: takes the next receive, completes it. */
struct gf1l_taken {
	uint64_t wr_id;
	uint32_t num_sge;
	struct gf1_sge sge[GF1L_MAX_SGE];
};
int gf1l_take_receive(struct gf1l_qp *to, struct gf1l_taken *taken);
void gf1l_complete_receive(struct gf1l_qp *to, struct gf1_wc *wc, int solicited, struct gf1l_victims *victims);
struct gf1l_list gf1l_send_list(struct gf1l_qp *qp, struct gf1l_swqe *wqe);

/* ud.c, mcast.c */
struct gf1_ah *gf1l_create_ah(struct gf1_pd *pd, struct gf1_ah_attr *attr);
int gf1l_destroy_ah(struct gf1_ah *ah);
int gf1l_init_ah_from_wc(struct gf1_context *context, uint8_t port, struct gf1_wc *wc, struct gf1_grh *grh,
			 struct gf1_ah_attr *attr);
int gf1l_attach_mcast(struct gf1_qp *qp, const union gf1_gid *gid, uint16_t lid);
int gf1l_detach_mcast(struct gf1_qp *qp, const union gf1_gid *gid, uint16_t lid);
int gf1l_is_multicast(const union gf1_gid *gid);
void gf1l_deliver_multicast(struct gf1l_qp *from, struct gf1l_swqe *wqe, struct gf1l_victims *victims);
void gf1l_receive_datagram(struct gf1l_qp *to, struct gf1l_qp *from, struct gf1l_swqe *wqe,
			   struct gf1l_victims *victims);

/* fabric.c, device.c: what Go calls; all return 0 or a positive errno */
extern const struct gf1_verbs gf1l_verbs;
int gf1l_add_device(const char *name, int number, int ports, int link_layer);
int gf1l_remove_device(const char *name);
int gf1l_open_device(const char *name, struct gf1_context **out);
int gf1l_set_port(const char *name, int port, int up);
int gf1l_close_device(struct gf1_context *context);
struct gf1l_dev *gf1l_find_device(const char *name); /* with a reference */
void gf1l_put_device(struct gf1l_dev *dev);

/* faults.c */
enum gf1l_fault {
	GF1L_FAULT_DROP,
	GF1L_FAULT_DELAY,
	GF1L_FAULT_RNR,
	GF1L_FAULT_POST,
	GF1L_FAULT_SPURIOUS,
	GF1L_FAULT_ALLOC,
	GF1L_FAULT_LATE,
};
int gf1l_inject(const char *device, uint32_t qpn, int fault, int64_t amount);

#endif
