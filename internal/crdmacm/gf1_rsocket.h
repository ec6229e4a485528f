/* librdmacm's rsocket functions and what Go calls. Every function of ours returns
 * 0 or a positive errno, and counts through a pointer. */
#ifndef GF1_RSOCKET_H
#define GF1_RSOCKET_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* X(result, name, arguments): what librdmacm exports under the name itself. */
#define GF1_RS_FUNCTIONS(X) \
	X(int, rsocket, (int domain, int type, int protocol)) \
	X(int, rbind, (int fd, const struct sockaddr *addr, socklen_t len)) \
	X(int, rlisten, (int fd, int backlog)) \
	X(int, raccept, (int fd, struct sockaddr * addr, socklen_t * len)) \
	X(int, rconnect, (int fd, const struct sockaddr *addr, socklen_t len)) \
	X(int, rshutdown, (int fd, int how)) \
	X(int, rclose, (int fd)) \
	X(ssize_t, rrecv, (int fd, void *buf, size_t len, int flags)) \
	X(ssize_t, rrecvfrom, \
	  (int fd, void *buf, size_t len, int flags, struct sockaddr * from, socklen_t * from_len)) \
	X(ssize_t, rsend, (int fd, const void *buf, size_t len, int flags)) \
	X(ssize_t, rsendto, \
	  (int fd, const void *buf, size_t len, int flags, const struct sockaddr *to, socklen_t to_len)) \
	X(ssize_t, rread, (int fd, void *buf, size_t len)) \
	X(ssize_t, rwrite, (int fd, const void *buf, size_t len)) \
	X(ssize_t, rwritev, (int fd, const struct iovec *list, int n)) \
	X(int, rpoll, (struct pollfd * fds, nfds_t n, int timeout)) \
	X(int, rgetpeername, (int fd, struct sockaddr * addr, socklen_t * len)) \
	X(int, rgetsockname, (int fd, struct sockaddr * addr, socklen_t * len)) \
	X(int, rsetsockopt, (int fd, int level, int name, const void *value, socklen_t len)) \
	X(int, rgetsockopt, (int fd, int level, int name, void *value, socklen_t *len)) \
	X(int, rfcntl, (int fd, int command, ...)) \
	X(off_t, riomap, (int fd, void *buf, size_t len, int protection, int flags, off_t offset)) \
	X(int, riounmap, (int fd, void *buf, size_t len)) \
	X(size_t, riowrite, (int fd, const void *buf, size_t len, off_t offset, int flags))

struct gf1_rs {
#define GF1_RS_FIELD(result, name, args) result(*name) args;
	GF1_RS_FUNCTIONS(GF1_RS_FIELD)
#undef GF1_RS_FIELD
};

/* The names to resolve, in the order of the table's slots; NULL ends them. */
extern const char *const gf1_rs_names[];

/* What rsocket.h defines; abi/ proves it. */
enum {
	GF1_SOL_RDMA = 0x10000,
	GF1_RDMA_SQSIZE = 0,
	GF1_RDMA_RQSIZE = 1,
	GF1_RDMA_INLINE = 2,
	GF1_RDMA_IOMAPSIZE = 3,
};

/* What mappings begin and end at. */
enum { GF1_RS_PAGE = 4096 };

/* The rsocket does not block. */
int gf1_rs_open(const struct gf1_rs *v, int domain, int type, int *fd);
int gf1_rs_bind(const struct gf1_rs *v, int fd, void *addr, int len);
int gf1_rs_listen(const struct gf1_rs *v, int fd, int backlog);
/* EAGAIN if nobody has come; what is accepted does not block either. */
int gf1_rs_accept(const struct gf1_rs *v, int fd, int *accepted);
/* EINPROGRESS: rpoll tells the end, and SO_ERROR how it ended. */
int gf1_rs_connect(const struct gf1_rs *v, int fd, void *addr, int len);
/* How the connecting went; EAGAIN while it goes on. */
int gf1_rs_connected(const struct gf1_rs *v, int fd);
int gf1_rs_shutdown(const struct gf1_rs *v, int fd, int how);
int gf1_rs_close(const struct gf1_rs *v, int fd);
int gf1_rs_read(const struct gf1_rs *v, int fd, void *buf, size_t len, size_t *n);
int gf1_rs_peek(const struct gf1_rs *v, int fd, void *buf, size_t len, size_t *n);
int gf1_rs_write(const struct gf1_rs *v, int fd, const void *buf, size_t len, size_t *n);
int gf1_rs_writev(const struct gf1_rs *v, int fd, const struct iovec *list, int len, size_t *n);
int gf1_rs_send(const struct gf1_rs *v, int fd, const void *buf, size_t len, size_t *n);
int gf1_rs_recvfrom(const struct gf1_rs *v, int fd, void *buf, size_t len, void *from, size_t *n);
int gf1_rs_sendto(const struct gf1_rs *v, int fd, const void *buf, size_t len, void *to, int to_len, size_t *n);
int gf1_rs_name(const struct gf1_rs *v, int fd, int peer, void *addr);
int gf1_rs_set(const struct gf1_rs *v, int fd, int level, int name, int value);
int gf1_rs_get(const struct gf1_rs *v, int fd, int level, int name, int *value);
int gf1_rs_iomap(const struct gf1_rs *v, int fd, void *buf, size_t len, off_t offset);
int gf1_rs_iounmap(const struct gf1_rs *v, int fd, void *buf, size_t len);
int gf1_rs_iowrite(const struct gf1_rs *v, int fd, const void *buf, size_t len, off_t offset, size_t *n);

/* Waits until one of the entries is ready; it never ends by time. */
int gf1_rs_poll(const struct gf1_rs *v, struct pollfd *fds, int n);

/* The descriptors that end gf1_rs_poll: an eventfd, and a timer. */
int gf1_rs_wakers(int *event, int *timer);
void gf1_rs_wake(int event);
void gf1_rs_drain(int event);
/* Sets the timer to go off once, or never for 0. */
void gf1_rs_alarm(int timer, int ms);

#endif
