package perftest

import (
	"context"
	"fmt"
	"io"
	"time"
)

// ExchangeKeys makes one pass over the queue pairs: it sends each key of local
// and receives the peer's for the same queue pair, one after the other. It
// refuses a peer whose GID is of another kind with ErrIncompatible.
func (s *Session) ExchangeKeys(ctx context.Context, local []Key) ([]Key, error) {
	peer := make([]Key, len(local))
	for i, k := range local {
		var err error
		if peer[i], err = s.exchangeKey(ctx, fmt.Sprintf("key of queue pair %d", i), s.options.ExchangeTimeout, k); err != nil {
			return nil, err
		}
	}
	return peer, nil
}

// Barrier waits until the peer has come to the same point. The message is the
// key of queue pair 0.
func (s *Session) Barrier(ctx context.Context, local Key) error {
	_, err := s.exchangeKey(ctx, "barrier", s.options.ExchangeTimeout, local)
	return err
}

// BarrierAfterRun is Barrier for the side that has nothing to send and waits
// there for as long as the other's run takes, at most patience unless that is
// zero. It returns when the peer closes the connection, when ctx ends, or, by
// TCP's keep-alive, some time after the peer's machine is gone.
func (s *Session) BarrierAfterRun(ctx context.Context, local Key, patience time.Duration) error {
	_, err := s.exchangeKey(ctx, "barrier after the run", patience, local)
	return err
}

func (s *Session) exchangeKey(ctx context.Context, step string, timeout time.Duration, local Key) (Key, error) {
	encode, decode, read := EncodeKey, DecodeKey, s.readKey
	if s.options.BinaryKeys {
		encode, decode, read = EncodeBinaryKey, DecodeBinaryKey, s.readPlain
	}
	out, err := encode(local)
	if err != nil {
		return Key{}, err
	}
	var peer Key
	err = s.exchange(ctx, step, timeout, out, func() ([]byte, error) {
		msg, err := read(len(out))
		if err != nil {
			return msg, err
		}
		if peer, err = decode(msg); err != nil {
			return msg, err
		}
		if local.GID == nil {
			peer.GID = nil // a structure always has room for one
		}
		if s.options.AnyGID {
			return msg, nil
		}
		return msg, checkGIDs(local, peer)
	})
	return peer, err
}

// Meet waits until the peer has come to the same point, before and after the
// connection manager connects the queue pairs. The message is a key of zeros.
func (s *Session) Meet(ctx context.Context) error {
	_, err := s.exchangeKey(ctx, "meeting for the queue pairs", s.options.ExchangeTimeout, Key{})
	return err
}

// readPlain reads n bytes.
func (s *Session) readPlain(n int) ([]byte, error) {
	msg := make([]byte, n)
	got, err := s.readFull(msg)
	return msg[:got], err
}

// readKey reads a key of n bytes. Both forms begin alike, and only the short
// one has a NUL at its end, so that a peer that uses the other form is told
// apart before we wait for bytes that never come.
func (s *Session) readKey(n int) ([]byte, error) {
	msg := make([]byte, n)
	got, err := s.readFull(msg[:keyLenPlain])
	if err != nil {
		return msg[:got], err
	}
	if short := msg[keyLenPlain-1] == 0; short != (n == keyLenPlain) && isKeyText(msg[:keyLenPlain-1]) {
		return msg[:keyLenPlain], fmt.Errorf("%w: %w: pass -x on both sides or on neither", ErrIncompatible, errKeyForm)
	}
	more, err := s.readFull(msg[keyLenPlain:])
	return msg[:got+more], err
}

// isKeyText tells whether b holds only the characters of a key.
func isKeyText(b []byte) bool {
	for _, c := range b {
		if (c < '0' || c > ':') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ExchangeResult sends what this side measured and returns what the peer sent,
// unchecked: see [Result.Bandwidth]. A side that measured nothing sends the zero
// Result.
func (s *Session) ExchangeResult(ctx context.Context, local Result) (Result, error) {
	var peer [resultFields]uint64
	for i, word := range local.words() {
		err := s.exchange(ctx, "result: "+resultNames[i], s.options.ExchangeTimeout, encodeWord(word),
			s.fixed(wordLen, func(msg []byte) error {
				peer[i] = decodeWord(msg)
				return nil
			}))
		if err != nil {
			return Result{}, err
		}
	}
	return resultFromWords(peer), nil
}

// Finish ends a run that succeeded: a last barrier, then it waits for at most a
// second until the peer has closed its end, and closes. Up to release 4.5 the
// peer sends a last message that nobody reads; closing with it unread would
// reset the connection, and could so destroy what the peer has not read yet.
func (s *Session) Finish(ctx context.Context, local Key) error {
	if _, err := s.exchangeKey(ctx, "closing barrier", s.options.ExchangeTimeout, local); err != nil {
		return err
	}
	return s.drain(ctx, drainTimeout)
}

// FinishAfterRun is Finish for the side that waits there as in BarrierAfterRun.
func (s *Session) FinishAfterRun(ctx context.Context, local Key, patience time.Duration) error {
	if _, err := s.exchangeKey(ctx, "closing barrier after the run", patience, local); err != nil {
		return err
	}
	return s.drain(ctx, drainTimeout)
}

// Leave ends a run that has no closing barrier. It waits, at most for patience,
// until the peer has closed its end, so that the queue pairs are there for as long
// as the peer may still wait for an acknowledgement.
func (s *Session) Leave(ctx context.Context, patience time.Duration) error {
	if s.failed != nil {
		return s.Close() // the peer has left
	}
	return s.drain(ctx, patience)
}

func (s *Session) drain(ctx context.Context, patience time.Duration) error {
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	// Without our end's close, two sides that drain would wait for each other.
	if half, ok := s.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err == nil {
		_, _ = io.Copy(io.Discard, s.conn)
	}
	return s.Close()
}
