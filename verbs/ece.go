package verbs

import (
	"fmt"
	"math"
	"syscall"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// ECE are enhancements that the two ends of a connection can agree on (struct
// ibv_ece). What the options mean is the vendor's.
type ECE struct {
	VendorID uint32
	Options  uint32
}

// QueryECE returns the enhancements that the queue pair can have, and from RTR on
// those that were agreed on. It fails with ErrNotSupported where the device knows
// none.
//
// Implements: ibv_query_ece.
func (qp *QP) QueryECE() (ECE, error) {
	const op = "query ECE"
	if err := qp.obj.Use(); err != nil {
		return ECE{}, qp.err(op, err)
	}
	defer qp.obj.Done()
	raw, err := qp.qp.QueryECE()
	if err != nil {
		return ECE{}, qp.err(op, err)
	}
	return ECE{VendorID: raw.VendorID, Options: raw.Options}, nil
}

// SetECE asks for enhancements, those that the peer offers, before the queue pair
// goes to RTR.
//
// Implements: ibv_set_ece.
func (qp *QP) SetECE(ece ECE) error {
	const op = "set ECE"
	if err := qp.obj.Use(); err != nil {
		return qp.err(op, err)
	}
	defer qp.obj.Done()
	if err := qp.qp.SetECE(cverbs.ECE{VendorID: ece.VendorID, Options: ece.Options}); err != nil {
		return qp.err(op, err)
	}
	return nil
}

// RateLimit bounds what a queue pair sends (struct ibv_qp_rate_limit_attr).
type RateLimit struct {
	Kbps         uint32 // kbit/s; zero is no limit
	MaxBurst     uint32 // bytes sent at full speed at once; zero is the device's choice
	TypicalBytes uint16 // of a packet; zero is the device's choice
}

// SetRateLimit bounds what the queue pair sends. It fails with ErrNotSupported
// where the device cannot.
//
// Implements: ibv_modify_qp_rate_limit.
func (qp *QP) SetRateLimit(limit RateLimit) error {
	const op = "set rate limit"
	if err := qp.obj.Use(); err != nil {
		return qp.err(op, err)
	}
	defer qp.obj.Done()
	raw := cverbs.RateLimit{RateLimit: limit.Kbps, MaxBurst: limit.MaxBurst, TypicalBytes: limit.TypicalBytes}
	if err := qp.qp.ModifyRateLimit(raw); err != nil {
		return qp.err(op, err)
	}
	return nil
}

// DataOrder says how the bytes of a message are written to memory (enum
// ibv_query_qp_data_in_order_caps).
type DataOrder uint32

// Orders that a device keeps.
const (
	OrderWholeMessage DataOrder = cverbs.IBV_QUERY_QP_DATA_IN_ORDER_WHOLE_MSG         // from the first byte to the last
	Order128Bytes     DataOrder = cverbs.IBV_QUERY_QP_DATA_IN_ORDER_ALIGNED_128_BYTES // within each aligned 128 bytes
)

// DataInOrder asks which order the device keeps when it writes what requests of
// the queue pair's peer bring: op is WCSend, WCRDMAWrite or WCRDMARead. Zero
// promises nothing. Libraries before rdma-core 41 cannot be asked, and those
// before 56 know OrderWholeMessage only.
//
// Implements: ibv_query_qp_data_in_order.
func (qp *QP) DataInOrder(op WCOpcode) (DataOrder, error) {
	const what = "query order of data"
	wr, ok := map[WCOpcode]int32{
		WCSend: cverbs.IBV_WR_SEND, WCRDMAWrite: cverbs.IBV_WR_RDMA_WRITE, WCRDMARead: cverbs.IBV_WR_RDMA_READ,
	}[op]
	if !ok {
		return 0, qp.err(what, fmt.Errorf("%v: it can be asked for sends, RDMA writes and RDMA reads", op))
	}
	if err := qp.obj.Use(); err != nil {
		return 0, qp.err(what, err)
	}
	defer qp.obj.Done()
	answer, err := qp.qp.DataInOrder(wr, cverbs.IBV_QUERY_QP_DATA_IN_ORDER_RETURN_CAPS)
	if err != nil {
		return 0, qp.err(what, err)
	}
	if answer < 0 || answer > math.MaxUint8 {
		return 0, qp.err(what, syscall.EIO)
	}
	return DataOrder(answer), nil
}
