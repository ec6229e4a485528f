package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
)

// transport carries operations between the ranks.
type transport interface {
	// collect gives this rank's part of an operation and returns the result: one
	// part for a broadcast, all ranks' for an allgather, none for a barrier.
	collect(ctx context.Context, op operation, data []byte) ([][]byte, error)
	ranks() []Peer
	close() error
}

// Session connects the ranks of a world. All ranks call the same operations in
// the same order; one operation is under way at a time. A Session may be used
// from several goroutines, but an operation that finds another one of the same
// session under way fails with ErrConcurrentUse, because the ranks could not know
// which comes first. Close may be called at any time.
//
// An operation that fails because of a rank, or because its time is up, ends the
// session at all ranks: this operation and all later ones return an error that
// names the ranks. A new session needs a new Connect.
type Session struct {
	world     World
	options   Options
	transport transport
	peers     []Peer

	busy     sync.Mutex // held by the operation that is under way
	sequence int        // under busy
	broken   error      // under busy

	closing   context.Context // ended by Close
	endAll    context.CancelCauseFunc
	closeOnce sync.Once
	closeErr  error
}

// Connect brings the ranks of a world together: rank 0 listens, or writes a file,
// and the others find it, until all have come. It returns at all ranks or, when
// the context ends or options.ConnectTimeout is over, with a *RankError that
// names the ranks that did not come, as far as this rank can know. A world of one
// rank connects to nobody.
//
// What answers at the address, or comes to it, and is not this job's rank, does
// not disturb. A rank that comes twice, with another size, or with another secret,
// gets a *RefusedError; a wrong size is told to all ranks. Rank 0 serves the
// others from goroutines of the session, until Close.
//
// One session at a time can use an address, or a job's name where a file is
// used.
func Connect(ctx context.Context, world World, options Options) (*Session, error) {
	if ctx == nil {
		return nil, errNoContext
	}
	if err := world.check(); err != nil {
		return nil, err
	}
	options = options.settled()
	if options.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, options.ConnectTimeout)
		defer cancel()
	}
	carrier, err := connect(ctx, world, options)
	if err != nil {
		return nil, err
	}
	s := &Session{world: world, options: options, transport: carrier, peers: carrier.ranks()}
	s.closing, s.endAll = context.WithCancelCause(context.Background())
	return s, nil
}

func connect(ctx context.Context, w World, o Options) (transport, error) {
	switch {
	case w.Size == 1:
		return solo{identity(w)}, nil
	case w.ExchangeDir != "":
		return connectByFiles(ctx, w, o)
	case w.Rank == 0:
		return connectHead(ctx, w, o)
	default:
		return connectRank(ctx, w, o)
	}
}

func connectHead(ctx context.Context, w World, o Options) (transport, error) {
	if w.Address != "" {
		listener, err := listenAt(ctx, w, o)
		if err != nil {
			return nil, err
		}
		h := newHead(w, o, nil, [16]byte{})
		h.serve([]net.Listener{listener})
		return h.awaitAll(ctx, func() error { return nil })
	}
	hosts, err := offeredHosts(w, o)
	if err != nil {
		return nil, err
	}
	var r rendezvous
	fill(r.session[:])
	fill(r.key[:])
	h := newHead(w, o, r.key[:], r.session)
	r.host, r.pid = h.me.host, h.me.pid
	listeners, addresses, err := listenOn(ctx, hosts)
	if err != nil {
		return nil, err
	}
	r.addresses = addresses
	h.gathered = func() { removeOwn(w.RendezvousFile, r.session) }
	h.serve(listeners)
	if err := writeRendezvous(w.RendezvousFile, r); err != nil {
		_ = h.close()
		return nil, err
	}
	// A failed removal leaves a file that nobody will believe.
	defer removeOwn(w.RendezvousFile, r.session)
	return h.awaitAll(ctx, func() error {
		if h.complete() {
			return nil
		}
		return replaced(w.RendezvousFile, w, r.session)
	})
}

// awaitAll returns the head when all ranks have come.
func (h *head) awaitAll(ctx context.Context, watch func() error) (transport, error) {
	if err := h.wait(ctx, watch); err != nil {
		_ = h.close()
		return nil, err
	}
	return h, nil
}

// offeredHosts are the addresses that rank 0 listens on for a rendezvous file.
func offeredHosts(w World, o Options) ([]string, error) {
	if w.LocalSize == w.Size && o.SocketInterface == "" {
		return []string{"127.0.0.1", "::1"}, nil
	}
	all, err := HeadAddresses(o.SocketInterface)
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, a := range all {
		if a.Offered {
			hosts = append(hosts, a.Address)
		}
	}
	return hosts, nil
}

func connectRank(ctx context.Context, w World, o Options) (transport, error) {
	look := func() (target, error) { return target{addresses: w.candidates()}, nil }
	if w.RendezvousFile != "" {
		look = func() (target, error) {
			r, err := readRendezvous(w.RendezvousFile)
			return target{addresses: r.addresses, session: r.session, fileKey: r.key[:]}, err
		}
	}
	c, err := find(ctx, w, o, look)
	if err != nil {
		return nil, err
	}
	if err := c.wait(ctx); err != nil {
		_ = c.close()
		return nil, err
	}
	return c, nil
}

// World returns what was given to Connect.
func (s *Session) World() World { return s.world }

// Rank returns this process's number among all, from 0.
func (s *Session) Rank() int { return s.world.Rank }

// Size returns how many ranks there are.
func (s *Session) Size() int { return s.world.Size }

// LocalRank returns this process's number among those on its machine, from 0: the
// launcher's, or else the number of lower ranks with the same host name. It is
// what picks a GPU.
func (s *Session) LocalRank() int {
	if s.world.Rank >= len(s.peers) {
		return 0 // the session was never made
	}
	return s.peers[s.world.Rank].LocalRank
}

// LocalSize returns how many ranks run on this machine.
func (s *Session) LocalSize() int {
	n := 0
	for _, p := range s.peers {
		if p.Node == s.peers[s.world.Rank].Node {
			n++
		}
	}
	return n
}

// Peers returns all ranks, by rank.
func (s *Session) Peers() []Peer { return slices.Clone(s.peers) }

// Broadcast gives all ranks the data of rank root, and returns it. The others'
// data is ignored. It waits until every rank has called it.
//
// It fails with ErrTooLarge, before anything is sent, if root's data is longer
// than options.MaxMessage; with an *OrderError if another rank calls another
// operation; with a *RankError that names ranks which died, left or did not come
// before the context ended or options.OperationTimeout was over; and with
// ErrClosed.
func (s *Session) Broadcast(ctx context.Context, root int, data []byte) ([]byte, error) {
	if !s.made() {
		return nil, fmt.Errorf("bootstrap: broadcast: %w", ErrClosed)
	}
	if root < 0 || root >= s.world.Size {
		return nil, fmt.Errorf("bootstrap: broadcast from rank %d: there are ranks 0 to %d", root, s.world.Size-1)
	}
	if s.world.Rank != root {
		data = nil
	}
	parts, err := s.run(ctx, opBroadcast, root, data)
	if err != nil {
		return nil, err
	}
	return slices.Clone(parts[0]), nil
}

// AllGather gives all ranks the data of all ranks, and returns it by rank. The
// lengths may differ. Its errors are those of Broadcast, and ErrTooLarge at all
// ranks if they gave more than 1 GiB together.
func (s *Session) AllGather(ctx context.Context, data []byte) ([][]byte, error) {
	parts, err := s.run(ctx, opAllGather, 0, data)
	if err != nil {
		return nil, err
	}
	own := make([][]byte, len(parts))
	for i, part := range parts {
		own[i] = slices.Clone(part)
	}
	return own, nil
}

// Barrier returns when every rank has called it. Its errors are those of
// Broadcast.
func (s *Session) Barrier(ctx context.Context) error {
	_, err := s.run(ctx, opBarrier, 0, nil)
	return err
}

// made reports whether s is more than a zero value.
func (s *Session) made() bool { return s != nil && s.transport != nil }

func (s *Session) run(ctx context.Context, kind opKind, root int, data []byte) ([][]byte, error) {
	if !s.made() {
		return nil, fmt.Errorf("bootstrap: %s: %w", kind, ErrClosed)
	}
	if ctx == nil {
		return nil, errNoContext
	}
	if !s.busy.TryLock() {
		return nil, fmt.Errorf("bootstrap: %s: %w", kind, ErrConcurrentUse)
	}
	defer s.busy.Unlock()
	switch {
	case s.closing.Err() != nil:
		return nil, fmt.Errorf("bootstrap: %s: %w", kind, ErrClosed)
	case s.broken != nil:
		return nil, s.broken
	case ctx.Err() != nil:
		return nil, fmt.Errorf("bootstrap: %s: %w", kind, context.Cause(ctx))
	case len(data) > s.options.MaxMessage:
		return nil, fmt.Errorf("bootstrap: %s of %d bytes: %w: %d is the most (Options.MaxMessage)", kind, len(data), ErrTooLarge, s.options.MaxMessage)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(s.closing, func() { cancel(ErrClosed) })
	defer stop()
	if s.options.OperationTimeout > 0 {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, s.options.OperationTimeout)
		defer end()
	}
	s.sequence++
	parts, err := s.transport.collect(ctx, operation{s.sequence, kind, root}, data)
	if err != nil {
		s.broken = err
	}
	return parts, err
}

// Close leaves the session: the other ranks learn that this one left on purpose.
// Those that want to go on fail with ErrRankLeft, so it comes after the last
// operation. It waits up to 2 seconds for the other side, ends an operation that
// is under way, and may be called again.
func (s *Session) Close() error {
	if !s.made() {
		return nil
	}
	s.closeOnce.Do(func() {
		s.endAll(ErrClosed)
		s.busy.Lock() // the operation that is under way ends first
		defer s.busy.Unlock()
		s.closeErr = s.transport.close()
	})
	return s.closeErr
}

// solo is the transport of a rank that is alone.
type solo struct{ me hello }

func (solo) collect(_ context.Context, op operation, data []byte) ([][]byte, error) {
	if op.kind == opBarrier {
		return nil, nil
	}
	return [][]byte{data}, nil
}

func (s solo) ranks() []Peer { return seat([]hello{s.me}) }
func (solo) close() error    { return nil }

var errNoContext = errors.New("bootstrap: the context is nil: use context.Background()")
