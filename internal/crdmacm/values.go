package crdmacm

//go:generate go test -run TestCheckedValues -update .

// Values of librdmacm, under its names. values_test.go keeps abi/check_values.c
// in step, which proves them against rdma-core's headers.
const (
	RDMA_CM_EVENT_ADDR_RESOLVED    = 0
	RDMA_CM_EVENT_ADDR_ERROR       = 1
	RDMA_CM_EVENT_ROUTE_RESOLVED   = 2
	RDMA_CM_EVENT_ROUTE_ERROR      = 3
	RDMA_CM_EVENT_CONNECT_REQUEST  = 4
	RDMA_CM_EVENT_CONNECT_RESPONSE = 5
	RDMA_CM_EVENT_CONNECT_ERROR    = 6
	RDMA_CM_EVENT_UNREACHABLE      = 7
	RDMA_CM_EVENT_REJECTED         = 8
	RDMA_CM_EVENT_ESTABLISHED      = 9
	RDMA_CM_EVENT_DISCONNECTED     = 10
	RDMA_CM_EVENT_DEVICE_REMOVAL   = 11
	RDMA_CM_EVENT_MULTICAST_JOIN   = 12
	RDMA_CM_EVENT_MULTICAST_ERROR  = 13
	RDMA_CM_EVENT_ADDR_CHANGE      = 14
	RDMA_CM_EVENT_TIMEWAIT_EXIT    = 15

	RDMA_PS_IPOIB = 0x0002
	RDMA_PS_TCP   = 0x0106
	RDMA_PS_UDP   = 0x0111
	RDMA_PS_IB    = 0x013f

	RDMA_UDP_QKEY = 0x01234567

	RDMA_IB_IP_PS_TCP = 0x0000000001060000
	RDMA_IB_IP_PS_UDP = 0x0000000001110000

	RAI_PASSIVE     = 0x1
	RAI_NUMERICHOST = 0x2
	RAI_NOROUTE     = 0x4
	RAI_FAMILY      = 0x8

	RDMA_OPTION_ID             = 0
	RDMA_OPTION_IB             = 1
	RDMA_OPTION_ID_TOS         = 0
	RDMA_OPTION_ID_REUSEADDR   = 1
	RDMA_OPTION_ID_AFONLY      = 2
	RDMA_OPTION_ID_ACK_TIMEOUT = 3
	RDMA_OPTION_IB_PATH        = 1

	RDMA_MC_JOIN_FLAG_FULLMEMBER          = 0
	RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER = 1

	RDMA_MAX_RESP_RES   = 0xff
	RDMA_MAX_INIT_DEPTH = 0xff

	IBV_PATH_FLAG_GMP             = 1 << 0
	IBV_PATH_FLAG_PRIMARY         = 1 << 1
	IBV_PATH_FLAG_ALTERNATE       = 1 << 2
	IBV_PATH_FLAG_OUTBOUND        = 1 << 3
	IBV_PATH_FLAG_INBOUND         = 1 << 4
	IBV_PATH_FLAG_INBOUND_REVERSE = 1 << 5
)

// Events that rdma-core 60 and later have.
const (
	EventAddrInfoResolved = 16
	EventAddrInfoError    = 17
	EventUser             = 18
)

// AF_IB is the address family of native InfiniBand addresses.
const AF_IB = 27
