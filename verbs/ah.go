package verbs

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// AddressHandle is the way to a peer for datagrams. It is safe for concurrent
// use, and any UD queue pair of its protection domain can send with it.
type AddressHandle struct {
	obj  life.Object
	pd   *PD
	ah   cverbs.AH
	uses uses
}

// CreateAH makes an address handle. The kernel may resolve the address on the
// way, for a few seconds in the worst case.
//
// Implements: ibv_create_ah.
func (pd *PD) CreateAH(av AddressVector) (*AddressHandle, error) {
	const op = "create AH"
	if err := pd.dev.checkPort(int(av.Port)); err != nil {
		return nil, err
	}
	if err := pd.obj.Use(); err != nil {
		return nil, pd.dev.err(op, err)
	}
	defer pd.obj.Done()
	raw := av.raw()
	ah := &AddressHandle{pd: pd}
	var err error
	if ah.ah, err = pd.pd.CreateAH(&raw); err != nil {
		return nil, &OpError{Op: op, Device: pd.dev.name, Port: int(av.Port), Err: err}
	}
	life.Enter(&ah.obj, ah, fmt.Sprintf("AH to %v", av.target()), &pd.obj)
	return ah, nil
}

// target names where the vector leads.
func (av *AddressVector) target() string {
	if av.Global {
		return av.DGID.String()
	}
	return fmt.Sprintf("LID %d", av.DLID)
}

// RouteOptions are the options of a way to a peer.
type RouteOptions struct {
	// ServiceLevel is the InfiniBand service level or the RoCE priority, 0 to 15.
	ServiceLevel uint8
	// TrafficClass is the byte of the same name in the IP or global route header.
	TrafficClass uint8
	// FlowLabel is that of the IP or global route header, 20 bits.
	FlowLabel uint32
	// HopLimit is that of the IP or global route header; zero is 64.
	HopLimit uint8
}

// Route returns the way from the queue pair's port and GID to a peer. Its QPN
// and PSN are not looked at.
func (qp *QP) Route(peer Endpoint, opts RouteOptions) (AddressVector, error) {
	own, err := qp.Endpoint()
	if err != nil {
		return AddressVector{}, err
	}
	if err := qp.checkReach(own, peer); err != nil {
		return AddressVector{}, qp.err("route to peer", err)
	}
	o, err := ConnectOptions{
		ServiceLevel: opts.ServiceLevel, TrafficClass: opts.TrafficClass,
		FlowLabel: opts.FlowLabel, HopLimit: opts.HopLimit,
	}.withDefaults(own, own, qp.pd.dev.attr.MaxQPInitReads)
	if err != nil {
		return AddressVector{}, qp.err("route to peer", err)
	}
	return qp.route(peer, o), nil
}

// CreateAH makes an address handle to a peer, by Route.
//
// Implements: ibv_create_ah.
func (qp *QP) CreateAH(peer Endpoint, opts RouteOptions) (*AddressHandle, error) {
	av, err := qp.Route(peer, opts)
	if err != nil {
		return nil, err
	}
	return qp.pd.CreateAH(av)
}

// Sender returns the way back to who sent a received datagram: its completion,
// the first GRHLen bytes of the receive, and the port that it came in through.
// Completion.SrcQP is the queue pair there.
//
// Implements: ibv_init_ah_from_wc.
func (d *Device) Sender(c *Completion, grh []byte, port int) (AddressVector, error) {
	const op = "read sender's address"
	if err := d.checkPort(port); err != nil {
		return AddressVector{}, err
	}
	if len(grh) < GRHLen {
		return AddressVector{}, d.err(op, fmt.Errorf("%d bytes of header: it has %d", len(grh), GRHLen))
	}
	if err := c.Err(); err != nil {
		return AddressVector{}, d.err(op, err)
	}
	if err := d.obj.Use(); err != nil {
		return AddressVector{}, d.err(op, err)
	}
	defer d.obj.Done()
	wc, header := c.wc, cverbs.GRH(grh)
	raw, err := d.ctx.AHFromWC(uint8(port), &wc, &header)
	if err != nil {
		return AddressVector{}, &OpError{Op: op, Device: d.name, Port: port, Err: err}
	}
	return addressVector(&raw), nil
}

// CreateAHFromCompletion makes an address handle to who sent a received
// datagram, by Device.Sender.
//
// Implements: ibv_create_ah_from_wc.
func (pd *PD) CreateAHFromCompletion(c *Completion, grh []byte, port int) (*AddressHandle, error) {
	av, err := pd.dev.Sender(c, grh, port)
	if err != nil {
		return nil, err
	}
	return pd.CreateAH(av)
}

// Close destroys the address handle. A batch that has it and is posted later
// fails.
//
// Implements: ibv_destroy_ah.
func (ah *AddressHandle) Close() error {
	err := ah.obj.Close(func() error {
		ah.uses.shut()
		err := ah.ah.Destroy()
		if err != nil {
			ah.uses.reopen()
		}
		return err
	})
	if err != nil {
		return ah.pd.dev.err("destroy AH", err)
	}
	return nil
}

// CloseAll is Close: nothing hangs on an address handle.
func (ah *AddressHandle) CloseAll() error { return ah.Close() }

// uses counts who is using something that must not go meanwhile. A use is
// short.
type uses struct{ n atomic.Int64 }

const usesShut = -1 << 62

func (u *uses) begin() bool {
	if u.n.Add(1) > 0 {
		return true
	}
	u.n.Add(-1)
	return false
}

func (u *uses) end() { u.n.Add(-1) }

// shut refuses further uses and waits for those that have begun.
func (u *uses) shut() {
	u.n.Add(usesShut)
	for u.n.Load() != usesShut {
		runtime.Gosched()
	}
}

func (u *uses) reopen() { u.n.Add(-usesShut) }
