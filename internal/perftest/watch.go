package perftest

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// maxAhead bounds what Watch reads of the peer's next messages. A peer waits
// for our answer after each, so that one message is all that can come.
const maxAhead = 4096

// watch is one call of Watch.
type watch struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the goroutine has ended
	ahead  []byte        // the goroutine's until done is closed
	err    error         // likewise
	some   atomic.Bool   // there is something in ahead
}

// Watch notices a peer that goes away during the run, when neither side has a
// message to wait for. The context that it returns ends with ErrPeerClosed as
// its cause when the peer closes the connection, and with ctx. Bytes that the
// peer sends meanwhile are kept for the next exchange.
//
// The caller must call stop before the next exchange, and may call it more than
// once. It returns ErrPeerClosed, in a *ProtocolError, if the peer went away;
// the session has then failed.
//
// A test whose peer exits without a closing barrier, as the C tools' write
// latency does, cannot tell a peer that has finished from one that died.
func (s *Session) Watch(ctx context.Context) (run context.Context, stop func() error) {
	run, cancel := context.WithCancelCause(ctx)
	if s.failed != nil || s.watching != nil {
		err := s.failed
		if err == nil {
			err = errWatching
		}
		cancel(err)
		return run, func() error { return err }
	}
	w := &watch{cancel: cancel, done: make(chan struct{})}
	s.watching = w
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		w.err = err
		cancel(err)
		close(w.done)
	} else {
		go w.run(s)
	}
	return run, func() error { return s.stopWatch(w) }
}

func (w *watch) run(s *Session) {
	defer close(w.done)
	buf := make([]byte, maxAhead)
	for len(w.ahead) < maxAhead {
		n, err := s.conn.Read(buf[:maxAhead-len(w.ahead)])
		w.ahead = append(w.ahead, buf[:n]...)
		w.some.Store(len(w.ahead) > 0)
		if err != nil {
			w.err = transportError(err)
			if !errors.Is(w.err, ErrPeerSilent) { // the deadline is how stopWatch ends us
				w.cancel(w.err)
			}
			return
		}
	}
}

func (s *Session) stopWatch(w *watch) error {
	if s.watching != w {
		return s.failed
	}
	// A deadline in the past ends the read under way and loses no byte.
	deadlineErr := s.conn.SetReadDeadline(time.Unix(1, 0))
	<-w.done
	w.cancel(context.Canceled)
	s.watching = nil
	s.ahead = append(s.ahead, w.ahead...)
	if err := w.err; err != nil && !errors.Is(err, ErrPeerSilent) {
		return s.fail("watch during the run", nil, err, "")
	}
	if deadlineErr != nil {
		return s.fail("watch during the run", nil, deadlineErr, "")
	}
	return nil
}

// peerWentOn tells, while a Watch is on, whether the peer has sent the next
// message. It is for any goroutine, as long as the Watch is not stopped meanwhile.
func (s *Session) peerWentOn() bool {
	w := s.watching
	return w != nil && w.some.Load()
}
