package perftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

var (
	// ErrPeerClosed reports that the peer closed the control connection, or
	// died, before the exchange was over.
	ErrPeerClosed = errors.New("the peer closed the connection")
	// ErrPeerSilent reports that the peer sent nothing, or not enough, in time.
	ErrPeerSilent = errors.New("the peer fell silent")
	// ErrIncompatible reports a peer that speaks perftest's protocol but
	// cannot run this test with us.
	ErrIncompatible = errors.New("the two sides are incompatible")
	// ErrForeign reports bytes that are not perftest's protocol.
	ErrForeign = errors.New("the peer does not speak perftest's protocol")
)

// FieldError reports a field of a message that does not have its form.
type FieldError struct {
	// Field is the field's name: "lid", "gid[3]", "page size".
	Field string
	// Want describes the form, Got is what stood there.
	Want string
	Got  []byte
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("field %s: want %s, received %q", e.Field, e.Want, excerpt(e.Got))
}

// ProtocolError reports the exchange that failed. It matches one of this
// package's sentinels, a *FieldError, or the context's error.
type ProtocolError struct {
	// Step names the exchange: "version message", "key of queue pair 0".
	Step string
	// Received is what arrived of the message that failed.
	Received []byte
	// Hint says what to do; it may be empty.
	Hint string
	Err  error
}

func (e *ProtocolError) Error() string {
	s := "perftest: " + e.Step + ": " + e.Err.Error()
	var field *FieldError
	if len(e.Received) > 0 && !errors.As(e.Err, &field) {
		s += fmt.Sprintf(" (received %q)", excerpt(e.Received))
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *ProtocolError) Unwrap() error { return e.Err }

// excerpt bounds what an error message repeats of a peer's bytes.
func excerpt(b []byte) []byte {
	const limit = 48
	if len(b) > limit {
		return b[:limit]
	}
	return b
}

const (
	hintSameTool = "run the same tool on both sides (ib_write_bw with write_bw, and so on) and check the host and -p"
	hintSameArgs = "run the same tool with the same options on both sides"
)

// foreign recognises the protocols that a wrong port number meets.
func foreign(b []byte) (string, bool) {
	for _, p := range []struct{ prefix, name string }{
		{"HTTP/", "HTTP"}, {"GET ", "HTTP"}, {"POST ", "HTTP"}, {"HEAD ", "HTTP"}, {"PUT ", "HTTP"},
		{"OPTIONS ", "HTTP"}, {"CONNECT ", "HTTP"}, {"PRI * HTTP/2", "HTTP/2"},
		{"\x16\x03", "TLS"}, {"\x15\x03", "TLS"}, {"SSH-", "SSH"}, {"220 ", "SMTP or FTP"},
	} {
		if bytes.HasPrefix(b, []byte(p.prefix)) {
			return p.name, true
		}
	}
	return "", false
}

// transportError turns an error of the connection into one of the sentinels.
func transportError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ErrPeerSilent
	case isClosed(err):
		return ErrPeerClosed
	default:
		return err
	}
}

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ETIMEDOUT) // by keep-alive
}

// AddressError reports that the control connection could not be made.
type AddressError struct {
	// Op is "listen", "accept" or "connect".
	Op string
	// Addr is host:port.
	Addr string
	// Hint says what to do; it may be empty.
	Hint string
	Err  error
}

func (e *AddressError) Error() string {
	s := "perftest: " + e.Op + " " + e.Addr + ": " + reason(e.Err)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *AddressError) Unwrap() error { return e.Err }

// reason leaves out what net's errors repeat of the address.
func reason(err error) string {
	var (
		errno syscall.Errno
		dns   *net.DNSError
		addr  *net.AddrError
	)
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &dns):
		return dns.Err
	case errors.As(err, &addr):
		return addr.Err
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no answer in time"
	default:
		return err.Error()
	}
}
