package verbs

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// ForkStatus says what becomes of registered memory in a child process that goes
// on without starting another program (enum ibv_fork_status).
type ForkStatus int32

// What becomes of registered memory in a child.
const (
	ForkDisabled ForkStatus = cverbs.IBV_FORK_DISABLED // its pages may move away from under the device
	ForkEnabled  ForkStatus = cverbs.IBV_FORK_ENABLED  // InitFork was called: the child does not see them
	ForkUnneeded ForkStatus = cverbs.IBV_FORK_UNNEEDED // the kernel copies them for the child
)

// String names the status.
func (s ForkStatus) String() string {
	switch s {
	case ForkDisabled:
		return "disabled"
	case ForkEnabled:
		return "enabled"
	case ForkUnneeded:
		return "unneeded"
	}
	return fmt.Sprintf("fork status %d", int32(s))
}

// InitFork has libibverbs keep registered memory away from children, at the cost
// of every registration. Go programs do not need it: os/exec starts another
// program at once, and nothing else forks. It is for C code in the same process
// that does, and has to be called before memory is registered.
//
// Implements: ibv_fork_init.
func InitFork() error {
	if err := cverbs.ForkInit(); err != nil {
		return &OpError{Op: "prepare for fork", Err: err}
	}
	return nil
}

// Fork returns what becomes of registered memory in a child. It needs rdma-core
// 35.
//
// Implements: ibv_is_fork_initialized.
func Fork() (ForkStatus, error) {
	status, err := cverbs.ForkStatus()
	if err != nil {
		const function = "ibv_is_fork_initialized"
		return 0, &OpError{Op: "query fork support", Err: err, Hint: tooOldHint(function, err)}
	}
	return ForkStatus(status), nil
}
