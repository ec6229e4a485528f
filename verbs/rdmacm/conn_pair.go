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
	p, err := a.Prepare(opts)
	if err != nil {
		return nil, nil, err
	}
	q, err := b.Prepare(opts)
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	pe, err := p.Endpoint()
	qe, err2 := q.Endpoint()
	if err = errors.Join(err, err2); err != nil {
		return nil, nil, errors.Join(err, p.Close(), q.Close())
	}
	// When one end fails, the other need not wait for its hello.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		var err error
		if y, err = q.Connect(ctx, pe, verbs.ConnectOptions{}); err != nil {
			cancel()
		}
		failed <- err
	}()
	if x, err = p.Connect(ctx, qe, verbs.ConnectOptions{}); err != nil {
		cancel()
	}
	if err = errors.Join(err, <-failed); err == nil {
		return x, y, nil
	}
	for _, c := range []*Conn{x, y} {
		if c != nil {
			err = errors.Join(err, c.Abort())
		}
	}
	return nil, nil, err
}
