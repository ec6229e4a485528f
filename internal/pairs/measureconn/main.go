// Command measureconn compares the throughput of rdmacm.Conn with the C tool
// ib_write_bw and with TCP over the same link, on a machine with two RDMA devices
// that reach each other, such as a guest of the lab:
//
//	rdmalab -- measureconn
//
// In each turn it runs every contestant once, two processes each, in an order that
// rotates. C runs twice: the 95 % interval of the median of C/C is what the
// machine's noise makes of equal programs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/pairs"
)

type options struct {
	role, over           string
	host, source         string
	server, client       string
	turns, port, mib     int
	size, window, buffer int
	sizes                []int
	limit                time.Duration
}

func main() {
	var o options
	pflag.StringVar(&o.role, "role", "", "server or client: one side of one run; empty: all of it")
	pflag.StringVar(&o.over, "over", "", "conn or tcp, for a role")
	pflag.StringVar(&o.host, "host", "10.0.0.1", "the server device's address")
	pflag.StringVar(&o.source, "source", "10.0.0.2", "the client device's address")
	pflag.StringVar(&o.server, "server-device", "rxe0", "the server's RDMA device")
	pflag.StringVar(&o.client, "client-device", "rxe1", "the client's RDMA device")
	pflag.IntVar(&o.turns, "turns", 9, "turns of each size")
	pflag.IntVar(&o.port, "port", 18700, "first port; each run takes the next")
	pflag.IntVar(&o.mib, "mib", 16, "MiB to move in each run")
	pflag.IntVar(&o.size, "size", 4096, "message size in bytes, for a role")
	pflag.IntVar(&o.window, "window", 0, "ConnOptions.Window")
	pflag.IntVar(&o.buffer, "buffer", 0, "ConnOptions.BufferSize")
	pflag.IntSliceVar(&o.sizes, "sizes", []int{4 << 10, 1 << 20}, "message sizes in bytes")
	pflag.DurationVar(&o.limit, "limit", 2*time.Minute, "time limit of one run")
	pflag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := o.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "measureconn:", err)
		os.Exit(1)
	}
}

func (o *options) run(ctx context.Context) error {
	switch o.role {
	case "":
		for _, size := range o.sizes {
			if err := o.compare(ctx, size); err != nil {
				return err
			}
		}
		return nil
	case "server":
		return o.serve(ctx)
	case "client":
		return o.dial(ctx)
	}
	return fmt.Errorf("role %q: it is server or client", o.role)
}

// messages is how many make up a run.
func (o *options) messages(size int) int { return max(8, o.mib<<20/size) }

// contestant is one way to move messages.
type contestant struct {
	name string
	run  func(ctx context.Context, size int) (mib float64, err error)
}

// compare runs all turns of one size and prints what came of them.
func (o *options) compare(ctx context.Context, size int) error {
	list := []contestant{{"C write_bw", o.runC}, {"C again", o.runC}, {"Conn", o.runOwn("conn")}, {"TCP", o.runOwn("tcp")}}
	results := make([][]float64, len(list))
	for turn := range o.turns {
		for i := range list {
			at := (turn + i) % len(list)
			v, err := o.once(ctx, list[at], size)
			if err != nil {
				return fmt.Errorf("%s, %d bytes: %w", list[at].name, size, err)
			}
			results[at] = append(results[at], v)
		}
		fmt.Printf("%d bytes, turn %2d:", size, turn+1)
		for i, c := range list {
			fmt.Printf("  %s %.2f", c.name, results[i][turn])
		}
		fmt.Println(" MiB/s")
	}
	control := ratios(results[1], results[0])
	low, high, ok := pairs.MedianInterval(control)
	if !ok {
		return errors.New("too few turns: an interval needs six")
	}
	fmt.Printf("%d bytes, %d turns: C/C median %.3f, 95 %% interval %.3f to %.3f\n", size, o.turns, pairs.Median(control), low, high)
	for i, c := range list {
		fmt.Printf("%d bytes: %-10s median %8.2f MiB/s, of C %.3f\n", size, c.name, pairs.Median(results[i]), pairs.Median(ratios(results[i], results[0])))
	}
	return nil
}

// once runs a contestant, again if the C tool could not calibrate its clock.
func (o *options) once(ctx context.Context, c contestant, size int) (v float64, err error) {
	for range pairs.RxeTries {
		limited, cancel := context.WithTimeout(ctx, o.limit)
		v, err = c.run(limited, size)
		cancel()
		if err == nil || ctx.Err() != nil {
			return v, err
		}
		fmt.Printf("%s, %d bytes: again: %v\n", c.name, size, err)
	}
	return v, err
}

func ratios(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] / b[i]
	}
	return out
}

func (o *options) runC(ctx context.Context, size int) (float64, error) {
	tool := pairs.Tool{Name: "C", Argv: []string{"ib_write_bw"}}
	args := []string{"-F", "-s", strconv.Itoa(size), "-n", strconv.Itoa(o.messages(size)), "-d"}
	o.port++
	p := pairs.Pair{Server: tool, Client: tool, Port: o.port,
		ServerArgs: append(args[:len(args):len(args)], o.server), ClientArgs: append(args[:len(args):len(args)], o.client)}
	_, client, err := p.Run(ctx)
	if err != nil {
		return 0, err
	}
	return client.Average()
}

// runOwn runs this program twice, as server and as client.
func (o *options) runOwn(over string) func(context.Context, int) (float64, error) {
	return func(ctx context.Context, size int) (float64, error) {
		self, err := os.Executable()
		if err != nil {
			return 0, err
		}
		o.port++
		args := []string{"--over", over, "--host", o.host, "--source", o.source, "--port", strconv.Itoa(o.port),
			"--mib", strconv.Itoa(o.mib), "--size", strconv.Itoa(size), "--window", strconv.Itoa(o.window), "--buffer", strconv.Itoa(o.buffer)}
		tool := pairs.Tool{Name: over, Argv: []string{self}}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		server, err := pairs.Start(ctx, tool, append(args, "--role", "server")...)
		if err != nil {
			return 0, err
		}
		client, err := pairs.Start(ctx, tool, append(args, "--role", "client")...)
		if err != nil {
			return 0, err
		}
		out, err := client.Wait()
		if err != nil {
			return 0, err
		}
		if out.Status != 0 {
			cancel()
		}
		other, err := server.Wait()
		if err != nil || out.Status != 0 || other.Status != 0 {
			return 0, errors.Join(err, fmt.Errorf("client: status %d %s; server: status %d %s", out.Status, out.Stderr, other.Status, other.Stderr))
		}
		return strconv.ParseFloat(strings.TrimSpace(out.Stdout), 64)
	}
}
