// Command measure compares our write_bw with the C tool on a machine with two
// RDMA devices that reach each other, such as a guest of the lab:
//
//	rdmalab --in write_bw:/bin/write_bw -- measure --tool /bin/write_bw
//
// In each turn it runs C with C, Go with Go, and C with C again, in an order
// that rotates. Go is as fast as C when the median of Go/C lies within the 95 %
// interval of the median of C/C, which is what the machine's noise makes of
// equal programs. --tool may be given several times, to compare builds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/pairs"
)

type options struct {
	tools                  []string
	cTool, server, client  string
	turns, port, megabytes int
	sizes                  []int
	limit                  time.Duration
}

func main() {
	var o options
	pflag.StringSliceVar(&o.tools, "tool", []string{"write_bw"}, "our program, or several builds of it")
	pflag.StringVar(&o.cTool, "c-tool", "ib_write_bw", "the C program")
	pflag.StringVar(&o.server, "server-device", "rxe0", "RDMA device of the servers")
	pflag.StringVar(&o.client, "client-device", "rxe1", "RDMA device of the clients")
	pflag.IntVar(&o.turns, "turns", 15, "turns of each size")
	pflag.IntVar(&o.port, "port", 18600, "first TCP port; each run takes the next")
	pflag.IntVar(&o.megabytes, "mib", 16, "MiB to move in each run")
	pflag.IntSliceVar(&o.sizes, "sizes", []int{65536, 1 << 20}, "message sizes in bytes")
	pflag.DurationVar(&o.limit, "limit", 2*time.Minute, "time limit of one run")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, size := range o.sizes {
		if err := o.compare(ctx, size); err != nil {
			fmt.Fprintln(os.Stderr, "measure:", err)
			os.Exit(1)
		}
	}
}

// compare runs all turns of one size and prints what came of them.
func (o *options) compare(ctx context.Context, size int) error {
	contestants := []pairs.Tool{{Name: "C", Argv: []string{o.cTool}}, {Name: "C again", Argv: []string{o.cTool}}}
	for _, tool := range o.tools {
		contestants = append(contestants, pairs.Tool{Name: filepath.Base(tool), Argv: []string{tool}})
	}
	average := make([][]float64, len(contestants))
	for turn := range o.turns {
		for i := range contestants {
			at := (turn + i) % len(contestants)
			v, err := o.run(ctx, contestants[at], size)
			if err != nil {
				return err
			}
			average[at] = append(average[at], v)
		}
		fmt.Printf("%d bytes, turn %2d:", size, turn+1)
		for i, tool := range contestants {
			fmt.Printf("  %s %.2f", tool.Name, average[i][turn])
		}
		fmt.Println(" MiB/s")
	}
	control := ratios(average[1], average[0])
	low, high, ok := pairs.MedianInterval(control)
	if !ok {
		return errors.New("too few turns: an interval needs six")
	}
	fmt.Printf("%d bytes, %d turns: median C %.2f, again %.2f MiB/s; median C/C %.3f, 95 %% interval %.3f to %.3f\n", size, o.turns,
		pairs.Median(average[0]), pairs.Median(average[1]), pairs.Median(control), low, high)
	for i, tool := range contestants[2:] {
		ours := average[i+2]
		m := pairs.Median(ratios(ours, average[0]))
		verdict := "inside"
		if m < low {
			verdict = "BELOW"
		} else if m > high {
			verdict = "above"
		}
		fmt.Printf("%d bytes: %s: median %.2f MiB/s, median Go/C %.3f: %s the interval\n", size, tool.Name, pairs.Median(ours), m, verdict)
	}
	return nil
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

// run runs a tool with itself and returns the average bandwidth.
func (o *options) run(ctx context.Context, tool pairs.Tool, size int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	args := []string{"-F", "-s", strconv.Itoa(size), "-n", strconv.Itoa(max(5, o.megabytes<<20/size)), "-d"}
	o.port++
	p := pairs.Pair{Server: tool, Client: tool, Port: o.port,
		ServerArgs: append(args[:len(args):len(args)], o.server), ClientArgs: append(args[:len(args):len(args)], o.client)}
	_, client, err := p.Run(ctx)
	if err != nil {
		return 0, err
	}
	return client.Average()
}
