package bootstrap

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// podPort is rank 0's port in Kubernetes, where each pod has all ports to itself.
const podPort = 29500

// How many ports rank 0 tries, and the range from which a job's name chooses
// them: below what systems give to outgoing connections.
const (
	portCandidates = 8
	derivedLow     = 20000
	derivedCount   = 9000
)

// meet decides where the ranks of a world meet.
func meet(w *World, e environ, o Options, found launch) error {
	if w.Size == 1 {
		return nil
	}
	exchange := e.first(o.ExchangeDir, EnvExchangeDir)
	rendezvous := e.first(o.RendezvousDir, EnvRendezvousDir)
	switch {
	case exchange != "" && rendezvous != "":
		return envError("a folder for the rendezvous file and one for exchange by files are both given", "give one of them", EnvRendezvousDir, EnvExchangeDir)
	case exchange != "":
		name, err := jobFile(w.Job, EnvExchangeDir)
		w.ExchangeDir = filepath.Join(exchange, name+".exchange")
		return err
	case o.Address != "":
		w.Address = o.Address
		if _, _, err := splitAddress(o.Address); err != nil {
			return &WorldError{Problem: fmt.Sprintf("Address %q: %v", o.Address, err)}
		}
		return nil
	case rendezvous != "":
		name, err := jobFile(w.Job, EnvRendezvousDir)
		w.RendezvousFile = filepath.Join(rendezvous, name+".rendezvous")
		return err
	}
	if done, err := meetAtMaster(w, e, found); done || err != nil {
		return err
	}
	switch {
	case w.LocalSize == w.Size && w.Job != "":
		name, _ := jobFile(w.Job, "")
		w.RendezvousFile = filepath.Join(userFolder(e), name+".rendezvous")
	case found.headHost != "":
		w.setAddress(found.headHost, found.ports)
	case w.CommID != "":
		// NCCL connects the ranks by itself.
	case w.LocalSize == w.Size:
		return envError("the launcher gives this run no name", fmt.Sprintf("set MASTER_ADDR=127.0.0.1 and MASTER_PORT, or %s to something that no other run has", EnvJob), EnvJob, "MASTER_ADDR", "MASTER_PORT")
	default:
		return envError(fmt.Sprintf("rank %d of %d (%s) does not know where rank 0 is: MASTER_ADDR is not set", w.Rank, w.Size, found.rankFrom),
			fmt.Sprintf("set MASTER_ADDR to rank 0's host and MASTER_PORT to a free port there, or %s to a folder that all ranks reach", EnvRendezvousDir), "MASTER_ADDR", "MASTER_PORT")
	}
	return nil
}

// meetAtMaster takes MASTER_ADDR and MASTER_PORT, if they are there. Who uses a
// launcher without an address often passes them along.
func meetAtMaster(w *World, e environ, found launch) (done bool, err error) {
	host := e["MASTER_ADDR"]
	var ports []int
	if text := e["MASTER_PORT"]; text != "" {
		port, err := parsePort(text)
		if err != nil {
			return false, envError("MASTER_PORT="+clip(text)+": want 1 to 65535", "", "MASTER_PORT")
		}
		ports = masterPorts(e, port)
	}
	if host != "" {
		if err := checkHost(host); err != nil {
			return false, envError("MASTER_ADDR="+clip(host)+": "+err.Error(), "", "MASTER_ADDR")
		}
	}
	switch {
	case host == "" && ports == nil:
		return false, nil
	case host == "" && w.Launcher == LauncherEnv:
		return false, missing(e, "MASTER_ADDR", "MASTER_PORT")
	case host == "" && found.headHost != "":
		w.setAddress(found.headHost, ports)
	case host == "":
		return false, nil
	case ports != nil:
		w.setAddress(host, ports)
	case found.ports != nil:
		w.setAddress(host, found.ports)
	case w.Launcher != LauncherEnv && w.Job != "":
		w.setAddress(host, derivedPorts(w.Job))
	default:
		return false, missing(e, "MASTER_PORT", "MASTER_ADDR")
	}
	return true, nil
}

// masterPorts is MASTER_PORT, except below a torchrun whose own agent listens
// there for its Python workers: then rank 0 takes one of the next ports.
func masterPorts(e environ, port int) []int {
	if e["TORCHELASTIC_USE_AGENT_STORE"] != "True" {
		return []int{port}
	}
	step := 1
	if port+portCandidates > 65535 {
		step = -1
	}
	var ports []int
	for i := 1; i <= portCandidates; i++ {
		ports = append(ports, port+i*step)
	}
	return ports
}

func (w *World) setAddress(host string, ports []int) {
	w.Address = net.JoinHostPort(host, strconv.Itoa(ports[0]))
	w.MorePorts = ports[1:]
}

// derivedPorts are ports that all ranks compute alike from the job's name.
func derivedPorts(job string) []int {
	var ports []int
	for i := byte(0); len(ports) < portCandidates; i++ {
		sum := sha256.Sum256(append([]byte(job), 0, i))
		ports = append(ports, derivedLow+int(binary.BigEndian.Uint32(sum[:])%derivedCount))
	}
	return ports
}

// jobFile is the part of a file's name that a job's name gives.
func jobFile(job, because string) (string, error) {
	if job == "" {
		return "", envError("the launcher gives this run no name, and a file of another run might be believed",
			fmt.Sprintf("set %s to something that no other run has", EnvJob), EnvJob, because)
	}
	sum := sha256.Sum256([]byte(job))
	return "gofabric-" + hex.EncodeToString(sum[:8]), nil
}

// userFolder is where this user's rendezvous files are on this machine.
func userFolder(e environ) string {
	dir := e["TMPDIR"]
	if dir == "" {
		dir = os.TempDir()
	}
	return filepath.Join(dir, fmt.Sprintf("gofabric-%d", os.Getuid()))
}
