//go:build linux && amd64

package faultlab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

const (
	callerPort = 7471
	callSize   = 64
)

// caller is a process that makes connections through the connection manager, or
// takes them and sends back what it gets.
type caller struct {
	*worker // for what it leaves
	l       *rdmacm.EndpointListener
	served  sync.WaitGroup
	ends    []*call
}

func newCaller() *caller {
	// librdmacm keeps a device open that it once used: that is nothing left.
	if _, err := rdmacm.Devices(); err != nil {
		fail(err)
	}
	return &caller{worker: newWorker()}
}

func (c *caller) run(commands io.Reader) {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		var cmd command
		err := json.Unmarshal(lines.Bytes(), &cmd)
		if err == nil {
			err = c.do(cmd)
		}
		if err != nil {
			fail(fmt.Errorf("%s: %w", cmd.Do, err))
		}
	}
}

func (c *caller) do(cmd command) error {
	switch cmd.Do {
	case "listen":
		return c.listen()
	case "dial":
		return c.dial(cmd)
	case "ping":
		return c.ping(cmd)
	case "await end":
		return c.awaitEnd(cmd)
	case "hang up":
		return c.hangUp()
	case "close":
		return c.finish()
	}
	return fmt.Errorf("the caller knows no command %q", cmd.Do)
}

// call is an end of a connection with a buffer.
type call struct {
	*rdmacm.Endpoint
	mr *verbs.MR
}

func newCall(e *rdmacm.Endpoint) (*call, error) {
	mr, err := e.PD().AllocMR(2*callSize, verbs.MROptions{})
	if err != nil {
		return nil, err
	}
	return &call{e, mr}, nil
}

func (c *call) close() error { return errors.Join(c.mr.Close(), c.Endpoint.Close()) }

// await waits for completions: n of them, or a failure.
func (c *call) await(ctx context.Context, n int) error {
	wc := make([]verbs.Completion, n)
	for n > 0 {
		got, err := c.CQ().Wait(ctx, wc[:n])
		if err != nil {
			return err
		}
		for _, w := range wc[:got] {
			if err := w.Err(); err != nil {
				return err
			}
		}
		n -= got
	}
	return nil
}

func (c *caller) listen() (err error) {
	if c.l, err = rdmacm.ListenEndpoint(fmt.Sprintf(":%d", callerPort), rdmacm.ListenEndpointOptions{}); err != nil {
		return err
	}
	c.served.Add(1)
	go func() {
		defer c.served.Done()
		for {
			r, err := c.l.AcceptRequest(c.ctx)
			if errors.Is(err, rdmacm.ErrClosed) {
				return
			}
			if err != nil {
				fail(err)
			}
			c.served.Add(1)
			go func() {
				defer c.served.Done()
				c.serve(r)
			}()
		}
	}()
	say(message{Is: "listening"})
	return nil
}

// serve sends back what comes until the connection is over, whatever ends it.
func (c *caller) serve(r *rdmacm.Request) {
	e, err := r.Accept(c.ctx, rdmacm.EndpointOptions{})
	if err != nil {
		// The peer may have given up.
		return
	}
	end, err := newCall(e)
	if err != nil {
		fail(err)
	}
	for err == nil {
		end.QP().RecvBatch().Recv(1, end.mr.SGE(0, callSize))
		if _, err = end.QP().RecvBatch().Post(); err != nil {
			break
		}
		if err = end.await(c.ctx, 1); err != nil {
			break
		}
		end.QP().SendBatch().Send(2, end.mr.SGE(0, callSize))
		if _, err = end.QP().SendBatch().Post(); err != nil {
			break
		}
		err = end.await(c.ctx, 1)
	}
	if err := end.close(); err != nil {
		fail(err)
	}
}

// dial makes cmd.Chunks connections within cmd.Limit, all at once.
func (c *caller) dial(cmd command) error {
	ctx, cancel := context.WithTimeout(c.ctx, cmd.Limit)
	defer cancel()
	start := time.Now()
	var wg sync.WaitGroup
	made := make([]*rdmacm.Endpoint, cmd.Chunks)
	errs := make([]error, cmd.Chunks)
	for i := range cmd.Chunks {
		wg.Add(1)
		go func() {
			defer wg.Done()
			made[i], errs[i] = rdmacm.DialEndpoint(ctx, cmd.Args[0], rdmacm.DialEndpointOptions{
				EndpointOptions: rdmacm.EndpointOptions{Timeout: cmd.Options.Timeout, Retries: cmd.Options.Retries},
			})
		}()
	}
	wg.Wait()
	m := message{Is: "dialed", Stall: time.Since(start)}
	for _, e := range made {
		if e == nil {
			continue
		}
		end, err := newCall(e)
		if err != nil {
			return err
		}
		c.ends = append(c.ends, end)
		m.Chunks++
	}
	if err := errors.Join(errs...); err != nil {
		m.Text = err.Error()
		m.TimedOut = errors.Is(err, context.DeadlineExceeded) || errors.Is(err, rdmacm.ErrTimedOut) ||
			errors.Is(err, rdmacm.ErrUnreachable)
	}
	say(m)
	return nil
}

// ping has each connection carry a message there and back.
func (c *caller) ping(cmd command) error {
	ctx, cancel := context.WithTimeout(c.ctx, cmd.Limit)
	defer cancel()
	start := time.Now()
	m := message{Is: "pinged"}
	for _, end := range c.ends {
		copy(end.mr.Bytes()[callSize:], "there and back")
		clear(end.mr.Bytes()[:callSize])
		end.QP().RecvBatch().Recv(1, end.mr.SGE(0, callSize))
		end.QP().SendBatch().Send(2, end.mr.SGE(callSize, callSize))
		_, err := end.QP().RecvBatch().Post()
		if err == nil {
			_, err = end.QP().SendBatch().Post()
		}
		if err == nil {
			err = end.await(ctx, 2)
		}
		if err == nil && string(end.mr.Bytes()[:14]) != "there and back" {
			err = errors.New("other bytes came back")
		}
		if err != nil {
			m.Text = err.Error()
			var ce *verbs.CompletionError
			if errors.As(err, &ce) {
				m.Status = ce.Status
			}
			break
		}
		m.Chunks++
	}
	m.Stall = time.Since(start)
	say(m)
	return nil
}

// awaitEnd waits until every connection says that it is over.
func (c *caller) awaitEnd(cmd command) error {
	start := time.Now()
	late := time.After(cmd.Limit)
	m := message{Is: "end"}
	for _, end := range c.ends {
		select {
		case <-end.Disconnected():
			m.Text = end.Reason().Error()
			if errors.Is(end.Reason(), rdmacm.ErrDisconnected) {
				m.Chunks++
			}
		case <-late:
			m.Text = "nothing was said"
		}
	}
	m.Stall = time.Since(start)
	say(m)
	return nil
}

func (c *caller) hangUp() error {
	var errs []error
	for _, end := range c.ends {
		errs = append(errs, end.close())
	}
	c.ends = nil
	say(message{Is: "hung up"})
	return errors.Join(errs...)
}

// finish closes everything and says what is left.
func (c *caller) finish() error {
	for _, end := range c.ends {
		if err := end.close(); err != nil {
			return err
		}
	}
	if c.l != nil {
		if err := c.l.Close(); err != nil {
			return err
		}
	}
	c.served.Wait()
	const grace = 5 * time.Second
	left := c.left()
	for end := time.Now().Add(grace); left != "" && time.Now().Before(end); left = c.left() {
		time.Sleep(10 * time.Millisecond)
	}
	say(message{Is: "closed", Text: left})
	os.Exit(0)
	return nil
}
