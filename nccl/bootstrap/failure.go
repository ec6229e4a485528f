package bootstrap

import (
	"context"
	"fmt"
)

// failure is why a session is over, in a form that travels: each rank makes its
// own error of it.
type failure struct {
	code                failureCode
	op                  operation
	by                  int // who noticed or gave up; -1: nobody in particular
	missing, died, left []int
	// Of different calls: by's, where first called op. Of sizes: by's size.
	first     int
	otherKind opKind
	other     int
}

type failureCode byte

const (
	failGaveUp   failureCode = 1 + iota // by's time was up, missing had not come
	failDied                            // died lost their connection
	failLeft                            // left had closed their session
	failOrder                           // first called op, by called otherKind with root other
	failSize                            // by has other ranks
	failTooLarge                        // what the ranks gave is more than maxGather
	failEnd
)

// absent adds a rank that is not there to the list that says why.
func (f *failure) absent(rank int, how absence) {
	switch how {
	case quit:
		f.left = append(f.left, rank)
	case died:
		f.died = append(f.died, rank)
	default:
		f.missing = append(f.missing, rank)
	}
}

func (f failure) encode() []byte {
	var e encoder
	e.u8(byte(f.code))
	e.u32(f.op.sequence)
	e.u8(byte(f.op.kind))
	e.u32(f.op.root)
	e.u32(f.by)
	e.u32(f.first)
	e.u8(byte(f.otherKind))
	e.u32(f.other)
	e.ranks(f.missing)
	e.ranks(f.died)
	e.ranks(f.left)
	return e
}

func decodeFailure(body []byte) (f failure, err error) {
	d := decoder{rest: body}
	f.code = failureCode(d.u8())
	f.op = operation{d.u32(), opKind(d.u8()), d.u32()}
	f.by, f.first = d.u32(), d.u32()
	f.otherKind, f.other = opKind(d.u8()), d.u32()
	f.missing, f.died, f.left = d.ranks(), d.ranks(), d.ranks()
	if f.code == 0 || f.code >= failEnd || f.op.kind >= opEnd || f.otherKind >= opEnd || f.op.sequence < 0 ||
		f.by < -1 || f.code == failGaveUp && f.by < 0 || f.by >= MaxSize || f.first < 0 || f.first >= MaxSize {
		d.bad = true
	}
	return f, d.done("failure")
}

// err is the failure as this rank sees it, in an operation that its context ended
// or another rank's failure did.
func (f failure) err(ctx context.Context, w World, op operation, peers []Peer) error {
	if f.op.sequence > 0 {
		op = f.op // otherwise it came between operations
	}
	switch f.code {
	case failOrder:
		return &OrderError{
			Sequence: op.sequence,
			First:    Call{Rank: f.first, Op: op.kind.String(), Root: op.root},
			Second:   Call{Rank: f.by, Op: f.otherKind.String(), Root: f.other},
		}
	case failSize:
		return &RefusedError{Rank: f.by, Err: ErrSizeMismatch,
			Detail: fmt.Sprintf("it has %d ranks, this process has %d", f.other, w.Size)}
	case failTooLarge:
		return fmt.Errorf("bootstrap: %s (operation %d): what the ranks gave together is %w: %d bytes is the most",
			op.kind, op.sequence, ErrTooLarge, maxGather)
	}
	e := &RankError{
		Op: op.kind.String(), Sequence: op.sequence, By: f.by,
		Missing: f.missing, Died: f.died, Left: f.left, Peers: peers,
	}
	switch {
	case f.code != failGaveUp:
	case f.by == w.Rank:
		e.Err = context.Cause(ctx)
	default:
		e.gaveUp = true
	}
	return e
}
