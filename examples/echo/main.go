// Command echo sends messages to a server, which sends them back, and prints how
// long the way there and back takes. It is meant to be read: serve and call are
// all that a message service over RDMA takes.
//
//	echo                            # both ends in this process, on a device inside it
//	echo -d mlx5_0                  # both ends in this process, on an adapter
//	echo --listen :7471             # a server
//	echo --dial HOST:7471 -s 4096   # a client
//
// An error is one line on standard error and exit status 1.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	_ "github.com/gofabric/gofabric/internal/loopdev" // loop0; outside this module: verbs/verbstest
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// config is what the flags say.
type config struct {
	device, listen, dial string
	count, size          int
	timeout              time.Duration
}

func main() {
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "echo:", command.OneLine(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c := config{count: 1000, size: 64}
	f := pflag.NewFlagSet("echo", pflag.ContinueOnError)
	f.SetOutput(out)
	f.StringVarP(&c.device, "ib-dev", "d", "loop0", "the RDMA `device` for both ends; loop0 is one inside the process")
	f.StringVar(&c.listen, "listen", "", "serve at an `address`, such as :7471")
	f.StringVar(&c.dial, "dial", "", "the server's `address`")
	f.VarP(&command.Number{Dst: &c.count, Low: 1, High: 1 << 30}, "iters", "n", "how many messages")
	f.VarP(&command.Number{Dst: &c.size, Low: 0, High: 64 << 20}, "size", "s", "bytes of a message")
	f.DurationVar(&c.timeout, "timeout", time.Minute, "how long a client may take")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see --help", f.Arg(0))
	}
	if c.listen != "" && c.dial != "" {
		return errors.New("want --listen or --dial, not both")
	}
	if c.listen != "" {
		return listen(ctx, c.listen, out)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("not done after %v (--timeout)", c.timeout))
	defer cancel()
	if c.dial == "" {
		return c.both(ctx, out)
	}
	conn, err := rdmacm.Dial(ctx, c.dial, rdmacm.DialOptions{})
	if err != nil {
		return err
	}
	return c.client(ctx, conn, out)
}

// listen serves every connection in a goroutine of its own until the context ends.
func listen(ctx context.Context, addr string, out io.Writer) error {
	l, err := rdmacm.Listen(addr, rdmacm.ListenOptions{})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "listening at %v\n", l.Addr())
	var clients sync.WaitGroup
	for {
		conn, err := l.Accept(ctx)
		if err != nil {
			err = errors.Join(context.Cause(ctx), l.Close())
			clients.Wait()
			return err
		}
		clients.Add(1)
		go func() {
			defer clients.Done()
			if err := serve(ctx, conn); err != nil {
				fmt.Fprintf(out, "%v: %v\n", conn.RemoteAddr(), err)
			}
		}()
	}
}

// serve sends back what comes until the peer closes its side.
func serve(ctx context.Context, conn *rdmacm.Conn) error {
	for {
		m, err := conn.Recv(ctx)
		if errors.Is(err, io.EOF) {
			return conn.Close()
		}
		if err != nil {
			return errors.Join(err, conn.Abort())
		}
		err = conn.Send(ctx, m.Bytes())
		m.Release() // Send made a copy
		if err != nil {
			return errors.Join(err, conn.Abort())
		}
	}
}

// client calls the server and prints the median.
func (c *config) client(ctx context.Context, conn *rdmacm.Conn, out io.Writer) error {
	times := make([]time.Duration, c.count)
	for i := range times {
		start := time.Now()
		if err := c.call(ctx, conn, byte(i)); err != nil {
			return errors.Join(err, context.Cause(ctx), conn.Abort())
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	fmt.Fprintf(out, "%d messages of %d bytes: median %v there and back, slowest %v\n", c.count, c.size, times[c.count/2], times[c.count-1])
	return conn.Close()
}

// call sends a message and checks that it comes back.
func (c *config) call(ctx context.Context, conn *rdmacm.Conn, with byte) error {
	p := bytes.Repeat([]byte{with}, c.size)
	if err := conn.Send(ctx, p); err != nil {
		return err
	}
	m, err := conn.Recv(ctx)
	if err != nil {
		return err
	}
	defer m.Release()
	if !bytes.Equal(m.Bytes(), p) {
		return errors.New("what came back is not what was sent")
	}
	return nil
}

// both runs a server and a client in this process.
func (c *config) both(ctx context.Context, out io.Writer) (err error) {
	dev, err := verbs.Open(c.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	hub, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hub.CloseAll()) }()
	a, b, err := rdmacm.Pair(ctx, hub, hub, rdmacm.ConnOptions{})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- serve(ctx, b) }()
	return errors.Join(c.client(ctx, a, out), <-served)
}
