// Command kv is a small key-value service: changes are messages to the server, and
// clients read values out of the server's memory by themselves, with RDMA reads.
// It is meant to be read: table.go, server.go and client.go, in that order.
//
//	kv                              # all in this process, on a device inside it
//	kv -d mlx5_0 -n 100000          # all in this process, on an adapter
//	kv --listen :7472 -d mlx5_0     # a server on an adapter
//	kv --dial HOST:7472 put KEY VALUE
//	kv --dial HOST:7472 get KEY
//	kv --dial HOST:7472 del KEY
//
// An error is one line on standard error and exit status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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
	count, buckets       int
	timeout              time.Duration
}

func main() {
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "kv:", command.OneLine(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c := config{count: 1000, buckets: 1024}
	f := pflag.NewFlagSet("kv", pflag.ContinueOnError)
	f.SetOutput(out)
	f.StringVarP(&c.device, "ib-dev", "d", "loop0", "the RDMA `device` of the server; loop0 is one inside the process")
	f.StringVar(&c.listen, "listen", "", "serve at an `address`, such as :7472, of the device")
	f.StringVar(&c.dial, "dial", "", "the server's `address`")
	f.VarP(&command.Number{Dst: &c.count, Low: 1, High: 1 << 30}, "keys", "n", "how many keys are put and got, in this process; up to --buckets")
	f.Var(&command.Number{Dst: &c.buckets, Low: 1, High: 1 << 20}, "buckets", "the table's size; a bucket has 4 keys, and 1 KiB")
	f.DurationVar(&c.timeout, "timeout", time.Minute, "how long a client may take")
	if err := f.Parse(args); err != nil {
		return err
	}
	if c.listen != "" && (c.dial != "" || f.NArg() > 0) {
		return errors.New("--listen goes without --dial and without a command")
	}
	if c.listen != "" {
		return c.withServer(func(hub *rdmacm.Hub, s *Server) error { return c.serve(ctx, hub, s, out) })
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("not done after %v (--timeout)", c.timeout))
	defer cancel()
	if c.dial != "" {
		return c.command(ctx, f.Args(), out)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("%q needs --dial: see --help", f.Arg(0))
	}
	return c.withServer(func(hub *rdmacm.Hub, s *Server) error { return c.demo(ctx, hub, s, out) })
}

// withServer opens the device, makes a table on it, and closes all of it.
func (c *config) withServer(do func(*rdmacm.Hub, *Server) error) error {
	dev, err := verbs.Open(c.device)
	if err != nil {
		return err
	}
	hub, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	if err != nil {
		return errors.Join(err, dev.Close())
	}
	s, err := NewServer(hub, c.buckets)
	if err == nil {
		err = errors.Join(do(hub, s), s.Close())
	}
	return errors.Join(err, hub.CloseAll(), dev.Close())
}

// serve takes clients until the context ends.
func (c *config) serve(ctx context.Context, hub *rdmacm.Hub, s *Server, out io.Writer) error {
	l, err := rdmacm.Listen(c.listen, rdmacm.ListenOptions{Hub: hub})
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
			if err := s.Serve(ctx, conn); err != nil {
				fmt.Fprintf(out, "%v: %v\n", conn.RemoteAddr(), err)
			}
		}()
	}
}

// command carries out one request of the command line.
func (c *config) command(ctx context.Context, args []string, out io.Writer) (err error) {
	want := map[string]int{"get": 2, "put": 3, "del": 2}
	if len(args) == 0 || want[args[0]] != len(args) {
		return errors.New("want get KEY, put KEY VALUE or del KEY")
	}
	conn, err := rdmacm.Dial(ctx, c.dial, rdmacm.DialOptions{})
	if err != nil {
		return err
	}
	client, err := NewClient(ctx, conn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	switch args[0] {
	case "put":
		return client.Put(ctx, args[1], []byte(args[2]))
	case "del":
		return client.Delete(ctx, args[1])
	}
	value, ok, err := client.Get(ctx, args[1])
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("no key %q", args[1])
	}
	_, err = fmt.Fprintf(out, "%s\n", value)
	return err
}

// demo is a server and a client in one process.
func (c *config) demo(ctx context.Context, hub *rdmacm.Hub, s *Server, out io.Writer) error {
	a, b, err := rdmacm.Pair(ctx, hub, hub, rdmacm.ConnOptions{})
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, b) }()
	client, err := NewClient(ctx, a)
	if err != nil {
		return errors.Join(err, <-served)
	}
	return errors.Join(c.putAndGet(ctx, client, out), client.Close(), <-served)
}

func (c *config) putAndGet(ctx context.Context, client *Client, out io.Writer) error {
	c.count = min(c.count, c.buckets) // so that few buckets are full
	full := map[int]bool{}
	start := time.Now()
	for i := range c.count {
		if err := client.Put(ctx, fmt.Sprint("key ", i), fmt.Append(nil, "value ", i)); err != nil {
			if ctx.Err() != nil || client.conn.Err() != nil {
				return errors.Join(err, context.Cause(ctx))
			}
			full[i] = true
		}
	}
	put := time.Since(start)
	start = time.Now()
	for i := range c.count {
		value, ok, err := client.Get(ctx, fmt.Sprint("key ", i))
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		if ok == full[i] || ok && string(value) != fmt.Sprint("value ", i) {
			return fmt.Errorf("key %d has the wrong value %q", i, value)
		}
	}
	got := time.Since(start)
	each := func(d time.Duration) time.Duration { return d / time.Duration(c.count) }
	_, err := fmt.Fprintf(out, "%d keys, %d of them in full buckets: a put takes %v, a get %v\n", c.count, len(full), each(put), each(got))
	return err
}
