package crdmacm

// Values that rsockets take, under the names of rsocket.h and of Linux; abi/ proves
// the former.
const (
	SOL_RDMA       = 0x10000
	RDMA_SQSIZE    = 0
	RDMA_RQSIZE    = 1
	RDMA_INLINE    = 2
	RDMA_IOMAPSIZE = 3

	SOL_SOCKET   = 1
	SO_REUSEADDR = 2
	SO_ERROR     = 4
	SO_SNDBUF    = 7
	SO_RCVBUF    = 8
	SO_KEEPALIVE = 9

	IPPROTO_TCP  = 6
	TCP_NODELAY  = 1
	TCP_MAXSEG   = 2
	TCP_KEEPIDLE = 4

	SOCK_STREAM = 1
	SOCK_DGRAM  = 2

	SHUT_RD = 0
	SHUT_WR = 1
)

// What a PollFD asks and answers, as poll(2) has it.
const (
	POLLIN  = 0x1
	POLLOUT = 0x4
	POLLERR = 0x8
	POLLHUP = 0x10
)

// IOPage is what mappings begin and end at.
const IOPage = 4096

// PollFD is struct pollfd.
type PollFD struct {
	FD              int32
	Events, Revents int16
}
