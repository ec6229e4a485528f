//go:build linux && cgo

#include "gf1_rsocket.h"

#include "../dl/gf1_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

const char *const gf1_rs_names[] = {
#define GF1_NAME(result, name, args) #name,
	GF1_RS_FUNCTIONS(GF1_NAME)
#undef GF1_NAME
	NULL,
};

/* A call that failed without setting errno still failed. */
static int errno_or_io(void)
{
	return errno != 0 ? errno : EIO;
}

/* An answer that is to come later is neither a success nor a failure to note; for a
 * connection it says that connecting began. */
static int ended(struct gf1_seen *seen, int rc)
{
	if (rc == EINPROGRESS)
		gf1_saw(seen, 0);
	else if (rc != EAGAIN)
		gf1_saw(seen, rc);
	return rc;
}

/* Calls a function that answers -1 when it failed, and notes how it ended. */
#define CALL(answer, function, ...) \
	({ \
		static struct gf1_seen seen_ = { .name = #function }; \
		errno = 0; \
		answer = v->function(__VA_ARGS__); \
		ended(&seen_, answer < 0 ? errno_or_io() : 0); \
	})

/* The same for a count of bytes. */
#define COUNT(n, function, ...) \
	({ \
		ssize_t count_; \
		int rc_ = CALL(count_, function, __VA_ARGS__); \
		*(n) = rc_ == 0 ? (size_t)count_ : 0; \
		rc_; \
	})

static int set_nonblocking(const struct gf1_rs *v, int fd)
{
	int rc;

	return CALL(rc, rfcntl, fd, F_SETFL, O_NONBLOCK);
}

/* A stream's number is the descriptor of its channel of connection events, which
 * the library leaves blocking if the rsocket is connected by then. Its own thread and
 * rclose read there: whoever comes second would wait for an event that is gone. */
static int set_channel_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? errno : 0;
}

int gf1_rs_open(const struct gf1_rs *v, int domain, int type, int *fd)
{
	int rc = CALL(*fd, rsocket, domain, type, 0);

	if (rc != 0)
		return rc;
	/* A datagram rsocket cannot be closed before it is bound, so the caller
	 * sets this when it is. */
	if (type == SOCK_DGRAM)
		return 0;
	rc = set_nonblocking(v, *fd);
	if (rc != 0)
		gf1_rs_close(v, *fd);
	return rc;
}

int gf1_rs_bind(const struct gf1_rs *v, int fd, void *addr, int len)
{
	int rc;

	rc = CALL(rc, rbind, fd, addr, (socklen_t)len);
	return rc != 0 ? rc : set_nonblocking(v, fd);
}

int gf1_rs_listen(const struct gf1_rs *v, int fd, int backlog)
{
	int rc;

	return CALL(rc, rlisten, fd, backlog);
}

int gf1_rs_accept(const struct gf1_rs *v, int fd, int *accepted)
{
	int rc = CALL(*accepted, raccept, fd, NULL, NULL);

	if (rc != 0)
		return rc;
	rc = set_channel_nonblocking(*accepted);
	if (rc == 0)
		rc = set_nonblocking(v, *accepted);
	if (rc != 0)
		gf1_rs_close(v, *accepted);
	return rc;
}

int gf1_rs_connect(const struct gf1_rs *v, int fd, void *addr, int len)
{
	int rc;

	return CALL(rc, rconnect, fd, addr, (socklen_t)len);
}

int gf1_rs_connected(const struct gf1_rs *v, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int rc, error;

	rc = CALL(rc, rpoll, &p, 1, 0);
	if (rc != 0)
		return rc;
	if (p.revents == 0)
		return EAGAIN;
	rc = gf1_rs_get(v, fd, SOL_SOCKET, SO_ERROR, &error);
	if (rc != 0)
		return rc;
	return error == 0 && (p.revents & (POLLERR | POLLHUP)) ? ECONNRESET : error;
}

int gf1_rs_shutdown(const struct gf1_rs *v, int fd, int how)
{
	int rc;

	return CALL(rc, rshutdown, fd, how);
}

int gf1_rs_close(const struct gf1_rs *v, int fd)
{
	int rc;

	return CALL(rc, rclose, fd);
}

int gf1_rs_read(const struct gf1_rs *v, int fd, void *buf, size_t len, size_t *n)
{
	return COUNT(n, rread, fd, buf, len);
}

int gf1_rs_peek(const struct gf1_rs *v, int fd, void *buf, size_t len, size_t *n)
{
	return COUNT(n, rrecv, fd, buf, len, MSG_PEEK);
}

/* The library takes data for a connection that is over, and drops it. */
static int is_over(const struct gf1_rs *v, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int rc;

	rc = CALL(rc, rpoll, &p, 1, 0);
	if (rc != 0)
		return rc;
	return p.revents & (POLLHUP | POLLERR) ? ECONNRESET : 0;
}

int gf1_rs_write(const struct gf1_rs *v, int fd, const void *buf, size_t len, size_t *n)
{
	int rc = is_over(v, fd);

	*n = 0;
	return rc != 0 ? rc : COUNT(n, rwrite, fd, buf, len);
}

int gf1_rs_writev(const struct gf1_rs *v, int fd, const struct iovec *list, int len, size_t *n)
{
	int rc = is_over(v, fd);

	*n = 0;
	return rc != 0 ? rc : COUNT(n, rwritev, fd, list, len);
}

int gf1_rs_send(const struct gf1_rs *v, int fd, const void *buf, size_t len, size_t *n)
{
	return COUNT(n, rsend, fd, buf, len, 0);
}

int gf1_rs_recvfrom(const struct gf1_rs *v, int fd, void *buf, size_t len, void *from, size_t *n)
{
	socklen_t size = sizeof(struct sockaddr_storage);

	return COUNT(n, rrecvfrom, fd, buf, len, 0, from, &size);
}

int gf1_rs_sendto(const struct gf1_rs *v, int fd, const void *buf, size_t len, void *to, int to_len, size_t *n)
{
	return COUNT(n, rsendto, fd, buf, len, 0, to, (socklen_t)to_len);
}

int gf1_rs_name(const struct gf1_rs *v, int fd, int peer, void *addr)
{
	socklen_t size = sizeof(struct sockaddr_storage);
	int rc;

	if (peer)
		return CALL(rc, rgetpeername, fd, addr, &size);
	return CALL(rc, rgetsockname, fd, addr, &size);
}

int gf1_rs_set(const struct gf1_rs *v, int fd, int level, int name, int value)
{
	int rc;

	return CALL(rc, rsetsockopt, fd, level, name, &value, sizeof(value));
}

int gf1_rs_get(const struct gf1_rs *v, int fd, int level, int name, int *value)
{
	socklen_t size = sizeof(*value);
	int rc;

	return CALL(rc, rgetsockopt, fd, level, name, value, &size);
}

int gf1_rs_iomap(const struct gf1_rs *v, int fd, void *buf, size_t len, off_t offset)
{
	off_t got;

	return CALL(got, riomap, fd, buf, len, PROT_WRITE, 0, offset);
}

int gf1_rs_iounmap(const struct gf1_rs *v, int fd, void *buf, size_t len)
{
	int rc;

	return CALL(rc, riounmap, fd, buf, len);
}

/* The library does not return from a write across the end of a mapping, so each
 * call stays in a page; mappings are of whole pages. */
int gf1_rs_iowrite(const struct gf1_rs *v, int fd, const void *buf, size_t len, off_t offset, size_t *n)
{
	int rc = is_over(v, fd);

	for (*n = 0; rc == 0 && *n < len;) {
		size_t count, part = GF1_RS_PAGE - (size_t)offset % GF1_RS_PAGE;

		if (part > len - *n)
			part = len - *n;
		rc = COUNT(&count, riowrite, fd, (const char *)buf + *n, part, offset, 0);
		*n += count;
		offset += (off_t)count;
		if (count < part)
			break;
	}
	/* What went counts; the next call tells what stopped it. */
	return *n > 0 ? 0 : rc;
}

/* A time limit is not to be had from the library: in rdma-core 44 the rpoll after
 * one that timed out spins for ever. */
int gf1_rs_poll(const struct gf1_rs *v, struct pollfd *fds, int n)
{
	int rc;

	return CALL(rc, rpoll, fds, (nfds_t)n, -1);
}

int gf1_rs_wakers(int *event, int *timer)
{
	int rc;

	*event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (*event < 0)
		return errno;
	*timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*timer >= 0)
		return 0;
	rc = errno;
	close(*event);
	return rc;
}

void gf1_rs_wake(int event)
{
	/* A full counter wakes as well. */
	eventfd_write(event, 1);
}

void gf1_rs_drain(int event)
{
	eventfd_t count;

	eventfd_read(event, &count);
}

void gf1_rs_alarm(int timer, int ms)
{
	struct itimerspec t = {
		.it_value = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L },
	};

	timerfd_settime(timer, 0, &t, NULL);
}
