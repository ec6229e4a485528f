package bootstrap

import (
	"os"
	"time"
)

// Variables of ours. Each has a field in [Options], which goes before it.
const (
	// EnvLauncher names the launcher to believe, one of the Launcher constants,
	// where several left their variables.
	EnvLauncher = "GOFABRIC_LAUNCHER"
	// EnvJob names this run; the same at all its ranks, another for other runs.
	EnvJob = "GOFABRIC_JOB_ID"
	// EnvSecret is a secret that all ranks share.
	EnvSecret = "GOFABRIC_BOOTSTRAP_SECRET"
	// EnvRendezvousDir is a folder that all ranks reach, for the rendezvous file.
	EnvRendezvousDir = "GOFABRIC_RENDEZVOUS_DIR"
	// EnvExchangeDir is a folder that all ranks reach, for exchange by files alone.
	EnvExchangeDir = "GOFABRIC_EXCHANGE_DIR"
	// EnvInterface says which interfaces rank 0 offers, in the form of
	// NCCL_SOCKET_IFNAME, which is read after it.
	EnvInterface = "GOFABRIC_SOCKET_IFNAME"
)

// What Options means where it says nothing.
const (
	DefaultConnectTimeout   = 5 * time.Minute
	DefaultOperationTimeout = 30 * time.Minute
	DefaultMaxMessage       = 16 << 20
)

// Options change how [FromEnvironment] finds the world and how [Connect] and the
// session behave. The zero value is right for a program under a launcher.
type Options struct {
	// Environ is the environment to read, as "NAME=value". Nil: the process's.
	Environ []string

	// Launcher names the one launcher whose variables are believed. Empty:
	// GOFABRIC_LAUNCHER, or the first of which there are variables.
	Launcher string
	// Size is the number of ranks, for a launcher that gives none. 0: the
	// launcher's. Another number than the launcher's is an error.
	Size int
	// Address is host:port of rank 0. Empty: the launcher's, or another way to
	// meet.
	Address string
	// RendezvousDir is a folder for the rendezvous file, which all ranks reach.
	// Empty: GOFABRIC_RENDEZVOUS_DIR, or a folder of this user below the
	// machine's temporary one where all ranks run on one machine.
	RendezvousDir string
	// ExchangeDir is a folder through which all data goes as files. Empty:
	// GOFABRIC_EXCHANGE_DIR, or another way to meet.
	ExchangeDir string
	// Job names this run. Empty: GOFABRIC_JOB_ID, or the launcher's name for it.
	Job string

	// Secret is shared by the ranks: who does not have it cannot join. It proves
	// who joins and hides or protects nothing that is sent afterwards. Empty:
	// GOFABRIC_BOOTSTRAP_SECRET, or no secret.
	Secret []byte
	// ConnectTimeout bounds Connect, besides its context. 0: 5 minutes; negative:
	// no bound.
	ConnectTimeout time.Duration
	// OperationTimeout bounds each operation of the session, besides its
	// context. 0: 30 minutes; negative: no bound. A rank that dies is noticed at
	// once, whatever this says, except by files alone.
	OperationTimeout time.Duration
	// MaxMessage is the most bytes that one rank may give to an operation. 0:
	// 16 MiB. What all ranks give to an AllGather together is at most 1 GiB.
	MaxMessage int
	// SocketInterface says which interfaces' addresses rank 0 writes to the
	// rendezvous file, in the form of NCCL_SOCKET_IFNAME: "eth,ib" (names that
	// begin so), "=eth0" (this name), "^docker" (not these). Empty:
	// GOFABRIC_SOCKET_IFNAME, NCCL_SOCKET_IFNAME, or all.
	SocketInterface string
}

// environ is an environment to look things up in.
type environ map[string]string

// readEnviron takes the last of several settings of one name, as execve's
// receivers commonly do.
func readEnviron(list []string) environ {
	if list == nil {
		list = os.Environ()
	}
	env := make(environ, len(list))
	for _, entry := range list {
		for i := 1; i < len(entry); i++ {
			if entry[i] == '=' {
				env[entry[:i]] = entry[i+1:]
				break
			}
		}
	}
	return env
}

// has reports whether any of the names is set and not empty: manifests and
// wrappers commonly pass on variables that they have no value for.
func (e environ) has(names ...string) bool {
	for _, name := range names {
		if e[name] != "" {
			return true
		}
	}
	return false
}

// first returns value, or else the first of the variables that is not empty.
func (e environ) first(value string, names ...string) string {
	for _, name := range names {
		if value != "" {
			break
		}
		value = e[name]
	}
	return value
}

// settled fills in what Connect needs and the caller left open.
func (o Options) settled() Options {
	env := readEnviron(o.Environ)
	if len(o.Secret) == 0 {
		o.Secret = []byte(env[EnvSecret])
	}
	o.SocketInterface = env.first(o.SocketInterface, EnvInterface, "NCCL_SOCKET_IFNAME")
	if o.ConnectTimeout == 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.OperationTimeout == 0 {
		o.OperationTimeout = DefaultOperationTimeout
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	o.MaxMessage = min(o.MaxMessage, maxGather)
	return o
}
