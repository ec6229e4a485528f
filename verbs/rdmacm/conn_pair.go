package rdmacm

import (
	"context"
	"errors"

	"github.com/gofabric/gofabric/verbs"
)

// Pair makes a connection whose ends both belong to this process, one on each of
// two hubs or both on one: what net.Pipe is to TCP. The hubs' devices must reach
// each other. Tests use it, and programs that work without a network as well.
func Pair(ctx context.Context, a, b *Hub, opts ConnOptions) (x, y *Conn, err error) {
	if a == nil || b == nil {
		return nil, nil, &ConnError{Op: "connect pair", Err: errors.New("a hub is nil")}
	}
	p, err := a.Prepare(opts)
	if err != nil {
		return nil, nil, err
	}
	q, err := b.Prepare(opts)
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	undo := func(err error) (x, y *Conn, _ error) {
		return nil, nil, errors.Join(err, p.Close(), q.Close())
	}
	// Both are connected before either says hello, so that no hello has to be
	// said twice.
	if err := errors.Join(join(ctx, p, q), join(ctx, q, p)); err != nil {
		return undo(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var err error
		if y, err = q.start(ctx, nil); err != nil {
			cancel() // the other one need not wait
		}
		ended <- err
	}()
	if x, err = p.start(ctx, nil); err != nil {
		cancel()
	}
	if err = errors.Join(err, <-ended); err != nil {
		return undo(err)
	}
	return x, y, nil
}

// join connects a queue pair of this process to another. As the receives of both
// are posted, and credits keep it so, neither has to be ready to try again.
func join(ctx context.Context, from, to *Pending) error {
	peer, err := to.Endpoint()
	if err != nil {
		return err
	}
	return from.QP().Connect(ctx, peer, verbs.ConnectOptions{RNRRetries: verbs.None})
}
