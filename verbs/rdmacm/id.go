package rdmacm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs"
)

// PortSpace says what kind of service an id's port numbers belong to (enum
// rdma_port_space).
type PortSpace int

// Port spaces. In TCP and IB the service is RC, in UDP and IPoIB it is UD. IPoIB
// joins groups that the kernel's IP over InfiniBand has too.
const (
	TCP   PortSpace = crdmacm.RDMA_PS_TCP
	UDP   PortSpace = crdmacm.RDMA_PS_UDP
	IB    PortSpace = crdmacm.RDMA_PS_IB
	IPoIB PortSpace = crdmacm.RDMA_PS_IPOIB
)

// datagrams reports whether the space's service is UD.
func (ps PortSpace) datagrams() bool { return ps == UDP || ps == IPoIB }

// IDOptions are the options of an id.
type IDOptions struct {
	// PortSpace is the kind of service; zero is TCP.
	PortSpace PortSpace
	// Channel gets the events; nil is the one that ids share.
	Channel *Channel
	// TypeOfService is the byte of that name in IP, from which RoCE takes its
	// priority and InfiniBand its service level; zero leaves the system's
	// default.
	TypeOfService uint8
	// ReuseAddress lets a local address be bound that another id has, or had a
	// moment ago.
	ReuseAddress bool
	// AFOnly has a listener on an IPv6 wildcard take no IPv4.
	AFOnly bool
	// AckTimeout is how long a queue pair waits for an acknowledgement before
	// it sends again: 4.096 µs times 2^AckTimeout, 1 to 31. Zero leaves it to
	// the fabric: on InfiniBand it comes of the path, on RoCE the kernel takes
	// 19, two seconds, and newer ones 17, half a second.
	AckTimeout uint8
}

// ID is a communication identifier: the connection manager's counterpart of a
// socket. It is safe for concurrent use, but operations that wait (those with a
// context) belong to one goroutine at a time: a second one gets
// ErrConcurrentUse. Close ends the wait of another goroutine.
//
// When the context of an operation ends before the kernel answers, the id is
// good for nothing but Close.
type ID struct {
	obj  life.Object
	raw  crdmacm.ID
	opts IDOptions

	channel atomic.Pointer[Channel]
	onto    sync.Mutex // held while channel changes
	pooled  bool       // the channel is the shared one

	op      chan struct{} // holds a token while no operation waits
	closing chan struct{} // closed when Close begins
	stop    func()        // closes closing, once
	gone    chan struct{} // closed when the connection is over

	mu        sync.Mutex
	events    []Event
	wake      chan struct{} // holds one token
	abandoned bool
	joined    uint64 // the last context given to a multicast group
	reason    error  // why gone is closed
	onGone    []func()
	take      func(crdmacm.Event) bool // of a listener
	answering sync.WaitGroup
}

// NewID makes an id.
//
// Implements: rdma_create_id, rdma_set_option.
func NewID(opts IDOptions) (*ID, error) {
	const op = "create id"
	if opts.PortSpace == 0 {
		opts.PortSpace = TCP
	}
	if opts.AckTimeout > 31 {
		return nil, &OpError{Op: op, Err: fmt.Errorf("AckTimeout %d: it must be 1 to 31", opts.AckTimeout)}
	}
	ch, pooled := opts.Channel, false
	if ch == nil {
		var err error
		if ch, err = acquireShared(); err != nil {
			return nil, err
		}
		pooled = true
	}
	id, err := newID(ch, opts, func() (crdmacm.ID, error) { return ch.raw.CreateID(int(opts.PortSpace)) })
	if err != nil {
		if pooled {
			err = errors.Join(err, releaseShared())
		}
		return nil, &OpError{Op: op, Err: err}
	}
	id.pooled = pooled
	if err := id.setOptions(); err != nil {
		return nil, errors.Join(&OpError{Op: "set option", Err: err}, id.Close())
	}
	return id, nil
}

// newID wraps what make returns, on a channel.
func newID(ch *Channel, opts IDOptions, make func() (crdmacm.ID, error)) (*ID, error) {
	if err := ch.obj.Use(); err != nil {
		return nil, err
	}
	defer ch.obj.Done()
	raw, err := make()
	if err != nil {
		return nil, err
	}
	id := idOf(raw, opts)
	id.channel.Store(ch)
	ch.enter(id)
	known.add(id)
	life.Enter(&id.obj, id, "connection manager id")
	return id, nil
}

func idOf(raw crdmacm.ID, opts IDOptions) *ID {
	id := &ID{
		raw: raw, opts: opts,
		op: make(chan struct{}, 1), closing: make(chan struct{}), gone: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	id.op <- struct{}{}
	id.stop = sync.OnceFunc(func() { close(id.closing) })
	return id
}

func (id *ID) setOptions() error {
	set := func(name int, value []byte) error { return id.raw.SetOption(crdmacm.RDMA_OPTION_ID, name, value) }
	number := func(on bool) []byte {
		v := make([]byte, 4)
		if on {
			binary.NativeEndian.PutUint32(v, 1)
		}
		return v
	}
	var errs []error
	if o := id.opts; o.TypeOfService != 0 {
		errs = append(errs, set(crdmacm.RDMA_OPTION_ID_TOS, []byte{o.TypeOfService}))
	}
	if id.opts.ReuseAddress {
		errs = append(errs, set(crdmacm.RDMA_OPTION_ID_REUSEADDR, number(true)))
	}
	if id.opts.AFOnly {
		errs = append(errs, set(crdmacm.RDMA_OPTION_ID_AFONLY, number(true)))
	}
	if o := id.opts; o.AckTimeout != 0 {
		errs = append(errs, set(crdmacm.RDMA_OPTION_ID_ACK_TIMEOUT, []byte{o.AckTimeout}))
	}
	return errors.Join(errs...)
}

// put keeps an event for whoever waits. It is called by a channel's reader,
// which waits for nobody.
func (id *ID) put(ev Event) {
	// What nobody asks for, such as a late UNREACHABLE, must not pile up.
	const most = 64
	id.mu.Lock()
	if id.events = append(id.events, ev); len(id.events) > most {
		id.events = slices.Delete(id.events, 0, 1)
	}
	id.mu.Unlock()
	select {
	case id.wake <- struct{}{}:
	default:
	}
	switch ev.Type {
	case EventDisconnected, EventDeviceRemoval, EventTimewaitExit:
		err := ev.Err()
		if err == nil {
			err = ErrDisconnected
		}
		id.end(err)
	}
}

// end notes that the connection is over, once, and has what follows done outside
// the reader.
func (id *ID) end(reason error) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.reason != nil {
		return
	}
	id.reason = reason
	close(id.gone)
	if hooks := id.onGone; len(hooks) > 0 {
		id.onGone = nil
		id.answering.Add(1)
		go func() {
			defer id.answering.Done()
			for _, hook := range hooks {
				hook()
			}
		}()
	}
}

// afterGone has hook called in a goroutine of its own once the connection is
// over.
func (id *ID) afterGone(hook func()) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.reason == nil {
		id.onGone = append(id.onGone, hook)
		return
	}
	id.answering.Add(1)
	go func() {
		defer id.answering.Done()
		hook()
	}()
}

// Disconnected returns a channel that is closed once the connection is over:
// either end disconnected, the peer's process ended, or the device went away.
// Reason says which.
func (id *ID) Disconnected() <-chan struct{} { return id.gone }

// Reason returns why the connection is over, and nil while it is not.
func (id *ID) Reason() error {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.reason
}

// begin starts an operation that waits; finish ends it.
func (id *ID) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-id.op:
	default:
		return ErrConcurrentUse
	}
	id.mu.Lock()
	abandoned := id.abandoned
	id.mu.Unlock()
	if abandoned {
		id.op <- struct{}{}
		return ErrAbandoned
	}
	if err := id.obj.Use(); err != nil {
		id.op <- struct{}{}
		return err
	}
	return nil
}

func (id *ID) finish() {
	id.obj.Done()
	id.op <- struct{}{}
}

// await returns the first event of one of the kinds, for an operation that began
// something in the kernel: if the context ends first, the id is abandoned. Other
// events are of no interest to the operation and are dropped.
func (id *ID) await(ctx context.Context, kinds ...EventType) (Event, error) {
	return id.awaitThat(ctx, func(ev Event) bool { return slices.Contains(kinds, ev.Type) })
}

func (id *ID) awaitThat(ctx context.Context, wanted func(Event) bool) (Event, error) {
	for {
		ev, err := id.next(ctx)
		switch {
		case err != nil:
			id.mu.Lock()
			id.abandoned = true
			id.mu.Unlock()
			return Event{}, err
		case wanted(ev), ev.Type == EventDeviceRemoval:
			return ev, ev.Err()
		}
	}
}

// next returns the oldest event, waiting for it if need be.
func (id *ID) next(ctx context.Context) (Event, error) {
	for {
		if ev, ok := id.pop(); ok {
			return ev, nil
		}
		select {
		case <-id.wake:
		case <-id.closing:
			return Event{}, ErrClosed
		case <-id.channel.Load().dead:
			return Event{}, id.Reason()
		case <-ctx.Done():
			return Event{}, ctx.Err()
		}
	}
}

func (id *ID) pop() (Event, bool) {
	id.mu.Lock()
	defer id.mu.Unlock()
	if len(id.events) == 0 {
		return Event{}, false
	}
	ev := id.events[0]
	id.events = id.events[1:]
	return ev, true
}

// Next returns the next event that no operation took, waiting for it if need be:
// address changes, what WriteEvent sent, a late refusal. It returns ErrClosed
// when the id is closed, and the context's error when that ends; the id stays
// usable then.
func (id *ID) Next(ctx context.Context) (Event, error) {
	if err := id.begin(ctx); err != nil {
		return Event{}, id.err("wait for event", err)
	}
	defer id.finish()
	ev, err := id.next(ctx)
	return ev, id.inUse("wait for event", err)
}

// timeoutMS is what the kernel gets as a time-out: a little more than the context
// leaves, so that it is the context that ends first, and at most limit.
func timeoutMS(ctx context.Context, limit time.Duration) int {
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)+time.Second)
	}
	return max(1, int(limit.Milliseconds()))
}

// Device returns the name of the device that the id is bound to; "" until its
// address was resolved, bound to one interface, or came with a request.
func (id *ID) Device() string {
	if id.obj.Use() != nil {
		return ""
	}
	defer id.obj.Done()
	return id.raw.Device()
}

// Location says where in the fabric an id is.
type Location struct {
	Device string // "mlx5_0"
	Port   int    // from 1
	// Source and Destination are the GIDs of both ends; that of a listener's
	// other end is zero.
	Source, Destination verbs.GID
	// PKey is the partition.
	PKey uint16
	// Local and Remote are the addresses of both ends.
	Local, Remote Addr
}

// Ports returns the port numbers of both ends, 0 where there is none yet. Of a
// native InfiniBand address it is what its service id has in the place of one.
//
// Implements: rdma_get_src_port, rdma_get_dst_port.
func (id *ID) Ports() (local, remote uint16) {
	if id.obj.Use() != nil {
		return 0, 0
	}
	defer id.obj.Done()
	return id.raw.Ports()
}

// Location returns where the id is. Device is "" while it is bound to none.
func (id *ID) Location() Location {
	if id.obj.Use() != nil {
		return Location{}
	}
	defer id.obj.Done()
	return id.location()
}

func (id *ID) location() Location {
	l := Location{Device: id.raw.Device(), Port: id.raw.Port()}
	l.Source, l.Destination, l.PKey = id.raw.GIDs()
	source, destination := id.raw.Addresses()
	l.Local, l.Remote = addrOf(&source), addrOf(&destination)
	return l
}

func (id *ID) err(op string, err error) error {
	if err == nil {
		return nil
	}
	if id.obj.Use() != nil {
		return &OpError{Op: op, Err: err}
	}
	defer id.obj.Done()
	return id.inUse(op, err)
}

// inUse is err for whoever keeps the id in use.
func (id *ID) inUse(op string, err error) error {
	if err == nil {
		return nil
	}
	l := id.location()
	e := &OpError{Op: op, Device: l.Device, Port: l.Port, Err: err}
	if l.Remote != (Addr{}) {
		e.Address = l.Remote.String()
	}
	return e
}

// Migrate moves the id's events to another channel; nil is the one that ids
// share.
//
// Implements: rdma_migrate_id.
func (id *ID) Migrate(to *Channel) error {
	const op = "migrate id"
	id.onto.Lock()
	defer id.onto.Unlock()
	if err := id.obj.Use(); err != nil {
		return id.err(op, err)
	}
	defer id.obj.Done()
	pooled := to == nil
	if pooled {
		var err error
		if to, err = acquireShared(); err != nil {
			return err
		}
	}
	if err := to.obj.Use(); err != nil {
		return id.inUse(op, err)
	}
	defer to.obj.Done()
	if err := id.raw.Migrate(to.raw); err != nil {
		if pooled {
			err = errors.Join(err, releaseShared())
		}
		return id.inUse(op, err)
	}
	from, was := id.channel.Load(), id.pooled
	to.enter(id)
	from.leave(id)
	id.channel.Store(to)
	id.pooled = pooled
	if was {
		return releaseShared()
	}
	return nil
}

// Close destroys the id and what the kernel still does for it. Events that come
// late are dropped. The queue pair of its connection, if there is one, must be
// closed first.
//
// Implements: rdma_destroy_id.
func (id *ID) Close() error {
	id.stop()
	id.end(ErrClosed)
	id.answering.Wait()
	id.onto.Lock()
	defer id.onto.Unlock()
	var after error
	err := id.obj.Close(func() error {
		known.remove(id)
		if err := id.raw.Destroy(); err != nil {
			known.add(id)
			return err
		}
		id.channel.Load().leave(id)
		if id.pooled {
			after = releaseShared()
		}
		return nil
	})
	if err != nil {
		return &OpError{Op: "destroy id", Err: err}
	}
	return after
}

// CloseAll is Close: nothing that the registry knows hangs on an id.
func (id *ID) CloseAll() error { return id.Close() }
