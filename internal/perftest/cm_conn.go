package perftest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

const (
	// cmSlot holds the longest message of the protocol, the parameter block.
	cmSlot = 512
	// cmReceives is how many messages of the peer may wait. Each waits for an
	// answer, but those of the exchange's end and of the run may come together.
	cmReceives = 8
)

// cmConn is a control connection over a queue pair of its own, which the
// connection manager connects: each Write is one message of the peer's. Reads see
// the messages' bytes one after the other, as those of a TCP connection.
type cmConn struct {
	endpoint       *rdmacm.Endpoint
	device         *rdmacm.SharedDevice
	sendCQ, recvCQ *verbs.CQ
	mr             *verbs.MR

	cancel                      context.CancelCauseFunc
	readDeadline, writeDeadline deadline

	reading sync.Mutex
	pending []byte // of a message, not read yet
	writing sync.Mutex
	once    sync.Once
	err     error
}

func newCMConn() *cmConn {
	c := &cmConn{}
	var ctx context.Context
	ctx, c.cancel = context.WithCancelCause(context.Background())
	c.readDeadline.init(ctx)
	c.writeDeadline.init(ctx)
	return c
}

// options has the connection manager connect the queue pair that queuePair makes.
func (c *cmConn) options() rdmacm.EndpointOptions {
	return rdmacm.EndpointOptions{QueuePair: c.queuePair, MaxReads: verbs.None}
}

// queuePair makes all that the connection needs on the device that leads to the
// peer, with the receives posted.
func (c *cmConn) queuePair(_ context.Context, at rdmacm.Location) (*verbs.QP, error) {
	var err error
	if c.device, err = rdmacm.Share(at.Device); err != nil {
		return nil, err
	}
	if c.sendCQ, err = c.device.Device.CreateCQ(verbs.CQOptions{Depth: cqSpare + 1, Events: true}); err != nil {
		return nil, err
	}
	if c.recvCQ, err = c.device.Device.CreateCQ(verbs.CQOptions{Depth: cqSpare + cmReceives, Events: true}); err != nil {
		return nil, err
	}
	if c.mr, err = c.device.PD.AllocMR((cmReceives+1)*cmSlot, verbs.MROptions{Access: verbs.AccessLocalWrite}); err != nil {
		return nil, err
	}
	qp, err := c.device.PD.CreateQP(verbs.QPOptions{
		SendCQ: c.sendCQ, RecvCQ: c.recvCQ, MaxSend: 1, MaxRecv: cmReceives, Port: at.Port,
		Access: verbs.AccessLocalWrite, Unaddressed: true,
	})
	if err != nil {
		return nil, err
	}
	if err = qp.Init(); err == nil {
		for i := range cmReceives {
			qp.RecvBatch().Recv(uint64(i), c.mr.SGE(i*cmSlot, cmSlot))
		}
		_, err = qp.RecvBatch().Post()
	}
	if err != nil {
		return nil, errors.Join(err, qp.Close())
	}
	return qp, nil
}

// Read returns bytes of the peer's messages, and io.EOF once the peer has
// disconnected.
func (c *cmConn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(c.pending) == 0 {
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.pending)
	c.pending = c.pending[n:]
	return n, nil
}

func (c *cmConn) receive() error {
	done, err := wait(c.recvCQ, c.readDeadline.current())
	switch {
	case err != nil:
		return err
	case done.Status() == verbs.StatusFlushed:
		return io.EOF
	case done.Err() != nil:
		return done.Err()
	}
	at := int(done.ID()) * cmSlot
	c.pending = append([]byte(nil), c.mr.Bytes()[at:at+done.Len()]...)
	receives := c.endpoint.QP().RecvBatch()
	receives.Recv(done.ID(), c.mr.SGE(at, cmSlot))
	if _, err := receives.Post(); err != nil && c.endpoint.Reason() == nil {
		return err
	}
	return nil
}

// Write sends p as one message, and returns when the peer's adapter has it.
func (c *cmConn) Write(p []byte) (int, error) {
	if len(p) > cmSlot {
		return 0, fmt.Errorf("perftest: a message of %d bytes: the protocol's have %d at most", len(p), cmSlot)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	const at = cmReceives * cmSlot
	ctx := c.writeDeadline.current()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	copy(c.mr.Bytes()[at:], p)
	sends := c.endpoint.QP().SendBatch()
	sends.Send(0, c.mr.SGE(at, len(p)))
	if _, err := sends.Post(); err != nil {
		if c.endpoint.Reason() != nil {
			err = syscall.EPIPE
		}
		return 0, err
	}
	done, err := wait(c.sendCQ, ctx)
	switch {
	case err != nil:
		return 0, err
	case done.Status() == verbs.StatusFlushed:
		return 0, syscall.EPIPE
	case done.Err() != nil:
		return 0, done.Err()
	}
	return len(p), nil
}

func wait(cq *verbs.CQ, ctx context.Context) (*verbs.Completion, error) {
	var done [1]verbs.Completion
	for {
		n, err := cq.Wait(ctx, done[:])
		switch {
		case n > 0:
			return &done[0], nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			return nil, err
		}
	}
}

// CloseWrite tells the peer that nothing more comes. Whatever was written has
// arrived.
func (c *cmConn) CloseWrite() error { return c.endpoint.ID().Disconnect() }

// Close ends what waits, tells the peer and releases everything.
func (c *cmConn) Close() error {
	c.once.Do(func() {
		c.cancel(net.ErrClosed)
		c.reading.Lock()
		defer c.reading.Unlock()
		c.writing.Lock()
		defer c.writing.Unlock()
		var errs []error
		if c.endpoint != nil {
			errs = append(errs, c.endpoint.Close())
		}
		if c.mr != nil {
			errs = append(errs, c.mr.Close())
		}
		for _, cq := range []*verbs.CQ{c.sendCQ, c.recvCQ} {
			if cq != nil {
				errs = append(errs, cq.Close())
			}
		}
		if c.device != nil {
			errs = append(errs, c.device.Release())
		}
		c.err = errors.Join(errs...)
	})
	return c.err
}

func (c *cmConn) LocalAddr() net.Addr  { return c.endpoint.LocalAddr() }
func (c *cmConn) RemoteAddr() net.Addr { return c.endpoint.RemoteAddr() }

func (c *cmConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

func (c *cmConn) SetReadDeadline(t time.Time) error {
	c.readDeadline.set(t)
	return nil
}

func (c *cmConn) SetWriteDeadline(t time.Time) error {
	c.writeDeadline.set(t)
	return nil
}

// deadline is a time limit that can be moved while something waits: it ends the
// context that is current then.
type deadline struct {
	parent context.Context

	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

func (d *deadline) init(parent context.Context) {
	d.parent = parent
	d.ctx, d.cancel = context.WithCancelCause(parent)
}

func (d *deadline) current() context.Context {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ctx
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fired := d.timer != nil && !d.timer.Stop()
	d.timer = nil
	if fired || d.ctx.Err() != nil {
		d.cancel(os.ErrDeadlineExceeded)
		d.ctx, d.cancel = context.WithCancelCause(d.parent)
	}
	if t.IsZero() {
		return
	}
	cancel := d.cancel
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, func() { cancel(os.ErrDeadlineExceeded) })
		return
	}
	cancel(os.ErrDeadlineExceeded)
}
