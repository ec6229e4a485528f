package rsocket

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// socket is an rsocket of any kind. Calls of the library that do not block may run
// side by side; one that blocks runs alone, in a goroutine, and not while the poller
// looks at the rsocket: it reads events that rpoll would wait for.
type socket struct {
	life        life.Object
	fd          crdmacm.RSocket
	poller      *poller
	counted     *count
	linger      time.Duration
	local, peer rdmacm.Addr
	in, out     side

	mu      sync.Mutex
	slow    bool // its events do not always wake rpoll
	inside  int  // calls of the library that run
	left    chan struct{}
	busy    chan struct{} // closed when the call that blocks ends; nil if none runs
	closed  bool
	closing chan struct{}
	gone    chan struct{} // closed when rclose has returned
}

// side is a direction: one goroutine at a time has its turn.
type side struct {
	events   int16
	turn     chan struct{}
	deadline deadline
}

// open makes an rsocket for an address's family. Whoever gets it enters it into
// the registry, or discards it.
func open(family *crdmacm.Sockaddr, kind int, linger time.Duration, in *count) (*socket, error) {
	return wrap(linger, in, func() (crdmacm.RSocket, error) { return crdmacm.OpenRSocket(family, kind) })
}

func wrap(linger time.Duration, in *count, get func() (crdmacm.RSocket, error)) (*socket, error) {
	p, err := holdPoller()
	if err != nil {
		return nil, err
	}
	if err := in.take(); err != nil {
		p.release()
		return nil, err
	}
	fd, err := get()
	if err != nil {
		in.give()
		p.release()
		return nil, err
	}
	if linger == 0 {
		linger = defaultLinger
	}
	return &socket{
		fd: fd, poller: p, counted: in, linger: linger, closing: make(chan struct{}), gone: make(chan struct{}),
		in:  side{events: crdmacm.POLLIN, turn: make(chan struct{}, 1)},
		out: side{events: crdmacm.POLLOUT, turn: make(chan struct{}, 1)},
	}, nil
}

// names asks for the addresses of both ends.
func (s *socket) names() {
	if a, err := s.fd.LocalName(); err == nil {
		s.local = rdmacm.Addr{IP: a.AddrPort()}
	}
	if a, err := s.fd.PeerName(); err == nil {
		s.peer = rdmacm.Addr{IP: a.AddrPort()}
	}
}

func (s *socket) fail(op string, err error) error { return opError(op, s.local, s.peer, err) }

// over tells why a call that waits has to end, if it has.
func (s *socket) over(ctx context.Context, d *side) error {
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return contextError{err}
	}
	select {
	case <-d.deadline.wait():
		return os.ErrDeadlineExceeded
	default:
		return nil
	}
}

// await waits for a channel, or for the reason to end.
func (s *socket) await(ctx context.Context, d *side, ready <-chan struct{}) error {
	select {
	case <-ready:
	case <-s.closing:
	case <-ctx.Done():
	case <-d.deadline.wait():
	}
	return s.over(ctx, d)
}

// do has its turn in a direction, and tries until it is done or answers an error
// other than EAGAIN.
func (s *socket) do(ctx context.Context, d *side, try func() (done bool, err error)) error {
	if err := s.over(ctx, d); err != nil {
		return err
	}
	select {
	case d.turn <- struct{}{}:
	case <-s.closing:
		return s.over(ctx, d)
	case <-ctx.Done():
		return s.over(ctx, d)
	case <-d.deadline.wait():
		return s.over(ctx, d)
	}
	defer func() { <-d.turn }()
	for {
		busy, err := s.enter()
		if err != nil {
			return err
		}
		if busy != nil {
			if err := s.await(ctx, d, busy); err != nil {
				return err
			}
			continue
		}
		done, err := try()
		s.leave()
		if done || err != nil && !errors.Is(err, syscall.EAGAIN) {
			return err
		}
		if err == nil {
			if err := s.over(ctx, d); err != nil {
				return err
			}
			continue
		}
		ready, err := s.arm(d.events)
		if err != nil {
			return err
		}
		if err := s.await(ctx, d, ready); err != nil {
			s.poller.drop(s.fd, d.events)
			return err
		}
	}
}

// enter begins a call that does not block. If one that blocks runs, it returns a
// channel that is closed when that ends.
func (s *socket) enter() (busy <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.busy != nil:
		return s.busy, nil
	}
	s.inside++
	return nil, nil
}

func (s *socket) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inside--; s.inside == 0 && s.left != nil {
		close(s.left)
		s.left = nil
	}
}

// arm has the poller look at the rsocket.
func (s *socket) arm(events int16) (<-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, ErrClosed
	case s.busy != nil:
		return s.busy, nil
	}
	return s.poller.add(s.fd, events, s.slow)
}

// quick runs a call that does not block, waiting for one that does.
func (s *socket) quick(call func() error) error {
	for {
		busy, err := s.enter()
		if err != nil {
			return err
		}
		if busy == nil {
			defer s.leave()
			return call()
		}
		select {
		case <-busy:
		case <-s.closing:
		}
	}
}

// alone runs a call that blocks when no other runs, and returns when it ends or
// after the time to linger.
func (s *socket) alone(last bool, call func() error) error {
	result := make(chan error, 1)
	go func() {
		s.mu.Lock()
		for s.busy != nil {
			busy := s.busy
			s.mu.Unlock()
			<-busy
			s.mu.Lock()
		}
		if s.closed && !last {
			s.mu.Unlock()
			result <- ErrClosed
			return
		}
		busy := make(chan struct{})
		s.busy = busy
		if s.inside > 0 {
			left := make(chan struct{})
			s.left = left
			s.mu.Unlock()
			<-left
		} else {
			s.mu.Unlock()
		}
		s.poller.detach(s.fd)
		err := call()
		s.mu.Lock()
		s.busy = nil
		s.mu.Unlock()
		close(busy)
		result <- err
	}()
	patience := time.NewTimer(s.linger)
	defer patience.Stop()
	select {
	case err := <-result:
		return err
	case <-patience.C:
		return ErrLingering
	}
}

// close ends all calls, runs last and closes the rsocket. Only the first does.
func (s *socket) close(last func()) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	s.mu.Unlock()
	return s.alone(true, func() error {
		if last != nil {
			last()
		}
		err := s.fd.Close()
		close(s.gone)
		s.counted.give()
		s.poller.release()
		// Nothing else can fail here: an rsocket has no children.
		return errors.Join(err, s.life.Close(func() error { return nil }))
	})
}

// discard closes an rsocket that nobody has got.
func (s *socket) discard() { _ = s.close(nil) }
