// Command topo shows which GPUs, RDMA devices, CPUs and memory of a machine belong
// together, says why, and starts programs accordingly:
//
//	topo                          # the matrix of nvidia-smi topo -m, and what is wrong
//	topo --explain GPU0           # which RDMA devices for this GPU, and why
//	topo exec -- program          # bound to its rank's GPU, CPUs, memory
//
// topo --help lists the rest. It needs no GPU, no RDMA device and no rights, and
// reads other machines' descriptions as well as this one. An error is one line on
// standard error and exit status 1, or 2 for a command line that cannot be.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/topo"
)

// Exit statuses.
const (
	exitFailed = 1
	exitUsage  = 2
)

// streams are what the program reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func main() { os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})) }

func run(args []string, std streams) int {
	var err error
	if len(args) > 0 && args[0] == "exec" {
		err = runExec(args[1:], std)
	} else {
		err = runShow(args, std)
	}
	var usage *usageError
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(std.err, "topo: %s; topo --help shows how\n", oneLine(err))
		return exitUsage
	}
	fmt.Fprintf(std.err, "topo: %s\n", oneLine(err))
	return exitFailed
}

// usageError is a command line that cannot be.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func oneLine(err error) string {
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n", "; "), "topo: ")
	// Names out of files and arguments may hold what a terminal takes for commands.
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, text)
}

const help = `topo shows which GPUs, RDMA devices, CPUs and memory belong together.

Usage:
  topo [flags]
  topo exec [flags] -- program [args]   run a program bound to its rank's devices

Examples:
  topo                                  the matrix, warnings, and what is not known
  topo --explain GPU0                   its RDMA devices, the best first, and why
  topo --explain mlx5_2                 the same for an RDMA device, an interface, a PCI address
  topo --plan 8                         GPU, RDMA devices, CPUs and memory of 8 ranks
  eval "$(topo --nccl-env)"             set what NCCL should know
  topo --nccl-xml >t.xml                a file for NCCL_TOPO_FILE
  topo -o machine.svg                   a drawing; .dot for Graphviz
  topo --capture out.txtar              what a bug report needs, without names and addresses
  topo --from out.txtar --plan 8        any of this about another machine
  mpirun -n 8 topo exec -- program      each rank on its GPU's CPUs; srun and torchrun too

--from takes what --capture wrote, NCCL's topology XML (NCCL_TOPO_DUMP_FILE), hwloc's
XML (lstopo x.xml), and the text of lspci -tv, lspci -vvv and nvidia-smi topo -m.

Flags:
`

// options is what the flags say.
type options struct {
	from       string
	explain    string
	plan       int
	ncclEnv    bool
	ncclXML    bool
	json       bool
	table      bool
	pci        bool
	output     string
	capture    string
	comment    string
	unredacted bool
}

func runShow(args []string, std streams) error {
	var o options
	f := newFlags("topo", help, std.out)
	f.StringVar(&o.from, "from", "", fromHelp)
	f.StringVar(&o.explain, "explain", "", "what belongs to a `device` and why: GPU0, a UUID, mlx5_0, eth0, 0000:3b:00.0")
	f.IntVar(&o.plan, "plan", 0, "what each of `N` ranks should use")
	command.Toggle(f, &o.ncclEnv, "nccl-env", "", "NCCL's variables for a shell, with reasons")
	command.Toggle(f, &o.ncclXML, "nccl-xml", "", "the machine as NCCL's topology XML")
	command.Toggle(f, &o.json, "json", "", "the machine, its paths and NCCL's variables as JSON")
	command.Toggle(f, &o.table, "table", "", "nodes, GPUs and RDMA devices with links and ports")
	command.Toggle(f, &o.pci, "pci", "", "the matrix without NVLinks, as nvidia-smi topo -mp")
	f.StringVarP(&o.output, "output", "o", "", "draw the machine into a `file`.svg or file.dot")
	f.StringVar(&o.capture, "capture", "", "save what was read in a `file`, - for standard output; addresses, GUIDs and names are replaced")
	f.StringVar(&o.comment, "comment", "", "with --capture: a `text` at its head, such as what is wrong")
	command.Toggle(f, &o.unredacted, "unredacted", "", "with --capture: replace nothing")
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if err := o.check(f); err != nil {
		return err
	}
	if o.capture != "" {
		return o.writeCapture(std)
	}
	m, err := readMachine(o.from, std.in)
	if err != nil {
		return err
	}
	return o.show(m, std.out)
}

const fromHelp = "read a `file`, - for standard input, in place of this machine"

func newFlags(name, help string, out io.Writer) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are printed once, by run
	f.SortFlags = false
	f.Usage = func() {
		const values = "[=true|false]"
		fmt.Fprint(out, help, strings.ReplaceAll(f.FlagUsages(), values, strings.Repeat(" ", len(values))))
	}
	return f
}

func parseFlags(f *pflag.FlagSet, args []string) error {
	err := f.Parse(args)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		return usagef("%s", err)
	}
	return err
}

// kinds are the flags of which one can be given.
var kinds = []string{"explain", "plan", "nccl-env", "nccl-xml", "json", "table", "pci", "output", "capture"}

func (o *options) check(f *pflag.FlagSet) error {
	if f.NArg() > 0 {
		return usagef("%q is no flag", f.Arg(0))
	}
	var given []string
	for _, name := range kinds {
		if f.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if err := refuseEmpty(f, "from", "explain", "capture"); err != nil {
		return err
	}
	switch ext := filepath.Ext(o.output); {
	case len(given) > 1:
		return usagef("%s: give one of them", strings.Join(given, " and "))
	case f.Changed("plan") && o.plan < 1:
		return usagef("--plan %d: must be 1 or more", o.plan)
	case f.Changed("output") && ext != ".svg" && ext != ".dot":
		return usagef("--output %s: the name must end in .svg or .dot", o.output)
	case o.capture != "" && o.from != "":
		return usagef("--capture reads this machine, --from does not: give one of them")
	case o.capture == "" && (o.comment != "" || o.unredacted):
		return usagef("--comment and --unredacted go with --capture")
	}
	return nil
}

// refuseEmpty refuses flags with an empty value, such as an unset variable of a
// shell gives: they would answer another question without a word.
func refuseEmpty(f *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f.Changed(name) && f.Lookup(name).Value.String() == "" {
			return usagef("--%s: its value is empty", name)
		}
	}
	return nil
}

func (o *options) show(m *machine, out io.Writer) error {
	var b bytes.Buffer
	var err error
	switch {
	case o.explain != "":
		err = explain(&b, m.sys, o.explain)
	case o.plan > 0:
		err = printPlan(&b, m.sys, o.plan)
	case o.ncclEnv:
		printNCCLEnv(&b, m.sys)
	case o.ncclXML:
		err = m.sys.NCCLXML(&b)
	case o.json:
		err = m.sys.JSON(&b)
	case o.table:
		err = m.sys.Table(&b)
		m.printNotes(&b)
	case filepath.Ext(o.output) == ".svg":
		err = m.sys.SVG(&b)
	case filepath.Ext(o.output) == ".dot":
		err = m.sys.DOT(&b)
	default:
		err = m.sys.Matrix(&b, topo.MatrixOptions{PCI: o.pci})
		m.printWarnings(&b)
		m.printNotes(&b)
	}
	if err != nil {
		return err
	}
	if o.output != "" {
		return os.WriteFile(o.output, b.Bytes(), 0o644)
	}
	_, err = out.Write(b.Bytes())
	return err
}

func (o *options) writeCapture(std streams) error {
	gpus, done, why := nvmlSource()
	defer done()
	opts := topo.CaptureOptions{Comment: o.comment, Unredacted: o.unredacted}
	opts.GPUs = gpus
	if why != nil {
		opts.Comment = strings.TrimSpace(opts.Comment + "\nNVML: " + oneLine(why))
	}
	var b bytes.Buffer
	if err := topo.CaptureLive(&b, opts); err != nil {
		return err
	}
	if o.capture == "-" {
		_, err := std.out.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(o.capture, b.Bytes(), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(std.err, "topo: wrote %s: %d bytes of text; look through it before you give it away\n", o.capture, b.Len())
	return nil
}
