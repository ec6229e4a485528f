package perftest

import (
	"context"
	"fmt"
)

// Host is what a side says of itself before it knows the other.
type Host struct {
	// PageSize is the size of a memory page in bytes.
	PageSize int
	// CacheLine is the size of a line of the first-level data cache in bytes.
	CacheLine int
	// MTU is the path MTU that this side would use.
	MTU MTU
}

// Agreement is what both sides work with after the prologue.
type Agreement struct {
	// PeerVersion is what the peer announced.
	PeerVersion Version
	// PageSize and CacheLine are the larger of both sides' values. They decide
	// how addresses step from message to message, and the least size of the
	// memory that a queue pair offers.
	PageSize, CacheLine int
	// MTU is the smaller of both sides' values.
	MTU MTU
}

// Prologue makes the first exchanges of every test: version, page size, cache
// line and MTU. A peer of version 6.28 wants a block of parameters after them;
// a server sends the peer's own block back, so that a difference in the two
// sides' options goes unnoticed, as with the versions before it; a client
// refuses such a peer with ErrIncompatible.
func (s *Session) Prologue(ctx context.Context, local Host) (Agreement, error) {
	if !local.MTU.valid() || local.PageSize < 1 || local.PageSize > maxPageSize ||
		local.CacheLine < 1 || local.CacheLine > maxCacheLine {
		return Agreement{}, fmt.Errorf("perftest: prologue: page size %d, cache line %d or MTU number %d is out of range",
			local.PageSize, local.CacheLine, local.MTU)
	}
	timeout := s.options.PrologueTimeout
	var peer Agreement

	err := s.exchange(ctx, "version message", timeout, OurVersion.encode(), s.fixed(versionLen, func(msg []byte) (err error) {
		if peer.PeerVersion, err = ParseVersion(msg); err != nil {
			return ErrForeign
		}
		return peer.PeerVersion.check(s.role)
	}))
	if err != nil {
		return Agreement{}, err
	}
	err = s.exchange(ctx, "page size message", timeout, encodeScalar(local.PageSize), s.fixed(scalarLen, func(msg []byte) (err error) {
		peer.PageSize, err = decodeScalar("page size", maxPageSize, msg)
		return err
	}))
	if err != nil {
		return Agreement{}, err
	}
	err = s.exchange(ctx, "cache line message", timeout, encodeScalar(local.CacheLine), s.fixed(scalarLen, func(msg []byte) (err error) {
		peer.CacheLine, err = decodeScalar("cache line", maxCacheLine, msg)
		return err
	}))
	if err != nil {
		return Agreement{}, err
	}
	err = s.exchange(ctx, "MTU message", timeout, local.MTU.encode(), s.fixed(mtuLen, func(msg []byte) (err error) {
		peer.MTU, err = decodeMTU(msg)
		return err
	}))
	if err != nil {
		return Agreement{}, err
	}
	if peer.PeerVersion.needsNegotiation() {
		if err := s.echoParameters(ctx); err != nil {
			return Agreement{}, err
		}
	}
	peer.PageSize = max(peer.PageSize, local.PageSize)
	peer.CacheLine = max(peer.CacheLine, local.CacheLine)
	peer.MTU = local.MTU.agree(peer.MTU)
	return peer, nil
}

// The block of parameters has one of two lengths, by the options that the
// peer's build was made with, and nothing in it says which.
const (
	parametersLen     = 312
	parametersLenMlx5 = 320
)

// echoParameters answers a client's block of parameters with itself. The block
// arrives in one read, because the client waits for the answer.
func (s *Session) echoParameters(ctx context.Context) error {
	block := make([]byte, parametersLenMlx5)
	return s.exchange(ctx, "parameter block", s.options.PrologueTimeout, nil, func() ([]byte, error) {
		n, err := s.conn.Read(block)
		if err != nil {
			return block[:n], err
		}
		if n != parametersLen && n != parametersLenMlx5 {
			return block[:n], fmt.Errorf("%w: it has %d bytes rather than %d or %d",
				ErrIncompatible, n, parametersLen, parametersLenMlx5)
		}
		_, err = s.conn.Write(block[:n])
		return block[:n], err
	})
}
