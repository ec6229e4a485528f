//go:build linux && cgo

/* Pipes that carry events as the kernel's descriptors do, and the events that
 * come outside completions. */
#define _GNU_SOURCE
#include "gf1l.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a pipe holds at most, in bytes. */
enum { PIPE_BYTES = 1 << 16 };

struct record {
	uint64_t element;
	uint32_t type;
	uint32_t unused;
};

int gf1l_pipe_open(struct gf1l_pipe *pipe)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		return errno;
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	pthread_mutex_init(&pipe->lock, NULL);
	pipe->read_fd = fds[0];
	pipe->write_fd = fds[1];
	return 0;
}

void gf1l_pipe_close(struct gf1l_pipe *pipe)
{
	close(pipe->read_fd);
	if (pipe->write_fd >= 0)
		close(pipe->write_fd);
	pthread_mutex_destroy(&pipe->lock);
}

/* An event for which the pipe has no room is lost: thousands are unread then. */
void gf1l_raise(struct gf1l_ctx *ctx, int type, void *object, uint32_t *events)
{
	struct record record = { .element = (uint64_t)(uintptr_t)object, .type = (uint32_t)type };

	pthread_mutex_lock(&ctx->async.lock);
	if (write(ctx->async.write_fd, &record, sizeof(record)) == sizeof(record) && events != NULL)
		(*events)++;
	pthread_mutex_unlock(&ctx->async.lock);
}

/* Reads what is in a pipe without ever waiting: the read end may be one that
 * blocks, so that it is opened anew where there is /proc. */
static ssize_t drain(int fd, uint8_t *buffer, size_t size)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	char path[32];
	ssize_t got = 0, n;
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (got < (ssize_t)size && poll(&ready, 1, 0) > 0 && (ready.revents & POLLIN) != 0) {
		n = read(own >= 0 ? own : fd, buffer + got, size - (size_t)got);
		if (n <= 0)
			break;
		got += n;
	}
	if (own >= 0)
		close(own);
	return got;
}

/* Under the pipe's lock. Takes the unread events of an object out of the pipe,
 * as the kernel does when it destroys one. Returns how many there were. */
uint32_t gf1l_retract(struct gf1l_pipe *pipe, const void *object, size_t size)
{
	static uint8_t buffer[PIPE_BYTES];
	static pthread_mutex_t buffer_lock = PTHREAD_MUTEX_INITIALIZER;
	uint64_t element;
	uint32_t retracted = 0;
	size_t kept = 0, at;
	ssize_t got;

	if (pipe->write_fd < 0)
		return 0;
	pthread_mutex_lock(&buffer_lock);
	got = drain(pipe->read_fd, buffer, sizeof(buffer));
	for (at = 0; at + size <= (size_t)got; at += size) {
		memcpy(&element, buffer + at, sizeof(element));
		if (element == (uint64_t)(uintptr_t)object) {
			retracted++;
			continue;
		}
		memmove(buffer + kept, buffer + at, size);
		kept += size;
	}
	for (at = 0; at < kept; at += size)
		if (write(pipe->write_fd, buffer + at, size) != (ssize_t)size)
			break;
	pthread_mutex_unlock(&buffer_lock);
	return retracted;
}

uint32_t gf1l_retract_async(struct gf1l_ctx *ctx, const void *object, uint32_t events)
{
	uint32_t retracted;

	if (events == 0)
		return 0;
	pthread_mutex_lock(&ctx->async.lock);
	retracted = gf1l_retract(&ctx->async, object, sizeof(struct record));
	pthread_mutex_unlock(&ctx->async.lock);
	return events - retracted;
}

void gf1l_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked, uint32_t reported)
{
	pthread_mutex_lock(mutex);
	while (*acked != reported)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

int gf1l_get_async_event(struct gf1_context *context, struct gf1_async_event *event)
{
	struct record record;
	ssize_t n = read(context->async_fd, &record, sizeof(record));

	if (n != sizeof(record)) {
		if (n >= 0)
			errno = EIO;
		return -1;
	}
	memset(event, 0, sizeof(*event));
	event->event_type = (int32_t)record.type;
	switch (record.type) {
	case EVENT_DEVICE_FATAL:
	case EVENT_PORT_ACTIVE:
	case EVENT_PORT_ERR:
		event->element.port_num = (int32_t)record.element;
		break;
	default:
		event->element.qp = (struct gf1_qp *)(uintptr_t)record.element;
	}
	return 0;
}

static void acknowledge(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *acked)
{
	pthread_mutex_lock(mutex);
	(*acked)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void gf1l_ack_async_event(struct gf1_async_event *event)
{
	switch (event->event_type) {
	case EVENT_CQ_ERR: {
		struct gf1_cq *cq = event->element.cq;

		acknowledge(&cq->mutex, &cq->cond, &cq->async_events_completed);
		break;
	}
	case EVENT_SRQ_LIMIT_REACHED: {
		struct gf1_srq *srq = event->element.srq;

		acknowledge(&srq->mutex, &srq->cond, &srq->events_completed);
		break;
	}
	case EVENT_DEVICE_FATAL:
	case EVENT_PORT_ACTIVE:
	case EVENT_PORT_ERR:
		break;
	default: {
		struct gf1_qp *qp = event->element.qp;

		acknowledge(&qp->mutex, &qp->cond, &qp->events_completed);
	}
	}
}
