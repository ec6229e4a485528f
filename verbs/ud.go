package verbs

import (
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// DefaultQKey is the Q_Key of UD queue pairs that are made without one. It is
// perftest's.
const DefaultQKey = 0x11111111

// MulticastQPN is the queue pair number that datagrams to a multicast group are
// sent to.
const MulticastQPN = 0xffffff

// Activate brings a UD or RawPacket queue pair to RTS through the states that it has not
// been in: it then sends to any peer and receives from those who know its Q_Key
// (QPOptions.QKey). A RawPacket queue pair comes to send and receive frames. It
// is to them what Connect is to the other types.
//
// Implements: ibv_modify_qp.
func (qp *QP) Activate() error {
	if qp.opts.Type.connects() {
		return qp.err("activate QP", fmt.Errorf("a queue pair of type %v has one peer: use Connect", qp.opts.Type))
	}
	state, err := qp.State()
	if err != nil {
		return err
	}
	if state == StateReset {
		if err := qp.Init(); err != nil {
			return err
		}
	}
	if state <= StateInit {
		if err := qp.Modify(QPAttr{State: StateRTR}, AttrState); err != nil {
			return err
		}
	}
	if qp.opts.Type == RawPacket {
		return qp.Modify(QPAttr{State: StateRTS}, AttrState)
	}
	return qp.Modify(QPAttr{State: StateRTS, SQPSN: qp.psn}, AttrState|AttrSQPSN)
}

// QKey returns the Q_Key that datagrams to the queue pair must carry.
func (qp *QP) QKey() uint32 { return qp.opts.QKey }

// SendTo adds a datagram of the local pieces, one after the other, to the queue
// pair qpn behind the address handle, which must have the Q_Key. With qkey's
// highest bit set the sender's own Q_Key goes out. A datagram has at most as
// many bytes as the port's MTU; it fills a receive of the peer from byte GRHLen
// on. The address handle must stay open until the request has completed.
//
// Implements: ibv_wr_set_ud_addr.
func (b *SendBatch) SendTo(id uint64, to *AddressHandle, qpn, qkey uint32, local ...SGE) Request {
	return b.datagram(cverbs.IBV_WR_SEND, id, to, qpn, qkey, local)
}

// SendImmTo adds a datagram whose receive gets imm too.
func (b *SendBatch) SendImmTo(id uint64, imm uint32, to *AddressHandle, qpn, qkey uint32, local ...SGE) Request {
	r := b.datagram(cverbs.IBV_WR_SEND_WITH_IMM, id, to, qpn, qkey, local)
	r.wr.Imm = swap32(imm)
	return r
}

func (b *SendBatch) datagram(op int32, id uint64, to *AddressHandle, qpn, qkey uint32, local []SGE) Request {
	if b.qp == nil {
		return b.refuse(op, id)
	}
	if b.targets == nil {
		b.fail(fmt.Errorf("request %d: a queue pair of type %v sends to its peer only", id, b.qp.opts.Type))
		return Request{b, &b.spare}
	}
	if !b.fits(id, len(local), "MaxSendSGE") {
		return Request{b, &b.spare}
	}
	b.targets[b.n] = to
	wr := b.place(op, id, RemoteBuffer{}, len(local))
	total := b.fill(wr.SGList, id, local)
	switch most := b.qp.mtu.Bytes(); {
	case to == nil:
		b.fail(fmt.Errorf("request %d has no address handle", id))
		return Request{b, wr}
	case to.pd.dev != b.qp.pd.dev:
		b.fail(fmt.Errorf("request %d: the address handle is of another device", id))
	case qpn > MulticastQPN:
		b.fail(fmt.Errorf("request %d: QPN 0x%x has more than 24 bits", id, qpn))
	case total > uint64(most):
		b.fail(fmt.Errorf("request %d: a datagram of %d bytes: the port's MTU lets it have %d", id, total, most))
	}
	wr.SetUD(to.ah, qpn, qkey)
	return Request{b, wr}
}

// hold keeps what the first n requests point to from being destroyed until release:
// address handles, and what bindings name.
func (b *SendBatch) hold(n int) error {
	if err := b.holdTargets(n); err != nil {
		return err
	}
	if n > 0 && len(b.binds) > 0 {
		if err := b.holdBinds(); err != nil {
			b.releaseTargets(n)
			return err
		}
	}
	return nil
}

func (b *SendBatch) release(n int) {
	b.releaseTargets(n)
	if len(b.bindsHeld) > 0 {
		b.releaseBinds()
	}
}

// holdTargets holds address handles. Requests in a row mostly have the same.
func (b *SendBatch) holdTargets(n int) error {
	if b.targets == nil {
		return nil
	}
	for i, to := range b.targets[:n] {
		if i > 0 && to == b.targets[i-1] {
			continue
		}
		if !to.uses.begin() {
			b.releaseTargets(i)
			return errors.New("the address handle of a request is closed")
		}
	}
	return nil
}

func (b *SendBatch) releaseTargets(n int) {
	if b.targets == nil {
		return
	}
	for i, to := range b.targets[:n] {
		if i == 0 || to != b.targets[i-1] {
			to.uses.end()
		}
	}
}
