package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/nccl/bootstrap"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
)

const execHelp = `topo exec runs a program as one of a machine's ranks: on the CPUs of its GPU, with
memory from there, and with the variables that NCCL should have. Variables that
are set already stay.

Usage:
  topo exec [flags] -- program [args]

Examples:
  mpirun -n 8 topo exec -- program
  srun --ntasks-per-node=8 topo exec -- program
  torchrun --nproc-per-node=8 --no-python topo exec -- python train.py
  topo exec --rank 3 --ranks 8 --dry-run -- program     what would be done

The program also finds TOPO_GPU and TOPO_HCAS (names with commas), the devices of
its rank.

Flags:
`

type execOptions struct {
	rank, ranks int
	oneGPU      bool
	noBind      bool
	strict      bool
	dryRun      bool
	from        string
}

func runExec(args []string, std streams) error {
	o := execOptions{}
	f := newFlags("topo exec", execHelp, std.out)
	f.SetInterspersed(false)
	f.IntVar(&o.rank, "rank", -1, "which of this machine's ranks it is, from 0; without it, what the launcher's variables say")
	f.Lookup("rank").DefValue = "0" // pflag shows no default that is zero
	f.IntVar(&o.ranks, "ranks", 0, "how many ranks this machine has (default: what the launcher says, or one for each GPU)")
	command.Toggle(f, &o.oneGPU, "one-gpu", "", "show the program no other GPU (CUDA_VISIBLE_DEVICES); not for programs that choose by their local rank")
	command.Toggle(f, &o.noBind, "no-bind", "", "set the variables only")
	command.Toggle(f, &o.strict, "strict", "", "take no memory of another NUMA node, even if the rank's is full")
	command.Toggle(f, &o.dryRun, "dry-run", "", "print what would be done")
	f.StringVar(&o.from, "from", "", "with --dry-run: "+fromHelp)
	if err := parseFlags(f, args); err != nil {
		return err
	}
	if err := refuseEmpty(f, "from"); err != nil {
		return err
	}
	switch {
	case f.NArg() == 0 && !o.dryRun:
		return usagef("exec needs a program: topo exec -- program")
	case f.Changed("rank") && o.rank < 0:
		return usagef("--rank %d: must be 0 or more", o.rank)
	case f.Changed("ranks") && o.ranks < 1:
		return usagef("--ranks %d: must be 1 or more", o.ranks)
	case f.Changed("rank") && f.Changed("ranks") && o.rank >= o.ranks:
		return usagef("--rank %d: with --ranks %d it must be 0 to %d", o.rank, o.ranks, o.ranks-1)
	case o.from != "" && !o.dryRun:
		return usagef("exec runs on this machine: --from goes with --dry-run")
	}
	m, err := readMachine(o.from, std.in)
	if err != nil {
		return err
	}
	r, err := o.prepare(m.sys, os.Environ())
	if err != nil {
		return err
	}
	if o.dryRun {
		r.print(std.out, f.Args(), o.noBind)
		return nil
	}
	program, err := exec.LookPath(f.Arg(0))
	if err != nil {
		return err
	}
	if !o.noBind {
		if err := bind(r.Affinity, o, std.err); err != nil {
			return err
		}
	}
	err = syscall.Exec(program, f.Args(), r.environment(os.Environ()))
	return fmt.Errorf("%s: %w", program, err)
}

// rankRun is one rank as it will run.
type rankRun struct {
	topo.RankPlan
	ranks    int
	launcher string // "" where the flags said it
	visible  string // its GPU's or MIG slice's entry for CUDA_VISIBLE_DEVICES
	set      []variable
	kept     []variable // those that are set already
}

type variable struct{ name, value string }

func (o execOptions) prepare(s *topo.System, environ []string) (*rankRun, error) {
	env := lookup(environ)
	r := &rankRun{}
	rank, err := o.whichRank(r, environ)
	if err != nil {
		return nil, err
	}
	if rank >= topo.MaxRanks {
		return nil, fmt.Errorf("rank %d: must be below %d", rank, topo.MaxRanks)
	}
	if err := r.plan(s, rank, env); err != nil {
		return nil, err
	}
	r.Rank = rank
	for _, v := range r.wanted(s, env, o.oneGPU) {
		if have, ok := env[v.name]; ok && !(o.oneGPU && v.name == cudaVisible) {
			r.kept = append(r.kept, variable{v.name, have})
		} else {
			r.set = append(r.set, v)
		}
	}
	return r, nil
}

// whichRank finds the rank on this machine, and how many there are: 0 is unknown.
func (o execOptions) whichRank(r *rankRun, environ []string) (int, error) {
	r.ranks = o.ranks
	if o.rank >= 0 {
		return o.rank, nil
	}
	// Where the ranks meet does not matter here: any address will do.
	world, err := bootstrap.FromEnvironment(bootstrap.Options{Environ: environ, Address: "localhost:1"})
	if err != nil {
		return 0, err
	}
	r.launcher = world.Launcher
	if r.ranks == 0 {
		r.ranks = world.LocalSize
	}
	switch {
	case world.LocalRank != nil:
		if r.ranks > 0 && *world.LocalRank >= r.ranks {
			return 0, fmt.Errorf("--ranks %d: this is rank %d of the machine, by the variables of %s", r.ranks, *world.LocalRank, world.Launcher)
		}
		return *world.LocalRank, nil
	case world.Size == 1:
		r.ranks = max(r.ranks, 1)
		return 0, nil
	}
	return 0, fmt.Errorf("the variables of %s do not tell which of this machine's ranks this is: pass --rank", world.Launcher)
}

// The variables by which CUDA's users choose GPUs.
const (
	cudaVisible = "CUDA_VISIBLE_DEVICES"
	cudaOrder   = "CUDA_DEVICE_ORDER"
)

// plan finds the rank's devices. Where CUDA_VISIBLE_DEVICES chooses the GPUs, the
// rank's is the one of its number among them, or the only one.
func (r *rankRun) plan(s *topo.System, rank int, env map[string]string) error {
	visible, chosen := env[cudaVisible]
	if !chosen || len(s.GPUs) == 0 {
		if n := len(s.GPUs); r.ranks == 0 && n > 0 && rank >= n {
			return fmt.Errorf("rank %d: this machine has %d GPUs, so its ranks are 0 to %d", rank, n, n-1)
		}
		if r.ranks == 0 {
			r.ranks = max(len(s.GPUs), rank+1)
		}
		p, err := s.Plan(r.ranks)
		if err != nil {
			return err
		}
		r.RankPlan = p.Ranks[rank]
		if r.GPU != nil {
			r.visible = r.GPU.UUID
			if r.visible == "" {
				r.visible = fmt.Sprint(r.GPU.Index)
			}
		}
		return nil
	}
	v := nvml.Visible(gpusOf(s), &visible, env[cudaOrder])
	if len(v.Devices) == 0 {
		return fmt.Errorf("%s=%s shows no GPU of this machine%s", cudaVisible, visible, words(": ", v.Reason))
	}
	at := rank
	if len(v.Devices) == 1 {
		at = 0
	}
	if at >= len(v.Devices) {
		return fmt.Errorf("%s=%s shows %d GPUs, and this is rank %d of the machine", cudaVisible, visible, len(v.Devices), rank)
	}
	// The GPUs that are hidden may serve another job: they count.
	p, err := s.Plan(len(s.GPUs))
	if err != nil {
		return err
	}
	r.ranks = max(r.ranks, len(v.Devices), rank+1)
	device := v.Devices[at]
	i := slices.IndexFunc(p.Ranks, func(r topo.RankPlan) bool { return r.GPU.Index == device.GPU.Index })
	r.RankPlan = p.Ranks[i]
	r.visible = strings.TrimSpace(strings.Split(visible, ",")[at])
	return nil
}

// gpusOf gives nvml's rules of visibility what they need.
func gpusOf(s *topo.System) []nvml.GPU {
	var gpus []nvml.GPU
	for _, g := range s.GPUs {
		n := nvml.GPU{Index: g.Index, UUID: g.UUID, Name: g.Name, PCIAddress: string(g.PCI)}
		if len(g.MIG) > 0 {
			n.MIG = &nvml.MIG{Enabled: true}
			for i, d := range g.MIG {
				n.MIG.Devices = append(n.MIG.Devices, nvml.MIGDevice{Index: i, UUID: d.UUID, Name: d.Name})
			}
		}
		gpus = append(gpus, n)
	}
	return gpus
}

// wanted are the variables that the rank should have. CUDA numbers GPUs by speed
// unless told otherwise; the rank's number means nvidia-smi's order. Another order
// would give a list of numbers that is there already another meaning.
func (r *rankRun) wanted(s *topo.System, env map[string]string, oneGPU bool) []variable {
	var list []variable
	if r.GPU != nil {
		if _, chosen := env[cudaVisible]; !chosen {
			list = append(list, variable{cudaOrder, "PCI_BUS_ID"})
		}
		if oneGPU {
			list = append(list, variable{cudaVisible, r.visible})
		}
		list = append(list, variable{"TOPO_GPU", r.GPU.Label()})
	}
	if len(r.HCAs) > 0 {
		list = append(list, variable{"TOPO_HCAS", hcaNames(r.RankPlan)})
	}
	for _, v := range s.NCCLEnv() {
		if v.Set {
			list = append(list, variable{v.Name, v.Value})
		}
	}
	return list
}

func lookup(environ []string) map[string]string {
	env := map[string]string{}
	for _, e := range environ {
		if name, value, ok := strings.Cut(e, "="); ok {
			env[name] = value
		}
	}
	return env
}

func (r *rankRun) environment(environ []string) []string {
	var env []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if !slices.ContainsFunc(r.set, func(v variable) bool { return v.name == name }) {
			env = append(env, e)
		}
	}
	for _, v := range r.set {
		env = append(env, v.name+"="+v.value)
	}
	return env
}

// bind binds the thread that is about to become the program.
func bind(a topo.Affinity, o execOptions, warnings io.Writer) error {
	if a.Node == nil && a.CPUs == nil {
		fmt.Fprintf(warnings, "topo: nothing is bound: %s\n", a.Explain())
		return nil
	}
	_, err := topo.BindThread(a, topo.BindOptions{Strict: o.strict})
	if errors.Is(err, syscall.EPERM) && a.CPUs != nil && !o.strict {
		// Memory comes from where the CPUs are all the same.
		if _, err2 := topo.BindThread(topo.Affinity{CPUs: a.CPUs}, topo.BindOptions{}); err2 == nil {
			fmt.Fprintf(warnings, "topo: the CPUs are bound, and memory follows them: %s\n", oneLine(err))
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("%w; or pass --no-bind", err)
	}
	return nil
}

func (r *rankRun) print(w io.Writer, program []string, noBind bool) {
	from := ""
	if r.launcher != "" && r.launcher != bootstrap.LauncherNone {
		from = " (" + r.launcher + ")"
	}
	fmt.Fprintf(w, "rank %d of %d on this machine%s\n", r.Rank, r.ranks, from)
	fmt.Fprintln(w, r.Explain())
	if noBind {
		fmt.Fprintln(w, "bind nothing")
	} else {
		fmt.Fprintf(w, "bind %s\n", affinityText(r.Affinity))
	}
	for _, v := range r.set {
		fmt.Fprintf(w, "set  %s=%s\n", v.name, shellQuote(v.value))
	}
	for _, v := range r.kept {
		fmt.Fprintf(w, "keep %s=%s\n", v.name, shellQuote(v.value))
	}
	words := make([]string, len(program))
	for i, word := range program {
		words[i] = shellQuote(word)
	}
	if len(words) > 0 {
		fmt.Fprintf(w, "run  %s\n", strings.Join(words, " "))
	}
}
