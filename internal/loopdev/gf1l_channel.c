//go:build linux && cgo

/* Completion channels. An event that the pipe has no room for, or that an
 * injected fault makes late, is counted at its CQ and written later. */
#include "gf1l.h"

#include <stdlib.h>
#include <unistd.h>

/* How long an event waits for room in the pipe. */
static const int64_t room_ns = 1000000;

static int write_event(struct gf1l_channel *channel, struct gf1l_cq *cq)
{
	uint64_t element = (uint64_t)(uintptr_t)&cq->cq;

	if (write(channel->pipe.write_fd, &element, sizeof(element)) != sizeof(element))
		return 0;
	cq->events++;
	return 1;
}

static void hold(struct gf1l_channel *channel, struct gf1l_cq *cq, int64_t ns)
{
	if (cq->held++ == 0) {
		cq->held_next = channel->held;
		channel->held = cq;
	}
	gf1l_timer_set(&channel->timer, gf1l_now() + ns);
}

/* Under the CQ's lock. */
void gf1l_signal(struct gf1l_cq *cq)
{
	struct gf1l_channel *channel = cq->channel;
	int64_t late = __atomic_load_n(&cq->ctx->dev->late_ns, __ATOMIC_RELAXED);

	pthread_mutex_lock(&channel->pipe.lock);
	if (channel->pipe.write_fd >= 0) {
		if (late > 0)
			hold(channel, cq, late);
		else if (!write_event(channel, cq))
			hold(channel, cq, room_ns);
	}
	pthread_mutex_unlock(&channel->pipe.lock);
}

static void write_held(struct gf1l_timer *timer)
{
	struct gf1l_channel *channel = GF1L_OF(struct gf1l_channel, timer, timer);

	pthread_mutex_lock(&channel->pipe.lock);
	while (channel->held != NULL && channel->pipe.write_fd >= 0) {
		struct gf1l_cq *cq = channel->held;

		while (cq->held > 0 && write_event(channel, cq))
			cq->held--;
		if (cq->held > 0) {
			gf1l_timer_set(timer, gf1l_now() + room_ns);
			break;
		}
		channel->held = cq->held_next;
	}
	pthread_mutex_unlock(&channel->pipe.lock);
}

/* Takes back what was not read, and waits for the acknowledgement of the rest.
 * No queue pair uses the CQ any more. */
void gf1l_forget_events(struct gf1l_cq *cq)
{
	struct gf1l_channel *channel = cq->channel;
	struct gf1l_cq **at;
	uint32_t reported;

	if (channel == NULL)
		return;
	pthread_mutex_lock(&channel->pipe.lock);
	for (at = &channel->held; *at != NULL; at = &(*at)->held_next) {
		if (*at == cq) {
			*at = cq->held_next;
			break;
		}
	}
	reported = cq->events;
	if (reported > 0)
		reported -= gf1l_retract(&channel->pipe, &cq->cq, sizeof(uint64_t));
	pthread_mutex_unlock(&channel->pipe.lock);
	/* Without its device a channel ends, and with it what nobody read. */
	if (!gf1l_is_removed(cq->ctx))
		gf1l_await_acks(&cq->cq.mutex, &cq->cq.cond, &cq->cq.comp_events_completed, reported);
}

struct gf1_comp_channel *gf1l_create_channel(struct gf1_context *context)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(context);
	struct gf1l_channel *channel = gf1l_make(ctx, sizeof(*channel));
	int rc;

	if (channel == NULL)
		return NULL;
	rc = gf1l_timers_reserve();
	if (rc == 0) {
		rc = gf1l_pipe_open(&channel->pipe);
		if (rc != 0)
			gf1l_timers_release();
	}
	if (rc != 0) {
		gf1l_unmake(ctx, channel);
		errno = rc;
		return NULL;
	}
	channel->ctx = ctx;
	channel->timer.index = -1;
	channel->timer.fire = write_held;
	channel->ch.context = context;
	channel->ch.fd = channel->pipe.read_fd;
	pthread_mutex_lock(&ctx->lock);
	channel->next = ctx->channels;
	if (channel->next != NULL)
		channel->next->prev = channel;
	ctx->channels = channel;
	pthread_mutex_unlock(&ctx->lock);
	/* The device may have gone before the channel was on the list. */
	if (gf1l_is_removed(ctx))
		gf1l_break_channels(ctx);
	return &channel->ch;
}

int gf1l_destroy_channel(struct gf1_comp_channel *ch)
{
	struct gf1l_channel *channel = GF1L_OF(struct gf1l_channel, ch, ch);
	struct gf1l_ctx *ctx = channel->ctx;

	if (__atomic_load_n(&channel->ch.refcnt, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	gf1l_timer_quiesce(&channel->timer);
	pthread_mutex_lock(&ctx->lock);
	if (channel->prev != NULL)
		channel->prev->next = channel->next;
	else
		ctx->channels = channel->next;
	if (channel->next != NULL)
		channel->next->prev = channel->prev;
	pthread_mutex_unlock(&ctx->lock);
	gf1l_pipe_close(&channel->pipe);
	gf1l_timers_release();
	gf1l_unmake(ctx, channel);
	return 0;
}

int gf1l_get_cq_event(struct gf1_comp_channel *channel, struct gf1_cq **cq, void **cq_context)
{
	uint64_t element;
	ssize_t n = read(channel->fd, &element, sizeof(element));

	if (n != sizeof(element)) {
		if (n >= 0)
			errno = EIO;
		return -1;
	}
	*cq = (struct gf1_cq *)(uintptr_t)element;
	*cq_context = (*cq)->cq_context;
	return 0;
}

void gf1l_ack_cq_events(struct gf1_cq *cq, unsigned int events)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += events;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* Ends the context's channels: a reader gets what is in them and then EIO. */
void gf1l_break_channels(struct gf1l_ctx *ctx)
{
	struct gf1l_channel *channel;

	pthread_mutex_lock(&ctx->lock);
	for (channel = ctx->channels; channel != NULL; channel = channel->next) {
		pthread_mutex_lock(&channel->pipe.lock);
		if (channel->pipe.write_fd >= 0)
			close(channel->pipe.write_fd);
		channel->pipe.write_fd = -1;
		pthread_mutex_unlock(&channel->pipe.lock);
	}
	pthread_mutex_unlock(&ctx->lock);
}
