// Command gpu_write moves memory of a GPU to memory of the same or another GPU with
// RDMA writes, and looks at every byte there. It is meant to be read: see transfer.go.
//
//	gpu_write                        # from GPU 0 to itself over a device in the process
//	gpu_write --to 1                 # to GPU 1
//	gpu_write -d mlx5_0              # through an adapter, which reaches the GPU's memory
//	gpu_write -d auto                # through the adapter that is nearest to the GPU
//	gpu_write -d mlx5_0 --method staged   # through memory of the host
//
// An error is one line on standard error and exit status 1.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	_ "github.com/gofabric/gofabric/internal/loopdev" // loop0; outside this module: verbs/verbstest
	"github.com/gofabric/gofabric/verbs"
)

// config is what the flags say.
type config struct {
	device   string
	from, to int
	bytes    int
	piece    int
	vmm      bool
	gpu      verbs.GPUOptions
	timeout  time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "gpu_write:", strings.ReplaceAll(err.Error(), "\n", "; "))
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("not done after %v (--timeout)", c.timeout))
	defer cancel()
	if c.device == "auto" {
		if c.device, err = nearest(c.from, out); err != nil {
			return err
		}
	}
	return transfer(ctx, c, out)
}

// methods are the values of --method.
var methods = []verbs.GPUMethod{verbs.GPUAuto, verbs.GPUDMABuf, verbs.GPUPeerMem, verbs.GPUStaged}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	var method string
	f := pflag.NewFlagSet("gpu_write", pflag.ContinueOnError)
	f.SetOutput(out)
	f.StringVarP(&c.device, "ib-dev", "d", "loop0", "the RDMA `device`; loop0 is one inside the process, auto the nearest adapter")
	f.IntVar(&c.from, "from", 0, "the `GPU` to write from, as CUDA numbers them")
	f.IntVar(&c.to, "to", 0, "the `GPU` to write to")
	f.IntVarP(&c.bytes, "size", "s", 64<<20, "how many `bytes`")
	f.IntVar(&c.piece, "piece", 1<<20, "`bytes` of a write at most")
	command.Toggle(f, &c.vmm, "vmm", "", "take the memory from CUDA's virtual memory management")
	f.StringVar(&method, "method", "auto", "how the adapter is let at the memory: auto, dma-buf, nvidia_peermem or staged")
	command.Toggle(f, &c.gpu.AllowStaged, "allow-staged", "", "with auto: go through memory of the host where the adapter does not reach the GPU's")
	f.DurationVar(&c.timeout, "timeout", time.Minute, "how long all of it may take")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	known := false
	for _, m := range methods {
		if m.String() == method {
			c.gpu.Method, known = m, true
		}
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("%q is no flag: see --help", f.Arg(0))
	case !known:
		return c, fmt.Errorf("--method %q: it must be auto, dma-buf, nvidia_peermem or staged", method)
	case c.bytes < 1:
		return c, fmt.Errorf("--size %d: it must be 1 or more", c.bytes)
	case c.piece < 1 || c.piece > 1<<30:
		return c, fmt.Errorf("--piece %d: it must be 1 to 2^30", c.piece)
	}
	return c, nil
}
