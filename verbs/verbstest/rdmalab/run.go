package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/lab"
)

// runJobs runs one job, or the two of a pair, and returns the exit status: of
// a pair, the first that is not 0.
func runJobs(ctx context.Context, o *options) (int, error) {
	image, err := lab.Ensure(ctx, o.cfg)
	if err != nil {
		return 0, err
	}
	outputs := newOutputs(o)
	// The go command asks a test that takes too long for its goroutines.
	for i := range o.jobs {
		quit := make(chan os.Signal, 1)
		signal.Notify(quit, syscall.SIGQUIT)
		defer signal.Stop(quit)
		o.jobs[i].Signals = quit
		outputs[i].attach(&o.jobs[i])
	}
	results := make([]lab.Result, len(o.jobs))
	if o.verb == verbPair {
		results[0], results[1], err = image.RunPair(ctx, o.jobs[0], o.jobs[1])
	} else {
		results[0], err = image.Run(ctx, o.jobs[0])
	}
	code := 0
	for i, out := range outputs {
		out.close()
		if err == nil {
			code = cmp.Or(code, out.judge(results[i]))
		}
	}
	if o.verbose && err == nil {
		for i, r := range results {
			fmt.Fprintf(os.Stderr, "rdmalab: %skernel %s, %s: ready after %v, job took %v\n",
				outputs[i].label, image.Kernel(), r.Accel, r.Boot.Round(time.Millisecond), r.Job.Round(time.Millisecond))
		}
	}
	return code, err
}

func list(o *options) error {
	kernels, err := lab.CachedKernels(o.cfg.Cache)
	if err != nil {
		return err
	}
	for _, k := range kernels {
		cached := "not downloaded"
		if k.Version != "" {
			cached = "cached " + k.Version
		}
		fmt.Printf("%-6s %-22s %s\n", k.Name, k.About, cached)
	}
	return nil
}

func fetch(ctx context.Context, o *options) error {
	version, err := lab.Fetch(ctx, o.cfg)
	if err != nil {
		return err
	}
	fmt.Printf("kernel %s and userland %s are in the cache\n", version, o.cfg.Userland)
	return nil
}

func doctor(ctx context.Context, o *options) error {
	found, err := lab.Doctor(ctx, o.cfg)
	if err != nil {
		return err
	}
	bad := 0
	for _, d := range found {
		mark := "ok     "
		if !d.OK {
			mark = "MISSING"
			bad++
		}
		fmt.Printf("%s %-15s %s\n", mark, d.What, d.Detail)
	}
	if bad > 0 {
		return fmt.Errorf("%d things are missing, see above", bad)
	}
	return nil
}
