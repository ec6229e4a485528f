package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/lab"
)

// runJob runs the job and returns its exit status.
func runJob(ctx context.Context, o *options) (int, error) {
	image, err := lab.Ensure(ctx, o.cfg)
	if err != nil {
		return 0, err
	}
	job := o.job
	skips := &lab.SkipWatch{}
	job.Stdout, job.Stderr = os.Stdout, os.Stderr
	if o.strict {
		job.Stdout = io.MultiWriter(os.Stdout, skips)
	}
	if sameFile(os.Stdout, os.Stderr) {
		job.Stderr = job.Stdout
	}
	if o.verbose {
		job.Console = os.Stderr
	}
	// The go command asks a test that takes too long for its goroutines.
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT)
	defer signal.Stop(quit)
	job.Signals = quit

	result, err := image.Run(ctx, job)
	if err != nil {
		return 0, err
	}
	if result.Signal != 0 {
		fmt.Fprintf(os.Stderr, "rdmalab: the program was killed by signal %d (%v)\n", result.Signal, syscall.Signal(result.Signal))
	}
	if o.verbose {
		fmt.Fprintf(os.Stderr, "rdmalab: kernel %s, %s: ready after %v, job took %v\n",
			image.Kernel(), result.Accel, result.Boot.Round(time.Millisecond), result.Job.Round(time.Millisecond))
	}
	skips.Close()
	if bad := o.refused(skips.Skipped); len(bad) > 0 {
		fmt.Fprintf(os.Stderr, "rdmalab: skipped tests are failures here (--strict): %s\n", strings.Join(bad, ", "))
		if result.ExitCode == 0 {
			return 1, nil
		}
	}
	return result.ExitCode, nil
}

// refused returns the skipped tests that were not allowed to be.
func (o *options) refused(skipped []string) []string {
	var bad []string
	for _, name := range skipped {
		if o.allow == nil || !o.allow.MatchString(name) {
			bad = append(bad, name)
		}
	}
	return bad
}

// sameFile says whether both streams end in one place, where their order
// matters.
func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
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
