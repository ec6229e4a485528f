//go:build linux && cgo

/* XRC: domains, the shared receive queues in them, and handles of receiving
 * queue pairs. A message names its SRQ, whose memory domain and CQ serve while it
 * is delivered.
 *
 * A domain's lock comes between a queue pair's rq_lock and an SRQ's. The list's
 * is held alone. */
#include "gf1l.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { NUMBERS = 0xffffff };

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gf1l_domain *domains;

/* Under the list's lock: the file's domain on that device. */
static struct gf1l_domain *look(uint64_t dev, const struct stat *file)
{
	struct gf1l_domain *d = domains;

	while (d != NULL &&
	       (d->dev != dev || d->file[0] != (uint64_t)file->st_dev || d->file[1] != (uint64_t)file->st_ino))
		d = d->next;
	return d;
}

/* Under the list's lock. */
static int find_domain(uint64_t dev, int fd, int flags, struct gf1l_domain **out)
{
	struct gf1l_domain *d = NULL;
	struct stat file = { 0 };

	if (fd >= 0) {
		if (fstat(fd, &file) != 0)
			return EBADF;
		d = look(dev, &file);
		if (d != NULL && (flags & O_EXCL) != 0)
			return EEXIST;
	}
	if (d == NULL) {
		if ((flags & O_CREAT) == 0)
			return fd >= 0 ? ENOENT : EINVAL;
		d = calloc(1, sizeof(*d));
		if (d == NULL)
			return ENOMEM;
		pthread_mutex_init(&d->lock, NULL);
		if (fd >= 0) {
			d->dev = dev;
			d->file[0] = (uint64_t)file.st_dev;
			d->file[1] = (uint64_t)file.st_ino;
			d->next = domains;
			domains = d;
		}
	}
	d->handles++;
	*out = d;
	return 0;
}

static void put_domain(struct gf1l_domain *d)
{
	struct gf1l_domain **at;

	pthread_mutex_lock(&list_lock);
	if (--d->handles == 0) {
		for (at = &domains; *at != NULL; at = &(*at)->next) {
			if (*at == d) {
				*at = d->next;
				break;
			}
		}
		pthread_mutex_destroy(&d->lock);
		free(d);
	}
	pthread_mutex_unlock(&list_lock);
}

struct gf1_xrcd *gf1l_open_xrcd(struct gf1_context *context, struct gf1_xrcd_init_attr *attr)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct gf1l_xrcd *x;
	int rc = EINVAL;

	if (attr->comp_mask != (XRCD_INIT_FD | XRCD_INIT_OFLAGS)) {
		errno = EINVAL;
		return NULL;
	}
	x = gf1l_make(ctx, sizeof(*x));
	if (x == NULL)
		return NULL;
	x->xrcd.context = context;
	pthread_mutex_lock(&list_lock);
	rc = find_domain(ctx->dev->id, attr->fd, attr->oflags, &x->domain);
	pthread_mutex_unlock(&list_lock);
	if (rc != 0) {
		gf1l_unmake(ctx, x);
		errno = rc;
		return NULL;
	}
	return &x->xrcd;
}

int gf1l_close_xrcd(struct gf1_xrcd *handle)
{
	struct gf1l_xrcd *x = GF1L_OF(struct gf1l_xrcd, xrcd, handle);

	if (gf1l_in_use(&x->refs))
		return EBUSY;
	put_domain(x->domain);
	gf1l_unmake(gf1l_ctx_of(handle->context), x);
	return 0;
}

/* Under the domain's lock. */
static struct gf1l_srq *numbered(struct gf1l_domain *d, uint32_t number)
{
	struct gf1l_srq *srq = d->srqs;

	while (srq != NULL && srq->number != number)
		srq = srq->next;
	return srq;
}

static void enter_domain(struct gf1l_srq *srq)
{
	struct gf1l_domain *d = srq->xrcd->domain;

	pthread_mutex_lock(&d->lock);
	do
		d->last_number = d->last_number % NUMBERS + 1;
	while (numbered(d, d->last_number) != NULL);
	srq->number = d->last_number;
	srq->next = d->srqs;
	d->srqs = srq;
	pthread_mutex_unlock(&d->lock);
}

void gf1l_leave_domain(struct gf1l_srq *srq)
{
	struct gf1l_srq **at;

	if (srq->xrcd == NULL)
		return;
	/* Nobody is at work on it once the lock was had: it is lent under it. */
	pthread_mutex_lock(&srq->xrcd->domain->lock);
	for (at = &srq->xrcd->domain->srqs; *at != srq; at = &(*at)->next)
		;
	*at = srq->next;
	pthread_mutex_unlock(&srq->xrcd->domain->lock);
	gf1l_purge_ring(srq->cq, &srq->ring);
	gf1l_unref(&srq->cq->refs);
	gf1l_unref(&srq->xrcd->refs);
}

struct gf1_srq *gf1l_create_srq_ex(struct gf1_context *context, struct gf1_srq_init_attr_ex *attr)
{
	const uint32_t plain = SRQ_INIT_PD | SRQ_INIT_TYPE, xrc = plain | SRQ_INIT_XRCD | SRQ_INIT_CQ;
	struct gf1_srq_init_attr init = { .srq_context = attr->srq_context, .attr = attr->attr };
	struct gf1_srq *made;
	struct gf1l_srq *srq;

	if (attr->comp_mask != (attr->srq_type == SRQT_XRC ? xrc : plain) || attr->srq_type > SRQT_XRC) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	if (attr->pd->context != context ||
	    (attr->srq_type == SRQT_XRC && (attr->xrcd->context != context || attr->cq->context != context))) {
		errno = EINVAL;
		return NULL;
	}
	made = gf1l_create_srq(attr->pd, &init);
	if (made == NULL || attr->srq_type != SRQT_XRC)
		return made;
	attr->attr = init.attr;
	srq = GF1L_OF(struct gf1l_srq, srq, made);
	srq->xrcd = GF1L_OF(struct gf1l_xrcd, xrcd, attr->xrcd);
	srq->cq = GF1L_OF(struct gf1l_cq, cq, attr->cq);
	gf1l_ref(&srq->xrcd->refs);
	gf1l_ref(&srq->cq->refs);
	enter_domain(srq);
	return made;
}

int gf1l_get_srq_num(struct gf1_srq *s, uint32_t *number)
{
	struct gf1l_srq *srq = GF1L_OF(struct gf1l_srq, srq, s);

	if (srq->xrcd == NULL)
		return EOPNOTSUPP;
	*number = srq->number;
	return 0;
}

int gf1l_lend_srq(struct gf1l_qp *to, uint32_t number)
{
	struct gf1l_domain *d = to->xrcd->domain;
	struct gf1l_srq *srq;

	pthread_mutex_lock(&d->lock);
	srq = numbered(d, number);
	if (srq == NULL) {
		pthread_mutex_unlock(&d->lock);
		return 0;
	}
	to->srq = srq;
	to->recv_cq = srq->cq;
	to->qp.pd = srq->srq.pd;
	return 1;
}

void gf1l_return_srq(struct gf1l_qp *to)
{
	to->srq = NULL;
	to->recv_cq = NULL;
	to->qp.pd = NULL;
	pthread_mutex_unlock(&to->xrcd->domain->lock);
}

struct gf1l_qp *gf1l_behind(struct gf1_qp *q)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);

	return qp->opened != NULL ? qp->opened : qp;
}

struct gf1_qp *gf1l_open_qp(struct gf1_context *context, struct gf1_qp_open_attr *attr)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct gf1l_xrcd *x;
	struct gf1l_qp *qp, *handle;
	uint32_t opens;

	if (attr->comp_mask != (QP_OPEN_NUM | QP_OPEN_XRCD | QP_OPEN_TYPE) || attr->qp_type != QPT_XRC_RECV) {
		errno = EINVAL;
		return NULL;
	}
	x = GF1L_OF(struct gf1l_xrcd, xrcd, attr->xrcd);
	qp = gf1l_find_qp(ctx->dev->id, attr->qp_num);
	handle = qp != NULL ? gf1l_make(ctx, sizeof(*handle)) : NULL;
	if (handle == NULL) {
		errno = qp != NULL ? errno : EINVAL;
		goto out;
	}
	/* One that nobody has open any more is going, whatever else it points to. */
	pthread_mutex_lock(&list_lock);
	opens = qp->qp.qp_type == QPT_XRC_RECV && (!qp->closed || qp->handles != 0) && qp->xrcd->domain == x->domain;
	qp->handles += opens;
	pthread_mutex_unlock(&list_lock);
	if (!opens) {
		gf1l_unmake(ctx, handle);
		handle = NULL;
		errno = EINVAL;
		goto out;
	}
	handle->ctx = ctx;
	handle->opened = qp;
	handle->xrcd = x;
	handle->qp.context = context;
	handle->qp.qp_num = handle->qp.handle = qp->qp.qp_num;
	handle->qp.qp_type = QPT_XRC_RECV;
	gf1l_ref(&x->refs);
out:
	if (qp != NULL)
		gf1l_put_qp(qp);
	return handle != NULL ? &handle->qp : NULL;
}

int gf1l_close_handle(struct gf1l_qp *handle)
{
	struct gf1l_qp *qp = handle->opened;
	int last = 0;

	pthread_mutex_lock(&list_lock);
	if (qp == NULL) {
		last = handle->handles == 0;
		handle->closed = 1;
		pthread_mutex_unlock(&list_lock);
		return !last;
	}
	last = --qp->handles == 0 && qp->closed;
	pthread_mutex_unlock(&list_lock);
	gf1l_unref(&handle->xrcd->refs);
	gf1l_unmake(handle->ctx, handle);
	if (last)
		gf1l_destroy_qp(&qp->qp);
	return 1;
}
