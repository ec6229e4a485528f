package verbs

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// SendOps names the requests that a queue pair's builders make (enum
// ibv_qp_create_send_ops_flags).
type SendOps uint64

// Requests that builders make.
const (
	OpWrite         SendOps = cverbs.IBV_QP_EX_WITH_RDMA_WRITE
	OpWriteImm      SendOps = cverbs.IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM
	OpSend          SendOps = cverbs.IBV_QP_EX_WITH_SEND
	OpSendImm       SendOps = cverbs.IBV_QP_EX_WITH_SEND_WITH_IMM
	OpRead          SendOps = cverbs.IBV_QP_EX_WITH_RDMA_READ
	OpCompareSwap   SendOps = cverbs.IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP
	OpFetchAdd      SendOps = cverbs.IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD
	OpLocalInv      SendOps = cverbs.IBV_QP_EX_WITH_LOCAL_INV
	OpBindMW        SendOps = cverbs.IBV_QP_EX_WITH_BIND_MW
	OpSendInv       SendOps = cverbs.IBV_QP_EX_WITH_SEND_WITH_INV
	OpSegmentedSend SendOps = cverbs.IBV_QP_EX_WITH_TSO
	OpFlush         SendOps = cverbs.IBV_QP_EX_WITH_FLUSH
	OpAtomicWrite   SendOps = cverbs.IBV_QP_EX_WITH_ATOMIC_WRITE
)

// opcodes are the opcodes of SendOps by their bits.
var opcodes = [...]int32{
	cverbs.IBV_WR_RDMA_WRITE, cverbs.IBV_WR_RDMA_WRITE_WITH_IMM, cverbs.IBV_WR_SEND, cverbs.IBV_WR_SEND_WITH_IMM,
	cverbs.IBV_WR_RDMA_READ, cverbs.IBV_WR_ATOMIC_CMP_AND_SWP, cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD,
	cverbs.IBV_WR_LOCAL_INV, cverbs.IBV_WR_BIND_MW, cverbs.IBV_WR_SEND_WITH_INV, cverbs.IBV_WR_TSO,
	cverbs.IBV_WR_FLUSH, cverbs.IBV_WR_ATOMIC_WRITE,
}

// beyondClassic are the requests that only builders make, a bit an opcode.
const beyondClassic = 1<<cverbs.IBV_WR_FLUSH | 1<<cverbs.IBV_WR_ATOMIC_WRITE

// requests returns the same as bits by opcode.
func (ops SendOps) requests() uint32 {
	var bits uint32
	for i, op := range opcodes {
		if ops>>i&1 != 0 {
			bits |= 1 << uint(op)
		}
	}
	return bits
}

// sendOpNames are the library's names of the requests, by their bits.
var sendOpNames = [...]string{
	"rdma-write", "rdma-write-with-imm", "send", "send-with-imm", "rdma-read", "atomic-cmp-and-swp",
	"atomic-fetch-and-add", "local-inv", "bind-mw", "send-with-inv", "tso", "flush", "atomic-write",
}

// String lists the requests by the names that the library gives them.
//
// Implements: ibv_wr_opcode_str.
func (ops SendOps) String() string {
	var names []string
	for i, name := range sendOpNames {
		if ops>>i&1 != 0 {
			names = append(names, name)
			ops &^= 1 << i
		}
	}
	if ops != 0 {
		names = append(names, fmt.Sprintf("unknown bits 0x%x", uint64(ops)))
	}
	return strings.Join(names, ", ")
}

// QPCreateFlags change how a queue pair is made (enum ibv_qp_create_flags).
type QPCreateFlags uint32

// Flags of the extended verb.
const (
	CreateBlockSelfMulticast QPCreateFlags = cverbs.IBV_QP_CREATE_BLOCK_SELF_MCAST_LB // none of its own datagrams to a group comes back
	CreateScatterFCS         QPCreateFlags = cverbs.IBV_QP_CREATE_SCATTER_FCS
	CreateCVLANStripping     QPCreateFlags = cverbs.IBV_QP_CREATE_CVLAN_STRIPPING
	CreatePCIWriteEndPadding QPCreateFlags = cverbs.IBV_QP_CREATE_PCI_WRITE_END_PADDING
)

// QPExOptions are the options of an extended queue pair.
type QPExOptions struct {
	QPOptions
	// SendOps are the requests that the queue pair is to carry; they are posted
	// by the builders. Zero makes a queue pair that posts in the classic form.
	SendOps SendOps
	// CreateFlags change how the queue pair is made.
	CreateFlags QPCreateFlags
	// MaxTSOHeader is how many bytes of header a segmented send may have.
	MaxTSOHeader int
	// Spread makes a RawPacket queue pair that only receives: what arrives goes
	// to the work queues of a table. Nil is an ordinary one.
	Spread *Spread
	// SourceQPN is the number that the datagrams of a UD queue pair come from;
	// zero is its own.
	SourceQPN uint32
}

// exInit is what a queue pair is made with beyond QPOptions.
type exInit struct {
	QPExOptions
	mask uint32
	xrcd *XRCD
	// opens says that the queue pair exists, and has this number.
	opens  bool
	number uint32
}

// CreateQPEx makes a queue pair in the RESET state by the extended verb. It
// fails with ErrNotSupported where the device has not what is asked for.
//
// Implements: ibv_create_qp_ex.
func (pd *PD) CreateQPEx(opts QPExOptions) (*QP, error) {
	const op = "create QP"
	d := pd.dev
	if d == nil {
		return nil, d.err(op, ErrClosed)
	}
	switch {
	case opts.Type == XRCRecv:
		return nil, d.err(op, fmt.Errorf("a queue pair of type %v belongs to an XRC domain: use XRCD.CreateQP", XRCRecv))
	case opts.MaxTSOHeader < 0 || opts.MaxTSOHeader > math.MaxUint16:
		return nil, d.err(op, fmt.Errorf("MaxTSOHeader %d: it must be 0 to %d", opts.MaxTSOHeader, math.MaxUint16))
	case opts.Spread != nil && opts.Type != RawPacket:
		return nil, d.err(op, fmt.Errorf("only a queue pair of type %v spreads what it receives", RawPacket))
	}
	if err := d.kernelCarries(opts.SendOps); err != nil {
		return nil, d.err(op, err)
	}
	parents := owners{&pd.obj}
	opts.spreads = opts.Spread != nil
	if opts.spreads {
		if err := opts.Spread.check(d); err != nil {
			return nil, d.err(op, err)
		}
		parents = append(parents, &opts.Spread.Table.obj)
	}
	qp := &QP{pd: pd, opts: opts.QPOptions, ex: &exInit{QPExOptions: opts, mask: cverbs.IBV_QP_INIT_ATTR_PD}}
	return qp.make(d, parents...)
}

// fill writes what the verb is to know.
func (x *exInit) fill(init *cverbs.QPInit, pd *PD) {
	init.Mask, init.PD = x.mask, pd.pd
	set := func(bit uint32, given bool) {
		if given {
			init.Mask |= bit
		}
	}
	if x.xrcd != nil {
		init.XRCD = x.xrcd.xrcd
	}
	init.SendOps = uint64(x.SendOps)
	set(cverbs.IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, x.SendOps != 0)
	init.CreateFlags = uint32(x.CreateFlags)
	if init.SourceQPN = x.SourceQPN; x.SourceQPN != 0 {
		init.CreateFlags |= cverbs.IBV_QP_CREATE_SOURCE_QPN
	}
	set(cverbs.IBV_QP_INIT_ATTR_CREATE_FLAGS, init.CreateFlags != 0)
	init.MaxTSOHeader = uint16(x.MaxTSOHeader)
	set(cverbs.IBV_QP_INIT_ATTR_MAX_TSO_HEADER, x.MaxTSOHeader != 0)
	if s := x.Spread; s != nil {
		init.IndTable = s.Table.table
		init.HashFunction, init.HashKey, init.HashFields = cverbs.IBV_RX_HASH_FUNC_TOEPLITZ, s.Key, uint64(s.Fields)
		set(cverbs.IBV_QP_INIT_ATTR_IND_TABLE|cverbs.IBV_QP_INIT_ATTR_RX_HASH, true)
	}
}

// builders is a queue pair's face through which requests are built in the
// device's own queue.
type builders struct {
	qp        cverbs.QPEx
	ops       SendOps
	detours   uint32
	maxHeader int
	headers   []byte // maxHeader a place; C memory
}

// errNoBuilders is the answer of a queue pair that was made without SendOps.
var errNoBuilders = errors.New("the queue pair has no builders: it was made without SendOps (CreateQPEx)")

// wantBuilders gets the builders of a queue pair that was made for them.
//
// Implements: ibv_qp_to_qp_ex.
func (qp *QP) wantBuilders() error {
	if qp.ex == nil || qp.ex.SendOps == 0 {
		return nil
	}
	raw, err := qp.qp.Ex()
	if err != nil {
		return err
	}
	qp.send.ex = &builders{
		qp: raw, ops: qp.ex.SendOps, detours: qp.pd.dev.detours(), maxHeader: qp.ex.MaxTSOHeader,
	}
	return nil
}

// SendOps returns the requests that the queue pair's builders make. A queue pair
// that was made without is an error.
//
// Implements: ibv_qp_to_qp_ex.
func (qp *QP) SendOps() (SendOps, error) {
	if qp.send.ex == nil {
		return 0, qp.err("use builders", errNoBuilders)
	}
	return qp.send.ex.ops, nil
}

// Abort builds the batch in the device's queue and takes it back: nothing is
// sent, and the batch is empty afterwards. It needs a queue pair with builders.
//
// Implements: ibv_wr_start, ibv_wr_abort.
func (b *SendBatch) Abort() error {
	const op = "abort send"
	if err := b.side.enter(); err != nil {
		return b.qp.err(op, err)
	}
	defer b.side.exit()
	n := b.n
	err := b.clear(StateRTS)
	if err == nil && b.ex == nil {
		err = errNoBuilders
	}
	if err == nil {
		err = b.hold(n)
	}
	if err == nil && n > 0 {
		err = b.ex.qp.Abort(&b.wrs[0], n, b.ex.detours)
		b.release(n)
	}
	b.settleBinds(0)
	if err != nil {
		return b.qp.err(op, err)
	}
	return nil
}
