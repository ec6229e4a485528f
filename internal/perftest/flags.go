package perftest

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

// UsageError reports a command line that cannot be run. Its text is one line.
type UsageError struct {
	// Tool is the program's name.
	Tool string
	// Flag is the flag at fault, "-n, --iters", or empty.
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

// ParseArgs reads the command line of tool, without the program's name. Flags
// have the C tool's names and may stand before or after the host. The error is
// a *UsageError.
func ParseArgs(tool Tool, args []string) (Config, error) {
	p := newParser(tool)
	if err := p.set.Parse(args); err != nil {
		return Config{}, p.explain(err)
	}
	switch {
	case p.help:
		return Config{Tool: tool, Action: ActionHelp}, nil
	case p.version:
		return Config{Tool: tool, Action: ActionVersion}, nil
	}
	if err := p.finish(); err != nil {
		return Config{}, err
	}
	return p.config, nil
}

// Usage returns the help text of tool.
func Usage(tool Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %[2]s [flags]         start a server and wait for one client\n"+
		"  %[2]s [flags] HOST    connect to the server at HOST; it may be ib_%[2]s\n"+
		"  %[2]s -d loop0        both ends in this process, without an adapter\n", tool.Summary, tool.Name)
	for _, g := range newParser(tool).groups {
		fmt.Fprintf(&b, "\n%s:\n%s", g.title, g.set.FlagUsages())
	}
	b.WriteString("\nGive both sides the same flags. docs/perftest.md explains the numbers.\n")
	return b.String()
}

// group is a section of the help text.
type group struct {
	title string
	set   *pflag.FlagSet
}

type parser struct {
	set    *pflag.FlagSet
	groups []group
	config Config
	// ours are the flags that the C tools do not have.
	ours map[string]bool

	gidIndex, mtu, duration, margin, inline, outReads, tos int
	cuda                                                   int
	timeout                                                int
	connection, atomic, only                               string
	gbits, noPeak, unsorted, outJSON, help, version        bool
	outJSONFile                                            string
}

func newParser(tool Tool) *parser {
	p := &parser{
		set:  pflag.NewFlagSet(tool.Name, pflag.ContinueOnError),
		ours: map[string]bool{},
		config: Config{Tool: tool, Port: DefaultPort, Timeout: defaultTimeout, IBPort: 1, AckTimeout: 14, RetryCount: 7, Connection: verbs.RC,
			QueuePairs: 1, Size: tool.Size, Iterations: tool.Iterations, TxDepth: tool.TxDepth, RxDepth: tool.RxDepth,
			CQModeration: defaultCQMod, PostList: 1, RecvPostList: 1, Pairs: defaultPairs},
		outJSONFile: "perftest_out.json",
	}
	p.set.SetOutput(io.Discard)
	p.set.Usage = func() {}
	p.connectionFlags()
	p.messageFlags()
	p.queueFlags()
	p.outputFlags()
	p.ownFlags()
	for _, g := range p.groups {
		p.set.AddFlagSet(g.set)
	}
	for _, refused := range refusedFlags(tool) {
		if p.set.Lookup(refused.long) == nil {
			p.set.AddFlag(refused.flag())
		}
	}
	return p
}

// finish checks what no single flag shows, and settles the configuration.
func (p *parser) finish() error {
	c := &p.config
	if args := p.set.Args(); len(args) > 1 {
		return p.bad("", fmt.Sprintf("one host at most, not %q; flags need a - in front", args))
	} else if len(args) == 1 {
		if args[0] == "" {
			return p.bad("", "the host is empty; leave it out to start a server")
		}
		c.Host = args[0]
	}
	if err := p.finishValues(); err != nil {
		return err
	}
	if err := p.finishDuration(); err != nil {
		return err
	}
	c.Peak = !p.noPeak
	if c.Infinite {
		c.Peak = false
	}
	c.settle(p.set.Changed)
	p.split()
	return p.checkTogether()
}

// finishValues takes over what needs a look.
func (p *parser) finishValues() error {
	c, changed := &p.config, p.set.Changed
	if changed("gid-index") {
		c.GIDIndex = &p.gidIndex
	}
	if changed("inline_size") {
		c.Inline = &p.inline
	}
	if changed("use_cuda") {
		c.Memory.CUDA = &p.cuda
	}
	if changed("tos") {
		c.TypeOfService = &p.tos
	}
	if changed("outs") {
		c.OutReads = &p.outReads
	}
	if changed("timeout") {
		c.Timeout = time.Duration(p.timeout) * time.Second
		c.ServerTimeout = c.Timeout
	}
	if changed("mtu") {
		mtu, ok := MTUFromBytes(p.mtu)
		if !ok {
			return p.bad("mtu", fmt.Sprintf("%d is not one of 256, 512, 1024, 2048, 4096", p.mtu))
		}
		c.MTU = &mtu
	}
	if p.gbits {
		c.Unit = stats.Gbit
	}
	if p.unsorted {
		c.Histogram, c.Unsorted = true, true
	}
	if changed("out_json_file") || p.outJSON {
		c.CFile = p.outJSONFile
	}
	if changed("bind") || c.Threads > 0 {
		if c.Bind == "" {
			c.Bind = bindNear
		}
		if _, err := parseBind(c.Bind); err != nil {
			return p.bad("bind", err.Error())
		}
	}
	c.Only = report.Column(p.only)
	c.CMControl = c.CMControl || c.CMPairs
	return p.finishChoices()
}

func (p *parser) finishChoices() error {
	c := &p.config
	services := map[string]verbs.QPType{"": verbs.RC, "RC": verbs.RC, "UC": verbs.UC, "UD": verbs.UD}
	var ok bool
	if c.Connection, ok = services[p.connection]; !ok {
		switch p.connection {
		case "XRC", "DC", "SRD", "RawEth":
			return p.bad("connection", p.connection+" is not offered by this tool: it has RC, UC and UD")
		}
		return p.bad("connection", fmt.Sprintf("%q is not one of RC, UC, UD", p.connection))
	}
	atomics := map[string]Atomic{"": FetchAndAdd, "FETCH_AND_ADD": FetchAndAdd, "CMP_AND_SWAP": CompareAndSwap}
	if c.Atomic, ok = atomics[p.atomic]; !ok {
		return p.bad("atomic_type", fmt.Sprintf("%q is neither FETCH_AND_ADD nor CMP_AND_SWAP", p.atomic))
	}
	switch c.Only {
	case "", report.ColumnBandwidth, report.ColumnMessageRate, report.ColumnLatency:
		return nil
	}
	return p.bad("output", fmt.Sprintf("%q is not one of bandwidth, message_rate, latency", c.Only))
}

// split keeps the command line in two parts for --compare: what the C tool takes
// too, and what is ours and changes how we measure.
func (p *parser) split() {
	p.set.Visit(func(f *pflag.Flag) {
		arg := "--" + f.Name
		if f.NoOptDefVal != "true" {
			arg += "=" + f.Value.String()
		}
		switch f.Name {
		case "ib-dev", "port": // each side gets its own
		case "threads", "bind", "timeout":
			p.config.own = append(p.config.own, arg)
		default:
			if !p.ours[f.Name] {
				p.config.shared = append(p.config.shared, arg)
			}
		}
	})
}

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
