//go:build linux && cgo

/* One thread for what has to wait, with a heap of timers. It runs while a
 * device is open, with every signal blocked: signals are the Go runtime's. */
#include "gf1l.h"

#include <signal.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake, idle;
static pthread_t worker;
static int stop;
static struct gf1l_timer **heap;
static int count, reserved, capacity;
static struct gf1l_timer *firing;

static void put(int i, struct gf1l_timer *timer)
{
	heap[i] = timer;
	timer->index = i;
}

/* Moves a timer from place i to where it belongs. */
static void sift(int i)
{
	struct gf1l_timer *timer = heap[i];
	int child;

	while (i > 0 && heap[(i - 1) / 2]->due > timer->due) {
		put(i, heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	while ((child = 2 * i + 1) < count) {
		if (child + 1 < count && heap[child + 1]->due < heap[child]->due)
			child++;
		if (heap[child]->due >= timer->due)
			break;
		put(i, heap[child]);
		i = child;
	}
	put(i, timer);
}

static void take_out(struct gf1l_timer *timer)
{
	int i = timer->index;

	timer->index = -1;
	count--;
	if (i == count)
		return;
	put(i, heap[count]);
	sift(i);
}

static void *work(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	while (!stop) {
		struct gf1l_timer *timer = count > 0 ? heap[0] : NULL;

		if (timer == NULL) {
			pthread_cond_wait(&wake, &lock);
		} else if (timer->due > gf1l_now()) {
			struct timespec until = {
				.tv_sec = timer->due / 1000000000,
				.tv_nsec = timer->due % 1000000000,
			};

			pthread_cond_timedwait(&wake, &lock, &until);
		} else {
			take_out(timer);
			firing = timer;
			pthread_mutex_unlock(&lock);
			timer->fire(timer);
			pthread_mutex_lock(&lock);
			firing = NULL;
			pthread_cond_broadcast(&idle);
		}
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int gf1l_timers_start(void)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int rc;

	stop = 0;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake, &attr);
	pthread_cond_init(&idle, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&worker, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

void gf1l_timers_stop(void)
{
	pthread_mutex_lock(&lock);
	stop = 1;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(worker, NULL);
	pthread_cond_destroy(&wake);
	pthread_cond_destroy(&idle);
	free(heap);
	heap = NULL;
	capacity = 0;
}

int gf1l_timers_reserve(void)
{
	int rc = 0, more;
	struct gf1l_timer **bigger;

	pthread_mutex_lock(&lock);
	if (reserved == capacity) {
		more = capacity > 0 ? 2 * capacity : 64;
		bigger = realloc(heap, (size_t)more * sizeof(*heap));
		if (bigger == NULL)
			rc = ENOMEM;
		else
			heap = bigger, capacity = more;
	}
	if (rc == 0)
		reserved++;
	pthread_mutex_unlock(&lock);
	return rc;
}

void gf1l_timers_release(void)
{
	pthread_mutex_lock(&lock);
	reserved--;
	pthread_mutex_unlock(&lock);
}

int gf1l_timer_set(struct gf1l_timer *timer, int64_t due)
{
	int fresh;

	pthread_mutex_lock(&lock);
	fresh = timer->index < 0;
	timer->due = due;
	if (fresh)
		put(count++, timer);
	sift(timer->index);
	if (timer->index == 0)
		pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	return fresh;
}

int gf1l_timer_cancel(struct gf1l_timer *timer)
{
	int was_set;

	pthread_mutex_lock(&lock);
	was_set = timer->index >= 0;
	if (was_set)
		take_out(timer);
	pthread_mutex_unlock(&lock);
	return was_set;
}

void gf1l_timer_quiesce(struct gf1l_timer *timer)
{
	pthread_mutex_lock(&lock);
	do {
		if (timer->index >= 0)
			take_out(timer);
		if (firing != timer)
			break;
		pthread_cond_wait(&idle, &lock);
	} while (1);
	pthread_mutex_unlock(&lock);
}
