package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/verbs"
)

// EndpointOptions are the options of one end of a connection.
type EndpointOptions struct {
	// QueuePair makes the queue pair once the device and the port are known. It
	// is of type RC, in RESET or INIT: receives that must be there before the
	// peer sends are posted here, after QP.Init. The endpoint then owns it, but
	// neither its completion queues nor its protection domain.
	//
	// nil makes one on a device that is shared within the process (Share), with
	// a completion queue of its own (Endpoint.CQ) and the defaults of
	// verbs.QPOptions.
	QueuePair func(ctx context.Context, at Location) (*verbs.QP, error)
	// PrivateData goes to the peer: at most MostRequestData bytes from the end
	// that dials and MostReplyData from the end that accepts. It arrives padded
	// with zeros, unless Framed.
	PrivateData []byte
	// Framed puts the length in front of PrivateData, for PrivateData.Framed of
	// the peer. It takes three bytes of the room.
	Framed bool
	// Timeout is how long to wait for an acknowledgement before a retry: 4.096
	// µs times 2^Timeout, 1 to 31. Zero leaves it to the connection manager
	// (IDOptions.AckTimeout).
	Timeout int
	// Retries is how often to retry before verbs.StatusRetryExceeded, up to 7;
	// zero is 6, verbs.None is no retry. 7 never ends on soft-RoCE: a dead peer
	// is never told.
	Retries int
	// RNRRetries is how often to retry when the peer has no receive posted, up
	// to 6; verbs.None is no retry. Zero is verbs.InfiniteRNRRetry.
	RNRRetries int
	// MinRNRTimer is how long the peer is asked to wait before it retries
	// because no receive was posted here: the specification's code, 1 to 31.
	// Zero is 12, 0.64 ms.
	MinRNRTimer int
	// MaxReads is how many RDMA reads and atomics may be under way at once, in
	// each direction; zero is as many as both ends allow, verbs.None is none.
	MaxReads int
	// ECE are vendor options to offer to the peer.
	ECE *ECE
}

func (o EndpointOptions) check() error {
	for _, f := range []struct {
		name       string
		value, top int
		none       bool
	}{
		{"Timeout", o.Timeout, 31, false}, {"Retries", o.Retries, 7, true}, {"RNRRetries", o.RNRRetries, 7, true},
		{"MinRNRTimer", o.MinRNRTimer, 31, false}, {"MaxReads", o.MaxReads, 255, true},
	} {
		if f.value > f.top || f.value < 0 && !(f.none && f.value == verbs.None) {
			return fmt.Errorf("%s %d: it must be 1 to %d", f.name, f.value, f.top)
		}
	}
	return nil
}

// orDefault returns an option's value: zero is its default, None is zero.
func orDefault(v, def int) uint8 {
	switch v {
	case 0:
		v = def
	case verbs.None:
		v = 0
	}
	return uint8(v)
}

// Endpoint is one end of a connection: a queue pair that is connected, and the
// id that connected it. It is safe for concurrent use; the queue pair has its
// own rules.
type Endpoint struct {
	id     *ID
	qp     *verbs.QP
	own    *ownQueue // nil if the caller made the queue pair
	opts   EndpointOptions
	data   PrivateData
	local  Addr
	remote Addr

	closeMu sync.Mutex
	closed  bool
}

// QP returns the queue pair. It is in RTS until the connection is over, then in
// the error state, where everything posted is flushed.
func (e *Endpoint) QP() *verbs.QP { return e.qp }

// PD returns the protection domain that memory for the connection belongs to.
func (e *Endpoint) PD() *verbs.PD { return e.qp.PD() }

// CQ returns the completion queue of a queue pair that the endpoint made by
// itself, and nil if EndpointOptions.QueuePair made it.
func (e *Endpoint) CQ() *verbs.CQ {
	if e.own == nil {
		return nil
	}
	return e.own.cq
}

// ID returns the id, for what the endpoint does not wrap.
func (e *Endpoint) ID() *ID { return e.id }

// PeerData returns the private data that the peer sent when the connection was
// made, padded.
func (e *Endpoint) PeerData() PrivateData { return e.data }

// LocalAddr returns the own address.
func (e *Endpoint) LocalAddr() Addr { return e.local }

// RemoteAddr returns the peer's address.
func (e *Endpoint) RemoteAddr() Addr { return e.remote }

// Disconnected returns a channel that is closed once the connection is over.
func (e *Endpoint) Disconnected() <-chan struct{} { return e.id.Disconnected() }

// Reason returns why the connection is over (ErrDisconnected, ErrDeviceGone,
// ErrClosed), and nil while it is not.
func (e *Endpoint) Reason() error { return e.id.Reason() }

// hold makes the end of the connection reach the queue pair: the peer that
// disconnected gets its answer, and what is posted is flushed.
func (e *Endpoint) hold() {
	e.local, e.remote = e.id.Location().Local, e.id.Location().Remote
	e.id.afterGone(func() {
		if errors.Is(e.id.Reason(), ErrClosed) {
			return
		}
		// The peer may have stopped waiting, and the queue pair may be in error.
		_ = e.id.Disconnect()
		_ = e.qp.Err()
	})
}

// Disconnect ends the connection and waits until the peer has answered, the
// kernel has given up on it, or the context ends. What is posted is flushed: a
// program that wants its requests to arrive waits for their completions first.
func (e *Endpoint) Disconnect(ctx context.Context) error {
	const op = "disconnect from"
	select {
	case <-e.id.Disconnected():
		return nil
	default:
	}
	if err := e.id.Disconnect(); err != nil {
		return err
	}
	if err := e.qp.Err(); err != nil {
		return err
	}
	select {
	case <-e.id.Disconnected():
		return nil
	case <-ctx.Done():
		return e.id.err(op, ctx.Err())
	}
}

// Close disconnects, if that has not happened, and releases the queue pair, what
// was made with it, and the id. It tells the peer once and does not wait for its
// answer; after Disconnect the peer knows. Requests in flight are flushed, and
// their completions stay on completion queues that the caller brought. Closing
// twice is harmless.
func (e *Endpoint) Close() error {
	e.closeMu.Lock()
	defer e.closeMu.Unlock()
	if e.closed {
		return nil
	}
	if e.id.Reason() == nil {
		// If it fails the peer will find out by itself.
		_ = e.id.Disconnect()
	}
	e.id.settle()
	if err := e.qp.Close(); err != nil {
		return err
	}
	e.closed = true
	var errs []error
	if e.own != nil {
		errs = append(errs, e.own.cq.Close())
	}
	errs = append(errs, e.id.Close())
	if e.own != nil {
		errs = append(errs, e.own.device.Release())
	}
	return errors.Join(errs...)
}

// settle ends waiting on the connection, so that nothing touches its queue pair
// any more.
func (id *ID) settle() {
	id.end(ErrClosed)
	id.answering.Wait()
}

// ownQueue is what a queue pair that nobody else made needs.
type ownQueue struct {
	device *SharedDevice
	cq     *verbs.CQ
}

// makeQP makes the queue pair of a connection whose place is known.
func (o EndpointOptions) makeQP(ctx context.Context, at Location) (*verbs.QP, *ownQueue, error) {
	return o.makeTyped(ctx, at, verbs.RC, 0)
}

func (o EndpointOptions) makeTyped(ctx context.Context, at Location, kind verbs.QPType, qkey uint32) (*verbs.QP, *ownQueue, error) {
	if o.QueuePair != nil {
		qp, err := o.QueuePair(ctx, at)
		switch {
		case err != nil:
			return nil, nil, err
		case qp == nil:
			return nil, nil, errors.New("QueuePair returned none")
		case qp.PD().Device().Name() != at.Device:
			err := fmt.Errorf("QueuePair made one on %s: the address leads to %s", qp.PD().Device().Name(), at.Device)
			return nil, nil, errors.Join(err, qp.Close())
		case qp.Type() != kind:
			err := fmt.Errorf("QueuePair made one of type %v: it takes %v", qp.Type(), kind)
			return nil, nil, errors.Join(err, qp.Close())
		}
		return qp, nil, nil
	}
	device, err := share(ctx, at.Device)
	if err != nil {
		return nil, nil, err
	}
	cq, err := device.Device.CreateCQ(verbs.CQOptions{Events: true})
	if err != nil {
		return nil, nil, errors.Join(err, device.Release())
	}
	qp, err := device.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, Port: at.Port, Type: kind, QKey: qkey, Unaddressed: kind == verbs.RC})
	if err != nil {
		return nil, nil, errors.Join(err, cq.Close(), device.Release())
	}
	return qp, &ownQueue{device, cq}, nil
}

// discard releases what makeQP made.
func discard(qp *verbs.QP, own *ownQueue) error {
	err := qp.Close()
	if own != nil {
		err = errors.Join(err, own.cq.Close(), own.device.Release())
	}
	return err
}
