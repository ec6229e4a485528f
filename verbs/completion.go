package verbs

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// Completion is the end of a request. Poll stores it; it is a value of its own
// and stays valid.
//
// A failed completion says only ID, Status, QPN and VendorErr: the device
// leaves the rest undefined, and the methods answer zero or false.
type Completion struct{ wc cverbs.WC }

// ID returns what the request was posted with.
func (c *Completion) ID() uint64 { return c.wc.WRID }

// Status returns how the request ended.
func (c *Completion) Status() Status { return Status(c.wc.Status) }

// QPN returns the number of the queue pair that the request was posted to.
func (c *Completion) QPN() uint32 { return c.wc.QPNum }

// VendorErr returns the device's own code for a failure.
func (c *Completion) VendorErr() uint32 { return c.wc.VendorErr }

// Err returns nil for a request that succeeded and a *CompletionError
// otherwise. errors.Is finds the Status in it.
func (c *Completion) Err() error {
	if c.ok() {
		return nil
	}
	return &CompletionError{ID: c.wc.WRID, Status: c.Status(), VendorErr: c.wc.VendorErr, QPN: c.wc.QPNum}
}

func (c *Completion) ok() bool { return c.wc.Status == cverbs.IBV_WC_SUCCESS }

// Opcode returns which kind of request succeeded; ok is false if it failed.
func (c *Completion) Opcode() (op WCOpcode, ok bool) {
	if !c.ok() {
		return 0, false
	}
	return WCOpcode(c.wc.Opcode), true
}

// Len returns the bytes that arrived: of receives, reads and atomics.
func (c *Completion) Len() int {
	if !c.ok() {
		return 0
	}
	return int(c.wc.ByteLen)
}

// Imm returns the immediate data of a receive, as the sender gave it; ok is
// false if there was none.
func (c *Completion) Imm() (imm uint32, ok bool) {
	if !c.ok() || c.wc.Flags&cverbs.IBV_WC_WITH_IMM == 0 {
		return 0, false
	}
	return swap32(c.wc.Imm), true
}

// swap32 turns a number into network order, or back.
func swap32(v uint32) uint32 {
	var b [4]byte
	*(*uint32)(unsafe.Pointer(&b)) = v
	return binary.BigEndian.Uint32(b[:])
}

// Status is how a request ended (enum ibv_wc_status). Statuses other than
// StatusSuccess are errors, so that errors.Is can look for them.
type Status int32

// Statuses, as the InfiniBand specification has them.
const (
	StatusSuccess                Status = cverbs.IBV_WC_SUCCESS
	StatusLocalLength            Status = cverbs.IBV_WC_LOC_LEN_ERR
	StatusLocalQPOperation       Status = cverbs.IBV_WC_LOC_QP_OP_ERR
	StatusLocalEECOperation      Status = cverbs.IBV_WC_LOC_EEC_OP_ERR
	StatusLocalProtection        Status = cverbs.IBV_WC_LOC_PROT_ERR
	StatusFlushed                Status = cverbs.IBV_WC_WR_FLUSH_ERR
	StatusMWBind                 Status = cverbs.IBV_WC_MW_BIND_ERR
	StatusBadResponse            Status = cverbs.IBV_WC_BAD_RESP_ERR
	StatusLocalAccess            Status = cverbs.IBV_WC_LOC_ACCESS_ERR
	StatusRemoteInvalidRequest   Status = cverbs.IBV_WC_REM_INV_REQ_ERR
	StatusRemoteAccess           Status = cverbs.IBV_WC_REM_ACCESS_ERR
	StatusRemoteOperation        Status = cverbs.IBV_WC_REM_OP_ERR
	StatusRetryExceeded          Status = cverbs.IBV_WC_RETRY_EXC_ERR
	StatusRNRRetryExceeded       Status = cverbs.IBV_WC_RNR_RETRY_EXC_ERR
	StatusLocalRDDViolation      Status = cverbs.IBV_WC_LOC_RDD_VIOL_ERR
	StatusRemoteInvalidRDRequest Status = cverbs.IBV_WC_REM_INV_RD_REQ_ERR
	StatusRemoteAborted          Status = cverbs.IBV_WC_REM_ABORT_ERR
	StatusInvalidEECNumber       Status = cverbs.IBV_WC_INV_EECN_ERR
	StatusInvalidEECState        Status = cverbs.IBV_WC_INV_EEC_STATE_ERR
	StatusFatal                  Status = cverbs.IBV_WC_FATAL_ERR
	StatusResponseTimeout        Status = cverbs.IBV_WC_RESP_TIMEOUT_ERR
	StatusGeneral                Status = cverbs.IBV_WC_GENERAL_ERR
	StatusTag                    Status = cverbs.IBV_WC_TM_ERR
	StatusTagRendezvous          Status = cverbs.IBV_WC_TM_RNDV_INCOMPLETE
)

var statusText = map[Status]string{
	StatusSuccess:                "success",
	StatusLocalLength:            "local length error: the message does not fit the buffers",
	StatusLocalQPOperation:       "local QP operation error",
	StatusLocalEECOperation:      "local EE context operation error",
	StatusLocalProtection:        "local protection error: a key, range or right of the local memory is wrong",
	StatusFlushed:                "flushed: the queue pair went to the error state first",
	StatusMWBind:                 "memory window bind error",
	StatusBadResponse:            "bad response",
	StatusLocalAccess:            "local access error",
	StatusRemoteInvalidRequest:   "remote invalid request",
	StatusRemoteAccess:           "remote access error: a key, range or right of the remote memory is wrong",
	StatusRemoteOperation:        "remote operation error",
	StatusRetryExceeded:          "retries exceeded: the peer did not answer",
	StatusRNRRetryExceeded:       "receiver-not-ready retries exceeded: the peer had no receive posted",
	StatusLocalRDDViolation:      "local RDD violation",
	StatusRemoteInvalidRDRequest: "remote invalid RD request",
	StatusRemoteAborted:          "remote aborted",
	StatusInvalidEECNumber:       "invalid EE context number",
	StatusInvalidEECState:        "invalid EE context state",
	StatusFatal:                  "fatal error",
	StatusResponseTimeout:        "response time-out",
	StatusGeneral:                "general error",
	StatusTag:                    "tag matching error",
	StatusTagRendezvous:          "tag matching rendezvous was not completed by the device",
}

// Error implements error.
//
// Implements: ibv_wc_status_str.
func (s Status) Error() string {
	if text, ok := statusText[s]; ok {
		return text
	}
	return fmt.Sprintf("unknown status %d", int(s))
}

// WCOpcode is the kind of request that completed (enum ibv_wc_opcode).
type WCOpcode int32

// Kinds of completed requests.
const (
	WCSend            WCOpcode = cverbs.IBV_WC_SEND
	WCRDMAWrite       WCOpcode = cverbs.IBV_WC_RDMA_WRITE
	WCRDMARead        WCOpcode = cverbs.IBV_WC_RDMA_READ
	WCCompareSwap     WCOpcode = cverbs.IBV_WC_COMP_SWAP
	WCFetchAdd        WCOpcode = cverbs.IBV_WC_FETCH_ADD
	WCBindMW          WCOpcode = cverbs.IBV_WC_BIND_MW
	WCLocalInv        WCOpcode = cverbs.IBV_WC_LOCAL_INV
	WCTSO             WCOpcode = cverbs.IBV_WC_TSO
	WCFlush           WCOpcode = cverbs.IBV_WC_FLUSH
	WCAtomicWrite     WCOpcode = cverbs.IBV_WC_ATOMIC_WRITE
	WCRecv            WCOpcode = cverbs.IBV_WC_RECV
	WCRecvRDMAWithImm WCOpcode = cverbs.IBV_WC_RECV_RDMA_WITH_IMM
	WCTagAdd          WCOpcode = cverbs.IBV_WC_TM_ADD
	WCTagDel          WCOpcode = cverbs.IBV_WC_TM_DEL
	WCTagSync         WCOpcode = cverbs.IBV_WC_TM_SYNC
	WCTagRecv         WCOpcode = cverbs.IBV_WC_TM_RECV
	WCTagNone         WCOpcode = cverbs.IBV_WC_TM_NO_TAG // received without a tag
)

// String names the kind.
func (op WCOpcode) String() string {
	switch op {
	case WCSend:
		return "send"
	case WCRDMAWrite:
		return "RDMA write"
	case WCRDMARead:
		return "RDMA read"
	case WCCompareSwap:
		return "compare and swap"
	case WCFetchAdd:
		return "fetch and add"
	case WCBindMW:
		return "bind memory window"
	case WCLocalInv:
		return "invalidate local key"
	case WCTSO:
		return "segmented send"
	case WCFlush:
		return "flush"
	case WCAtomicWrite:
		return "atomic write"
	case WCTagAdd:
		return "add tag"
	case WCTagDel:
		return "remove tag"
	case WCTagSync:
		return "synchronise tags"
	case WCTagRecv:
		return "receive of tagged message"
	case WCTagNone:
		return "receive of message without tag"
	case WCRecv:
		return "receive"
	case WCRecvRDMAWithImm:
		return "receive of RDMA write with immediate"
	}
	return fmt.Sprintf("opcode %d", int(op))
}
