package verbs

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// QPOptions are the options of a queue pair.
type QPOptions struct {
	// Type is the transport service; zero is RC.
	Type QPType
	// SendCQ and RecvCQ get the completions; both are needed, and may be the
	// same queue. Of XRC types, which receive from XRC SRQs, XRCSend needs the
	// SendCQ only, and XRCRecv none.
	SendCQ, RecvCQ *CQ
	// SRQ is the shared receive queue that receives are taken from; nil gives
	// the queue pair a receive queue of its own. With it, MaxRecv and
	// MaxRecvSGE have no meaning, and SRQ.RecvBatch takes RecvBatch's place.
	SRQ *SRQ
	// MaxSend and MaxRecv are how many requests each queue holds; zero is 128.
	MaxSend, MaxRecv int
	// MaxSendSGE and MaxRecvSGE are how many pieces a request may have; zero
	// is 1.
	MaxSendSGE, MaxRecvSGE int
	// MaxInline is how many bytes a request may carry within itself.
	MaxInline int
	// Port is the device's port, from 1; zero is 1.
	Port int
	// GIDIndex is the port's address to use; nil takes what ChooseGID picks.
	// On InfiniBand a given index makes packets carry a global route.
	GIDIndex *int
	// PKeyIndex is the partition: an index into the port's P_Key table.
	PKeyIndex uint16
	// Access is what peers may do through this queue pair, on top of what each
	// memory region allows; zero allows everything that the device can do.
	// AccessLocalWrite alone lets peers only send.
	Access Access
	// QKey is what datagrams to the queue pair must carry, on UD; zero is
	// DefaultQKey. Values with the highest bit set need privileges.
	QKey uint32
	// Unaddressed leaves the choice of the port's address to whoever brings the
	// queue pair to its states with Modify, as a connection manager does. It is
	// made faster then; GID returns none, and Connect does not work.
	Unaddressed bool

	// spreads says that receives are spread over the work queues of a table.
	spreads bool
}

func (o QPOptions) withDefaults(attr *DeviceAttr) QPOptions {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	const depth = 128
	set(&o.MaxSend, depth)
	set(&o.MaxRecv, depth)
	set(&o.MaxSendSGE, 1)
	set(&o.MaxRecvSGE, 1)
	set(&o.Port, 1)
	if o.Type == 0 {
		o.Type = RC
	}
	if o.Access == 0 {
		o.Access = o.Type.access(attr)
	}
	if o.QKey == 0 {
		o.QKey = DefaultQKey
	}
	if !o.receives() {
		o.MaxRecv, o.MaxRecvSGE = 0, 0
	}
	if !o.sends() {
		o.MaxSend, o.MaxSendSGE = 0, 0
	}
	return o
}

func (o QPOptions) check(attr *DeviceAttr) error {
	if transitions[o.Type] == nil {
		return fmt.Errorf("%v: %w", o.Type, ErrNotSupported)
	}
	if err := o.checkCQs(); err != nil {
		return err
	}
	for _, l := range []struct {
		name        string
		value, most int
		there       bool // the queue pair has such a queue
	}{
		{"MaxSend", o.MaxSend, attr.MaxQPWR, o.sends()},
		{"MaxRecv", o.MaxRecv, attr.MaxQPWR, o.receives()},
		{"MaxSendSGE", o.MaxSendSGE, attr.MaxSGE, o.sends()},
		{"MaxRecvSGE", o.MaxRecvSGE, attr.MaxSGE, o.receives()},
	} {
		if !l.there {
			continue
		}
		if l.value < 1 || l.value > l.most {
			return fmt.Errorf("%s %d: the device allows 1 to %d", l.name, l.value, l.most)
		}
	}
	if o.MaxInline < 0 || o.MaxInline > math.MaxInt32 {
		return fmt.Errorf("MaxInline %d: it must be 0 to %d", o.MaxInline, math.MaxInt32)
	}
	return nil
}

// QP is a queue pair: a send queue and a receive queue.
//
// The send side (SendBatch and its methods) belongs to one goroutine at a time,
// and so does the receive side (RecvBatch); the two may be different ones. A
// second goroutine on a side gets ErrConcurrentUse. The other methods are safe
// for concurrent use.
type QP struct {
	obj  life.Object
	pd   *PD
	qp   cverbs.QP
	opts QPOptions
	num  uint32
	psn  uint32
	port PortInfo // as it was at creation
	mtu  MTU      // the port's, as it was at creation
	gid  GIDChoice
	ex   *exInit // how it was made, if by the extended verb

	modifyMu sync.Mutex
	state    atomic.Int32 // the QPState that was asked for last
	groups   groups
	happened qpEvents

	send SendBatch
	recv RecvBatch
}

// CreateQP makes a queue pair in the RESET state.
//
// It fails with a *NoGIDError if the port has no address that connections could
// use.
//
// Implements: ibv_create_qp.
func (pd *PD) CreateQP(opts QPOptions) (*QP, error) {
	if pd.dev == nil {
		return nil, pd.dev.err("create QP", ErrClosed)
	}
	if opts.Type == XRCRecv {
		return nil, pd.dev.err("create QP", fmt.Errorf("a queue pair of type %v belongs to an XRC domain: use XRCD.CreateQP", XRCRecv))
	}
	return (&QP{pd: pd, opts: opts}).make(pd.dev, &pd.obj)
}

// make makes a queue pair of the options that it holds, below owners.
func (qp *QP) make(d *Device, owners ...*life.Object) (*QP, error) {
	qp.opts = qp.opts.withDefaults(&d.attr)
	opts := qp.opts
	if err := opts.check(&d.attr); err != nil {
		return nil, d.err("create QP", err)
	}
	qp.psn = rand.Uint32N(1 << 24)
	qp.happened.drained = make(chan struct{}, 1)
	if err := qp.chooseAddress(); err != nil {
		return nil, err
	}
	parents := owners
	for _, cq := range opts.cqs() {
		parents = append(parents, &cq.obj)
	}
	if opts.SRQ != nil {
		parents = append(parents, &opts.SRQ.obj)
	}
	for _, p := range parents {
		if err := p.Use(); err != nil {
			return nil, d.err("create QP", err)
		}
		defer p.Done()
	}
	for _, cq := range opts.cqs() {
		if cq.dev != d {
			return nil, d.err("create QP", errors.New("the CQs are of another device"))
		}
	}
	if opts.SRQ != nil && opts.SRQ.pd.dev != d {
		return nil, d.err("create QP", errors.New("the SRQ is of another device"))
	}
	if err := qp.create(); err != nil {
		return nil, d.err("create QP", err)
	}
	d.async.qps.add(qp.qp, qp)
	life.Enter(&qp.obj, qp, fmt.Sprintf("QP 0x%06x", qp.num), parents...)
	logDebug("QP created", "device", d.name, "qpn", qp.num, "type", opts.Type)
	return qp, nil
}

func (qp *QP) chooseAddress() (err error) {
	d := qp.pd.dev
	if qp.opts.Unaddressed {
		return d.checkPort(qp.opts.Port)
	}
	if qp.port, err = d.addresses(qp.opts.Port); err != nil {
		return err
	}
	if qp.opts.Type == RawPacket {
		return nil // its packets carry addresses of their own
	}
	if qp.opts.Type == UD {
		attr, err := d.Port(qp.opts.Port)
		if err != nil {
			return err
		}
		qp.mtu = attr.ActiveMTU
	}
	if qp.opts.GIDIndex != nil {
		qp.gid, err = ChooseGIDIndex(qp.port, *qp.opts.GIDIndex)
	} else {
		qp.gid, err = ChooseGID(qp.port)
	}
	if err == nil && qp.gid.Index > math.MaxUint8 {
		err = fmt.Errorf("GID index %d: a route has room for 255", qp.gid.Index)
	}
	if err != nil {
		return &OpError{Op: "choose GID", Device: d.name, Port: qp.opts.Port, Err: err}
	}
	return nil
}

// create makes the C object and the rings of both sides. The send queue gets
// one request more than asked for, which closing the queue pair posts to see
// the end of the flushing.
func (qp *QP) create() (err error) {
	o, most := &qp.opts, qp.pd.dev.attr.MaxQPWR
	limits := cverbs.QPCap{
		MaxRecvWR:     uint32(o.MaxRecv),
		MaxSendSGE:    uint32(o.MaxSendSGE),
		MaxRecvSGE:    uint32(o.MaxRecvSGE),
		MaxInlineData: uint32(o.MaxInline),
	}
	if o.MaxSend > 0 {
		limits.MaxSendWR = uint32(min(o.MaxSend+1, most))
	}
	if err = qp.createRaw(limits); err != nil {
		return err
	}
	qp.num = qp.qp.Num()
	if err = qp.wantBuilders(); err == nil {
		err = qp.send.init(qp)
	}
	if err == nil {
		err = qp.recv.init(qp)
	}
	if err != nil {
		qp.send.discard()
		qp.recv.discard()
		return errors.Join(err, qp.qp.Destroy())
	}
	if o.SRQ != nil {
		o.SRQ.completesOn(o.RecvCQ)
	}
	return nil
}

// createRaw makes the C object, by the verb that knows what it is made with.
func (qp *QP) createRaw(limits cverbs.QPCap) (err error) {
	o := &qp.opts
	init := cverbs.QPInit{Cap: limits, Type: int32(o.Type)}
	if o.SendCQ != nil {
		init.Send = o.SendCQ.cq
	}
	if o.RecvCQ != nil {
		init.Recv = o.RecvCQ.cq
	}
	if o.SRQ != nil {
		init.SRQ = o.SRQ.srq
	}
	if qp.ex == nil {
		qp.qp, err = qp.pd.pd.CreateQPOn(init.SRQ, init.Send, init.Recv, init.Type, &limits, false)
		return err
	}
	if qp.ex.opens {
		qp.qp, err = qp.pd.dev.ctx.OpenQP(qp.ex.xrcd.xrcd, qp.ex.number, init.Type)
		return err
	}
	qp.ex.fill(&init, qp.pd)
	qp.qp, err = qp.pd.dev.ctx.CreateQPEx(&init)
	return err
}

// needState refuses to post before the queue pair was brought to a state that
// allows it. Some providers would queue the request and then call it an error.
func (qp *QP) needState(least QPState) error {
	if state := QPState(qp.state.Load()); state < least {
		return fmt.Errorf("the queue pair is in state %v: this needs %v", state, least)
	}
	return nil
}

// Num returns the queue pair's number, 24 bits.
func (qp *QP) Num() uint32 { return qp.num }

// Type returns the queue pair's transport service.
func (qp *QP) Type() QPType { return qp.opts.Type }

// PD returns the protection domain that the queue pair belongs to.
func (qp *QP) PD() *PD { return qp.pd }

// GID returns the local address that connections of the queue pair use, and
// why.
func (qp *QP) GID() GIDChoice { return qp.gid }

// Modify changes attributes of the queue pair, its state among them if mask has
// AttrState. What the specification asks of the change is checked first, and
// the error says what is missing or too much.
//
// Implements: ibv_modify_qp.
func (qp *QP) Modify(attr QPAttr, mask AttrMask) error {
	if err := qp.obj.Use(); err != nil {
		return qp.err("modify QP", err)
	}
	defer qp.obj.Done()
	return qp.modify(attr, mask)
}

// modify is Modify for whoever keeps the queue pair in use.
func (qp *QP) modify(attr QPAttr, mask AttrMask) error {
	qp.modifyMu.Lock()
	defer qp.modifyMu.Unlock()
	from := QPState(qp.state.Load())
	if qp.opts.Type == XRCRecv { // others may have it open, and have changed it
		if raw, err := qp.qp.Query(uint32(AttrState)); err == nil {
			from = QPState(raw.State)
		}
	}
	if mask&AttrCurState != 0 {
		from = attr.CurState
	}
	to := from
	if mask&AttrState != 0 {
		to = attr.State
	}
	if err := checkTransition(qp.opts.Type, from, to, mask); err != nil {
		return qp.err(fmt.Sprintf("modify QP to %v", to), err)
	}
	raw := attr.raw()
	if err := qp.qp.Modify(&raw, uint32(mask)); err != nil {
		return &OpError{
			Op: fmt.Sprintf("modify QP to %v", to), Device: qp.pd.dev.name, Port: qp.opts.Port, QPN: qp.num,
			Err: err, Hint: qp.stateHint(from),
		}
	}
	qp.state.Store(int32(to))
	logDebug("QP modified", "device", qp.pd.dev.name, "qpn", qp.num, "from", from, "to", to, "attributes", mask)
	return nil
}

// stateHint says if the device has moved the queue pair by itself.
func (qp *QP) stateHint(believed QPState) string {
	raw, err := qp.qp.Query(uint32(AttrState))
	if err != nil || QPState(raw.State) == believed {
		return ""
	}
	return fmt.Sprintf("the queue pair is in state %v", QPState(raw.State))
}

// Query reads attributes of the queue pair. A device may return more than mask
// asks for.
//
// Implements: ibv_query_qp.
func (qp *QP) Query(mask AttrMask) (QPAttr, error) {
	if err := qp.obj.Use(); err != nil {
		return QPAttr{}, qp.err("query QP", err)
	}
	defer qp.obj.Done()
	raw, err := qp.qp.Query(uint32(mask))
	if err != nil {
		return QPAttr{}, qp.err("query QP", err)
	}
	return qpAttr(&raw), nil
}

// State asks the device for the state of the queue pair.
//
// Implements: ibv_query_qp.
func (qp *QP) State() (QPState, error) {
	attr, err := qp.Query(AttrState)
	return attr.State, err
}

// Init brings the queue pair from RESET to INIT: receives may be posted.
func (qp *QP) Init() error {
	mask := AttrState | AttrPort
	switch qp.opts.Type {
	case RawPacket:
	case UD:
		mask |= AttrPKeyIndex | AttrQKey
	default:
		mask |= AttrPKeyIndex | AttrAccess
	}
	return qp.Modify(QPAttr{
		State:     StateInit,
		PKeyIndex: qp.opts.PKeyIndex,
		Port:      uint8(qp.opts.Port),
		Access:    qp.opts.Access,
		QKey:      qp.opts.QKey,
	}, mask)
}

// Err brings the queue pair to the error state: every request posted completes,
// those that had not finished as StatusFlushed.
func (qp *QP) Err() error { return qp.Modify(QPAttr{State: StateErr}, AttrState) }

// Reset brings the queue pair back to RESET, whence it can be connected anew.
// Requests that had not completed are delivered as StatusFlushed. Both sides
// must be idle.
func (qp *QP) Reset() error {
	// In use before inside the guards: Close takes them in that order.
	if err := qp.obj.Use(); err != nil {
		return qp.err("reset QP", err)
	}
	defer qp.obj.Done()
	for _, side := range []*guard{&qp.send.side, &qp.recv.side} {
		if err := side.enter(); err != nil {
			return qp.err("reset QP", err)
		}
		defer side.exit()
	}
	// The device would drop what has completed and is not polled yet.
	qp.drain()
	if err := qp.modify(QPAttr{State: StateReset}, AttrState); err != nil {
		return err
	}
	qp.happened.lastReceive.Store(false)
	qp.send.settleBinds(0)
	return errors.Join(qp.send.restart(), qp.recv.restart())
}

func (qp *QP) err(op string, err error) error {
	if qp == nil || qp.pd == nil {
		return &OpError{Op: op, Err: err} // it was never made
	}
	return &OpError{Op: op, Device: qp.pd.dev.name, QPN: qp.num, Err: qp.pd.dev.cause(err)}
}

// Close destroys the queue pair, or closes it if it was opened (XRCD.OpenQP).
// Requests still in flight are flushed first, so that their completions can be
// polled from the CQs afterwards. It fails with ErrBusy while a memory window of
// type 2 is bound by the queue pair, or a rule steers to it.
//
// Implements: ibv_destroy_qp.
func (qp *QP) Close() error {
	err := qp.obj.Close(func() error {
		qp.send.side.shut()
		qp.recv.side.shut()
		qp.drain()
		if err := qp.leaveGroups(); err != nil {
			return err
		}
		if err := qp.qp.Destroy(); err != nil {
			return err
		}
		qp.pd.dev.async.qps.remove(qp.qp, qp)
		qp.send.abandon()
		qp.recv.abandon()
		logDebug("QP destroyed", "device", qp.pd.dev.name, "qpn", qp.num)
		return nil
	})
	if err != nil {
		return qp.err("destroy QP", err)
	}
	return nil
}

// CloseAll closes the memory windows that the queue pair bound and the rules that
// steer to it, and the queue pair.
func (qp *QP) CloseAll() error { return errors.Join(qp.obj.CloseChildren(), qp.Close()) }
