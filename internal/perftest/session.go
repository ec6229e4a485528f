package perftest

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// Role is the side of the control connection. It decides who writes first in
// an exchange: the client.
type Role int

const (
	RoleServer Role = iota
	RoleClient
)

func (r Role) String() string {
	if r == RoleClient {
		return "client"
	}
	return "server"
}

// SessionOptions are the time limits of a session.
type SessionOptions struct {
	// PrologueTimeout bounds each exchange of the prologue. Zero means 10
	// seconds; ib_write_bw waits for one second before its first message.
	PrologueTimeout time.Duration
	// ExchangeTimeout bounds each later exchange. Zero means 60 seconds: the
	// peer registers its memory before it sends a key.
	ExchangeTimeout time.Duration
	// BinaryKeys has keys sent as structures, which is their form where the
	// control connection is the connection manager's.
	BinaryKeys bool
	// AnyGID does not compare the two sides' GIDs, which nobody uses where the
	// connection manager connects the queue pairs.
	AnyGID bool
}

// prologueTimeout is the default of SessionOptions.
const prologueTimeout = 10 * time.Second

// drainTimeout bounds the wait for the peer's end of the connection.
const drainTimeout = time.Second

// Session is the control connection of one run. Its methods are for one
// goroutine, but Close may be called from any.
//
// No message has a length or a type: both sides must make the same exchanges in
// the same order. Every message leaves in one write, because the C tools read
// each with a single read.
//
// The first exchange that fails closes the connection, so that the peer hears
// of it at once, and every later call returns the same error. When a context
// ends, the exchange under way ends with it and returns context.Cause.
type Session struct {
	conn    net.Conn
	role    Role
	options SessionOptions

	ahead    []byte // what Watch read of the next message
	watching *watch
	failed   error

	closeOnce sync.Once
	closeErr  error
}

// NewSession makes conn, from Dial or Listener.Accept, a session. The session
// owns conn.
func NewSession(conn net.Conn, role Role, options SessionOptions) *Session {
	if options.PrologueTimeout <= 0 {
		options.PrologueTimeout = prologueTimeout
	}
	if options.ExchangeTimeout <= 0 {
		options.ExchangeTimeout = 60 * time.Second
	}
	return &Session{conn: conn, role: role, options: options}
}

// Role returns the side that this session is.
func (s *Session) Role() Role { return s.role }

// RemoteAddr returns the peer's address.
func (s *Session) RemoteAddr() net.Addr { return s.conn.RemoteAddr() }

// Close closes the connection without a word to the peer, which takes it for a
// failed run; Finish ends a run that succeeded. Close may be called again and
// then returns the first call's error.
func (s *Session) Close() error {
	s.closeOnce.Do(func() { s.closeErr = s.conn.Close() })
	return s.closeErr
}

// errWatching reports an exchange that would race with Watch for the bytes.
var errWatching = errors.New("perftest: an exchange was started while Watch was running; stop it first")

// exchange sends out and receives one message by read, in the order of the
// session's role; an empty out is not sent. read returns what it received, for
// the error. No limit is set when timeout is zero.
func (s *Session) exchange(ctx context.Context, step string, timeout time.Duration, out []byte, read func() ([]byte, error)) error {
	if s.failed != nil {
		return s.failed
	}
	if s.watching != nil {
		return errWatching
	}
	if err := ctx.Err(); err != nil {
		return s.fail(step, nil, context.Cause(ctx), "")
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })

	var deadline time.Time
	if timeout > 0 {
		deadline = time.Now().Add(timeout)
	}
	err := s.conn.SetDeadline(deadline)
	var received []byte
	if err == nil && s.role == RoleClient && len(out) > 0 {
		_, err = s.conn.Write(out)
	}
	if err == nil {
		received, err = read()
	}
	if err == nil && s.role == RoleServer && len(out) > 0 {
		_, err = s.conn.Write(out)
	}

	if !stop() {
		return s.fail(step, nil, context.Cause(ctx), "")
	}
	if err != nil {
		return s.fail(step, received, transportError(err), "")
	}
	return nil
}

// fail closes the session and keeps the error. An empty hint is replaced by
// the one that the error and the received bytes suggest.
func (s *Session) fail(step string, received []byte, err error, hint string) error {
	if hint == "" {
		hint = hintFor(err)
	}
	if name, ok := foreign(received); ok {
		err, hint = ErrForeign, "that is "+name+": "+hintSameTool
	}
	s.failed = &ProtocolError{Step: step, Received: received, Hint: hint, Err: err}
	_ = s.Close()
	return s.failed
}

func hintFor(err error) string {
	var field *FieldError
	switch {
	case errors.Is(err, ErrPeerClosed):
		return "see what the other side printed"
	case errors.Is(err, ErrPeerSilent), errors.As(err, &field), errors.Is(err, errKeyForm):
		return hintSameTool
	default:
		return ""
	}
}

// fixed returns a reader of one message of n bytes, which decode takes.
func (s *Session) fixed(n int, decode func([]byte) error) func() ([]byte, error) {
	return func() ([]byte, error) {
		msg := make([]byte, n)
		got, err := s.readFull(msg)
		if err != nil {
			return msg[:got], err
		}
		return msg, decode(msg)
	}
}

// readFull fills p, first from what Watch read ahead.
func (s *Session) readFull(p []byte) (int, error) {
	n := copy(p, s.ahead)
	s.ahead = s.ahead[n:]
	if n == len(p) {
		return n, nil
	}
	m, err := io.ReadFull(s.conn, p[n:])
	return n + m, err
}
