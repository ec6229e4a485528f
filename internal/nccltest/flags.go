package nccltest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// UsageError reports a command line, or an environment, that cannot be run. Its
// text is one line.
type UsageError struct {
	// Tool is the program's name.
	Tool string
	// Flag is the flag or variable at fault, "-n/--iters", or empty.
	Flag string
	// Problem says what is wrong and what would be right.
	Problem string
}

func (e *UsageError) Error() string {
	s := e.Tool + ": "
	if e.Flag != "" {
		s += e.Flag + ": "
	}
	return s + e.Problem
}

// ParseArgs reads the command line of tool, without the program's name, and the
// variables of nccl-tests. The error is a *UsageError.
func ParseArgs(tool Tool, args []string, lookup func(string) (string, bool)) (Config, error) {
	p := newParser(tool)
	if err := p.set.Parse(args); err != nil {
		return Config{}, p.explain(err)
	}
	if p.config.Help {
		return Config{Tool: tool, Help: true}, nil
	}
	if rest := p.set.Args(); len(rest) > 0 {
		return Config{}, p.bad("", fmt.Sprintf("%q is no flag", rest[0]))
	}
	p.config.args = args
	p.config.shared = p.shared()
	if err := p.finish(); err != nil {
		return Config{}, err
	}
	if err := p.environment(lookup); err != nil {
		return Config{}, err
	}
	return p.config, nil
}

// Usage returns the help text of tool.
func Usage(tool Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s The flags, the environment and the output are those of nccl-tests %s.\n\nUsage:\n  %s [flags]\n\nFlags:\n%s\n",
		tool.Summary, testsVersion, tool.Name, strings.TrimRight(newParser(tool).set.FlagUsages(), "\n"))
	b.WriteString("\nRefused flags of the C tool:\n")
	for _, f := range refusedFlags {
		fmt.Fprintf(&b, "  -%s, --%s: %s\n", f.short, f.long, f.reason)
	}
	b.WriteString("\nEnvironment:\n")
	for _, v := range variables(tool) {
		fmt.Fprintf(&b, "  %-36s %s\n", v.name, v.what)
	}
	b.WriteString("  The launcher's variables make several processes one run: docs/launchers.md.\n")
	return b.String()
}

type parser struct {
	set    *pflag.FlagSet
	config Config

	minBytes, maxBytes, stepBytes size
	factor, root, timeout         int
	average, cta, perIter         int
	nullStream, parallel, cpu     flag
	stamps, memory                flag
}

const unlimited = math.MaxInt32

func newParser(tool Tool) *parser {
	p := &parser{
		set: pflag.NewFlagSet(tool.Name, pflag.ContinueOnError),
		config: Config{
			Tool: tool, Threads: 1, GPUs: 1, Iters: 20, Warmup: 1, Aggregate: 1, Cycles: 1, Checks: 1,
			Types: []nccl.DataType{nccl.Float32}, Ops: []values.Op{values.Sum}, Pairs: 7,
		},
		minBytes: 32 << 20, maxBytes: 32 << 20, stepBytes: 1 << 20, factor: 1, average: int(AverageMean), cta: -1,
	}
	set := p.set
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.SortFlags = false
	p.sizeFlags()
	p.operationFlags()
	p.issueFlags()
	p.reportFlags()
	p.ownFlags()
	for _, f := range refusedFlags {
		set.AddFlag(&pflag.Flag{Name: f.long, Shorthand: f.short, Hidden: true, Value: refused(f.reason)})
	}
	p.toggle(&p.config.Help, "help", "h", "print this help")
	return p
}

func (p *parser) number(dst *int, long, short string, low, high int, usage string) {
	p.set.VarP(&command.Number{Dst: dst, Low: low, High: high}, long, short, usage)
}

func (p *parser) toggle(dst *bool, long, short, usage string) {
	command.Toggle(p.set, dst, long, short, usage)
}

func (p *parser) sizeFlags() {
	c := &p.config
	p.number(&c.Threads, "nthreads", "t", 1, 1<<12, "`threads` of a process")
	p.number(&c.GPUs, "ngpus", "g", 1, 1<<12, "`GPUs` of a thread, driven by one group call")
	p.set.VarP(&p.minBytes, "minbytes", "b", "first `size` in bytes; K, M, G are binary multiples")
	p.set.VarP(&p.maxBytes, "maxbytes", "e", "last `size`")
	p.set.VarP(&p.stepBytes, "stepbytes", "i", "`bytes` from one size to the next")
	p.number(&p.factor, "stepfactor", "f", 0, unlimited, "multiply sizes by this `factor` instead")
	p.number(&c.Iters, "iters", "n", 1, unlimited, "timed `iterations`")
	p.number(&c.Aggregate, "agg_iters", "m", 1, unlimited, "`operations` in the group of one iteration")
	p.number(&c.Warmup, "warmup_iters", "w", 0, unlimited, "`iterations` before, not timed")
	p.number(&c.Cycles, "run_cycles", "N", 0, unlimited, "`times` to go through the sizes; 0 is without end")
}

func (p *parser) operationFlags() {
	c := &p.config
	p.number(&c.Checks, "check", "c", 0, unlimited, "checked `operations` for each result; 0 checks nothing")
	ops := []string{"all"}
	for _, op := range values.Ops() {
		ops = append(ops, op.String())
	}
	p.set.VarP(&choice[[]values.Op]{&c.Ops, ops, parseOps, "sum"}, "op", "o", "`reduction`: "+strings.Join(ops, ", "))
	types := []string{"all"}
	for _, dt := range nccl.DataTypes() {
		types = append(types, dt.String())
	}
	p.set.VarP(&choice[[]nccl.DataType]{&c.Types, types, parseTypes, "float"}, "datatype", "d", "`type`: "+strings.Join(types, ", "))
	p.number(&p.root, "root", "r", -1, unlimited, "`rank` that sends or receives; -1 is each in turn")
}

func parseOps(text string) ([]values.Op, error) {
	if text == "all" {
		return nil, nil
	}
	op, err := values.ParseOp(text)
	return []values.Op{op}, err
}

func parseTypes(text string) ([]nccl.DataType, error) {
	if text == "all" {
		return nil, nil
	}
	dt, err := nccl.ParseDataType(text)
	return []nccl.DataType{dt}, err
}

func (p *parser) issueFlags() {
	c := &p.config
	p.set.VarP(&p.parallel, "parallel_init", "p", "each thread makes its own communicators")
	p.number(&c.Blocking, "blocking", "z", blockingNone, blockingOuter,
		"wait for each operation: 1 and meet the other threads, 2 without meeting, 3 for each iteration of -n, without timing the meeting")
	p.set.VarP(&p.nullStream, "stream_null", "y", "use CUDA's null stream")
	p.number(&p.timeout, "timeout", "T", 0, unlimited, "give up when anything takes longer than this many `seconds`; 0 is never")
	p.number(&c.Graph, "cudagraph", "G", 0, unlimited, "capture the iterations in a CUDA graph and launch it this many `times`")
	p.number(&c.Register, "local_register", "R", registerNone, registerSymmetric, "register the buffers: 1 with ncclCommRegister, 2 as symmetric windows")
	p.number(&p.cta, "cta_policy", "x", 0, 2, "NCCL's `policy` on blocks: 0 the default, 1 efficiency, 2 zero (default: not set)")
	p.set.Lookup("cta_policy").DefValue = ""
	p.number(&c.Unalign, "unalign", "u", 0, 1<<20, "begin the buffers at this `element`")
}

func (p *parser) reportFlags() {
	c := &p.config
	p.set.VarP(&p.cpu, "report_cputime", "C", "print the time in which the CPU issued the operations")
	p.set.VarP(&p.stamps, "report_timestamps", "S", "print the time of day of each row")
	p.set.StringVarP(&c.Output, "output_file", "J", "", "write the results to this `file`, which must end in .json")
	p.number(&p.average, "average", "a", int(AverageRank0), int(AverageMax), "time to print: 0 rank 0's, 1 the ranks' average, 2 least, 3 greatest")
	p.set.VarP(&p.memory, "memory", "M", "print the GPU memory that was used")
	p.number(&p.perIter, "per_iter_timing", "I", 0, unlimited, "1 also times each iteration with CUDA events")
	p.number(&c.PerIterCut, "per_iter_skip", "K", -unlimited, unlimited, "leave this many first `samples` out of the summary of -I")
}

func (p *parser) ownFlags() {
	c := &p.config
	p.set.Var(&choice[bool]{&c.IssueThreads, []string{"threads"}, one("threads"), ""}, "issue", "`threads`: drive each GPU from a thread of its own, whatever -g says")
	p.set.Var(&choice[bool]{&c.Auto, []string{"auto"}, one("auto"), ""}, "mode", "`auto`: for each size, look for the fastest of eager, registered, symmetric and graph")
	p.toggle(&c.Spread, "spread", "", "print the fastest and the slowest thread of each row")
	p.set.StringVar(&c.Compare, "compare", "", "run this `program`, a C tool of nccl-tests, in turn with this one, and print the ratios")
	p.number(&c.Pairs, "pairs", "", 1, 1000, "`pairs` of --compare")
	p.set.StringVar(&c.Plot, "plot", "", "draw bus bandwidth and time over the sizes to this `file`, which must end in .svg")
	p.set.StringSliceVar(&c.PlotWith, "plot-with", nil, "draw these earlier results too: `files` of -J, of this program or the C tool, with commas between")
	p.toggle(&c.LimitCheck, "limit-check", "", "compare the bus bandwidth with what the links between the GPUs can carry, and with what was measured on such links")
	p.toggle(&c.JSONEnv, "json_env", "", "write the environment to the file of -J, as the C tool does: it may hold secrets")
}

// one accepts one word.
func one(word string) func(string) (bool, error) {
	return func(text string) (bool, error) {
		if text != word {
			return false, errors.ErrUnsupported
		}
		return true, nil
	}
}

// finish checks what no single flag shows, and settles the configuration.
func (p *parser) finish() error {
	c := &p.config
	c.MinBytes, c.MaxBytes, c.StepBytes = uint64(p.minBytes), uint64(p.maxBytes), uint64(p.stepBytes)
	c.StepFactor, c.Timeout, c.Average = uint64(p.factor), time.Duration(p.timeout)*time.Second, Average(p.average)
	c.NullStream, c.ParallelInit, c.CPUTime = bool(p.nullStream), bool(p.parallel), bool(p.cpu)
	c.Timestamps, c.Memory = bool(p.stamps), bool(p.memory)
	if p.root >= 0 {
		c.Root = &p.root
	}
	if p.set.Changed("cta_policy") {
		c.CTAPolicy = &p.cta
	}
	switch {
	case c.MinBytes == 0:
		return p.bad("minbytes", "the sizes begin at 1 at least")
	case c.MinBytes > c.MaxBytes:
		return p.bad("minbytes", fmt.Sprintf("%d is more than the last size (-e), %d", c.MinBytes, c.MaxBytes))
	case c.StepFactor <= 1 && c.StepBytes == 0:
		return p.bad("stepbytes", "0 leads to no other size; -f gives a factor")
	case c.Output != "" && !strings.HasSuffix(strings.ToLower(c.Output), ".json"):
		return p.bad("output_file", "the name must end in .json: there is no other format")
	}
	if err := p.finishStages(); err != nil {
		return err
	}
	p.finishPerIter()
	return p.finishOwn()
}

// finishStages refuses what a graph or a stage cannot have.
func (p *parser) finishStages() error {
	c := &p.config
	if c.Blocking == blockingOuter && c.Graph > 0 {
		p.note("-z 3 does not go with -G; it is ignored")
		c.Blocking = blockingNone
	}
	switch {
	case c.Graph > 0 && c.Blocking != blockingNone:
		return p.bad("blocking", "does not go with -G: a stream cannot be waited for while it is captured")
	case c.Graph > 0 && c.NullStream:
		return p.bad("stream_null", "does not go with -G: CUDA does not capture the null stream")
	case c.Aggregate > 1 && c.Tool.collective.stages != nil:
		return p.bad("agg_iters", "the steps of a hypercube need each other's data, and a group gives no order")
	case c.Aggregate > 1 && (c.Blocking == blockingBarrier || c.Blocking == blockingWait):
		return p.bad("blocking", "1 and 2 wait for each operation, and those of -m are not issued before their group ends; -z 3 waits for the group")
	}
	return nil
}

func (p *parser) finishPerIter() {
	c := &p.config
	c.PerIter = p.perIter == 1
	if p.perIter > 1 {
		p.note("-I is 0 or 1; it is ignored")
	}
	if c.PerIter && c.Graph > 0 {
		p.note("-I does not go with -G; it is ignored")
		c.PerIter = false
	}
	if c.PerIterCut < 0 || c.PerIterCut >= c.Iters {
		p.note(fmt.Sprintf("-K is 0 to %d; it is ignored", c.Iters-1))
		c.PerIterCut = 0
	}
	if c.PerIterCut > 0 && !c.PerIter {
		p.note("-K needs -I 1; it is ignored")
		c.PerIterCut = 0
	}
}

func (p *parser) finishOwn() error {
	c := &p.config
	switch {
	case c.Plot != "" && !strings.HasSuffix(strings.ToLower(c.Plot), ".svg"):
		return p.bad("plot", "the name must end in .svg: there is no other format")
	case len(c.PlotWith) > 0 && c.Plot == "":
		return p.bad("plot-with", "needs --plot, the file to draw to")
	case c.Compare != "" && c.Plot != "":
		return p.bad("plot", "does not go with --compare, which prints ratios of many runs")
	case c.Compare != "" && c.LimitCheck:
		return p.bad("limit-check", "does not go with --compare, which prints ratios of many runs")
	}
	if !c.Auto {
		return nil
	}
	switch {
	case c.Graph > 0 || c.Register > 0:
		return p.bad("mode", "auto tries -G and -R itself; leave them out")
	case c.NullStream:
		return p.bad("mode", "auto tries graphs, which the null stream (-y) cannot have")
	case c.Blocking != blockingNone:
		return p.bad("mode", "auto tries graphs, which -z cannot have")
	case c.PerIter:
		return p.bad("mode", "auto tries graphs, which -I cannot have")
	}
	return nil
}

func (p *parser) note(text string) { p.config.notes = append(p.config.notes, text) }

func (p *parser) bad(flag, problem string) error {
	e := &UsageError{Tool: p.config.Tool.Name, Problem: problem}
	if flag != "" {
		e.Flag = command.Display(p.set.Lookup(flag))
	}
	return e
}

// explain turns pflag's errors into ours.
func (p *parser) explain(err error) error {
	flag, problem := command.Explain(err)
	return &UsageError{Tool: p.config.Tool.Name, Flag: flag, Problem: problem}
}
