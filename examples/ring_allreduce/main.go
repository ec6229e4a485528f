// Command ring_allreduce sums float32 data over ranks in a ring, with RDMA
// writes between neighbours, and checks the result. It is meant to be read: see
// ring.go.
//
//	ring_allreduce --ranks 4                  # goroutines on a device in the process
//	ring_allreduce --ranks 4 -d mlx5_0        # goroutines on one adapter
//	ring_allreduce --ranks 2 --rank 0 -d mlx5_0 --addr HOST:PORT   # a process each,
//	ring_allreduce --ranks 2 --rank 1 -d mlx5_0 --addr HOST:PORT   # HOST is rank 0's
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

	_ "github.com/gofabric/gofabric/internal/loopdev" // loop0; outside this module: verbs/verbstest
	"github.com/gofabric/gofabric/verbs"
)

// config is what the flags say.
type config struct {
	device      string
	ranks, rank int // rank -1: all of them in this process
	addr        string
	bytes       int
	chunk       int
	slots       int
	iterations  int
	gidIndex    int
	timeout     time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return
		}
		fmt.Fprintln(os.Stderr, "ring_allreduce:", strings.ReplaceAll(err.Error(), "\n", "; "))
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
	if c.rank >= 0 {
		g, err := joinGroup(ctx, c.rank, c.ranks, c.addr)
		if err != nil {
			return err
		}
		return c.runRank(ctx, g, out)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	ended := make(chan error, c.ranks)
	for _, g := range localGroups(ctx, c.ranks) {
		go func() {
			err := c.runRank(ctx, g, out)
			if err != nil {
				fail(err) // the others would wait for this rank
			}
			ended <- err
		}()
	}
	for range c.ranks {
		<-ended
	}
	return context.Cause(ctx)
}

func parse(args []string, out io.Writer) (config, error) {
	var c config
	f := pflag.NewFlagSet("ring_allreduce", pflag.ContinueOnError)
	f.SetOutput(out)
	f.StringVarP(&c.device, "ib-dev", "d", "loop0", "the RDMA `device`; loop0 is one inside the process")
	f.IntVar(&c.ranks, "ranks", 4, "how many ranks, 2 or more")
	f.IntVar(&c.rank, "rank", -1, "which rank this process is, from 0; without it, all are goroutines of this process")
	f.StringVar(&c.addr, "addr", "127.0.0.1:29500", "where rank 0 listens")
	f.IntVarP(&c.bytes, "size", "s", 4<<20, "`bytes` of each rank's data; a multiple of 4")
	f.IntVar(&c.chunk, "chunk", 64<<10, "`bytes` of a chunk at most; a multiple of 4")
	f.IntVar(&c.slots, "slots", 8, "chunks that may be under way between two neighbours, 1 to 4096")
	f.IntVarP(&c.iterations, "iters", "n", 20, "how many all-reduces")
	f.IntVarP(&c.gidIndex, "gid-index", "x", -1, "the port's GID `index`; -1 chooses")
	f.DurationVar(&c.timeout, "timeout", time.Minute, "how long all of it may take")
	if err := f.Parse(args); err != nil {
		return c, err
	}
	switch {
	case f.NArg() > 0:
		return c, fmt.Errorf("%q is no flag: see --help", f.Arg(0))
	case c.ranks < 2:
		return c, fmt.Errorf("--ranks %d: a ring has 2 or more", c.ranks)
	case c.rank < -1 || c.rank >= c.ranks:
		return c, fmt.Errorf("--rank %d: with --ranks %d it must be 0 to %d", c.rank, c.ranks, c.ranks-1)
	case c.bytes < 4 || c.bytes%4 != 0:
		return c, fmt.Errorf("--size %d: it must be a multiple of 4 and not 0", c.bytes)
	case c.chunk < 4 || c.chunk%4 != 0 || c.chunk > 1<<30:
		return c, fmt.Errorf("--chunk %d: it must be a multiple of 4 from 4 to 2^30", c.chunk)
	case c.slots < 1 || c.slots > 4096:
		return c, fmt.Errorf("--slots %d: it must be 1 to 4096", c.slots)
	case c.iterations < 1:
		return c, fmt.Errorf("--iters %d: it must be 1 or more", c.iterations)
	}
	return c, nil
}

// runRank is one rank from its beginning to its end.
func (c *config) runRank(ctx context.Context, g *Group, out io.Writer) (err error) {
	defer g.Close()
	dev, err := verbs.Open(c.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.CloseAll()) }()
	o := RingOptions{Elements: c.bytes / 4, Chunk: c.chunk, Slots: c.slots}
	if c.gidIndex >= 0 {
		o.GIDIndex = &c.gidIndex
	}
	r, err := NewRing(ctx, dev, g, o)
	if err != nil {
		return rankError(ctx, g, err)
	}
	var took time.Duration
	wrong := 0
	for i := range c.iterations {
		for k := range r.data {
			r.data[k] = value(i, g.rank, k)
		}
		if err := g.Barrier(); err != nil {
			return rankError(ctx, g, err)
		}
		start := time.Now()
		if err := r.AllReduce(ctx); err != nil {
			return rankError(ctx, g, err)
		}
		took += time.Since(start)
		wrong += r.wrong(i)
	}
	// Nobody may close while a neighbour still waits for its last credits.
	all, err := gather(g, report{took, wrong})
	if err != nil {
		return rankError(ctx, g, err)
	}
	if g.rank == 0 {
		c.print(out, all)
	}
	if wrong > 0 {
		return fmt.Errorf("rank %d: %d elements are wrong", g.rank, wrong)
	}
	return nil
}

// rankError tells a rank's own trouble from the end of the whole run.
func rankError(ctx context.Context, g *Group, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return fmt.Errorf("rank %d: %w", g.rank, err)
}

// value is what a rank brings to an element: whole numbers, small enough for
// every sum of them to be exact.
func value(iteration, rank, k int) float32 { return float32((7*k + 13*rank + iteration) % 101) }

// wrong counts the elements that are not the sum over all ranks.
func (r *Ring) wrong(iteration int) (n int) {
	for k, got := range r.data {
		var want float32
		for rank := range r.ranks {
			want += value(iteration, rank, k)
		}
		if got != want {
			n++
		}
	}
	return n
}

// report is what a rank says at the end.
type report struct {
	Took  time.Duration
	Wrong int
}

// print shows the slowest rank's time, as an all-reduce is over when all are
// done. The bandwidths are those of nccl-tests.
func (c *config) print(out io.Writer, all []report) {
	var sum report
	for _, r := range all {
		sum.Took = max(sum.Took, r.Took)
		sum.Wrong += r.Wrong
	}
	each := sum.Took / time.Duration(c.iterations)
	algbw := float64(c.bytes) / each.Seconds() / 1e9
	busbw := algbw * 2 * float64(c.ranks-1) / float64(c.ranks)
	fmt.Fprintf(out, "%12s %10s %6s %6s %12s %14s %14s %8s\n", "bytes", "type", "ranks", "iters", "time(us)", "algbw(GB/s)", "busbw(GB/s)", "#wrong")
	fmt.Fprintf(out, "%12d %10s %6d %6d %12.1f %14.3f %14.3f %8d\n", c.bytes, "float32", c.ranks, c.iterations,
		float64(each.Nanoseconds())/1e3, algbw, busbw, sum.Wrong)
	if strings.HasPrefix(c.device, "loop") {
		fmt.Fprintf(out, "%s is a device inside this process: its times say nothing about an adapter\n", c.device)
	}
}
