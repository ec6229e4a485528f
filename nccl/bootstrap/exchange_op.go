package bootstrap

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// collect writes this rank's part and reads the others'.
func (x *exchange) collect(ctx context.Context, op operation, data []byte) ([][]byte, error) {
	name := x.opName(op.sequence, x.world.Rank)
	if err := x.write(name, encodeContribution(op, data)); err != nil {
		if gone := x.gone(ctx, op); gone != nil {
			return nil, gone
		}
		return nil, err
	}
	parts := make([][]byte, x.world.Size)
	came := make([]bool, x.world.Size)
	parts[x.world.Rank], came[x.world.Rank] = data, true
	err := x.poll(ctx, func() (bool, error) {
		if err := x.failed(ctx, op); err != nil {
			return false, err
		}
		all := true
		for rank := range came {
			if !came[rank] {
				var err error
				if came[rank], err = x.take(ctx, op, rank, parts); err != nil {
					return false, err
				}
				all = all && came[rank]
			}
		}
		return all, nil
	})
	if err != nil {
		return nil, x.givenUp(ctx, err, op, came, make([]absence, x.world.Size))
	}
	// All have come here, so all have read what was before.
	if x.last != "" {
		_ = os.Remove(x.path(x.last))
	}
	x.last = name
	switch op.kind {
	case opBroadcast:
		return parts[op.root : op.root+1], nil
	case opAllGather:
		total := 0
		for _, part := range parts {
			total += len(part)
		}
		if total > maxGather { // all ranks find it alike
			return nil, failure{code: failTooLarge, op: op, by: x.world.Rank}.err(ctx, x.world, op, x.peers)
		}
		return parts, nil
	default:
		return nil, nil
	}
}

// take reads one rank's part, if it is there.
func (x *exchange) take(ctx context.Context, op operation, rank int, parts [][]byte) (bool, error) {
	name := x.opName(op.sequence, rank)
	// A rank that leaves has written its last part before.
	_, missing := os.Lstat(x.path(x.joinName(rank)))
	body, err := x.read(name, contributionHead+x.options.MaxMessage)
	if err != nil {
		if errors.Is(missing, fs.ErrNotExist) {
			return false, x.over(ctx, op, failure{code: failLeft, op: op, by: -1, left: []int{rank}})
		}
		return false, nil
	}
	theirs, data, err := decodeContribution(body, x.world.Size)
	if err != nil {
		return false, &FileError{Path: x.path(name), Err: err}
	}
	if theirs != op {
		return false, x.over(ctx, op, failure{code: failOrder, op: op, first: x.world.Rank, by: rank, otherKind: theirs.kind, other: theirs.root})
	}
	parts[rank] = data
	return true, nil
}

// gone is an error if rank 0 has ended the session and removed the folder.
func (x *exchange) gone(ctx context.Context, op operation) error {
	if _, err := os.Lstat(x.path(x.joinName(0))); errors.Is(err, fs.ErrNotExist) {
		return failure{code: failLeft, op: op, by: -1, left: []int{0}}.err(ctx, x.world, op, x.peers)
	}
	return nil
}

// tell ends the session for all, unless another rank has.
func (x *exchange) tell(f failure) { _ = x.claim(x.failName(), f.encode()) }

// over ends the session and returns why it ended: for this, or for what another
// rank said first.
func (x *exchange) over(ctx context.Context, op operation, f failure) error {
	x.tell(f)
	if err := x.failed(ctx, op); err != nil {
		return err
	}
	return f.err(ctx, x.world, op, x.peers)
}

// failed is the error of a session that is over.
func (x *exchange) failed(ctx context.Context, op operation) error {
	body, err := x.read(x.failName(), limits{size: x.world.Size}.of(kindFailed))
	if err != nil {
		return nil
	}
	f, err := decodeFailure(body)
	if err != nil {
		return nil
	}
	return f.err(ctx, x.world, op, x.peers)
}

// givenUp turns the end of the context into an error that names who is missing,
// and tells the others. Other errors stay as they are.
func (x *exchange) givenUp(ctx context.Context, err error, op operation, came []bool, went []absence) error {
	if ctx.Err() == nil || !errors.Is(err, context.Cause(ctx)) {
		return err
	}
	if errors.As(err, new(*RankError)) {
		return err
	}
	f := failure{code: failGaveUp, op: op, by: x.world.Rank}
	for rank, here := range came {
		if !here {
			f.absent(rank, went[rank])
		}
	}
	if op.sequence == 0 && x.world.Rank > 0 {
		return f.err(ctx, x.world, op, x.peers) // the others may still meet without it
	}
	return x.over(ctx, op, f)
}

// close takes this rank out. Rank 0 removes the files when all have left and
// know what they must, or after a moment.
func (x *exchange) close() error {
	if x.session == "" {
		return nil
	}
	_ = os.Remove(x.path(x.joinName(x.world.Rank)))
	if x.world.Rank > 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	_ = x.poll(ctx, func() (bool, error) {
		for _, here := range x.present() {
			if here {
				return false, nil
			}
		}
		// Who was refused takes its answer away.
		entries, _ := os.ReadDir(x.world.ExchangeDir)
		return !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			return strings.HasPrefix(e.Name(), "answer-"+x.session)
		}), nil
	})
	if h, err := x.readHello("head"); err == nil && h.session != x.me.session {
		return nil // another rank 0 has taken over
	}
	x.sweep()
	_ = os.Remove(x.world.ExchangeDir) // stays if something else is in it
	return nil
}

func (x *exchange) ranks() []Peer { return x.peers }
