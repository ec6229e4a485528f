package rdmacm

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs"
)

// UDPQKey is the Q_Key of every queue pair that the connection manager leads
// datagrams to.
const UDPQKey = crdmacm.RDMA_UDP_QKEY

// DialDatagramOptions are the options of DialDatagram.
type DialDatagramOptions struct {
	// ID are the options of the id; the port space is UDP if it is zero.
	ID IDOptions
	// Source is the own address; the zero Addr lets the routing table choose.
	Source Addr
	// QueuePair makes the queue pair, as EndpointOptions.QueuePair does, of type
	// UD. It must be activated (verbs.QP.Activate) with QKey UDPQKey, or be in
	// RESET. nil makes one.
	QueuePair func(ctx context.Context, at Location) (*verbs.QP, error)
	// PrivateData goes to the service: at most MostDatagramRequestData bytes.
	PrivateData []byte
	// Framed puts the length in front of PrivateData.
	Framed bool
}

// Datagram is a queue pair of type UD, and the way to a service that was asked
// for. It is safe for concurrent use.
type Datagram struct {
	id   *ID
	qp   *verbs.QP
	own  *ownQueue
	ah   *verbs.AddressHandle
	data PrivateData
	qpn  uint32
	qkey uint32
}

// DialDatagram asks for the datagram service at an address. Nothing is connected:
// the answer says which queue pair to send to. Errors are those of DialEndpoint.
//
// Implements: rdma_connect.
func DialDatagram(ctx context.Context, addr string, opts DialDatagramOptions) (*Datagram, error) {
	const op = "dial"
	fail := func(err error) error { return &OpError{Op: op, Address: addr, Err: err} }
	if opts.ID.PortSpace == 0 {
		opts.ID.PortSpace = UDP
	}
	if !opts.ID.PortSpace.datagrams() {
		return nil, fail(errors.New("the port space is of connections: use DialEndpoint"))
	}
	data, err := outgoing(opts.PrivateData, opts.Framed, MostDatagramRequestData)
	if err != nil {
		return nil, fail(err)
	}
	list, err := lookup(ctx, addr)
	if err != nil {
		return nil, fail(err)
	}
	var errs []error
	for _, a := range list {
		id, err := resolved(ctx, a, opts.Source, opts.ID)
		if err == nil {
			d := &Datagram{id: id}
			if err = d.dial(ctx, opts, data); err == nil {
				return d, nil
			}
			err = errors.Join(err, d.Close())
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (d *Datagram) dial(ctx context.Context, opts DialDatagramOptions, data []byte) (err error) {
	o := EndpointOptions{QueuePair: opts.QueuePair}
	if d.qp, d.own, err = o.makeTyped(ctx, d.id.Location(), verbs.UD, UDPQKey); err != nil {
		return err
	}
	state, err := d.qp.State()
	if err == nil && state == verbs.StateReset {
		err = d.qp.Activate()
	}
	if err != nil {
		return err
	}
	answer, err := d.id.Connect(ctx, ConnParam{PrivateData: data, QPN: d.qp.Num()})
	if err != nil {
		return err
	}
	d.data, d.qpn, d.qkey = answer.Data, answer.QPN, answer.QKey
	d.ah, err = d.qp.PD().CreateAH(answer.AV)
	return err
}

// QP returns the queue pair, in RTS.
func (d *Datagram) QP() *verbs.QP { return d.qp }

// CQ returns the completion queue of a queue pair that DialDatagram made by
// itself, and nil if DialDatagramOptions.QueuePair made it.
func (d *Datagram) CQ() *verbs.CQ {
	if d.own == nil {
		return nil
	}
	return d.own.cq
}

// Service returns the way to the service, its queue pair and its Q_Key, for
// verbs.SendBatch.SendTo.
func (d *Datagram) Service() (ah *verbs.AddressHandle, qpn, qkey uint32) { return d.ah, d.qpn, d.qkey }

// PeerData returns the private data that the service answered with, padded.
func (d *Datagram) PeerData() PrivateData { return d.data }

// ID returns the id.
func (d *Datagram) ID() *ID { return d.id }

// Close releases the way to the service, the queue pair and the id.
func (d *Datagram) Close() error {
	if d.qp != nil {
		if err := d.qp.Close(); err != nil {
			return err
		}
	}
	var errs []error
	if d.ah != nil {
		errs = append(errs, d.ah.Close())
	}
	if d.own != nil {
		errs = append(errs, d.own.cq.Close())
	}
	errs = append(errs, d.id.Close())
	if d.own != nil {
		errs = append(errs, d.own.device.Release())
	}
	return errors.Join(errs...)
}

// Answer tells a peer that asked for a datagram service (a listener with the port
// space UDP or IPoIB) to send to a queue pair, which must be of type UD with QKey
// UDPQKey. data, at most MostDatagramReplyData bytes, goes to the peer. The
// request is over then, and the queue pair can serve any number of peers.
//
// Implements: rdma_accept.
func (r *Request) Answer(ctx context.Context, qp *verbs.QP, data []byte) error {
	const op = "answer"
	switch {
	case r.done:
		return r.id.err(op, errAnswered)
	case !r.id.opts.PortSpace.datagrams():
		return r.id.err(op, errors.New("the request is for a connection: use Accept"))
	case qp.Type() != verbs.UD || qp.QKey() != UDPQKey:
		return r.id.err(op, fmt.Errorf("a queue pair of type %v with Q_Key 0x%x: it takes UD and 0x%x", qp.Type(), qp.QKey(), UDPQKey))
	case len(data) > MostDatagramReplyData:
		return r.id.err(op, fmt.Errorf("%d bytes of private data: this message has room for %d", len(data), MostDatagramReplyData))
	}
	r.done = true
	_, err := r.id.Accept(ctx, ConnParam{PrivateData: data, QPN: qp.Num()})
	return errors.Join(err, r.id.Close())
}
