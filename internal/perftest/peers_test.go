package perftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// play is a recorded peer that does something else at its at-th message.
func play(conn net.Conn, lines []line, at int, instead func(msg []byte)) {
	n := 0
	for _, l := range lines {
		if !l.write {
			if _, err := io.ReadFull(conn, make([]byte, len(l.msg))); err != nil {
				return
			}
			continue
		}
		if n == at {
			instead(l.msg)
		} else if _, err := conn.Write(l.msg); err != nil {
			return
		}
		n++
	}
}

func other(r Role) Role {
	if r == RoleClient {
		return RoleServer
	}
	return RoleClient
}

var wbwScript = script{qps: 1, results: true}

// The messages that a side of a recorded write_bw sends: four of the prologue,
// four keys, five results, the closing key.
const (
	wbwMessages     = 14
	wbwAfterRun     = 7
	wbwFirstResult  = 8
	wbwClosingPoint = 13
)

// against runs write_bw's script over an in-memory connection.
func against(t *testing.T, role Role, timeout time.Duration, at int, instead func(conn net.Conn, msg []byte)) (outcome, error) {
	ours, theirs := net.Pipe()
	done := make(chan struct{})
	peer := transcript(t, "wbw", other(role))
	go func() {
		defer close(done)
		defer theirs.Close()
		play(theirs, peer, at, func(msg []byte) { instead(theirs, msg) })
	}()
	// The session's own time limits must end it, on a busy machine too, but for
	// the wait that has none.
	limit := patience + timeout
	if at == wbwAfterRun {
		limit = 2 * timeout
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	keys, result := local(t, transcript(t, "wbw", role), wbwScript)
	s := NewSession(ours, role, SessionOptions{PrologueTimeout: timeout, ExchangeTimeout: timeout})
	o, err := wbwScript.run(ctx, s, keys, result)
	assert.NoError(t, s.Close())
	<-done
	return o, err
}

func eachStep(t *testing.T, f func(t *testing.T, role Role, at int)) {
	for _, role := range []Role{RoleClient, RoleServer} {
		for at := range wbwMessages {
			t.Run(fmt.Sprintf("%v/%d", role, at), func(t *testing.T) {
				t.Parallel()
				f(t, role, at)
			})
		}
	}
}

const patience = 30 * time.Second

func TestSplitMessages(t *testing.T) {
	eachStep(t, func(t *testing.T, role Role, at int) {
		o, err := against(t, role, patience, at, func(conn net.Conn, msg []byte) {
			for i := range msg {
				_, _ = conn.Write(msg[i : i+1])
			}
		})
		require.NoError(t, err)
		require.Len(t, o.keys, 1)
	})
}

func TestPeerCloses(t *testing.T) {
	eachStep(t, func(t *testing.T, role Role, at int) {
		_, err := against(t, role, patience, at, func(conn net.Conn, _ []byte) { _ = conn.Close() })
		requireProtocolError(t, err, ErrPeerClosed)
	})
}

func TestShortMessageThenClose(t *testing.T) {
	eachStep(t, func(t *testing.T, role Role, at int) {
		var sent []byte
		_, err := against(t, role, patience, at, func(conn net.Conn, msg []byte) {
			sent = msg[:len(msg)-1]
			_, _ = conn.Write(sent)
			_ = conn.Close()
		})
		e := requireProtocolError(t, err, ErrPeerClosed)
		require.Equal(t, sent, e.Received)
	})
}

func TestPeerFallsSilent(t *testing.T) {
	eachStep(t, func(t *testing.T, role Role, at int) {
		_, err := against(t, role, 250*time.Millisecond, at, func(conn net.Conn, msg []byte) {
			_, _ = conn.Write(msg[:1])
			_, _ = io.Copy(io.Discard, conn) // until the session closes
		})
		if at == wbwAfterRun { // has no limit but the context's
			requireProtocolError(t, err, context.DeadlineExceeded)
			return
		}
		e := requireProtocolError(t, err, ErrPeerSilent)
		require.Len(t, e.Received, 1)
	})
}

func TestGarbage(t *testing.T) {
	eachStep(t, func(t *testing.T, role Role, at int) {
		_, err := against(t, role, patience, at, func(conn net.Conn, msg []byte) {
			_, _ = conn.Write(bytes.Repeat([]byte{0xfe}, len(msg)))
		})
		if at >= wbwFirstResult && at < wbwClosingPoint {
			require.NoError(t, err, "any bytes are a result")
			return
		}
		if at == 0 {
			requireProtocolError(t, err, ErrForeign)
			return
		}
		var field *FieldError
		require.ErrorAs(t, err, &field)
		require.NotContains(t, err.Error(), "\n")
	})
}

func requireProtocolError(t *testing.T, err, target error) *ProtocolError {
	t.Helper()
	require.ErrorIs(t, err, target)
	var e *ProtocolError
	require.ErrorAs(t, err, &e)
	require.NotEmpty(t, e.Step)
	require.NotContains(t, err.Error(), "\n")
	return e
}

func TestForeignProtocols(t *testing.T) {
	for name, hello := range map[string]string{
		"HTTP": "HTTP/1.1 400 Bad Request\r\n",
		"TLS":  "\x15\x03\x01\x00\x02\x02\x46",
		"SSH":  "SSH-2.0-OpenSSH_9.2p1\r\n",
	} {
		ours, theirs := net.Pipe()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, versionLen))
			_, _ = io.WriteString(theirs, hello)
			_ = theirs.Close()
		}()
		_, err := NewSession(ours, RoleClient, SessionOptions{}).Prologue(context.Background(), host)
		e := requireProtocolError(t, err, ErrForeign)
		assert.Contains(t, e.Hint, name)
	}
}

func TestVersionGate(t *testing.T) {
	for _, c := range []struct {
		version Version
		role    Role
		refused bool
	}{
		{569, RoleClient, true}, {569, RoleServer, true}, {0, RoleServer, true},
		{570, RoleClient, false}, {606, RoleServer, false}, {627, RoleClient, false},
		{628, RoleClient, true}, {628, RoleServer, false}, {629, RoleClient, false}, {700, RoleClient, false},
	} {
		err := c.version.check(c.role)
		if c.refused {
			assert.ErrorIs(t, err, ErrIncompatible, "%v", c)
		} else {
			assert.NoError(t, err, "%v", c)
		}
	}
}

func TestOtherKeyForm(t *testing.T) {
	plain := Key{LID: 1, QPN: 2}
	withGID := Key{QPN: 2, GID: new(GID)}
	for _, c := range [][2]Key{{plain, withGID}, {withGID, plain}} {
		ours, theirs := net.Pipe()
		msg, err := EncodeKey(c[1])
		require.NoError(t, err)
		go func() {
			_, _ = theirs.Write(msg)
			_, _ = io.Copy(io.Discard, theirs)
		}()
		_, err = NewSession(ours, RoleServer, SessionOptions{}).ExchangeKeys(context.Background(), []Key{c[0]})
		requireProtocolError(t, err, ErrIncompatible)
		require.NoError(t, theirs.Close())
	}
}

func TestOtherGIDFamily(t *testing.T) {
	v4 := Key{GID: &GID{10: 0xff, 11: 0xff, 12: 10}}
	v6 := Key{GID: &GID{0: 0xfe, 1: 0x80}}
	assert.NoError(t, checkGIDs(v4, v4))
	assert.NoError(t, checkGIDs(v6, v6))
	assert.NoError(t, checkGIDs(v6, Key{}))
	assert.ErrorIs(t, checkGIDs(v4, v6), ErrIncompatible)
}

// tcp returns both ends of a connection over the loopback interface.
func tcp(t *testing.T) (server, client net.Conn) {
	ctx := context.Background()
	l, err := Listen(ctx, "", 0)
	require.NoError(t, err)
	client, err = Dial(ctx, "127.0.0.1", l.Addr().(*net.TCPAddr).Port, "")
	require.NoError(t, err)
	server, err = l.Accept(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return server, client
}

func TestBothSides(t *testing.T) {
	serverConn, clientConn := tcp(t)
	keys := map[Role]Key{
		RoleServer: {QPN: 1, PSN: 2, RKey: 3, VAddr: 4, OutReads: 1, GID: &GID{15: 1}},
		RoleClient: {QPN: 11, PSN: 12, RKey: 13, VAddr: 14, OutReads: 1, GID: &GID{15: 2}},
	}
	measured := Result{Size: 65536, Messages: 5000, Peak: 2, Average: 1.5, MsgRate: 0.25}
	type end struct {
		outcome
		err error
	}
	ends := map[Role]chan end{RoleServer: make(chan end, 1), RoleClient: make(chan end, 1)}
	for role, conn := range map[Role]net.Conn{RoleServer: serverConn, RoleClient: clientConn} {
		go func() {
			o, err := wbwScript.run(context.Background(), NewSession(conn, role, SessionOptions{}), []Key{keys[role]}, measured)
			ends[role] <- end{o, err}
		}()
	}
	for role, ch := range ends {
		e := <-ch
		require.NoError(t, e.err)
		require.Equal(t, []Key{keys[other(role)]}, e.keys)
		require.Equal(t, measured, e.result)
	}
}

func TestCancelClosesTheConnection(t *testing.T) {
	serverConn, clientConn := tcp(t)
	s := NewSession(serverConn, RoleServer, SessionOptions{})
	ctx, cancel := context.WithCancelCause(context.Background())
	stopped := errors.New("stopped by the test")
	time.AfterFunc(10*time.Millisecond, func() { cancel(stopped) })
	err := s.BarrierAfterRun(ctx, Key{}, 0)
	requireProtocolError(t, err, stopped)

	_, readErr := clientConn.Read(make([]byte, 1))
	require.ErrorIs(t, readErr, io.EOF)
	require.Same(t, err, s.Barrier(context.Background(), Key{}), "the session stays failed")
}

func TestWatchSeesThePeerGo(t *testing.T) {
	serverConn, clientConn := tcp(t)
	s := NewSession(clientConn, RoleClient, SessionOptions{})
	run, stop := s.Watch(context.Background())
	require.NoError(t, run.Err())
	require.NoError(t, serverConn.Close())
	<-run.Done()
	require.ErrorIs(t, context.Cause(run), ErrPeerClosed)
	requireProtocolError(t, stop(), ErrPeerClosed)
	requireProtocolError(t, stop(), ErrPeerClosed)
	requireProtocolError(t, s.Barrier(context.Background(), Key{}), ErrPeerClosed)

	run, stop = s.Watch(context.Background())
	<-run.Done()
	requireProtocolError(t, stop(), ErrPeerClosed)
}

func TestWatchKeepsBytes(t *testing.T) {
	ours, theirs := net.Pipe()
	s := NewSession(ours, RoleServer, SessionOptions{})
	run, stop := s.Watch(context.Background())
	want := Key{QPN: 7, GID: &GID{15: 9}}
	msg, err := EncodeKey(want)
	require.NoError(t, err)
	_, err = theirs.Write(msg[:70]) // returns when the watch has read it
	require.NoError(t, err)
	require.ErrorIs(t, s.Barrier(context.Background(), want), errWatching)
	require.NoError(t, run.Err())
	require.NoError(t, stop())
	require.ErrorIs(t, run.Err(), context.Canceled)
	require.NoError(t, stop())

	go func() {
		_, _ = theirs.Write(msg[70:])
		_, _ = io.Copy(io.Discard, theirs)
	}()
	got, err := s.ExchangeKeys(context.Background(), []Key{{GID: new(GID)}})
	require.NoError(t, err)
	require.Equal(t, []Key{want}, got)
	require.NoError(t, s.Close())
}

func TestWatchEndsWithItsContext(t *testing.T) {
	serverConn, clientConn := tcp(t)
	defer serverConn.Close()
	s := NewSession(clientConn, RoleClient, SessionOptions{})
	ctx, cancel := context.WithCancel(context.Background())
	run, stop := s.Watch(ctx)
	cancel()
	<-run.Done()
	require.NoError(t, stop())
}

func TestPrologueRefusesOurOwnBadValues(t *testing.T) {
	s := NewSession(&replay{t: t}, RoleClient, SessionOptions{})
	for _, h := range []Host{{}, {PageSize: 4096, CacheLine: 64}, {PageSize: 4096, CacheLine: 64, MTU: 6},
		{PageSize: -1, CacheLine: 64, MTU: 1}, {PageSize: 4096, CacheLine: 1 << 20, MTU: 1}} {
		_, err := s.Prologue(context.Background(), h)
		require.Error(t, err)
	}
}

func TestDialAndListenErrors(t *testing.T) {
	ctx := context.Background()
	l, err := Listen(ctx, "", 0)
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port

	_, err = Listen(ctx, "", port)
	requireAddressError(t, err, "listen", "-p")

	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err = l.Accept(ctx)
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = Dial(ctx, "127.0.0.1", port, "")
	requireAddressError(t, err, "connect", "start the server")
	_, err = Dial(ctx, "::1", port, "")
	requireAddressError(t, err, "connect", "IPv4")
	assert.Contains(t, dialHint(&net.DNSError{Err: "no such host", Name: "x"}, port), "name")

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = Dial(canceled, "127.0.0.1", port, "")
	require.ErrorIs(t, err, context.Canceled)
}

func requireAddressError(t *testing.T, err error, op, hint string) {
	t.Helper()
	var e *AddressError
	require.ErrorAs(t, err, &e)
	require.Equal(t, op, e.Op)
	require.Contains(t, e.Hint, hint)
	require.NotContains(t, err.Error(), "\n")
}

func TestAcceptEndsWithItsContext(t *testing.T) {
	l, err := Listen(context.Background(), "", 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = l.Accept(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
