package cverbs

// Values of releases after rdma-core 44, the oldest whose header CI has.
const (
	// IBV_REREG_MR_ERR_CMD and what is less leave a region of no use.
	IBV_REREG_MR_ERR_CMD = -4

	IBV_REG_MR_MASK_IOVA      = 1 << 0
	IBV_REG_MR_MASK_ADDR      = 1 << 1
	IBV_REG_MR_MASK_FD        = 1 << 2
	IBV_REG_MR_MASK_FD_OFFSET = 1 << 3
	IBV_REG_MR_MASK_DMAH      = 1 << 4

	IBV_DMAH_INIT_ATTR_MASK_CPU_ID       = 1 << 0
	IBV_DMAH_INIT_ATTR_MASK_PH           = 1 << 1
	IBV_DMAH_INIT_ATTR_MASK_TPH_MEM_TYPE = 1 << 2
)
