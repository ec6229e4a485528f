package verbs

import (
	"context"
	"fmt"
)

// None stands for zero in the fields of ConnectOptions whose zero is a default.
const None = -1

// InfiniteRNRRetry lets a sender wait for ever for the peer to post receives.
const InfiniteRNRRetry = 7

// ConnectOptions are the options of a connection. An unreliable one (UC) has no
// use for Timeout, Retries, RNRRetries, MinRNRTimer and MaxReads.
type ConnectOptions struct {
	// MTU limits the path MTU; zero is the smaller of both ports' active MTUs.
	MTU MTU
	// Timeout is how long to wait for an acknowledgement before a retry:
	// 4.096 µs times 2^Timeout, 1 to 31. Zero is 14, 67 ms.
	Timeout int
	// Retries is how often to retry before StatusRetryExceeded, up to 7; zero
	// is 6, None is no retry. With both defaults a dead peer is told after
	// about half a second on a device that keeps the specification's times.
	Retries int
	// RNRRetries is how often to retry when the peer has no receive posted,
	// up to 6, before StatusRNRRetryExceeded; None is no retry. Zero is
	// InfiniteRNRRetry.
	RNRRetries int
	// MinRNRTimer is how long the peer is asked to wait before it retries
	// because no receive was posted here: the specification's code, 1 to 31.
	// Zero is 12, 0.64 ms.
	MinRNRTimer int
	// MaxReads is how many RDMA reads and atomics may be under way at once;
	// zero is as many as both ends allow, None is none.
	MaxReads int
	// ServiceLevel is the InfiniBand service level or the RoCE priority, 0 to 15.
	ServiceLevel uint8
	// TrafficClass is the byte of the same name in the IP or global route header.
	TrafficClass uint8
	// FlowLabel is that of the IP or global route header, 20 bits.
	FlowLabel uint32
	// HopLimit is that of the IP or global route header; zero is 64.
	HopLimit uint8
}

// withDefaults fills in the options for a connection between two ends.
func (o ConnectOptions) withDefaults(own, peer Endpoint, maxInit int) (ConnectOptions, error) {
	for _, f := range []struct {
		name            string
		value           *int
		def, least, top int
	}{
		{"Timeout", &o.Timeout, 14, 1, 31},
		{"Retries", &o.Retries, 6, 0, 7},
		{"RNRRetries", &o.RNRRetries, InfiniteRNRRetry, 0, InfiniteRNRRetry},
		{"MinRNRTimer", &o.MinRNRTimer, 12, 1, 31},
		{"MaxReads", &o.MaxReads, min(int(peer.MaxReads), maxInit), 0, maxInit},
	} {
		switch {
		case *f.value == 0:
			*f.value = f.def
		case *f.value == None && f.least == 0:
			*f.value = 0
		case *f.value < f.least || *f.value > f.top:
			return o, fmt.Errorf("%s %d: it must be %d to %d", f.name, *f.value, f.least, f.top)
		}
	}
	o.MaxReads = min(o.MaxReads, int(peer.MaxReads), 255)
	if o.MTU == 0 {
		o.MTU = min(own.MTU, peer.MTU)
	}
	if o.MTU.Bytes() == 0 || o.MTU > own.MTU {
		return o, fmt.Errorf("MTU %v: the port's active MTU is %v", o.MTU, own.MTU)
	}
	if o.ServiceLevel > 15 {
		return o, fmt.Errorf("service level %d: it must be 0 to 15", o.ServiceLevel)
	}
	if o.FlowLabel >= 1<<20 {
		return o, fmt.Errorf("flow label 0x%x: it has 20 bits", o.FlowLabel)
	}
	if o.HopLimit == 0 {
		o.HopLimit = 64
	}
	return o, nil
}

// Connect brings a queue pair of type RC or UC to RTS, through the states that
// it has not been in, connected to peer. Both ends must do so; the order does not matter, but
// what is sent before the other end has finished is retried.
//
// The kernel may resolve the peer's address on the way, for a few seconds in
// the worst case. If ctx ends first, Connect returns its error, and the queue
// pair is good for nothing but Close, which waits for the kernel.
//
// Implements: ibv_modify_qp.
func (qp *QP) Connect(ctx context.Context, peer Endpoint, opts ConnectOptions) error {
	if ctx == nil {
		return qp.err("connect QP", errNoContext)
	}
	if err := ctx.Err(); err != nil {
		return qp.err("connect QP", err)
	}
	done := make(chan error, 1)
	go func() { done <- qp.connect(peer, opts) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return qp.err("connect QP", ctx.Err())
	}
}

func (qp *QP) connect(peer Endpoint, opts ConnectOptions) error {
	if state, err := qp.State(); err != nil {
		return err
	} else if state == StateReset {
		if err := qp.Init(); err != nil {
			return err
		}
	}
	if err := qp.RTR(peer, opts); err != nil {
		return err
	}
	if err := qp.RTS(peer, opts); err != nil {
		return err
	}
	logDebug("QP connected", "device", qp.pd.dev.name, "qpn", qp.num, "peer", peer)
	return nil
}

// RTR brings the queue pair from INIT to RTR: it receives what peer sends.
// Connect is the usual way.
func (qp *QP) RTR(peer Endpoint, opts ConnectOptions) error {
	own, opts, err := qp.connection(peer, opts)
	if err != nil {
		return qp.err("connect QP", err)
	}
	mask := AttrState | AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN
	if qp.opts.Type == RC || qp.opts.Type == XRCRecv {
		mask |= AttrMaxDestReads | AttrMinRNRTimer
	}
	return qp.Modify(QPAttr{
		State:        StateRTR,
		AV:           qp.route(peer, opts),
		PathMTU:      opts.MTU,
		DestQPN:      peer.QPN,
		RQPSN:        peer.PSN,
		MaxDestReads: own.MaxReads,
		MinRNRTimer:  uint8(opts.MinRNRTimer),
	}, mask)
}

// RTS brings the queue pair from RTR to RTS: it sends to peer. Connect is the
// usual way.
func (qp *QP) RTS(peer Endpoint, opts ConnectOptions) error {
	own, opts, err := qp.connection(peer, opts)
	if err != nil {
		return qp.err("connect QP", err)
	}
	mask := AttrState | AttrSQPSN
	switch qp.opts.Type {
	case RC, XRCSend:
		mask |= AttrTimeout | AttrRetryCount | AttrRNRRetry | AttrMaxReads
	case XRCRecv:
		mask |= AttrTimeout
	}
	return qp.Modify(QPAttr{
		State:      StateRTS,
		SQPSN:      own.PSN,
		Timeout:    uint8(opts.Timeout),
		RetryCount: uint8(opts.Retries),
		RNRRetry:   uint8(opts.RNRRetries),
		MaxReads:   uint8(opts.MaxReads),
	}, mask)
}

func (qp *QP) connection(peer Endpoint, opts ConnectOptions) (Endpoint, ConnectOptions, error) {
	if !qp.opts.Type.connects() {
		return Endpoint{}, opts, fmt.Errorf("a queue pair of type %v has no peer: use Activate", qp.opts.Type)
	}
	if err := peer.check(); err != nil {
		return Endpoint{}, opts, err
	}
	own, err := qp.Endpoint()
	if err != nil {
		return own, opts, err
	}
	if err := qp.checkReach(own, peer); err != nil {
		return own, opts, err
	}
	opts, err = opts.withDefaults(own, peer, qp.pd.dev.attr.MaxQPInitReads)
	return own, opts, err
}

// checkReach tells ends that cannot reach each other whatever the fabric does.
func (qp *QP) checkReach(own, peer Endpoint) error {
	if qp.global() && peer.GID.IsZero() {
		return fmt.Errorf("the peer gave no GID, and %s port %d needs one", qp.pd.dev.name, qp.opts.Port)
	}
	if !qp.global() && peer.LID == 0 {
		return fmt.Errorf("the peer gave no LID: it is not on InfiniBand, or its port is not configured")
	}
	if qp.port.LinkLayer == LinkLayerEthernet && own.GID.IsIPv4Mapped() != peer.GID.IsIPv4Mapped() {
		return fmt.Errorf("the GIDs are of different families: own %v (index %d), peer's %v: choose GID indexes that match",
			own.GID.IP(), qp.gid.Index, peer.GID.IP())
	}
	return nil
}

// global reports whether packets carry a global route header.
func (qp *QP) global() bool {
	return qp.port.LinkLayer == LinkLayerEthernet || qp.opts.GIDIndex != nil
}

func (qp *QP) route(peer Endpoint, opts ConnectOptions) AddressVector {
	av := AddressVector{DLID: peer.LID, ServiceLevel: opts.ServiceLevel, Port: uint8(qp.opts.Port)}
	if qp.global() {
		av.Global = true
		av.DGID = peer.GID
		av.SGIDIndex = uint8(qp.gid.Index)
		av.HopLimit = opts.HopLimit
		av.TrafficClass = opts.TrafficClass
		av.FlowLabel = opts.FlowLabel
	}
	return av
}
