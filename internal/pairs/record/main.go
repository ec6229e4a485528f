// Command record writes down what two C tools tell each other on their control
// connection, on a machine with two RDMA devices that reach each other, such as a
// guest of the lab:
//
//	record --dir /tmp/wire wbw ib_write_bw -n 20
//
// Its file, NAME.client.wire, has a line a message: W or R as the client wrote or
// read it, the number of bytes, and the bytes in hexadecimal.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/pairs"
)

type options struct {
	dir, server, client string
	port                int
	limit               time.Duration
}

func main() {
	var o options
	pflag.StringVar(&o.dir, "dir", ".", "folder of the recording")
	pflag.StringVar(&o.server, "server-device", "rxe0", "RDMA device of the server")
	pflag.StringVar(&o.client, "client-device", "rxe1", "RDMA device of the client")
	pflag.IntVar(&o.port, "port", 18700, "TCP port of the server")
	pflag.DurationVar(&o.limit, "limit", time.Minute, "time limit of the run")
	pflag.CommandLine.SetInterspersed(false)
	pflag.Parse()
	if pflag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "record: usage: record [flags] NAME TOOL [ARGUMENT]...")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.limit)
	defer cancel()
	if err := o.record(ctx, pflag.Arg(0), pflag.Arg(1), pflag.Args()[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "record:", err)
		os.Exit(1)
	}
}

func (o *options) record(ctx context.Context, name, program string, args []string) error {
	tool := pairs.Tool{Name: program, Argv: []string{program}}
	with := func(device string, port int) []string {
		return append([]string{"-F", "-d", device, "-p", fmt.Sprint(port)}, args...)
	}
	server, err := pairs.Start(ctx, tool, with(o.server, o.port)...)
	if err != nil {
		return err
	}
	if err := server.Listening(ctx, o.port); err != nil {
		return err
	}
	recorder, err := pairs.Record(o.port)
	if err != nil {
		return err
	}
	client, err := pairs.Start(ctx, tool, append(with(o.client, recorder.Port()), "127.0.0.1")...)
	if err != nil {
		return err
	}
	var failed []error
	for _, p := range []*pairs.Process{client, server} {
		out, err := p.Wait()
		if err == nil && out.Status != 0 {
			err = fmt.Errorf("%s ended with status %d: %s", program, out.Status, strings.TrimSpace(out.Stderr))
		}
		failed = append(failed, err)
	}
	messages, err := recorder.Close(ctx)
	failed = append(failed, err)
	var text strings.Builder
	for _, m := range messages {
		direction := "R"
		if m.Client {
			direction = "W"
		}
		fmt.Fprintf(&text, "%s %d %x\n", direction, len(m.Bytes), m.Bytes)
	}
	failed = append(failed, os.WriteFile(filepath.Join(o.dir, name+".client.wire"), []byte(text.String()), 0o644))
	return errors.Join(failed...)
}
