//go:build linux && cgo

/* Multicast groups, which span the fabric. A message goes to every member that
 * is attached, the sender's own queue pair too if it is one. */
#include "gf1l.h"

#include <stdlib.h>
#include <string.h>

struct member {
	struct gf1l_qp *qp;
	union gf1_gid group;
	struct member *next;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct member *members;
static uint32_t count;

static struct member **find(const struct gf1l_qp *qp, const union gf1_gid *group)
{
	struct member **at = &members;

	while (*at != NULL && ((*at)->qp != qp || memcmp((*at)->group.raw, group->raw, sizeof(group->raw)) != 0))
		at = &(*at)->next;
	return at;
}

/* An address of IPv6, or a mapped one of IPv4, as RoCE v2 has them. */
int gf1l_is_multicast(const union gf1_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return gid->raw[0] == 0xff ||
	       (memcmp(gid->raw, mapped, sizeof(mapped)) == 0 && gid->raw[12] >> 4 == 0xe);
}

int gf1l_attach_mcast(struct gf1_qp *q, const union gf1_gid *gid, uint16_t lid)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);
	struct member *member;
	int rc = 0;

	(void)lid;
	if (gf1l_is_removed(qp->ctx))
		return EIO;
	if (q->qp_type != QPT_UD || !gf1l_is_multicast(gid))
		return EINVAL;
	member = calloc(1, sizeof(*member));
	if (member == NULL)
		return ENOMEM;
	member->qp = qp;
	member->group = *gid;
	pthread_rwlock_wrlock(&lock);
	if (*find(qp, gid) == NULL && count < GF1L_MAX_MCAST) {
		member->next = members;
		members = member;
		member = NULL;
		count++;
		__atomic_fetch_add(&qp->mcast, 1, __ATOMIC_RELEASE);
	} else if (*find(qp, gid) == NULL) {
		rc = ENOMEM;
	}
	pthread_rwlock_unlock(&lock);
	/* Attached twice is attached once. */
	free(member);
	return rc;
}

int gf1l_detach_mcast(struct gf1_qp *q, const union gf1_gid *gid, uint16_t lid)
{
	struct gf1l_qp *qp = GF1L_OF(struct gf1l_qp, qp, q);
	struct member **at, *member;

	(void)lid;
	pthread_rwlock_wrlock(&lock);
	at = find(qp, gid);
	member = *at;
	if (member != NULL) {
		*at = member->next;
		count--;
		__atomic_fetch_sub(&qp->mcast, 1, __ATOMIC_RELEASE);
	}
	pthread_rwlock_unlock(&lock);
	if (member == NULL)
		return EINVAL;
	free(member);
	return 0;
}

void gf1l_deliver_multicast(struct gf1l_qp *from, struct gf1l_swqe *wqe, struct gf1l_victims *victims)
{
	const union gf1_gid *group = &wqe->to.attr.grh.dgid;
	struct member *member;

	pthread_rwlock_rdlock(&lock);
	for (member = members; member != NULL; member = member->next) {
		if (memcmp(member->group.raw, group->raw, sizeof(group->raw)) != 0)
			continue;
		pthread_mutex_lock(&member->qp->rq_lock);
		/* The two link layers are two networks. */
		if (member->qp->ctx->dev->link_layer == from->ctx->dev->link_layer)
			gf1l_receive_datagram(member->qp, from, wqe, victims);
		pthread_mutex_unlock(&member->qp->rq_lock);
	}
	pthread_rwlock_unlock(&lock);
}
