package verbs

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// WQFlags change what a work queue does with packets (enum ibv_wq_flags).
type WQFlags uint32

// Flags of work queues.
const (
	WQCVLANStripping     WQFlags = cverbs.IBV_WQ_FLAGS_CVLAN_STRIPPING
	WQScatterFCS         WQFlags = cverbs.IBV_WQ_FLAGS_SCATTER_FCS
	WQDelayDrop          WQFlags = cverbs.IBV_WQ_FLAGS_DELAY_DROP
	WQPCIWriteEndPadding WQFlags = cverbs.IBV_WQ_FLAGS_PCI_WRITE_END_PADDING
)

// WQState is a state of a work queue (enum ibv_wq_state).
type WQState int32

// States of a work queue.
const (
	WQReset WQState = cverbs.IBV_WQS_RESET
	WQReady WQState = cverbs.IBV_WQS_RDY // receives
	WQError WQState = cverbs.IBV_WQS_ERR
)

// String names the state as the manual page does.
func (s WQState) String() string {
	switch s {
	case WQReset:
		return "RESET"
	case WQReady:
		return "RDY"
	case WQError:
		return "ERR"
	}
	return fmt.Sprintf("state %d", int32(s))
}

// WQOptions are the options of a work queue.
type WQOptions struct {
	// CQ gets the completions; it is needed.
	CQ *CQ
	// MaxRecv is how many receives the queue holds; zero is 128.
	MaxRecv int
	// MaxSGE is how many pieces a receive may have; zero is 1.
	MaxSGE int
	// Flags change what the queue does with packets.
	Flags WQFlags
}

// WQ is a work queue: receives of a RawPacket queue pair that spreads what it
// gets over several of them (QPExOptions.Spread). Its batch belongs to one
// goroutine at a time; the other methods are safe for concurrent use.
type WQ struct {
	obj    life.Object
	pd     *PD
	wq     cverbs.WQ
	cq     *CQ
	shared SRQ // only its batch: receives complete in any order
}

// CreateWQ makes a work queue in the RESET state. It fails with ErrNotSupported
// where the device has none.
//
// Implements: ibv_create_wq.
func (pd *PD) CreateWQ(opts WQOptions) (*WQ, error) {
	const op = "create WQ"
	d := pd.dev
	if d == nil {
		return nil, d.err(op, ErrClosed)
	}
	common := SRQOptions{MaxRecv: opts.MaxRecv, MaxSGE: opts.MaxSGE}.withDefaults()
	switch {
	case opts.CQ == nil:
		return nil, d.err(op, errors.New("a work queue needs a CQ"))
	case opts.CQ.dev != d:
		return nil, d.err(op, errors.New("the CQ is of another device"))
	case common.MaxRecv < 1 || common.MaxRecv > d.attr.MaxQPWR:
		return nil, d.err(op, fmt.Errorf("MaxRecv %d: the device allows 1 to %d", common.MaxRecv, d.attr.MaxQPWR))
	case common.MaxSGE < 1 || common.MaxSGE > d.attr.MaxSGE:
		return nil, d.err(op, fmt.Errorf("MaxSGE %d: the device allows 1 to %d", common.MaxSGE, d.attr.MaxSGE))
	}
	parents := owners{&pd.obj, &opts.CQ.obj}
	for _, p := range parents {
		if err := p.Use(); err != nil {
			return nil, d.err(op, err)
		}
		defer p.Done()
	}
	wq := &WQ{pd: pd, cq: opts.CQ, shared: SRQ{pd: pd, opts: common}}
	var err error
	wq.wq, err = d.ctx.CreateWQ(cverbs.WQInit{
		MaxWR: uint32(common.MaxRecv), MaxSGE: uint32(common.MaxSGE), PD: pd.pd, CQ: opts.CQ.cq, Flags: uint32(opts.Flags),
	})
	if err != nil {
		return nil, d.err(op, err)
	}
	wq.shared.recv.post = wq.wq.PostRecv
	if err := wq.shared.recv.init(&wq.shared); err != nil {
		wq.shared.recv.discard()
		return nil, d.err(op, errors.Join(err, wq.wq.Destroy()))
	}
	life.Enter(&wq.obj, wq, fmt.Sprintf("WQ 0x%06x", wq.wq.Num()), parents...)
	return wq, nil
}

// Num returns the queue's number.
func (wq *WQ) Num() uint32 {
	if wq.obj.Use() != nil {
		return 0
	}
	defer wq.obj.Done()
	return wq.wq.Num()
}

// RecvBatch returns the queue's batch, which works as that of a shared receive
// queue.
//
// Implements: ibv_post_wq_recv.
func (wq *WQ) RecvBatch() *SRQRecvBatch { return &wq.shared.recv }

// Modify brings the queue to another state: WQReady to receive, WQReset to begin
// anew.
//
// Implements: ibv_modify_wq.
func (wq *WQ) Modify(state WQState) error {
	return wq.modify(&cverbs.WQAttr{Mask: cverbs.IBV_WQ_ATTR_STATE, State: int32(state)})
}

// SetFlags changes those flags of the queue that mask names.
//
// Implements: ibv_modify_wq.
func (wq *WQ) SetFlags(flags, mask WQFlags) error {
	return wq.modify(&cverbs.WQAttr{Mask: cverbs.IBV_WQ_ATTR_FLAGS, Flags: uint32(flags), FlagsMask: uint32(mask)})
}

func (wq *WQ) modify(attr *cverbs.WQAttr) error {
	const op = "modify WQ"
	if err := wq.obj.Use(); err != nil {
		return wq.shared.err(op, err)
	}
	defer wq.obj.Done()
	if err := wq.wq.Modify(attr); err != nil {
		return wq.pd.dev.err(op, err)
	}
	return nil
}

// Close destroys the queue; receives still in it are dropped. It fails with
// ErrBusy while tables have it.
//
// Implements: ibv_destroy_wq.
func (wq *WQ) Close() error {
	err := wq.obj.Close(func() error {
		wq.shared.recv.side.shut()
		if err := wq.wq.Destroy(); err != nil {
			return err
		}
		wq.shared.recv.abandon([]*CQ{wq.cq})
		return nil
	})
	if err != nil {
		return wq.pd.dev.err("destroy WQ", err)
	}
	return nil
}

// CloseAll closes the tables that have the queue, the newest first, and the queue.
func (wq *WQ) CloseAll() error { return errors.Join(wq.obj.CloseChildren(), wq.Close()) }

// IndirectionTable is a table of work queues over which packets are spread. It
// is safe for concurrent use.
type IndirectionTable struct {
	obj   life.Object
	dev   *Device
	table cverbs.IndTable
}

// CreateIndirectionTable makes a table. Its length is a power of two; a work
// queue may be in it more than once.
//
// Implements: ibv_create_rwq_ind_table.
func (d *Device) CreateIndirectionTable(queues ...*WQ) (*IndirectionTable, error) {
	const op = "create indirection table"
	n := len(queues)
	if n == 0 || n&(n-1) != 0 {
		return nil, d.err(op, fmt.Errorf("%d work queues: it takes a power of two", n))
	}
	parents := owners{&d.obj}
	raw := make([]cverbs.WQ, n)
	seen := map[*WQ]bool{}
	for i, wq := range queues {
		if wq == nil || wq.pd.dev != d {
			return nil, d.err(op, fmt.Errorf("work queue %d is missing, or of another device", i))
		}
		if !seen[wq] {
			parents = append(parents, &wq.obj)
		}
		seen[wq], raw[i] = true, wq.wq
	}
	for _, p := range parents {
		if err := p.Use(); err != nil {
			return nil, d.err(op, err)
		}
		defer p.Done()
	}
	t := &IndirectionTable{dev: d}
	var err error
	if t.table, err = d.ctx.CreateIndTable(bits.Len(uint(n))-1, raw); err != nil {
		return nil, d.err(op, err)
	}
	life.Enter(&t.obj, t, fmt.Sprintf("indirection table of %d", n), parents...)
	return t, nil
}

// Close destroys the table. It fails with ErrBusy while queue pairs use it.
//
// Implements: ibv_destroy_rwq_ind_table.
func (t *IndirectionTable) Close() error {
	if err := t.obj.Close(t.table.Destroy); err != nil {
		return t.dev.err("destroy indirection table", err)
	}
	return nil
}

// CloseAll closes the queue pairs that use the table, the newest first, and the
// table.
func (t *IndirectionTable) CloseAll() error { return errors.Join(t.obj.CloseChildren(), t.Close()) }

// HashFields names the fields of a packet that decide where it goes (enum
// ibv_rx_hash_fields).
type HashFields uint64

// Fields to be hashed. IPv4 and IPv6 fields exclude each other, and so do those
// of TCP and UDP.
const (
	HashSrcIPv4    HashFields = cverbs.IBV_RX_HASH_SRC_IPV4
	HashDstIPv4    HashFields = cverbs.IBV_RX_HASH_DST_IPV4
	HashSrcIPv6    HashFields = cverbs.IBV_RX_HASH_SRC_IPV6
	HashDstIPv6    HashFields = cverbs.IBV_RX_HASH_DST_IPV6
	HashSrcPortTCP HashFields = cverbs.IBV_RX_HASH_SRC_PORT_TCP
	HashDstPortTCP HashFields = cverbs.IBV_RX_HASH_DST_PORT_TCP
	HashSrcPortUDP HashFields = cverbs.IBV_RX_HASH_SRC_PORT_UDP
	HashDstPortUDP HashFields = cverbs.IBV_RX_HASH_DST_PORT_UDP
	HashIPSecSPI   HashFields = cverbs.IBV_RX_HASH_IPSEC_SPI
	HashInner      HashFields = cverbs.IBV_RX_HASH_INNER // those of the packet within a tunnel
)

// Spread says how a RawPacket queue pair spreads what it receives over work
// queues: by a Toeplitz hash (ibv_create_qp_ex(3), rx_hash_conf).
type Spread struct {
	Table  *IndirectionTable
	Key    []byte // of the hash; devices want 40 bytes
	Fields HashFields
}

func (s *Spread) check(d *Device) error {
	switch {
	case s.Table == nil || s.Table.dev != d:
		return errors.New("Spread has no table of this device")
	case len(s.Key) == 0 || len(s.Key) > 255:
		return fmt.Errorf("Spread has a key of %d bytes: it takes 1 to 255, mostly 40", len(s.Key))
	}
	return nil
}
