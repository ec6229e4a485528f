package bootstrap

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// launch is what one launcher's variables say, before it is decided where the
// ranks meet.
type launch struct {
	launcher   string
	rank, size int
	// rankFrom and sizeFrom are the variables that said so, for messages.
	rankFrom, sizeFrom string
	localRank          *int
	localSize          int
	job                string
	// headHost is the host of rank 0, where the launcher tells; ports are those
	// to use there when no MASTER_PORT is set. needs says what tells it
	// otherwise.
	headHost string
	ports    []int
}

// launchers in the order in which they are asked: what a launcher started from
// within another one sets goes first, and Slurm's and Kubernetes' variables are
// inherited by everything below.
var launchers = []struct {
	name    string
	present func(environ) bool
	read    func(environ, Options) (launch, error)
}{
	{LauncherEnv, func(e environ) bool { return e.has("RANK") }, readEnv},
	{LauncherOpenMPI, func(e environ) bool { return e.has("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE") }, readOpenMPI},
	{LauncherPMIx, func(e environ) bool { return e.has("PMIX_RANK") }, readPMIx},
	{LauncherPMI, func(e environ) bool { return e.has("PMI_RANK", "PMI_SIZE") }, readPMI},
	{LauncherSlurm, inSlurmStep, readSlurm},
	{LauncherLWS, func(e environ) bool { return e.has("LWS_WORKER_INDEX", "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS") }, readLWS},
	{LauncherKubernetes, func(e environ) bool { return e.has("JOB_COMPLETION_INDEX") }, readKubernetes},
}

// FromEnvironment reads from the launcher's variables which rank this process is
// and where the ranks meet. The launchers are asked in the order of the Launcher
// constants, and the first whose variables are there is believed. A process
// without any such variable is alone: rank 0 of 1. So is one in the shell of a
// Slurm batch job, outside a step, whatever SLURM_NTASKS says.
//
// Variables that are partial, malformed or contradict each other are an
// *EnvironmentError that names them. It touches neither the network nor a file.
// See the package's comment for where the ranks meet.
func FromEnvironment(options Options) (World, error) {
	env := readEnviron(options.Environ)
	commID := env["NCCL_COMM_ID"]
	if commID != "" {
		if _, _, err := splitAddress(commID); err != nil {
			return World{}, envError("NCCL_COMM_ID="+clip(commID)+": "+err.Error(), "", "NCCL_COMM_ID")
		}
	}
	found, err := readLaunch(env, options)
	if err != nil {
		return World{}, err
	}
	world := World{
		Rank: found.rank, Size: found.size,
		LocalRank: found.localRank, LocalSize: found.localSize,
		Launcher: found.launcher,
		Job:      env.first(options.Job, EnvJob),
		CommID:   commID,
	}
	if world.Job == "" {
		world.Job = found.job
	}
	if err := meet(&world, env, options, found); err != nil {
		return World{}, err
	}
	return world, nil
}

// readLaunch finds the launcher to believe and checks what the others say.
func readLaunch(env environ, options Options) (launch, error) {
	wanted := env.first(options.Launcher, EnvLauncher)
	if wanted == LauncherNone {
		return alone(env, options, true)
	}
	known := []string{LauncherNone}
	for i, l := range launchers {
		known = append(known, l.name)
		if wanted == "" && !l.present(env) || wanted != "" && wanted != l.name {
			continue
		}
		found, err := l.read(env, options)
		if err != nil {
			return launch{}, err
		}
		found.launcher = l.name
		if err := found.check(); err != nil {
			return launch{}, err
		}
		if options.Size != 0 && options.Size != found.size {
			return launch{}, envError(fmt.Sprintf("%s says that there are %d ranks, and the program asks for %d", found.sizeFrom, found.size, options.Size), "", found.sizeFrom)
		}
		if wanted == "" {
			if err := agree(env, options, found, i); err != nil {
				return launch{}, err
			}
		}
		return found, nil
	}
	if wanted != "" {
		return launch{}, envError(fmt.Sprintf("%s=%s: no such launcher", EnvLauncher, clip(wanted)), "it is one of "+strings.Join(known, ", "), EnvLauncher)
	}
	return alone(env, options, false)
}

// alone is the world of a process that no launcher started. Half of a launcher's
// variables is no sign of being alone.
func alone(env environ, options Options, asked bool) (launch, error) {
	found := launch{launcher: LauncherNone, size: 1, rankFrom: EnvLauncher, sizeFrom: EnvLauncher}
	if options.Size > 1 {
		return launch{}, envError(fmt.Sprintf("the program asks for %d ranks, and no launcher's variables say which one this is", options.Size),
			"start it by a launcher, or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT", "RANK")
	}
	if asked {
		return found, nil
	}
	for _, name := range []string{"WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"} {
		if !env.has(name) || name == "WORLD_SIZE" && env[name] == "1" {
			continue
		}
		return launch{}, envError(fmt.Sprintf("%s=%s is set, and neither RANK nor another launcher's variable says which rank this is", name, clip(env[name])),
			fmt.Sprintf("set RANK, or unset %s, or set %s=%s to run alone", name, EnvLauncher, LauncherNone), name, "RANK")
	}
	return found, nil
}

// check reports ranks and sizes that cannot be.
func (l launch) check() error {
	switch {
	case l.size < 1 || l.size > MaxSize:
		return envError(fmt.Sprintf("%s says that there are %d ranks: want 1 to %d", l.sizeFrom, l.size, MaxSize), "", l.sizeFrom)
	case l.rank >= l.size:
		return envError(fmt.Sprintf("%s says rank %d, and %s says that there are %d", l.rankFrom, l.rank, l.sizeFrom, l.size), "", l.rankFrom, l.sizeFrom)
	case l.localSize > l.size:
		return envError(fmt.Sprintf("the launcher says that %d ranks run on this machine, and %s says that there are %d", l.localSize, l.sizeFrom, l.size), "", l.sizeFrom)
	case l.localRank != nil && *l.localRank >= l.size, l.localRank != nil && l.localSize > 0 && *l.localRank >= l.localSize:
		return envError(fmt.Sprintf("the launcher says rank %d on this machine, of %d", *l.localRank, max(l.localSize, 1)), "", l.rankFrom)
	}
	return nil
}

// agree looks for the contradictions that matter. Launchers nest: mpirun below
// srun, torchrun below either, and then the inner one counts. But RANK and
// WORLD_SIZE are easily left over in an environment, and a program that believed
// them would run as many worlds of one.
func agree(env environ, options Options, found launch, index int) error {
	if found.launcher != LauncherEnv {
		size, ok, err := env.number("WORLD_SIZE")
		if err != nil {
			return err
		}
		if ok && size != found.size {
			return envError(fmt.Sprintf("WORLD_SIZE=%d and %s=%d contradict each other", size, found.sizeFrom, found.size),
				fmt.Sprintf("unset WORLD_SIZE, or set %s=%s to ignore it", EnvLauncher, found.launcher), "WORLD_SIZE", found.sizeFrom)
		}
		return nil
	}
	if env.has("TORCHELASTIC_RUN_ID") {
		return nil // nothing is left over: torchrun started this process, and numbers ranks by itself
	}
	for _, l := range launchers[index+1:] {
		if !l.present(env) {
			continue
		}
		outer, err := l.read(env, options)
		if err != nil || outer.sizeFrom == found.sizeFrom {
			continue // an outer launcher's leftovers are not ours to judge, nor one without a size
		}
		if found.size < outer.size || found.size == outer.size && found.rank != outer.rank {
			return envError(fmt.Sprintf("RANK=%d of WORLD_SIZE=%d and %s=%d of %s=%d contradict each other",
				found.rank, found.size, outer.rankFrom, outer.rank, outer.sizeFrom, outer.size),
				fmt.Sprintf("unset the ones that are left over, or set %s=%s or %s to say which count", EnvLauncher, LauncherEnv, l.name),
				"RANK", "WORLD_SIZE", outer.rankFrom, outer.sizeFrom)
		}
	}
	return nil
}

// number reads a count or an index.
func (e environ) number(name string) (n int, ok bool, err error) {
	text := e[name]
	if text == "" {
		return 0, false, nil
	}
	n, err = strconv.Atoi(text)
	if err != nil || n < 0 || n > math.MaxInt32 || text[0] == '+' {
		return 0, false, envError(fmt.Sprintf("%s=%s: want a number from 0", name, clip(text)), "", name)
	}
	return n, true, nil
}

// needed reads a number that must be there because of another variable.
func (e environ) needed(name, because string) (int, error) {
	n, ok, err := e.number(name)
	if err == nil && !ok {
		err = missing(e, name, because)
	}
	return n, err
}

// optional reads a number into a pointer: nil if it is not there.
func (e environ) optional(name string) (*int, error) {
	n, ok, err := e.number(name)
	if err != nil || !ok {
		return nil, err
	}
	return &n, nil
}

// missing is the error of a variable that must be there because of another.
func missing(e environ, name, because string) error {
	hint := "set it, or unset " + because
	if !e.has(because) {
		return envError(name+" is not set", "", name)
	}
	return envError(fmt.Sprintf("%s=%s is set and %s is not", because, clip(e[because]), name), hint, because, name)
}

// clip bounds what a message repeats of a value, and keeps it printable.
func clip(text string) string {
	const limit = 64
	if len(text) > limit {
		end := limit
		for end > limit-utf8.UTFMax && !utf8.RuneStart(text[end]) {
			end--
		}
		return oneLine(text[:end]) + "…"
	}
	return oneLine(text)
}
