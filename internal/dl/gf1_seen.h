/* Which functions of the opened libraries answered, and how: what tests prove
 * their claims with. A call costs two loads when it ends as it did before.
 *
 * A call site has a static record; the first change enters it into the list.
 * Records of one name may be many. */
#ifndef GF1_SEEN_H
#define GF1_SEEN_H

#include <stdint.h>

struct gf1_seen {
	const char *name;
	struct gf1_seen *next;
	uint32_t listed;    /* the list's lock */
	uint32_t succeeded; /* the period in which it last did; atomic */
	uint32_t failed;    /* the same; atomic */
	int error;          /* the errno of the last failure in that period; atomic */
};

/* The period that is counted in, from 1; atomic. */
extern uint32_t gf1_seen_period;

/* Notes what gf1_saw found to be new. */
void gf1_seen_change(struct gf1_seen *seen, int rc);
/* Goes through the records: the first one for NULL, and NULL after the last. */
const struct gf1_seen *gf1_seen_next(const struct gf1_seen *seen);

/* Notes how a call ended, 0 or a positive errno, and returns it. */
static inline int gf1_saw(struct gf1_seen *seen, int rc)
{
	uint32_t period = __atomic_load_n(&gf1_seen_period, __ATOMIC_RELAXED);

	if (rc == 0 ? __atomic_load_n(&seen->succeeded, __ATOMIC_RELAXED) != period :
		      __atomic_load_n(&seen->failed, __ATOMIC_RELAXED) != period ||
			      __atomic_load_n(&seen->error, __ATOMIC_RELAXED) != rc)
		gf1_seen_change(seen, rc);
	return rc;
}

#endif
