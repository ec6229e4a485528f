package cverbs

// Values that came after rdma-core 44. abi/check_queue.c proves them where the
// headers have them.
const (
	IBV_WR_FLUSH         = 14
	IBV_WC_FLUSH         = 8
	IBV_QP_EX_WITH_FLUSH = 1 << 11

	IBV_ACCESS_FLUSH_GLOBAL     = 1 << 8
	IBV_ACCESS_FLUSH_PERSISTENT = 1 << 9

	IBV_FLUSH_GLOBAL     = 1 << 0
	IBV_FLUSH_PERSISTENT = 1 << 1
	IBV_FLUSH_RANGE      = 0
	IBV_FLUSH_MR         = 1

	IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS       = 1 << 0
	IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG         = 1 << 0
	IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES = 1 << 1
)
