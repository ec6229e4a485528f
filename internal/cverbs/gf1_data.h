/* The data path: one crossing posts a chain, one polls a batch.
 *
 * A queue's requests carry our own wr_id: which queue, which use of that
 * queue's id, and the request's sequence number. Polling turns it back into
 * the caller's and notes in the queue's record how far the device has come, so
 * that a full queue is known before the device is asked. A completion of a
 * queue that is gone is dropped.
 *
 *   bit 63 .. 44   index of the queue's record
 *   bit 43 .. 32   how often that index was used before
 *   bit 31 ..  0   sequence number of the request
 *
 * The receives of a shared receive queue complete in any order, on any CQ, so
 * that its requests carry a slot in place of a sequence number. Who posts takes
 * slots off a list of its own; polling gives them back on a second list, which
 * the poster takes over whole when its own is empty: many may give back and
 * one takes, and neither needs a lock.
 */
#ifndef GF1_DATA_H
#define GF1_DATA_H

#include "gf1_abi.h"

enum {
	GF1_QUEUE_BITS = 20,
	GF1_USE_BITS = 12,
};

/* One direction of a queue pair. Go writes ids, polling what is atomic. A
 * sequence number's slot in ids is its low bits.
 *
 * A list of slots is headed by a slot plus one, or by 0 when it is empty. Only a
 * shared queue has them; it has no use for head and beacon. */
struct gf1_queue {
	uint64_t *ids;       /* the caller's wr_id of each request in flight */
	uint64_t base;       /* the upper half of wr_id */
	uint32_t mask;       /* slots of ids, less one; slots are a power of two */
	uint32_t head;       /* requests below this one are done; atomic */
	uint32_t beacon;     /* sequence number whose completion is not shown */
	uint32_t has_beacon;
	uint64_t completed;  /* completions seen; atomic */
	uint64_t failed;     /* those of them that failed; atomic */
	uint32_t *next;      /* shared: the slot that follows each in its list */
	uint32_t returned;   /* shared: slots that polling gave back; atomic */
	uint32_t own;        /* shared: slots of the poster */
};

/* NULL with errno set to ENOMEM, or to ENFILE when all records are taken. */
struct gf1_queue *gf1_queue_new(uint32_t depth);
/* The record of a shared receive queue; every slot is the poster's. */
struct gf1_queue *gf1_queue_new_shared(uint32_t depth);
/* A record without slots: a completion's id is the lower half of its wr_id. */
struct gf1_queue *gf1_queue_new_passing(void);
/* Drops completions that still come for the queue. */
void gf1_queue_leave(struct gf1_queue *queue);
/* Drops completions of requests posted so far and begins anew; 0 or an errno. */
int gf1_queue_renew(struct gf1_queue *queue);
/* Frees a queue that has left, when nobody polls its CQ. */
void gf1_queue_free(struct gf1_queue *queue);

struct gf1_posted {
	int32_t rc;     /* 0 or a positive errno */
	int32_t posted; /* how many the device took */
	int32_t polled; /* completions stored */
	int32_t poll_rc;
};

struct gf1_seen;
/* What came of posting n requests, of which the device took the first taken if
 * it did not take all. Notes it as the answer of the call that seen names. */
struct gf1_posted gf1_outcome(struct gf1_seen *seen, int rc, int n, ptrdiff_t taken);

/* Post the first n of an array of requests that are chained in order. */
struct gf1_posted gf1_post_send(struct gf1_qp *qp, struct gf1_send_wr *wr, int n);
struct gf1_posted gf1_post_recv(struct gf1_qp *qp, struct gf1_recv_wr *wr, int n);
struct gf1_posted gf1_post_srq_recv(struct gf1_srq *srq, struct gf1_recv_wr *wr, int n);
/* The same for send requests, then one poll of cq. */
struct gf1_posted gf1_post_and_poll(struct gf1_qp *qp, struct gf1_send_wr *wr, int n, struct gf1_cq *cq,
				    struct gf1_wc *wc, int entries);

/* Notes a completion in its queue's record and turns the device's wr_id into
 * the caller's. 0 if nobody is to see it. */
int gf1_take_completion(uint64_t *wr_id, int status);

/* How many completions were stored, or a negative errno. */
int gf1_poll(struct gf1_cq *cq, struct gf1_wc *wc, int entries);
/* Polls until there is a completion, at most so many times, and then gives way
 * once. It counts because reading a clock can cost more than a poll. */
int gf1_spin(struct gf1_cq *cq, struct gf1_wc *wc, int entries, int polls);
/* 0 or a positive errno. */
int gf1_arm(struct gf1_cq *cq, int solicited_only);

#endif
