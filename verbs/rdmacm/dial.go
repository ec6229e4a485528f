package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// DialEndpointOptions are the options of DialEndpoint.
type DialEndpointOptions struct {
	// ID are the options of the id; its port space is TCP or IB.
	ID IDOptions
	// Source is the own address; the zero Addr lets the routing table choose.
	Source Addr
	EndpointOptions
}

// DialEndpoint connects a queue pair to whoever listens at an address, in the
// form that ParseAddr reads or as a name and a port. A name's addresses are
// tried one after the other.
//
// It fails with ErrRejected (a *RejectError) if the peer refuses, which matches
// syscall.ECONNREFUSED where nobody listens; with ErrUnreachable or ErrTimedOut
// if the peer does not answer; with the context's error when that ends. Whatever
// it had made by then is released.
//
// Implements: rdma_connect.
func DialEndpoint(ctx context.Context, addr string, opts DialEndpointOptions) (*Endpoint, error) {
	const op = "dial"
	if err := opts.check(); err != nil {
		return nil, &OpError{Op: op, Address: addr, Err: err}
	}
	if opts.ID.PortSpace.datagrams() {
		return nil, &OpError{Op: op, Address: addr, Err: errors.New("the port space is of datagrams: use DialDatagram")}
	}
	list, err := lookup(ctx, addr)
	if err != nil {
		return nil, &OpError{Op: op, Address: addr, Err: err}
	}
	var errs []error
	for _, a := range list {
		e, err := dialOne(ctx, a, opts)
		if err == nil {
			return e, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// lookup returns the addresses that a text stands for.
func lookup(ctx context.Context, addr string) ([]Addr, error) {
	if a, err := ParseAddr(addr); err == nil {
		return []Addr{a}, nil
	}
	host, service, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return nil, fmt.Errorf("%q is not an address: want HOST:PORT, [IPv6%%ZONE]:PORT or ib:[GID]:PORT", clip(addr))
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: it must be a number up to 65535", clip(service))
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	var list []Addr
	for _, ip := range ips {
		list = append(list, Addr{IP: netip.AddrPortFrom(ip.Unmap(), uint16(port))})
	}
	return list, nil
}

func dialOne(ctx context.Context, addr Addr, opts DialEndpointOptions) (*Endpoint, error) {
	data, err := outgoing(opts.PrivateData, opts.Framed, MostRequestData)
	if err != nil {
		return nil, &OpError{Op: "dial", Address: addr.String(), Err: err}
	}
	id, err := resolved(ctx, addr, opts.Source, opts.ID)
	if err != nil {
		return nil, err
	}
	e, err := id.dial(ctx, data, opts.EndpointOptions)
	if err != nil {
		return nil, errors.Join(err, id.Close())
	}
	return e, nil
}

// resolved returns an id that is ready to connect.
func resolved(ctx context.Context, addr, source Addr, opts IDOptions) (*ID, error) {
	id, err := NewID(opts)
	if err != nil {
		return nil, err
	}
	if err = id.ResolveAddr(ctx, source, addr); err == nil {
		err = id.ResolveRoute(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, id.Close())
	}
	return id, nil
}

func (id *ID) dial(ctx context.Context, data []byte, o EndpointOptions) (*Endpoint, error) {
	qp, own, err := o.makeQP(ctx, id.Location())
	if err != nil {
		return nil, id.err("make a queue pair for", err)
	}
	e := &Endpoint{id: id, qp: qp, own: own, opts: o}
	if err := e.dial(ctx, data); err != nil {
		return nil, errors.Join(err, discard(qp, own))
	}
	e.hold()
	return e, nil
}

func (e *Endpoint) dial(ctx context.Context, data []byte) error {
	if err := e.id.initQP(e.qp); err != nil {
		return err
	}
	if e.opts.ECE != nil {
		if err := e.id.SetECE(*e.opts.ECE); err != nil {
			return err
		}
	}
	r := e.opts.reads(e.qp.PD().Device())
	answer, err := e.id.Connect(ctx, e.opts.connParam(e.qp, data, r))
	if err != nil {
		return err
	}
	// What the peer offers, seen from here.
	r = reads{serve: min(r.serve, answer.ResponderResources), start: min(r.start, answer.InitiatorDepth)}
	if err := e.id.connectQP(e.qp, e.opts, r); err != nil {
		// Without a word the peer would wait for the rest of the handshake.
		return errors.Join(err, e.id.Reject(nil))
	}
	e.data = answer.Data
	return e.id.Establish()
}
