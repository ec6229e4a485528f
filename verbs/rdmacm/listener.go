package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// ListenEndpointOptions are the options of ListenEndpoint.
type ListenEndpointOptions struct {
	// ID are the options of the id; a listener has an event channel of its own
	// if Channel is nil.
	ID IDOptions
	// Backlog is how many requests wait for AcceptRequest; zero is 128. What
	// comes while so many wait is refused.
	Backlog int
}

// EndpointListener takes connection requests. It is safe for concurrent use; a
// request goes to one caller of AcceptRequest.
type EndpointListener struct {
	id      *ID
	channel *Channel // its own; nil if the options named one
	backlog int
	addr    Addr

	mu     sync.Mutex
	queue  []*Request
	wake   chan struct{} // holds one token
	done   chan struct{} // closed when Close begins
	closed bool
}

// ListenEndpoint listens at an address: one in the form that ParseAddr reads, or
// ":PORT" for all interfaces of all RDMA devices, over IPv4 and IPv6. Port 0
// takes a free one, which Addr tells.
//
// Implements: rdma_listen, rdma_bind_addr.
func ListenEndpoint(addr string, opts ListenEndpointOptions) (*EndpointListener, error) {
	const op = "listen at"
	a, err := listenAddr(addr)
	if err != nil {
		return nil, &OpError{Op: op, Address: addr, Err: err}
	}
	if opts.Backlog == 0 {
		opts.Backlog = defaultBacklog
	}
	l := newListener(opts.Backlog)
	if opts.ID.Channel == nil {
		if l.channel, err = NewChannel(); err != nil {
			return nil, err
		}
		opts.ID.Channel = l.channel
	}
	if err := l.open(a, opts.ID); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Listen listens at the address that the id is bound to, as ListenEndpoint does,
// and gives the id to the listener. Requests come on the id's event channel until
// they are taken. backlog is ListenEndpointOptions.Backlog.
//
// Implements: rdma_listen.
func (id *ID) Listen(backlog int) (*EndpointListener, error) {
	if backlog == 0 {
		backlog = defaultBacklog
	}
	l := newListener(backlog)
	l.id = id
	if err := id.listen(backlog, l.take); err != nil {
		return nil, err
	}
	l.addr = id.Location().Local
	return l, nil
}

// defaultBacklog is how many requests wait for AcceptRequest if nothing is said.
const defaultBacklog = 128

func newListener(backlog int) *EndpointListener {
	return &EndpointListener{backlog: backlog, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

func listenAddr(addr string) (Addr, error) {
	if len(addr) > 0 && addr[0] == ':' {
		// An IPv6 wildcard takes both families, unless AFOnly.
		addr = "[::]" + addr
	}
	if a, err := ParseAddr(addr); err == nil {
		return a, nil
	}
	return Addr{}, fmt.Errorf("%q is not an address: want IP:PORT, [IPv6%%ZONE]:PORT, :PORT or ib:[GID]:PORT", clip(addr))
}

func (l *EndpointListener) open(a Addr, opts IDOptions) (err error) {
	if l.id, err = NewID(opts); err != nil {
		return err
	}
	if err := l.id.Bind(a); err != nil {
		return err
	}
	if err := l.id.listen(l.backlog, l.take); err != nil {
		return err
	}
	l.addr = l.id.Location().Local
	if a.IP.IsValid() {
		// The kernel tells the port that it took.
		l.addr = Addr{IP: netip.AddrPortFrom(a.IP.Addr(), l.addr.IP.Port())}
	}
	return nil
}

// Addr returns the address that the listener is at.
func (l *EndpointListener) Addr() Addr { return l.addr }

// take queues a request. It is called by the channel's reader.
func (l *EndpointListener) take(raw crdmacm.Event) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.queue) >= l.backlog {
		return false
	}
	opts := l.id.opts
	opts.Channel = nil
	// The listener's channel cannot close before the listener is destroyed,
	// which waits for this event.
	id, err := newID(l.id.channel.Load(), opts, func() (crdmacm.ID, error) { return raw.ID, nil })
	if err != nil {
		return false
	}
	ev := eventOf(&raw)
	l.queue = append(l.queue, &Request{id: id, event: ev})
	l.wakeUp()
	return true
}

func (l *EndpointListener) wakeUp() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *EndpointListener) pop() *Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		return nil
	}
	r := l.queue[0]
	l.queue = l.queue[1:]
	if len(l.queue) > 0 {
		l.wakeUp()
	}
	return r
}

// AcceptRequest returns the next request, waiting for it if need be. The request
// must be accepted, rejected or closed; it outlives the listener. It returns
// ErrClosed when the listener is closed, and the context's error when that ends.
func (l *EndpointListener) AcceptRequest(ctx context.Context) (*Request, error) {
	const op = "accept at"
	fail := func(err error) error { return &OpError{Op: op, Address: l.addr.String(), Err: err} }
	for {
		select {
		case <-l.done:
			return nil, fail(ErrClosed)
		default:
		}
		if r := l.pop(); r != nil {
			// It must not go down with the listener's channel.
			err := r.id.Migrate(nil)
			switch {
			case err != nil:
				return nil, errors.Join(err, r.id.Close())
			case !r.id.withdrawn():
				return r, nil
			}
			if err := r.Close(); err != nil {
				return nil, err
			}
			continue
		}
		select {
		case <-l.wake:
		case <-l.done:
			return nil, fail(ErrClosed)
		case <-l.id.channel.Load().dead:
			return nil, fail(l.id.Reason())
		case <-ctx.Done():
			return nil, fail(ctx.Err())
		}
	}
}

// withdrawn reports whether the peer has given up before it was answered.
func (id *ID) withdrawn() bool {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.reason != nil || slices.ContainsFunc(id.events, func(ev Event) bool { return ev.Err() != nil })
}

// Close stops listening and refuses the requests that nobody took. Connections
// that were accepted live on.
//
// Implements: rdma_destroy_id.
func (l *EndpointListener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	queue := l.queue
	l.queue = nil
	l.mu.Unlock()
	close(l.done)
	var errs []error
	for _, r := range queue {
		errs = append(errs, r.Close())
	}
	if l.id != nil {
		errs = append(errs, l.id.Close())
	}
	if l.channel != nil {
		errs = append(errs, l.channel.Close())
	}
	return errors.Join(errs...)
}

// Request is a peer that wants to connect. One goroutine at a time may use it.
type Request struct {
	id    *ID
	event Event
	done  bool
}

// PeerData returns the private data that the peer sent, padded.
func (r *Request) PeerData() PrivateData { return r.event.Data }

// RemoteAddr returns the peer's address.
func (r *Request) RemoteAddr() Addr { return r.id.Location().Remote }

// LocalAddr returns the address that the peer asked for.
func (r *Request) LocalAddr() Addr { return r.id.Location().Local }

// Location returns where the request came in.
func (r *Request) Location() Location { return r.id.Location() }

// ID returns the request's id, for what Request does not wrap. Whoever uses it to
// answer closes it too.
func (r *Request) ID() *ID { return r.id }

// Event returns the event that brought the request.
func (r *Request) Event() Event { return r.event }

// errAnswered is the second answer to a request.
var errAnswered = errors.New("the request was answered before")

// Accept makes the queue pair and accepts the request. It returns once the peer
// has taken the answer. If it fails, the peer is refused and the request is over.
//
// Implements: rdma_accept.
func (r *Request) Accept(ctx context.Context, o EndpointOptions) (*Endpoint, error) {
	const op = "accept connection of"
	if r.done {
		return nil, r.id.err(op, errAnswered)
	}
	if r.id.opts.PortSpace.datagrams() {
		return nil, r.id.err(op, errors.New("the request is for a datagram service: use Answer"))
	}
	data, err := outgoing(o.PrivateData, o.Framed, MostReplyData)
	if err = errors.Join(err, o.check()); err != nil {
		return nil, r.id.err(op, err)
	}
	r.done = true
	qp, own, err := o.makeQP(ctx, r.id.Location())
	if err != nil {
		return nil, errors.Join(r.id.err(op, err), r.id.Close())
	}
	e := &Endpoint{id: r.id, qp: qp, own: own, opts: o, data: r.event.Data}
	if err := e.accept(ctx, r.event, data); err != nil {
		return nil, errors.Join(err, discard(qp, own), r.id.Close())
	}
	e.hold()
	return e, nil
}

func (e *Endpoint) accept(ctx context.Context, request Event, data []byte) error {
	if err := e.id.initQP(e.qp); err != nil {
		return err
	}
	if e.opts.ECE != nil {
		if err := e.id.SetECE(*e.opts.ECE); err != nil {
			return err
		}
	}
	r := e.opts.reads(e.qp.PD().Device())
	r = reads{serve: min(r.serve, request.ResponderResources), start: min(r.start, request.InitiatorDepth)}
	if err := e.id.connectQP(e.qp, e.opts, r); err != nil {
		return err
	}
	_, err := e.id.Accept(ctx, e.opts.connParam(e.qp, data, r))
	return err
}

// Reject refuses the request and ends it. reason, at most MostRejectData bytes,
// goes to the peer as RejectError.Data; FramePrivateData keeps its length.
//
// Implements: rdma_reject.
func (r *Request) Reject(reason []byte) error {
	const op = "reject connection of"
	if r.done {
		return r.id.err(op, errAnswered)
	}
	if len(reason) > MostRejectData {
		return r.id.err(op, fmt.Errorf("%d bytes of reason: at most %d can be sent", len(reason), MostRejectData))
	}
	r.done = true
	return errors.Join(r.id.Reject(reason), r.id.Close())
}

// Close ends a request that was not answered: the kernel refuses it. It does
// nothing after Accept and Reject.
func (r *Request) Close() error {
	if r.done {
		return nil
	}
	r.done = true
	return r.id.Close()
}
