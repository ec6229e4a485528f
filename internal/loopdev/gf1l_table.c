//go:build linux && cgo

/* Queue pairs by device and number. Numbers belong to a device: two devices
 * give out the same ones, as two HCAs do. */
#include "gf1l.h"

#include <stdlib.h>

enum { BUCKETS = 4096, STRIPES = 64 };

static struct gf1l_qp *buckets[BUCKETS];
static pthread_mutex_t stripes[STRIPES] = { [0 ... STRIPES - 1] = PTHREAD_MUTEX_INITIALIZER };

static uint32_t bucket_of(uint64_t dev, uint32_t qpn)
{
	return (uint32_t)(dev * 2654435761u + qpn) & (BUCKETS - 1);
}

static struct gf1l_qp *look(uint32_t bucket, uint64_t dev, uint32_t qpn)
{
	struct gf1l_qp *qp = buckets[bucket];

	while (qp != NULL && (qp->dev != dev || qp->qp.qp_num != qpn))
		qp = qp->hash_next;
	return qp;
}

int gf1l_enter_qp(struct gf1l_qp *qp, struct gf1l_dev *dev)
{
	const uint32_t numbers = GF1L_LAST_QPN - GF1L_FIRST_QPN + 1;
	uint32_t tries, qpn, bucket;

	qp->dev = dev->id;
	for (tries = 0; tries < numbers; tries++) {
		qpn = GF1L_FIRST_QPN + __atomic_fetch_add(&dev->next_qpn, 1, __ATOMIC_RELAXED) % numbers;
		bucket = bucket_of(dev->id, qpn);
		pthread_mutex_lock(&stripes[bucket % STRIPES]);
		if (look(bucket, dev->id, qpn) == NULL) {
			qp->qp.qp_num = qpn;
			qp->hash_next = buckets[bucket];
			buckets[bucket] = qp;
			pthread_mutex_unlock(&stripes[bucket % STRIPES]);
			return 0;
		}
		pthread_mutex_unlock(&stripes[bucket % STRIPES]);
	}
	return ENOMEM;
}

void gf1l_leave_qp(struct gf1l_qp *qp)
{
	uint32_t bucket = bucket_of(qp->dev, qp->qp.qp_num);
	struct gf1l_qp **at = &buckets[bucket];

	pthread_mutex_lock(&stripes[bucket % STRIPES]);
	while (*at != qp)
		at = &(*at)->hash_next;
	*at = qp->hash_next;
	pthread_mutex_unlock(&stripes[bucket % STRIPES]);
}

struct gf1l_qp *gf1l_find_qp(uint64_t dev, uint32_t qpn)
{
	uint32_t bucket = bucket_of(dev, qpn);
	struct gf1l_qp *qp;

	pthread_mutex_lock(&stripes[bucket % STRIPES]);
	qp = look(bucket, dev, qpn);
	if (qp != NULL)
		gf1l_ref(&qp->refs);
	pthread_mutex_unlock(&stripes[bucket % STRIPES]);
	return qp;
}

void gf1l_put_qp(struct gf1l_qp *qp)
{
	if (!gf1l_unref(&qp->refs))
		return;
	pthread_mutex_destroy(&qp->sq_lock);
	pthread_mutex_destroy(&qp->rq_lock);
	pthread_mutex_destroy(&qp->qp.mutex);
	pthread_cond_destroy(&qp->qp.cond);
	gf1l_ring_free(&qp->ring);
	free(qp->build);
	free(qp->slots);
	free(qp);
}
