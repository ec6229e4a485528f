package nccltest

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/nccl/bootstrap"
)

// shared is the command line in flags that the C tool has too, less those that
// write a file.
func (p *parser) shared() (args []string) {
	p.set.Visit(func(f *pflag.Flag) {
		if f.Shorthand != "" && f.Shorthand != "J" {
			args = append(args, "-"+f.Shorthand, f.Value.String())
		}
	})
	return args
}

// comparison is one half of a row in all pairs.
type comparison struct {
	size             uint64
	label, place     string
	c, ours          []float64 // microseconds
	ratios, controls []float64
}

// Compare runs this program and a C tool in turn, and the C tool once more for
// control, cfg.Pairs times, and prints for each row the ratio of the times. The
// order alternates, so that a drift of the machine does not look like a
// difference.
func Compare(ctx context.Context, cfg Config, stdout io.Writer) error {
	usage := func(problem string) error {
		return &UsageError{Tool: cfg.Tool.Name, Flag: "--compare", Problem: problem}
	}
	world, err := bootstrap.FromEnvironment(bootstrap.Options{})
	if err != nil {
		return err
	}
	if world.Size > 1 {
		return usage("works in one process; start the programs in turn under the launcher yourself")
	}
	own, err := os.Executable()
	if err != nil {
		return err
	}
	ours := pairs.Tool{Name: "this program", Argv: append([]string{own}, cfg.ownArgs()...)}
	other := pairs.Tool{Name: cfg.Compare, Argv: []string{cfg.Compare}}
	table := newComparisons()
	for pair := range cfg.Pairs {
		order := []pairs.Tool{other, ours, other}
		if pair%2 == 1 {
			order[0], order[1] = ours, other
		}
		if err := table.pair(ctx, cfg, order, pair%2); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "# pair %d of %d\n", pair+1, cfg.Pairs)
	}
	return table.write(stdout, cfg)
}

// ownArgs are the flags of the C tool and those that change how we measure.
func (c *Config) ownArgs() []string {
	args := c.shared
	if c.IssueThreads {
		args = append(args, "--issue=threads")
	}
	if c.Auto {
		args = append(args, "--mode=auto")
	}
	return args
}

type comparisons struct {
	list  []*comparison
	index map[string]*comparison
}

func newComparisons() *comparisons { return &comparisons{index: map[string]*comparison{}} }

// pair runs three programs, of which the one at place ours is ours.
func (t *comparisons) pair(ctx context.Context, cfg Config, order []pairs.Tool, swapped int) error {
	ours := 1 - swapped
	tables := make([][]tableRow, len(order))
	for i, tool := range order {
		args := cfg.shared
		if i == ours {
			args = nil
		}
		process, err := pairs.Start(ctx, tool, args...)
		if err != nil {
			return fmt.Errorf("--compare: %w", err)
		}
		out, err := process.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("--compare: %s: %w", tool.Name, err)
		}
		if out.Status != 0 {
			return fmt.Errorf("--compare: %s ended with status %d: %s", tool.Name, out.Status, strings.TrimSpace(out.Stderr+"\n"+lastLines(out.Stdout)))
		}
		if tables[i] = parseTable(out.Stdout, cfg.PerIter); len(tables[i]) == 0 {
			return fmt.Errorf("--compare: %s printed no row", tool.Name)
		}
		if len(tables[i]) != len(tables[0]) {
			return fmt.Errorf("--compare: %s printed %d rows, and %s %d", order[0].Name, len(tables[0]), tool.Name, len(tables[i]))
		}
	}
	for i := range tables[0] {
		c1, c2, our := tables[1-ours][i], tables[2][i], tables[ours][i]
		for half, place := range []string{"out-of-place", "in-place"} {
			t.add(fmt.Sprintf("%d %s %d", i, c1.label(), half), &comparison{size: c1.size, label: c1.label(), place: place},
				c1.halves[half].time, our.halves[half].time, c2.halves[half].time)
		}
	}
	return nil
}

func (t *comparisons) add(key string, empty *comparison, c1, ours, c2 float64) {
	c := t.index[key]
	if c == nil {
		c = empty
		t.index[key] = c
		t.list = append(t.list, c)
	}
	c.c, c.ours = append(c.c, c1), append(c.ours, ours)
	if c1 > 0 {
		c.ratios, c.controls = append(c.ratios, ours/c1), append(c.controls, c2/c1)
	}
}

// lastLines is what a failed program is likely to have said last.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-2, 0):], "\n")
}

func (t *comparisons) write(w io.Writer, cfg Config) error {
	fmt.Fprintf(w, "# medians of %d pairs, with intervals that hold the median with 95 %% confidence\n", cfg.Pairs)
	fmt.Fprintf(w, "# %10s  %-24s  %-12s  %9s  %9s  %-21s  %-21s\n", "size", "row", "", "ours (us)", "C (us)", "ours/C", "C/C")
	var all, controls []float64
	for _, c := range t.list {
		ratio, control := pairs.Interval(c.ratios), pairs.Interval(c.controls)
		fmt.Fprintf(w, "%12d  %-24s  %-12s  %9.2f  %9.2f  %-21s  %-21s\n", c.size, c.label, c.place, pairs.Median(c.ours), pairs.Median(c.c), ratio, control)
		if len(c.ratios) > 0 {
			all, controls = append(all, pairs.Median(c.ratios)), append(controls, pairs.Median(c.controls))
		}
	}
	_, err := fmt.Fprintf(w, "# median over the rows: ours/C %s, C/C %s\n", pairs.Interval(all), pairs.Interval(controls))
	return err
}
