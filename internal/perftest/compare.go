package perftest

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/pairs"
)

const (
	// defaultPairs is how often --compare takes turns.
	defaultPairs = 15
	// A run of a comparison that hangs is ended.
	comparedRun = 10 * time.Minute
	// failuresAllowed is how many runs of the C tool may fail: on some machines
	// its clock does not calibrate in one of eight.
	failuresAllowed = 10
)

// contestant is a tool that plays both ends.
type contestant struct {
	tool pairs.Tool
	args []string
}

// comparison is one message size in all turns, each value as its tool printed it.
type comparison struct {
	size                 uint64
	first, second, third []float64 // C, ours, C again
}

// Compare runs this program against itself and a C tool against itself in turn,
// and the C tool once more for control, config.Pairs times, both ends on this
// machine, and prints for each size the ratio of the results: average bandwidth,
// or typical latency. The order rotates, so that a drift of the machine does not
// look like a difference.
func Compare(ctx context.Context, config Config, stdout io.Writer) error {
	if inProcess(config.Device) {
		return &UsageError{Tool: config.Tool.Name, Flag: "--compare", Problem: "needs a device that the C tool can open; give one with -d"}
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	other := contestant{pairs.Tool{Name: config.Compare, Argv: []string{config.Compare}}, config.shared}
	ours := contestant{pairs.Tool{Name: config.Tool.Name, Argv: []string{own}, Env: ownEnvironment}, append(config.own, config.shared...)}
	players := []contestant{other, ours, other}
	b := bout{config: &config, port: config.Port}
	var table []*comparison
	for turn := range config.Pairs {
		values := make([][]value, len(players))
		for i := range players {
			at := (turn + i) % len(players)
			if values[at], err = b.play(ctx, players[at]); err != nil {
				return fmt.Errorf("--compare: %w", err)
			}
		}
		if table, err = addTurn(table, values); err != nil {
			return fmt.Errorf("--compare: %w", err)
		}
		fmt.Fprintf(stdout, "# turn %d of %d\n", turn+1, config.Pairs)
	}
	return writeComparison(stdout, &config, table, b.failures)
}

// ownEnvironment is what our processes get besides this one's environment. Tests
// set it, where the program is not the tool.
var ownEnvironment []string

func addTurn(table []*comparison, values [][]value) ([]*comparison, error) {
	if len(values[0]) == 0 || len(values[1]) != len(values[0]) || len(values[2]) != len(values[0]) {
		return nil, fmt.Errorf("the tools printed %d, %d and %d rows", len(values[0]), len(values[1]), len(values[2]))
	}
	if table == nil {
		for _, v := range values[0] {
			table = append(table, &comparison{size: v.size})
		}
	}
	if len(table) != len(values[0]) {
		return nil, fmt.Errorf("a turn has %d rows and the one before %d", len(values[0]), len(table))
	}
	for i, c := range table {
		c.first = append(c.first, values[0][i].value)
		c.second = append(c.second, values[1][i].value)
		c.third = append(c.third, values[2][i].value)
	}
	return table, nil
}

// bout is what all runs of a comparison share.
type bout struct {
	config   *Config
	port     int // of the last run; each takes the next
	failures int // runs of the C tool that were repeated
}

// play runs one tool against itself and reads what the client printed.
func (b *bout) play(ctx context.Context, who contestant) ([]value, error) {
	for {
		values, problem, err := b.try(ctx, who)
		if err != nil || problem == "" {
			return values, err
		}
		if b.failures++; b.failures > failuresAllowed {
			return nil, fmt.Errorf("%s failed too often, the last time with: %s", who.tool.Name, problem)
		}
	}
}

// try returns a problem where another try may do better.
func (b *bout) try(ctx context.Context, who contestant) (values []value, problem string, err error) {
	ctx, cancel := context.WithTimeout(ctx, comparedRun)
	defer cancel()
	b.port++
	with := func(device string) []string {
		if device == "" {
			return who.args
		}
		return append([]string{"--ib-dev=" + device}, who.args...)
	}
	server := b.config.ServerDevice
	if server == "" {
		server = b.config.Device
	}
	pair := pairs.Pair{Server: who.tool, Client: who.tool, Port: b.port, ServerArgs: with(server), ClientArgs: with(b.config.Device)}
	out, client, err := pair.Run(ctx)
	if ctx.Err() != nil {
		return nil, "", context.Cause(ctx)
	}
	if err != nil {
		return nil, "", err
	}
	if client.Status != 0 {
		return nil, fmt.Sprintf("client status %d, server status %d: %s", client.Status, out.Status,
			lastLine(client.Stdout+client.Stderr+"\n"+out.Stderr)), nil
	}
	if values = readValues(client.Stdout, b.config.Tool.Latency); len(values) == 0 {
		return nil, "it printed no row of numbers; at the end: " + lastLine(client.Stdout+client.Stderr), nil
	}
	return values, "", nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

// value is what a row says, in the tool's unit.
type value struct {
	size  uint64
	value float64
}

// readValues finds the rows in what a tool printed: of bandwidths the average, of
// latencies the typical one, or the average of a run of fixed duration.
func readValues(text string, latency bool) (list []value) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		column := 3 // the bandwidth's average, and t_avg is no such
		switch {
		case latency && len(fields) == 9:
			column = 4
		case latency && len(fields) == 4:
			column = 2
		case latency || len(fields) != 5 && len(fields) != 6:
			continue
		}
		numbers := make([]float64, len(fields))
		var err error
		for i, field := range fields {
			if numbers[i], err = strconv.ParseFloat(field, 64); err != nil || math.IsNaN(numbers[i]) || math.IsInf(numbers[i], 0) {
				column = -1
				break
			}
		}
		size, sizeErr := strconv.ParseUint(fields[0], 10, 64)
		if column >= 0 && sizeErr == nil {
			list = append(list, value{size, numbers[column]})
		}
	}
	return list
}

// writeComparison prints the table. Ours is as fast as C where the median of its
// ratios lies within the interval of the control's, which is what the machine
// makes of equal programs.
func writeComparison(w io.Writer, c *Config, table []*comparison, failures int) error {
	what, unit := "average bandwidth", c.Unit.String()
	switch {
	case c.Tool.Latency && c.Duration > 0:
		what, unit = "average latency", "usec"
	case c.Tool.Latency:
		what, unit = "typical latency", "usec"
	}
	fmt.Fprintf(w, "# %s: medians of %d turns, with intervals that hold the median of the ratios with 95 %% confidence\n", what, c.Pairs)
	if failures > 0 {
		fmt.Fprintf(w, "# %d runs failed and were repeated\n", failures)
	}
	fmt.Fprintf(w, "# %10s  %14s  %14s  %-22s  %-22s  %s\n", "size", "ours ("+unit+")", "C ("+unit+")", "ours/C", "C/C", "ours is")
	for _, row := range table {
		ours, control := ratios(row.second, row.first), ratios(row.third, row.first)
		if _, err := fmt.Fprintf(w, "%12d  %14.2f  %14.2f  %-22s  %-22s  %s\n", row.size, pairs.Median(row.second), pairs.Median(row.first),
			pairs.Interval(ours), pairs.Interval(control), verdict(ours, control)); err != nil {
			return err
		}
	}
	return nil
}

// verdict says where our median lies.
func verdict(ours, control []float64) string {
	if len(ours) == 0 || len(control) == 0 {
		return "-"
	}
	low, high, ok := pairs.MedianInterval(control)
	switch m := pairs.Median(ours); {
	case !ok:
		return "(too few turns to say: six are needed)"
	case m < low:
		return "below C's interval"
	case m > high:
		return "above C's interval"
	}
	return "within C's interval"
}

// ratios leaves out what cannot be divided.
func ratios(a, b []float64) (list []float64) {
	for i := range a {
		if b[i] > 0 {
			list = append(list, a[i]/b[i])
		}
	}
	return list
}
