package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// client is the transport of the ranks other than 0: one connection to rank 0.
type client struct {
	world  World
	limits limits
	conn   net.Conn
	reader chan struct{} // closed when the reading goroutine has ended

	welcome chan []Peer
	results chan result
	peers   []Peer

	mu      sync.Mutex
	broken  chan struct{} // closed when the session is over
	failure failure       // from then on
}

type result struct {
	sequence int
	parts    [][]byte
}

// errTryAgain marks what the next attempt may not meet.
type errTryAgain struct{ error }

func (e errTryAgain) Unwrap() error { return e.error }

// target is where to look for rank 0, and what it must know.
type target struct {
	addresses []string
	session   [16]byte
	fileKey   []byte
}

// find tries until rank 0 has taken this rank in, or says that it never will, or
// the time is up. look is asked again before each attempt: a rendezvous file
// appears, or is replaced.
func find(ctx context.Context, w World, o Options, look func() (target, error)) (*client, error) {
	const shortest, longest = 20 * time.Millisecond, time.Second
	var last error
	for pause := shortest; ; pause = min(2*pause, longest) {
		t, err := look()
		if err == nil {
			for _, address := range t.addresses {
				var c *client
				if c, err = join(ctx, w, o, address, t); err == nil {
					return c, nil
				}
				if !errors.As(err, new(errTryAgain)) {
					return nil, err
				}
				if ctx.Err() != nil {
					break
				}
			}
		}
		// What ended with the context says less than what came before it.
		if err != nil && (last == nil || ctx.Err() == nil) {
			last = err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, &RankError{
				Op: opConnect.String(), By: w.Rank, Missing: []int{0},
				Err: &lastAttempt{cause: context.Cause(ctx), last: last},
			}
		}
	}
}

// lastAttempt is why the time for finding rank 0 ended, and what the last
// attempt met.
type lastAttempt struct{ cause, last error }

func (e *lastAttempt) Error() string {
	text := reason(e.cause)
	if e.last != nil {
		text += ": the last attempt: " + reason(e.last)
	}
	return text
}

func (e *lastAttempt) Unwrap() []error {
	if e.last == nil {
		return []error{e.cause}
	}
	return []error{e.cause, e.last}
}

// dialTimeout bounds one attempt to connect: there may be other addresses.
const dialTimeout = 5 * time.Second

// join connects to one address and goes through the handshake.
func join(ctx context.Context, w World, o Options, address string, t target) (*client, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, errTryAgain{&AddressError{Op: "connect", Addr: address, Err: err}}
	}
	// While the context ends only what reads or writes now.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	err = introduce(conn, w, authKey(o.Secret, t.fileKey), t.session)
	if !stop() {
		err = errTryAgain{&AddressError{Op: "connect", Addr: address, Err: context.Cause(ctx)}}
	}
	if err != nil {
		_ = conn.Close()
		return nil, at(address, err)
	}
	_ = conn.SetDeadline(time.Time{})
	keepAlive(conn)
	c := &client{
		world: w, limits: limits{w.Size, o.MaxMessage}, conn: conn, reader: make(chan struct{}),
		welcome: make(chan []Peer, 1), results: make(chan result, 1), broken: make(chan struct{}),
	}
	go c.read()
	return c, nil
}

// at adds the address to an error of the connection. What is not rank 0's own
// word may be otherwise the next time.
func at(address string, err error) error {
	var refused *RefusedError
	switch {
	case errors.As(err, &refused), errors.As(err, new(errTryAgain)):
		return err
	case errors.Is(err, ErrVersion):
		return &AddressError{Op: "connect", Addr: address, Err: err, Hint: "build all ranks' programs with one version of this module"}
	}
	return errTryAgain{&AddressError{Op: "connect", Addr: address, Err: err}}
}

// introduce is the rank's side of the handshake.
func introduce(conn net.Conn, w World, key []byte, session [16]byte) error {
	me := identity(w)
	me.session = session
	fill(me.nonce[:])
	body := me.encode()
	if _, err := conn.Write(frame(kindHello, body)); err != nil {
		return err
	}
	challenge, err := expect(conn, w, kindChallenge)
	if err != nil {
		return err
	}
	if len(challenge) != nonceLen {
		return fmt.Errorf("%w: malformed challenge", ErrForeign)
	}
	if _, err := conn.Write(frame(kindProof, proof(key, rankProof, body, challenge))); err != nil {
		return err
	}
	accepted, err := expect(conn, w, kindAccepted)
	if err != nil {
		return err
	}
	if !proves(key, headProof, body, challenge, accepted) {
		return &RefusedError{Rank: w.Rank, Err: ErrSecret, Detail: "what answered as rank 0 does not know it"}
	}
	return nil
}

// expect reads the frame that must come now. A refusal in its place is an error,
// which is final unless trying again may help.
func expect(conn net.Conn, w World, want frameKind) ([]byte, error) {
	kind, body, err := readFrame(conn, handshake)
	if err != nil {
		return nil, err
	}
	switch kind {
	case want:
		return body, nil
	case kindRefused:
		r, err := decodeRefusal(body)
		if err != nil {
			return nil, err
		}
		if r.final() {
			return nil, r.err(w)
		}
		return nil, errTryAgain{r.err(w)}
	default:
		return nil, fmt.Errorf("%w: a frame of kind %d, want %d", ErrForeign, kind, want)
	}
}

// read takes what rank 0 sends, until the connection ends.
func (c *client) read() {
	defer close(c.reader)
	defer c.conn.Close()
	for {
		kind, body, err := readFrame(c.conn, c.limits.of)
		if err == nil {
			err = c.handle(kind, body)
		}
		if err != nil {
			c.fail(failure{code: failDied, by: -1, died: []int{0}})
			return
		}
	}
}

var errProtocol = errors.New("rank 0 broke the protocol")

func (c *client) handle(kind frameKind, body []byte) error {
	switch kind {
	case kindWelcome:
		peers, err := decodePeers(body, c.world.Size)
		if err != nil {
			return err
		}
		select {
		case c.welcome <- peers:
			return nil
		default:
			return errProtocol
		}
	case kindResult:
		sequence, parts, err := decodeResult(body)
		if err != nil {
			return err
		}
		select {
		case c.results <- result{sequence, parts}:
			return nil
		default:
			return errProtocol
		}
	case kindFailed:
		f, err := decodeFailure(body)
		if err != nil {
			return err
		}
		c.fail(f)
		return nil
	case kindLeave:
		c.fail(failure{code: failLeft, by: -1, left: []int{0}})
		return nil
	default:
		return errProtocol
	}
}

// fail ends the session, once.
func (c *client) fail(f failure) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.broken:
	default:
		c.failure = f
		close(c.broken)
	}
}

// wait returns when rank 0 says that all have come.
func (c *client) wait(ctx context.Context) error {
	select {
	case c.peers = <-c.welcome:
		return nil
	case <-c.broken:
	case <-ctx.Done():
		c.abandon(0)
	}
	select {
	case c.peers = <-c.welcome:
		return nil
	default:
		return c.broke(ctx, operation{kind: opConnect})
	}
}

// abandon tells rank 0 that this rank no longer waits, and gives it a moment to
// say who is missing.
func (c *client) abandon(sequence int) {
	var e encoder
	e.u32(sequence)
	_ = c.write(context.Background(), frame(kindAbandon, e), time.Now().Add(leaveTimeout))
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case <-c.broken:
	case <-timer.C:
	case r := <-c.results:
		putBack(c.results, r)
	case peers := <-c.welcome:
		putBack(c.welcome, peers)
	}
}

// putBack returns what was taken, unless rank 0 has broken the protocol and sent
// another one meanwhile.
func putBack[T any](to chan T, what T) {
	select {
	case to <- what:
	default:
	}
}

// broke makes the error of an operation that the session's end ended.
func (c *client) broke(ctx context.Context, op operation) error {
	select {
	case <-c.broken:
	default:
		// Rank 0 did not even answer who is missing.
		c.fail(failure{code: failGaveUp, op: op, by: c.world.Rank})
	}
	return c.failure.err(ctx, c.world, op, c.peers)
}

// write sends a frame, by a deadline and while the context lasts.
func (c *client) write(ctx context.Context, frame []byte, deadline time.Time) error {
	_ = c.conn.SetWriteDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	_, err := c.conn.Write(frame)
	return err
}

func (c *client) collect(ctx context.Context, op operation, data []byte) ([][]byte, error) {
	select {
	case <-c.broken:
		return nil, c.broke(ctx, op)
	default:
	}
	if err := c.write(ctx, frame(kindContribute, encodeContribution(op, data)), time.Time{}); err != nil {
		if ctx.Err() != nil {
			c.fail(failure{code: failGaveUp, op: op, by: c.world.Rank})
		}
		// What was cut short leaves nothing to go on with.
		_ = c.conn.Close()
		<-c.reader
		return nil, c.broke(ctx, op)
	}
	select {
	case r := <-c.results:
		return c.take(ctx, op, r)
	case <-c.broken:
	case <-ctx.Done():
		c.abandon(op.sequence)
	}
	select {
	case r := <-c.results:
		return c.take(ctx, op, r)
	default:
		return nil, c.broke(ctx, op)
	}
}

// take checks that a result is this operation's.
func (c *client) take(ctx context.Context, op operation, r result) ([][]byte, error) {
	want := 0
	switch op.kind {
	case opBroadcast:
		want = 1
	case opAllGather:
		want = c.world.Size
	}
	if r.sequence != op.sequence || len(r.parts) != want {
		_ = c.conn.Close()
		<-c.reader
		return nil, c.broke(ctx, op)
	}
	return r.parts, nil
}

// close leaves the session.
func (c *client) close() error {
	_ = c.write(context.Background(), frame(kindLeave, nil), time.Now().Add(leaveTimeout))
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	timer := time.NewTimer(leaveTimeout)
	defer timer.Stop()
	select {
	case <-c.reader: // rank 0 closed its end
	case <-timer.C:
		_ = c.conn.Close()
		<-c.reader
	}
	return nil
}

func (c *client) ranks() []Peer { return c.peers }

// keepAlive notices within half a minute that a machine is gone.
func keepAlive(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4})
	}
}
