package perftest

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/stats"
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
	return fmt.Sprintf("%s\n\nUsage:\n  %[2]s [flags]         start a server and wait for one client\n"+
		"  %[2]s [flags] HOST    connect to the server at HOST\n\nFlags:\n%[3]s\n",
		tool.Summary, tool.Name, strings.TrimRight(newParser(tool).set.FlagUsages(), "\n"))
}

type parser struct {
	set    *pflag.FlagSet
	config Config

	gidIndex, mtu, duration, margin int
	gbits, noPeak, help, version    bool
}

func newParser(tool Tool) *parser {
	p := &parser{
		set: pflag.NewFlagSet(tool.Name, pflag.ContinueOnError),
		config: Config{Tool: tool, Port: DefaultPort, IBPort: 1, Size: tool.Size, Iterations: tool.Iterations,
			TxDepth: tool.TxDepth, CQModeration: defaultCQMod},
	}
	c, set := &p.config, p.set
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.SortFlags = false

	number := func(dst *int, long, short string, low, high int, usage string) {
		set.VarP(&command.Number{Dst: dst, Low: low, High: high}, long, short, usage)
	}
	toggle := func(dst *bool, long, short, usage string) {
		set.VarPF((*toggle)(dst), long, short, usage).NoOptDefVal = "true"
	}
	set.StringVarP(&c.Device, "ib-dev", "d", "", "RDMA `device` (default the first)")
	number(&c.IBPort, "ib-port", "i", 1, maxIBPort, "`port` of the device")
	number(&p.gidIndex, "gid-index", "x", 0, maxGIDIndex, "`index` of the local GID (default: chosen; none on InfiniBand)")
	number(&p.mtu, "mtu", "m", 0, 1<<16, "path MTU in `bytes`: 256, 512, 1024, 2048 or 4096 (default the port's; never above it)")
	number(&c.Port, "port", "p", 1, 65535, "TCP `port` of the control connection")
	set.VarP((*size)(&c.Size), "size", "s", "message size in `bytes`; a K or M at the end means KiB or MiB")
	toggle(&c.All, "all", "a", "run the sizes 2, 4, ... 8388608")
	number(&c.Iterations, "iters", "n", minIterations, maxIterations, "`number` of messages of each size")
	number(&p.duration, "duration", "D", 1, maxDuration, "run for this many `seconds` instead")
	number(&p.margin, "margin", "f", 0, maxDuration, "do not count this many `seconds` at both ends of -D (default a quarter)")
	number(&c.TxDepth, "tx-depth", "t", 1, maxTxDepth, "`depth` of the send queue")
	number(&c.CQModeration, "cq-mod", "Q", 1, maxCQMod, "one completion for this `number` of requests; by itself 1 for messages above 8K")
	toggle(&p.noPeak, "noPeak", "N", "do not measure the peak (as above 20000 messages)")
	toggle(new(bool), "CPU-freq", "F", "accepted for the C tool's sake; nothing is said of the CPU's frequency")
	toggle(&p.gbits, "report_gbits", "", "print Gbit/s (10^9 bits) instead of MiB/s (2^20 bytes)")
	toggle(&c.JSON, "json", "", "print a JSON document instead of the text")
	toggle(&p.version, "version", "V", "print the version")
	toggle(&p.help, "help", "h", "print this help")
	for _, name := range unsupported {
		set.AddFlag(name.flag())
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
	changed := p.set.Changed
	if changed("gid-index") {
		c.GIDIndex = &p.gidIndex
	}
	if changed("mtu") {
		mtu, ok := MTUFromBytes(p.mtu)
		if !ok {
			return p.bad("mtu", fmt.Sprintf("%d is not one of 256, 512, 1024, 2048, 4096", p.mtu))
		}
		c.MTU = &mtu
	}
	if err := p.finishDuration(); err != nil {
		return err
	}
	if p.gbits {
		c.Unit = stats.Gbit
	}
	c.Peak = !p.noPeak
	c.settle(changed("cq-mod"))
	return nil
}

func (p *parser) finishDuration() error {
	seconds := p.duration
	if !p.set.Changed("duration") {
		seconds = defaultDuration
	}
	if !p.set.Changed("margin") {
		p.margin = seconds / 4
	}
	if seconds <= 2*p.margin {
		return p.bad("margin", fmt.Sprintf("two margins of %d s leave nothing of %d s; lower -f or raise -D", p.margin, seconds))
	}
	if !p.set.Changed("duration") {
		return nil
	}
	if p.config.All {
		return p.bad("duration", "cannot go with -a; give one size with -s")
	}
	p.config.Duration = time.Duration(seconds) * time.Second
	p.config.Margin = time.Duration(p.margin) * time.Second
	return nil
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

// size is a message size: a number, and K or M for binary multiples.
type size int

func (s *size) Set(text string) error {
	digits, factor := text, int64(1)
	switch {
	case strings.HasSuffix(text, "K"):
		digits, factor = text[:len(text)-1], 1<<10
	case strings.HasSuffix(text, "M"):
		digits, factor = text[:len(text)-1], 1<<20
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return command.ValueError(fmt.Sprintf("%q is not a size like 4096, 64K or 8M", text))
	}
	if err != nil || v < 1 || v > maxSize/factor {
		return command.ValueError(fmt.Sprintf("%s is not in 1..%d bytes", text, maxSize))
	}
	*s = size(v * factor)
	return nil
}

func (s *size) Type() string { return "size" }

func (s *size) String() string { return strconv.Itoa(int(*s)) }

// toggle is a flag without a value. pflag's own says "[=true|false]" in the
// help text.
type toggle bool

func (b *toggle) Set(text string) error {
	v, err := strconv.ParseBool(text)
	if err != nil {
		return command.ValueError(fmt.Sprintf("%q is neither true nor false", text))
	}
	*b = toggle(v)
	return nil
}

func (b *toggle) Type() string { return "boolfunc" }

func (b *toggle) String() string { return strconv.FormatBool(bool(*b)) }
