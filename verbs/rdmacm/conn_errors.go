package rdmacm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/verbs"
)

// What errors.Is can ask of a connection's errors, besides what package verbs
// answers and the context's own errors.
var (
	// ErrPeerGone: the peer does not answer, or left without closing the
	// connection.
	ErrPeerGone = errors.New("the peer is gone")
	// ErrPeerAborted: the peer gave the connection up (Conn.Abort).
	ErrPeerAborted = errors.New("the peer aborted the connection")
	// ErrForeignPeer: the peer is no Conn of a version that this one knows. It
	// comes in a *HelloError.
	ErrForeignPeer = errors.New("the peer does not speak this protocol")
	// ErrProtocol: the peer broke the protocol, and the connection is over.
	ErrProtocol = errors.New("the peer broke the protocol")
	// ErrMessageTooLong: the message is longer than the peer or the buffer takes.
	ErrMessageTooLong = errors.New("message too long")
	// ErrRevoked: the peer took the region back.
	ErrRevoked = errors.New("the region was revoked")
	// ErrBufferInUse: the buffer was sent, released, or an operation on it has
	// not ended.
	ErrBufferInUse = errors.New("the buffer is not the caller's now")
)

var (
	errNoMemory      = errors.New("the memory region is nil")
	errForeignMemory = errors.New("the memory region is of another domain: register it in that of the hub (Hub.PD)")
)

// ConnError says what failed on which connection or hub, and why.
type ConnError struct {
	Op     string // "send"
	Device string // "mlx5_0"
	QPN    uint32 // the connection's queue pair; 0 if none is concerned
	Err    error
	// Hint says what to do. It is there only when its ground was checked.
	Hint string
}

// Error implements error.
func (e *ConnError) Error() string {
	var b strings.Builder
	b.WriteString("rdmacm: " + e.Op)
	if e.Device != "" {
		b.WriteString(" on " + e.Device)
	}
	if e.QPN != 0 {
		fmt.Fprintf(&b, " QP 0x%06x", e.QPN)
	}
	fmt.Fprintf(&b, ": %v", e.Err)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ConnError) Unwrap() error { return e.Err }

// Timeout reports whether a deadline passed, as net.Error has it.
func (e *ConnError) Timeout() bool { return errors.Is(e.Err, context.DeadlineExceeded) }

// HelloError says why a peer was refused that a queue pair connects to.
type HelloError struct {
	Version uint16 // of the peer's protocol; 0 if it did not say
	Reason  string
	Err     error
}

// Error implements error.
func (e *HelloError) Error() string { return fmt.Sprintf("%v: %s", e.Err, e.Reason) }

// Unwrap returns ErrForeignPeer.
func (e *HelloError) Unwrap() error { return e.Err }

// whyFailed makes the end of a connection out of a request that failed.
func whyFailed(c *verbs.Completion) error {
	err := c.Err()
	switch c.Status() {
	case verbs.StatusFlushed:
		return ErrPeerGone // that it was flushed says no more
	case verbs.StatusRetryExceeded, verbs.StatusRNRRetryExceeded, verbs.StatusResponseTimeout:
		return fmt.Errorf("%w: %w", ErrPeerGone, err)
	}
	return err
}
