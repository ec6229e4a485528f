package bootstrap

import (
	"fmt"
	"net"
	"strconv"
)

// MaxSize is the most ranks that a world may have: each holds a connection to
// rank 0.
const MaxSize = 1 << 16

// The values of World.Launcher, GOFABRIC_LAUNCHER and Options.Launcher.
const (
	LauncherEnv        = "env"        // RANK and WORLD_SIZE: torchrun, PyTorchJob, or set by hand
	LauncherOpenMPI    = "openmpi"    // OMPI_COMM_WORLD_RANK: mpirun of Open MPI
	LauncherPMIx       = "pmix"       // PMIX_RANK: prterun, srun --mpi=pmix
	LauncherPMI        = "pmi"        // PMI_RANK: mpiexec of MPICH and Intel MPI, PALS, srun --mpi=pmi2
	LauncherSlurm      = "slurm"      // SLURM_PROCID inside a step: srun
	LauncherLWS        = "lws"        // LWS_WORKER_INDEX: Kubernetes LeaderWorkerSet
	LauncherKubernetes = "kubernetes" // JOB_COMPLETION_INDEX: Kubernetes indexed Job
	LauncherNone       = "none"       // nothing of a launcher: a process by itself
)

// World says which process this is of how many, and where they meet. It is what
// [FromEnvironment] reads from a launcher's variables; a program that knows
// better fills it by hand. It is plain data: [Connect] does not change it.
//
// At most one of Address, RendezvousFile and ExchangeDir is set: the way in which
// the ranks meet. A world of one rank needs none.
type World struct {
	// Rank is this process, from 0. Size is how many there are.
	Rank, Size int
	// LocalRank is this process among those on its machine, from 0. Nil: the
	// launcher did not say, and Connect finds out.
	LocalRank *int
	// LocalSize is how many processes of the world run on this machine; 0 is
	// unknown.
	LocalSize int
	// Launcher says whose variables were believed, one of the Launcher
	// constants. It is empty in a world made by hand.
	Launcher string
	// Job tells this run from others. Ranks of another job are refused. Empty:
	// the launcher has no name for it, and any rank of the right size is taken.
	Job string

	// Address is host:port of rank 0, which listens there.
	Address string
	// MorePorts are ports of the same host that rank 0 takes in turn when the
	// one of Address is in use; the others look there too.
	MorePorts []int
	// RendezvousFile is where rank 0 writes the addresses that it listens on,
	// together with a key that whoever joins must know: a file that this user's
	// ranks, and nobody else, can read. It exists until all ranks have come.
	RendezvousFile string
	// ExchangeDir is a folder in which all data is exchanged as files, without a
	// network.
	ExchangeDir string

	// CommID is the value of NCCL_COMM_ID, host:port. Where it is set, NCCL
	// makes the same unique id at every rank and connects the ranks by itself:
	// nothing needs to be exchanged. Nothing else here uses that port.
	CommID string
}

// NeedsExchange reports whether the ranks must exchange an id before they can
// make a communicator: not if there is but one, and not where NCCL_COMM_ID
// stands.
func (w World) NeedsExchange() bool { return w.Size > 1 && w.CommID == "" }

// check reports what is wrong with a world, in the words of its fields.
func (w World) check() error {
	bad := func(format string, args ...any) error {
		return &WorldError{Problem: fmt.Sprintf(format, args...)}
	}
	switch {
	case w.Size < 1 || w.Size > MaxSize:
		return bad("Size %d: want 1 to %d", w.Size, MaxSize)
	case w.Rank < 0 || w.Rank >= w.Size:
		return bad("Rank %d of Size %d: want 0 to %d", w.Rank, w.Size, w.Size-1)
	case w.LocalSize < 0 || w.LocalSize > w.Size:
		return bad("LocalSize %d of Size %d: want 1 to %d, or 0 for unknown", w.LocalSize, w.Size, w.Size)
	case w.LocalRank != nil && (*w.LocalRank < 0 || *w.LocalRank >= w.Size || w.LocalSize > 0 && *w.LocalRank >= w.LocalSize):
		return bad("LocalRank %d: want less than LocalSize %d and Size %d", *w.LocalRank, w.LocalSize, w.Size)
	}
	ways := 0
	for _, way := range []string{w.Address, w.RendezvousFile, w.ExchangeDir} {
		if way != "" {
			ways++
		}
	}
	if ways > 1 {
		return bad("more than one of Address, RendezvousFile and ExchangeDir is set: the ranks would not meet")
	}
	if w.Address != "" {
		if _, _, err := splitAddress(w.Address); err != nil {
			return bad("Address %q: %v", w.Address, err)
		}
	}
	for _, port := range w.MorePorts {
		if port < 1 || port > 65535 {
			return bad("MorePorts: %d is not a port", port)
		}
	}
	if w.Size > 1 && ways == 0 {
		if w.CommID != "" {
			return &WorldError{
				Problem: "NCCL_COMM_ID=" + w.CommID + " connects the ranks inside NCCL, and no address is given for anything else",
				Hint:    "make the unique id at every rank instead of exchanging it, or give an address as well: set MASTER_ADDR and MASTER_PORT",
			}
		}
		return bad("Address, RendezvousFile and ExchangeDir are empty: the ranks have nowhere to meet")
	}
	return nil
}

// candidates lists the addresses at which rank 0 may listen, in its order.
func (w World) candidates() []string {
	host, _, err := splitAddress(w.Address)
	if err != nil {
		return nil
	}
	all := []string{w.Address}
	for _, port := range w.MorePorts {
		all = append(all, net.JoinHostPort(host, strconv.Itoa(port)))
	}
	return all
}

// splitAddress takes host:port apart and checks both.
func splitAddress(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("want host:port, with brackets around an IPv6 address")
	}
	if err := checkHost(host); err != nil {
		return "", 0, err
	}
	if port, err = parsePort(text); err != nil {
		return "", 0, err
	}
	return host, port, nil
}

func parsePort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil || port < 1 || port > 65535 || text[0] == '+' {
		return 0, fmt.Errorf("port %q: want 1 to 65535", clip(text))
	}
	return port, nil
}

// checkHost keeps what cannot be a host's name or address out of a look-up.
func checkHost(host string) error {
	if host == "" {
		return fmt.Errorf("the host is empty")
	}
	if len(host) > 255 {
		return fmt.Errorf("the host has %d characters: a name has 255 at most", len(host))
	}
	for _, c := range []byte(host) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '-', c == '_', c == ':', c == '%':
		default:
			return fmt.Errorf("%q cannot stand in a host's name", c)
		}
	}
	return nil
}
