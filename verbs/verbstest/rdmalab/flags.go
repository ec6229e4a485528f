package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/gofabric/gofabric/internal/lab"
)

const (
	verbRun    = "run"
	verbPair   = "pair"
	verbList   = "list"
	verbFetch  = "fetch"
	verbDoctor = "doctor"

	verbMachine = "machine"
)

const usage = `Usage:
  rdmalab [flags] [--] program [args]   run a program in a guest
  rdmalab [flags] --script FILE [args]  run a shell script in a guest
  rdmalab pair [flags] -- program [args] -- program [args]
                                        run two programs in two guests with a cable between them
  rdmalab list                          kernels known and cached
  rdmalab fetch [--kernel K] [--userland U] [--refresh]
  rdmalab doctor                        what a run needs and whether it is here
  rdmalab machine NAME                  the text of a machine for --machine, to begin your own with

As a test's runner: go test -exec 'rdmalab --kernel 6.1' ./verbs

Flags stand before the program; all after it is the program's.
`

var errHelp = errors.New("help was asked for")

type options struct {
	verb    string
	cfg     lab.Config
	job     lab.Job   // what all jobs have in common
	jobs    []lab.Job // one, or two of a pair
	timeout time.Duration
	script  string
	machine string // whose text is asked for
	verbose bool
	strict  bool
	allow   *regexp.Regexp
}

func parse(args []string) (*options, error) {
	o := &options{verb: verbRun}
	f := pflag.NewFlagSet("rdmalab", pflag.ContinueOnError)
	f.SetInterspersed(false)
	f.SetOutput(os.Stderr)
	f.Usage = func() {
		fmt.Fprint(os.Stderr, usage, f.FlagUsages())
	}
	f.StringVar(&o.cfg.Kernel, "kernel", envOr("GOFABRIC_LAB_KERNEL", "6.1"), "kernel by name, see rdmalab list")
	f.StringVar(&o.cfg.Vmlinuz, "vmlinuz", "", "kernel image of your own, with --modules")
	f.StringVar(&o.cfg.Modules, "modules", "", "its module folder (holds kernel/ and modules.builtin)")
	f.StringArrayVar(&o.cfg.ExtraModules, "module", nil, "load one more kernel module (repeatable)")
	f.StringVar(&o.cfg.Userland, "userland", envOr("GOFABRIC_LAB_USERLAND", "host"), "libibverbs, perftest and iproute2 from: host, bookworm, trixie")
	f.StringArrayVar(&o.cfg.Programs, "with", nil, "put one more of the userland's programs into the guest (repeatable)")
	f.StringVar(&o.cfg.Mirror, "mirror", "", "Debian archive to download from, if apt's configuration has none")
	f.StringVar(&o.cfg.Keyring, "keyring", "", "key file that signs --mirror")
	f.BoolVar(&o.cfg.Refresh, "refresh", false, "download newer packages than the cached ones")
	f.StringVar(&o.script, "script", "", "run this shell script in place of a program")
	in := f.StringArray("in", nil, "copy a file or folder in, host:guest (repeatable)")
	out := f.StringArray("out", nil, "copy a file or folder out at the end, guest:host (repeatable)")
	env := f.StringArray("env", nil, "pass NAME, or set NAME=VALUE (repeatable); GO* is passed anyway")
	dir := f.String("dir", "", "working directory in the guest (default: this one's path)")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "end the guest after this time")
	f.DurationVar(&o.job.BootTimeout, "boot-timeout", 2*time.Minute, "fail if the guest is not ready after this time")
	f.BoolVar(&o.strict, "strict", false, "fail if a Go test was skipped (default for Go test binaries; --strict=false turns it off)")
	allow := f.String("allow-skip", "", "tests whose name matches this regular expression may be skipped")
	f.StringVar(&o.job.Accel, "accel", "auto", "auto, kvm or tcg (emulation)")
	f.IntVar(&o.job.CPUs, "cpus", 0, "the guest's CPUs (default 2, or those of --machine)")
	f.IntVar(&o.job.MemoryMiB, "memory", 0, "the guest's memory in MiB (default 1024, or that of --machine)")
	machine := f.String("machine", "", "the guest's NUMA nodes, PCI tree and NICs: "+machineNames()+", or a JSON file")
	f.IntVar(&o.job.MTU, "mtu", 4200, "MTU of v0 and v1, or of the machine's NICs")
	mode := f.String("device-mode", "0666", "permissions of /dev/infiniband's nodes, octal")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the guest's console and times on standard error")
	if err := f.Parse(args); err != nil {
		if errors.Is(err, pflag.ErrHelp) {
			return nil, errHelp
		}
		return nil, err
	}
	rest := f.Args()
	if len(rest) > 0 && f.ArgsLenAtDash() < 0 && o.script == "" {
		switch rest[0] {
		case verbPair, verbList, verbFetch, verbDoctor, verbMachine:
			o.verb = rest[0]
			if err := f.Parse(rest[1:]); err != nil {
				if errors.Is(err, pflag.ErrHelp) {
					return nil, errHelp
				}
				return nil, err
			}
			rest = f.Args()
			if o.verb == verbMachine && len(rest) == 1 {
				o.machine = rest[0]
				rest = nil
			}
			if o.verb != verbPair && len(rest) > 0 {
				return nil, fmt.Errorf("%s takes no argument %q", o.verb, rest[0])
			}
		}
	}
	o.cfg.Log = func(line string) { fmt.Fprintln(os.Stderr, "rdmalab:", line) }
	if o.verb != verbRun && o.verb != verbPair {
		return o, nil
	}
	programs, err := o.programs(rest)
	if err != nil {
		f.Usage()
		return nil, err
	}
	if *machine != "" {
		if err := o.stage(*machine); err != nil {
			return nil, err
		}
	}
	if o.timeout <= 0 || o.job.BootTimeout <= 0 {
		return nil, errors.New("time-outs must be positive")
	}
	bits, err := strconv.ParseUint(*mode, 8, 12)
	if err != nil || bits == 0 {
		return nil, fmt.Errorf("--device-mode %q: an octal number such as 0660", *mode)
	}
	o.job.DeviceMode = os.FileMode(bits)
	if *allow != "" {
		if o.allow, err = regexp.Compile(*allow); err != nil {
			return nil, fmt.Errorf("--allow-skip: %w", err)
		}
	}
	if !f.Changed("strict") {
		for _, p := range programs {
			o.strict = o.strict || o.script == "" && lab.IsGoTest(p[0], p[1:])
		}
	}
	if err := o.fillJob(*in, *out, *env, *dir); err != nil {
		return nil, err
	}
	for _, p := range programs {
		o.jobs = append(o.jobs, o.jobOf(p))
	}
	return o, nil
}

// programs splits the rest of the command line into a program with its
// arguments for each guest. A script's place is taken by "sh" and its path.
func (o *options) programs(rest []string) ([][]string, error) {
	if o.script != "" {
		if o.verb == verbPair {
			return nil, errors.New("a pair takes no --script: write -- sh FILE -- sh FILE, with --in FILE")
		}
		abs, err := filepath.Abs(o.script)
		return [][]string{append([]string{"sh", abs}, rest...)}, err
	}
	if o.verb == verbRun {
		if len(rest) == 0 {
			return nil, errors.New("no program to run")
		}
		return [][]string{rest}, nil
	}
	at := slices.Index(rest, "--")
	if at < 1 || at == len(rest)-1 {
		return nil, errors.New("a pair needs two programs: rdmalab pair -- A [args] -- B [args]")
	}
	return [][]string{rest[:at], rest[at+1:]}, nil
}

func envOr(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

// fillJob turns the flags' texts into what all jobs have in common.
func (o *options) fillJob(in, out, env []string, dir string) error {
	cwd, err := os.Getwd()
	if err != nil {
		return err
	}
	o.job.Dir = dir
	if dir == "" {
		o.job.Dir = cwd
	}
	for _, s := range in {
		host, guest, err := mapping("--in", s)
		if err != nil {
			return err
		}
		o.job.In = append(o.job.In, lab.Mapping{Host: host, Guest: guest})
	}
	for _, s := range out {
		guest, host, err := mapping("--out", s)
		if err != nil {
			return err
		}
		o.job.Out = append(o.job.Out, lab.Mapping{Host: host, Guest: guest})
	}
	if o.script != "" {
		abs, err := filepath.Abs(o.script)
		if err != nil {
			return err
		}
		o.job.In = append(o.job.In, lab.Mapping{Host: abs, Guest: abs})
	}
	o.job.Env = environment(os.Environ(), env)
	if o.job.Machine != nil {
		o.job.Env = append(o.job.Env, machineEnv+"="+o.machine)
	}
	return nil
}

// jobOf is the common job with a program.
func (o *options) jobOf(program []string) lab.Job {
	j := o.job
	j.Path, j.Args = program[0], program[1:]
	if o.script == "" && lab.IsGoTest(j.Path, j.Args) {
		// The go command starts programs in the folder that their files are in.
		cwd, err := os.Getwd()
		if err == nil {
			j.In, j.Out = goTestFiles(j, cwd)
		}
		if o.strict {
			j.Args = lab.VerboseTest(j.Args)
		}
	}
	return j
}

// mapping splits "from:to"; a side without a colon stands for both.
func mapping(flag, s string) (from, to string, err error) {
	from, to, ok := strings.Cut(s, ":")
	if !ok {
		to = from
	}
	if from == "" || to == "" {
		return "", "", fmt.Errorf("%s %q: write FROM:TO", flag, s)
	}
	if !ok {
		if from, err = filepath.Abs(from); err != nil {
			return "", "", err
		}
		to = from
	}
	return from, to, nil
}

// environment picks what the job gets: GO* of the host's, and what is asked
// for. Later values win.
func environment(host, asked []string) []string {
	values := map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, ok := values[name]; !ok {
			order = append(order, name)
		}
		values[name] = value
	}
	all := map[string]string{}
	for _, e := range host {
		name, value, _ := strings.Cut(e, "=")
		all[name] = value
		if strings.HasPrefix(name, "GO") && name != "GOFABRIC_CACHE" && name != "GOFABRIC_LAB" && name != "GOFABRIC_LAB_USERLAND" && name != machineEnv {
			set(name, value)
		}
	}
	for _, e := range asked {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			if value, ok = all[name]; !ok {
				continue
			}
		}
		set(name, value)
	}
	var env []string
	for _, name := range order {
		env = append(env, name+"="+values[name])
	}
	return env
}

// goTestFiles adds what a Go test expects around it: its package folder's
// testdata, and the files that its flags name.
func goTestFiles(j lab.Job, cwd string) (in, out []lab.Mapping) {
	in, out = j.In, j.Out
	testdata := filepath.Join(cwd, "testdata")
	if fi, err := os.Stat(testdata); err == nil && fi.IsDir() {
		in = append(in, lab.Mapping{Host: testdata, Guest: filepath.Join(j.Dir, "testdata")})
	}
	moreIn, moreOut := lab.GoTestMappings(j.Args, cwd)
	return append(in, moreIn...), append(out, moreOut...)
}
