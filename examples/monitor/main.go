// Command monitor shows what the RDMA ports and GPUs of a machine do now: rates in
// GB/s and as a share of what the link allows, errors as they grow. With --listen it
// gives the same to Prometheus.
//
//	monitor                          # live, until interrupted
//	monitor --listen 127.0.0.1:9879  # /metrics
//
// An error is one line on standard error and exit status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/printable"
)

func main() {
	ctx, stop := command.WithSignals(context.Background())
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

const help = `monitor shows what the RDMA ports and GPUs of a machine do now.

Usage:
  monitor [flags]

Examples:
  monitor                           live, once a second, until interrupted
  monitor --interval 5s --count 12  for a minute
  monitor --count 1 -d mlx5_0       one line a port, for a script
  monitor --listen 127.0.0.1:9879   Prometheus reads http://127.0.0.1:9879/metrics
  monitor --listen 0.0.0.0:9879     from other machines too: only if you want that

Flags:
`

// options is what the flags say.
type options struct {
	interval time.Duration
	count    int
	devices  []string
	listen   string
	root     string
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	err := start(ctx, args, out, errs)
	var signal command.SignalError
	if err == nil || errors.Is(err, pflag.ErrHelp) || errors.As(err, &signal) {
		return 0
	}
	fmt.Fprintf(errs, "monitor: %s\n", printable.Text(command.OneLine(err.Error())))
	return 1
}

func start(ctx context.Context, args []string, out, errs io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	s, err := newSource(o)
	if err != nil {
		return err
	}
	defer s.close()
	if s.note != nil {
		fmt.Fprintf(errs, "monitor: GPUs are left out: %s\n", printable.Text(command.OneLine(s.note.Error())))
	}
	if o.listen != "" {
		return serve(ctx, o.listen, s, errs)
	}
	return watch(ctx, o, s, out)
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := pflag.NewFlagSet("monitor", pflag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by run
	f.SortFlags = false
	f.Usage = func() { fmt.Fprint(out, help, f.FlagUsages()) }
	f.DurationVar(&o.interval, "interval", time.Second, "between two screens")
	f.IntVar(&o.count, "count", 0, "end after this many screens; 0 goes on")
	f.StringArrayVarP(&o.devices, "device", "d", nil, "this RDMA `device` only; may be given again")
	f.StringVar(&o.listen, "listen", "", "serve Prometheus metrics at an `address`; without a host it is 127.0.0.1")
	f.StringVar(&o.root, "root", "/", "the `folder` that holds sys, such as a host's in a container")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return o, err
		}
		flag, problem := command.Explain(err)
		return o, errors.New(strings.TrimPrefix(flag+": "+problem, ": "))
	}
	switch {
	case f.NArg() > 0:
		return o, fmt.Errorf("%q is no flag; --help shows how", f.Arg(0))
	case o.interval < 100*time.Millisecond || o.interval > time.Hour:
		return o, fmt.Errorf("--interval %s: must be 100ms to 1h", o.interval)
	case o.count < 0:
		return o, fmt.Errorf("--count %d: must be 0 or more", o.count)
	case o.root == "":
		return o, errors.New("--root: its value is empty")
	case f.Changed("listen") && o.listen == "":
		return o, errors.New("--listen: its value is empty")
	case f.Changed("listen") && (f.Changed("interval") || f.Changed("count")):
		return o, errors.New("--interval and --count are for the screen: Prometheus decides when it reads")
	}
	return o, nil
}
