// Command doctor says what is wrong with a machine that should move data fast, the
// worst first, with cause, fix and evidence:
//
//	doctor                          # this machine
//	doctor --watch 60s              # and what its counters do under load
//	doctor --symptom slow-allreduce # what explains that most often, first
//
// doctor --help lists the rest. The exit status is 2 for a critical finding, 1 for a
// warning with --strict, 0 otherwise, and 3 where it could not look.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/nvml/nvmllib"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/doctor"
)

// Exit statuses.
const (
	exitWarning  = 1
	exitCritical = 2
	exitFailed   = 3
)

// streams are what the program reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := command.WithSignals(context.Background())
	status := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(status)
}

const help = `doctor says what is wrong with a machine that should move data fast.

Usage:
  doctor [flags]

Examples:
  doctor                          this machine, the worst first
  doctor --watch 60s              and what the error counters do meanwhile; run the load
  doctor --symptom slow-allreduce the likeliest causes of that first
  doctor --pid 4711               the limits, CPUs and settings of a process of the job
  doctor --probe                  also open the devices, for what no file tells
  doctor --serve :9878            let another machine compare itself with this one
  doctor --peer node2:9878        compare with that one
  doctor --measured mlx5_0=21.3   judge a bandwidth in GB/s too; nvlink=346 for all_reduce
  doctor --capture out.txtar      what a bug report needs, without names and addresses
  doctor --from out.txtar         the report about another machine; takes lspci -vvv,
                                  nvidia-smi topo -m, NCCL's and hwloc's XML too
  doctor --list                   the checks

Exit status: 0; 1 for a warning, with --strict; 2 for a critical finding; 3 where it
could not look.

Flags:
`

// options is what the flags say.
type options struct {
	from, capture, comment, symptom string
	serve                           string
	peers, measured                 []string
	watch                           time.Duration
	pid                             int
	json, strict, verbose, list     bool
	probe, unredacted               bool
}

// usageError is a command line that cannot be.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text + "; doctor --help shows how" }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func run(ctx context.Context, args []string, std streams) int {
	status, err := start(ctx, args, std)
	switch {
	case err == nil:
		return status
	case errors.Is(err, pflag.ErrHelp):
		return 0
	}
	fmt.Fprintf(std.err, "doctor: %s\n", printable.Text(strings.TrimPrefix(command.OneLine(err.Error()), "doctor: ")))
	return exitFailed
}

func start(ctx context.Context, args []string, std streams) (int, error) {
	o, err := parse(args, std.out)
	if err != nil {
		return 0, err
	}
	if o.list {
		return 0, listChecks(std.out)
	}
	m, err := o.machine(ctx, std)
	if err != nil {
		return 0, err
	}
	if o.serve != "" {
		return 0, serve(ctx, o.serve, doctor.Summarize(m), std.err)
	}
	if o.capture != "" {
		return 0, o.writeCapture(m, std)
	}
	report := doctor.Diagnose(m)
	if s, ok := doctor.FindSymptom(o.symptom); ok {
		report.Order(s)
	}
	if o.json {
		err = writeJSON(std.out, report, o.symptom)
	} else {
		err = writeText(std.out, report, o.symptom, o.verbose)
	}
	switch worst := report.Worst(); {
	case err != nil:
		return 0, err
	case worst == doctor.Critical:
		return exitCritical, nil
	case worst == doctor.Warning && o.strict:
		return exitWarning, nil
	}
	return 0, nil
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	f := pflag.NewFlagSet("doctor", pflag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by run
	f.SortFlags = false
	f.Usage = func() { fmt.Fprint(out, help, f.FlagUsages()) }
	command.Toggle(f, &o.json, "json", "", "the report as JSON; docs/doctor.md has its form")
	command.Toggle(f, &o.verbose, "verbose", "v", "what passed and what does not apply too, with the reasons")
	command.Toggle(f, &o.strict, "strict", "", "exit status 1 for warnings")
	f.StringVar(&o.symptom, "symptom", "", "put first what explains a `symptom`: "+strings.Join(symptoms(), ", "))
	f.DurationVar(&o.watch, "watch", 0, "read the counters twice, this far apart")
	f.IntVar(&o.pid, "pid", 0, "judge the process with this `id` in place of doctor itself")
	command.Toggle(f, &o.probe, "probe", "", "open RDMA devices, CUDA and NCCL, for what no file tells")
	f.StringArrayVar(&o.peers, "peer", nil, "compare with a `host:port` where doctor --serve runs; may be given again")
	f.StringVar(&o.serve, "serve", "", "answer --peer at an `address` such as :9878 or 10.0.0.1:9878, until interrupted")
	f.StringArrayVar(&o.measured, "measured", nil, "a bandwidth as `path=GB/s`: an RDMA device's, or nvlink's busbw of two GPUs; may be given again")
	f.StringVar(&o.from, "from", "", "read a `file`, - for standard input, in place of this machine")
	f.StringVar(&o.capture, "capture", "", "save what was read in a `file`, - for standard output; addresses, GUIDs and names are replaced")
	f.StringVar(&o.comment, "comment", "", "with --capture: a `text` at its head, such as what is wrong")
	command.Toggle(f, &o.unredacted, "unredacted", "", "with --capture: replace nothing")
	command.Toggle(f, &o.list, "list", "", "list the checks")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return o, err
		}
		flag, problem := command.Explain(err)
		return o, usagef("%s", strings.TrimPrefix(flag+": "+problem, ": "))
	}
	return o, o.check(f)
}

func symptoms() []string {
	var names []string
	for _, s := range doctor.Symptoms() {
		names = append(names, s.Name)
	}
	return names
}

func (o *options) check(f *pflag.FlagSet) error {
	if f.NArg() > 0 {
		return usagef("%q is no flag", f.Arg(0))
	}
	for _, name := range []string{"from", "capture", "serve", "symptom"} {
		if f.Changed(name) && f.Lookup(name).Value.String() == "" {
			return usagef("--%s: its value is empty", name)
		}
	}
	if _, ok := doctor.FindSymptom(o.symptom); !ok && o.symptom != "" {
		return usagef("--symptom %s: there is no such symptom; want %s", o.symptom, strings.Join(symptoms(), ", "))
	}
	live := func(name string, given bool) error {
		if given && o.from != "" {
			return usagef("--%s is about this machine, and --from is not: give one of them", name)
		}
		return nil
	}
	switch {
	case f.Changed("watch") && (o.watch <= 0 || o.watch > 24*time.Hour):
		return usagef("--watch %s: must be more than nothing and at most a day", o.watch)
	case f.Changed("pid") && o.pid < 1:
		return usagef("--pid %d: is no process", o.pid)
	case o.capture == "" && (o.comment != "" || o.unredacted):
		return usagef("--comment and --unredacted go with --capture")
	case o.serve != "" && (o.capture != "" || o.watch > 0):
		return usagef("--serve only answers others: leave out --capture and --watch")
	}
	if o.serve != "" || o.capture != "" {
		for _, name := range []string{"json", "strict", "verbose", "symptom", "measured", "peer"} {
			if f.Changed(name) {
				return usagef("--serve and --capture make no report: leave out --%s", name)
			}
		}
	}
	return errors.Join(live("watch", o.watch > 0), live("pid", o.pid > 0), live("probe", o.probe), live("serve", o.serve != ""), live("capture", o.capture != ""))
}

// machine reads the machine that is examined.
func (o *options) machine(ctx context.Context, std streams) (*doctor.Machine, error) {
	measured, err := o.measurements()
	if err != nil {
		return nil, err
	}
	// A pipe, a terminal or a card's driver may not answer for long, and none of
	// them knows of contexts.
	m, err := unless(ctx, func() (*doctor.Machine, error) {
		if o.from != "" {
			return readFile(o.from, std.in)
		}
		return o.live(std)
	})
	if err != nil {
		return nil, err
	}
	m.Measured = measured
	for _, address := range o.peers {
		n, err := ask(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("--peer %s: %w", address, err)
		}
		m.Peers = append(m.Peers, n)
	}
	// Last, so that an hour is not watched for a peer that is not there.
	if o.watch > 0 {
		return m, watch(ctx, m, o.watch, std.err)
	}
	return m, nil
}

// unless waits for read, and no longer than the context: then read is left behind
// for the end of the program.
func unless(ctx context.Context, read func() (*doctor.Machine, error)) (*doctor.Machine, error) {
	type answer struct {
		m   *doctor.Machine
		err error
	}
	done := make(chan answer, 1)
	go func() {
		m, err := read()
		done <- answer{m, err}
	}()
	select {
	case a := <-done:
		return a.m, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (o *options) live(std streams) (*doctor.Machine, error) {
	live := doctor.LiveOptions{Process: o.pid}
	library, err := nvmllib.Open(nvmllib.Options{})
	if err == nil {
		live.NVML = library
		// There is nothing to do about a library that does not close.
		defer func() { _ = library.Close() }()
	}
	m, err := doctor.Live(live)
	if m == nil {
		return nil, err
	}
	if err != nil {
		fmt.Fprintf(std.err, "doctor: NVML could not be asked for everything: %s\n", printable.Text(command.OneLine(err.Error())))
	}
	if o.probe {
		for _, problem := range probe(m) {
			fmt.Fprintf(std.err, "doctor: --probe: %s\n", printable.Text(command.OneLine(problem.Error())))
		}
	}
	return m, nil
}

func readFile(name string, in io.Reader) (*doctor.Machine, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	// A device or a pipe need not end.
	data, err := io.ReadAll(io.LimitReader(in, topo.MaxInput+1))
	if err != nil {
		return nil, err
	}
	m, err := doctor.Open(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func (o *options) measurements() ([]doctor.Measurement, error) {
	var list []doctor.Measurement
	for _, text := range o.measured {
		path, value, ok := strings.Cut(text, "=")
		gbps, err := strconv.ParseFloat(value, 64)
		if !ok || err != nil || path == "" || !(gbps > 0 && gbps < 1e6) {
			return nil, usagef("--measured %q: want a path and GB/s, as in mlx5_0=21.3", text)
		}
		list = append(list, doctor.Measurement{Path: path, GBps: gbps})
	}
	return list, nil
}

func (o *options) writeCapture(m *doctor.Machine, std streams) error {
	if o.capture == "-" {
		return doctor.Capture(std.out, m, o.comment, o.unredacted)
	}
	f, err := os.Create(o.capture)
	if err != nil {
		return err
	}
	if err := errors.Join(doctor.Capture(f, m, o.comment, o.unredacted), f.Close()); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "doctor: wrote %s; look through it before you give it away\n", o.capture)
	return nil
}

func writeJSON(w io.Writer, r *doctor.Report, symptom string) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(document(r, symptom))
}
