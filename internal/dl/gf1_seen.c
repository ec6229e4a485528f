//go:build linux && cgo

#include "gf1_seen.h"

#include <pthread.h>
#include <stddef.h>

uint32_t gf1_seen_period = 1;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gf1_seen *first;

void gf1_seen_change(struct gf1_seen *seen, int rc)
{
	uint32_t period = __atomic_load_n(&gf1_seen_period, __ATOMIC_RELAXED);

	pthread_mutex_lock(&lock);
	if (!seen->listed) {
		seen->listed = 1;
		seen->next = first;
		__atomic_store_n(&first, seen, __ATOMIC_RELEASE);
	}
	if (rc == 0) {
		__atomic_store_n(&seen->succeeded, period, __ATOMIC_RELAXED);
	} else {
		__atomic_store_n(&seen->error, rc, __ATOMIC_RELAXED);
		__atomic_store_n(&seen->failed, period, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

const struct gf1_seen *gf1_seen_next(const struct gf1_seen *seen)
{
	return seen == NULL ? __atomic_load_n(&first, __ATOMIC_ACQUIRE) : seen->next;
}
