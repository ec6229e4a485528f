package perftest

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/gofabric/gofabric/internal/stats"
)

// RunBandwidth runs a bandwidth test in which the client alone sends, as either
// side, and prints to stdout what the C tool prints, or a JSON document. When it
// returns, whatever the outcome, the connection and all that was made on the
// device are closed.
//
// It ends early when ctx does, with context.Cause(ctx) in the error, or when the
// peer goes away. A server waits for its client's run without a time limit,
// because it does not know how long that takes: a client that was stopped
// without being killed keeps it waiting.
func RunBandwidth(ctx context.Context, config Config, stdout io.Writer) (err error) {
	local, err := openEnd(&config, writeOperation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, local.close()) }()

	r := bandwidthRun{config: &config, local: local, out: newOutput(stdout, local)}
	conn, err := r.peer(ctx)
	if err != nil {
		return err
	}
	r.session = NewSession(conn, config.Role(), SessionOptions{})
	defer r.session.Close()
	if err := r.meet(ctx); err != nil {
		return err
	}
	if config.Role() == RoleClient {
		err = r.client(ctx)
	} else {
		err = r.server(ctx)
	}
	if err != nil {
		return err
	}
	if err := r.session.Finish(ctx, local.key); err != nil {
		return err
	}
	return r.out.end()
}

// bandwidthRun is one run of RunBandwidth.
type bandwidthRun struct {
	config  *Config
	local   *end
	out     *output
	session *Session

	agreed Agreement
	remote Key
}

// peer makes the control connection.
func (r *bandwidthRun) peer(ctx context.Context) (net.Conn, error) {
	if r.config.Role() == RoleClient {
		return Dial(ctx, r.config.Host, r.config.Port)
	}
	listener, err := Listen(ctx, r.config.Port)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	if err := r.out.waiting(); err != nil {
		return nil, err
	}
	return listener.Accept(ctx)
}

// meet agrees on the parameters and connects the queue pairs.
func (r *bandwidthRun) meet(ctx context.Context) (err error) {
	if r.agreed, err = r.session.Prologue(ctx, r.local.host()); err != nil {
		return err
	}
	if err := r.local.build(r.agreed); err != nil {
		return err
	}
	own := []Key{r.local.key}
	remote, err := r.session.ExchangeKeys(ctx, own)
	if err != nil {
		return err
	}
	if err := r.local.connect(remote[0], r.agreed.MTU, r.config.Role() == RoleClient); err != nil {
		return err
	}
	if remote, err = r.session.ExchangeKeys(ctx, own); err != nil {
		return err
	}
	r.remote = remote[0]
	if err := r.out.begin(r.agreed, r.local.key, r.remote); err != nil {
		return err
	}
	return r.session.Barrier(ctx, r.local.key)
}

// client sends, and tells the server what it measured.
func (r *bandwidthRun) client(ctx context.Context) error {
	t, err := r.local.traffic(r.remote, r.agreed)
	if err != nil {
		return err
	}
	run, stop := r.session.Watch(ctx)
	last, err := r.sizes(run, t)
	gone := stop()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case gone != nil:
		return gone
	case err != nil:
		return err
	}
	// The server has been waiting there, so this barrier has a time limit.
	if err := r.session.Barrier(ctx, r.local.key); err != nil {
		return err
	}
	_, err = r.session.ExchangeResult(ctx, NewResult(last, r.config.Unit))
	return err
}

// sizes runs every message size and returns the last one's result.
func (r *bandwidthRun) sizes(ctx context.Context, t *traffic) (last stats.Bandwidth, err error) {
	for _, size := range r.config.Sizes() {
		if last, err = t.run(ctx, size); err != nil {
			return last, err
		}
		if err := r.out.row(last); err != nil {
			return last, err
		}
	}
	return last, nil
}

// server waits until the client has run, and prints what that measured.
func (r *bandwidthRun) server(ctx context.Context) error {
	if err := r.session.BarrierAfterRun(ctx, r.local.key); err != nil {
		return err
	}
	theirs, err := r.session.ExchangeResult(ctx, Result{})
	if err != nil {
		return err
	}
	bw, err := theirs.Bandwidth(r.config.Unit)
	if err != nil {
		return err
	}
	return r.out.row(bw)
}
