//go:build linux && cgo

/* Faults that tests inject. */
#include "gf1l.h"

static void spurious(struct gf1l_cq *cq, int64_t n)
{
	pthread_mutex_lock(&cq->lock);
	while (cq->channel != NULL && n-- > 0)
		gf1l_signal(cq);
	pthread_mutex_unlock(&cq->lock);
}

static int inject_qp(struct gf1l_qp *qp, int fault, int64_t amount)
{
	int rc = 0;

	switch (fault) {
	case GF1L_FAULT_DROP:
		__atomic_store_n(&qp->drop, (int)amount, __ATOMIC_RELAXED);
		break;
	case GF1L_FAULT_DELAY:
		__atomic_store_n(&qp->delay_ns, amount, __ATOMIC_RELAXED);
		break;
	case GF1L_FAULT_RNR:
		__atomic_store_n(&qp->rnr, (int)amount, __ATOMIC_RELAXED);
		break;
	case GF1L_FAULT_POST:
		__atomic_store_n(&qp->fail_posts, (int)amount, __ATOMIC_RELAXED);
		break;
	case GF1L_FAULT_SPURIOUS:
		pthread_mutex_lock(&qp->rq_lock);
		if (!qp->gone) {
			spurious(qp->send_cq, amount);
			if (qp->recv_cq != qp->send_cq)
				spurious(qp->recv_cq, amount);
		}
		pthread_mutex_unlock(&qp->rq_lock);
		break;
	default:
		rc = EINVAL;
	}
	return rc;
}

static int inject_device(struct gf1l_dev *dev, int fault, int64_t amount)
{
	switch (fault) {
	case GF1L_FAULT_ALLOC:
		__atomic_store_n(&dev->fail_allocs, (int)amount, __ATOMIC_RELAXED);
		return 0;
	case GF1L_FAULT_LATE:
		__atomic_store_n(&dev->late_ns, amount, __ATOMIC_RELAXED);
		return 0;
	}
	return EINVAL;
}

/* ENODEV for a device, ENOENT for a queue pair that is not there. */
int gf1l_inject(const char *device, uint32_t qpn, int fault, int64_t amount)
{
	struct gf1l_dev *dev = gf1l_find_device(device);
	struct gf1l_qp *qp;
	int rc = ENOENT;

	if (dev == NULL)
		return ENODEV;
	if (fault == GF1L_FAULT_ALLOC || fault == GF1L_FAULT_LATE) {
		rc = inject_device(dev, fault, amount);
	} else {
		qp = gf1l_find_qp(dev->id, qpn);
		if (qp != NULL) {
			rc = inject_qp(qp, fault, amount);
			gf1l_put_qp(qp);
		}
	}
	gf1l_put_device(dev);
	return rc;
}
