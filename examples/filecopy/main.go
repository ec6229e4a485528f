// Command filecopy copies files to a server. It is meant to be read: send.go reads
// a file straight into memory that the adapter sends from, and receive.go writes it
// out of the memory that the adapter received into; nothing is copied in between.
//
//	filecopy --to DIR FILE...                # both ends in this process, on a device inside it
//	filecopy -d mlx5_0 --to DIR FILE...      # both ends in this process, on an adapter
//	filecopy --listen :7473 --to DIR         # a server
//	filecopy --dial HOST:7473 FILE...        # a client
//
// An error is one line on standard error and exit status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	_ "github.com/gofabric/gofabric/internal/loopdev" // loop0; outside this module: verbs/verbstest
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// config is what the flags say.
type config struct {
	device, listen, dial, to string
	files                    []string
}

func main() {
	ctx, stop := command.WithSignals(context.Background())
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "filecopy:", command.OneLine(err.Error()))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var c config
	f := pflag.NewFlagSet("filecopy", pflag.ContinueOnError)
	f.SetOutput(out)
	f.StringVarP(&c.device, "ib-dev", "d", "loop0", "the RDMA `device` for both ends; loop0 is one inside the process")
	f.StringVar(&c.listen, "listen", "", "receive at an `address`, such as :7473")
	f.StringVar(&c.dial, "dial", "", "the server's `address`")
	f.StringVar(&c.to, "to", "", "the `folder` that files are received into")
	if err := f.Parse(args); err != nil {
		return err
	}
	c.files = f.Args()
	switch {
	case c.listen != "" && c.dial != "":
		return errors.New("want --listen or --dial, not both")
	case (c.to == "") != (c.dial != ""):
		return errors.New("want --to, with --listen or files, or --dial with files")
	case (len(c.files) == 0) != (c.listen != ""):
		return errors.New("want files to send, or --listen")
	}
	if err := distinct(c.files); err != nil {
		return err
	}
	switch {
	case c.listen != "":
		return c.serve(ctx, out)
	case c.dial == "":
		return c.both(ctx, out)
	}
	conn, err := rdmacm.Dial(ctx, c.dial, rdmacm.DialOptions{})
	if err != nil {
		return err
	}
	return c.send(ctx, conn, out)
}

// distinct refuses files of one name: the later would replace the earlier.
func distinct(files []string) error {
	seen := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if other, ok := seen[name]; ok {
			return fmt.Errorf("%s and %s would both be %s in the folder: send them to two folders", other, file, name)
		}
		seen[name] = file
	}
	return nil
}

// send sends the files and closes the connection.
func (c *config) send(ctx context.Context, conn *rdmacm.Conn, out io.Writer) error {
	for _, name := range c.files {
		n, err := sendFile(ctx, conn, name)
		if err != nil {
			return errors.Join(err, conn.Abort())
		}
		fmt.Fprintf(out, "%s: %d bytes\n", name, n)
	}
	return conn.Close()
}

// serve receives from any number of clients until the context ends.
func (c *config) serve(ctx context.Context, out io.Writer) error {
	l, err := rdmacm.Listen(c.listen, rdmacm.ListenOptions{})
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
			if err := receiveAll(ctx, conn, c.to); err != nil {
				fmt.Fprintf(out, "%v: %v\n", conn.RemoteAddr(), err)
			}
		}()
	}
}

// both sends and receives in this process.
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
	received := make(chan error, 1)
	go func() { received <- receiveAll(ctx, b, c.to) }()
	return errors.Join(c.send(ctx, a, out), <-received)
}
