// Command measure compares our write_bw with the C tool on a machine with two
// RDMA devices that reach each other, such as a guest of the lab:
//
//	rdmalab --in write_bw:/bin/write_bw -- measure --tool /bin/write_bw
//
// In each turn it runs C with C, Go with Go, and C with C again, in an order
// that rotates. Go is as fast as C when the median of Go/C lies within the 95 %
// interval of the median of C/C, which is what the machine's noise makes of
// equal programs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/pairs"
)

type options struct {
	tool, cTool, server, client string
	turns, port                 int
	megabytes                   int
	sizes                       []int
	limit                       time.Duration
}

func main() {
	var o options
	pflag.StringVar(&o.tool, "tool", "write_bw", "our program")
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
	ours, c := pairs.Tool{Name: "Go", Argv: []string{o.tool}}, pairs.Tool{Name: "C", Argv: []string{o.cTool}}
	contestants := []pairs.Tool{c, ours, c}
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
		fmt.Printf("%d bytes, turn %2d: C %8.2f  Go %8.2f  C %8.2f MiB/s\n", size, turn+1,
			average[0][turn], average[1][turn], average[2][turn])
	}
	goRatio, control := ratios(average[1], average[0]), ratios(average[2], average[0])
	fmt.Printf("%d bytes, %d turns: median C %.2f, Go %.2f, C again %.2f MiB/s\n", size, o.turns,
		pairs.Median(average[0]), pairs.Median(average[1]), pairs.Median(average[2]))
	low, high, ok := pairs.MedianInterval(control)
	if !ok {
		fmt.Printf("%d bytes: median Go/C %.3f, C/C %.3f; too few turns for an interval\n", size,
			pairs.Median(goRatio), pairs.Median(control))
		return nil
	}
	verdict := "inside"
	if m := pairs.Median(goRatio); m < low {
		verdict = "BELOW"
	} else if m > high {
		verdict = "above"
	}
	fmt.Printf("%d bytes: median Go/C %.3f is %s the 95 %% interval %.3f to %.3f of the median of C/C (%.3f)\n", size,
		pairs.Median(goRatio), verdict, low, high, pairs.Median(control))
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
