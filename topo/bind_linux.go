package topo

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gofabric/gofabric/internal/sysfs"
)

func here() limits { return limits{sysfs.Dir("/")} }

// ThreadBinding is a goroutine's thread that was bound. It belongs to that
// goroutine.
type ThreadBinding struct {
	bound  Bound
	thread int
	cpus   cpuMask // before
	policy *memPolicy
}

// Bound tells what the binding came to.
func (t *ThreadBinding) Bound() Bound { return t.bound }

// BindThread locks the calling goroutine to its thread, and the thread to the CPUs
// and the memory of an Affinity, until Restore. What it starts meanwhile, programs
// and threads, inherits both: so does the program that takes the process's place
// by exec. CPUs that are not known stay as they are. The error is a *BindError, and nothing
// has changed then.
//
// It follows sched_setaffinity(2) and set_mempolicy(2).
func BindThread(a Affinity, o BindOptions) (*ThreadBinding, error) {
	runtime.LockOSThread()
	t, err := bindThread(a, o)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return t, nil
}

func bindThread(a Affinity, o BindOptions) (*ThreadBinding, error) {
	const what = "the thread"
	if err := checkAffinity(what, a); err != nil {
		return nil, err
	}
	t := &ThreadBinding{thread: unix.Gettid()}
	var err error
	if t.cpus, err = getAffinity(0); err != nil {
		return nil, &BindError{Op: "read the thread's CPUs", Err: err}
	}
	if len(a.CPUs) > 0 {
		if err := setAffinity(0, maskOf(a.CPUs)); err != nil {
			return nil, cpuError(what, a.CPUs, err)
		}
		now, err := getAffinity(0)
		if err != nil {
			return nil, errors.Join(&BindError{Op: "read the thread's CPUs", Err: err}, t.restore())
		}
		t.bound.CPUs = now.set()
	}
	if a.Node == nil {
		return t, nil
	}
	if t.policy, err = getPolicy(); err == nil {
		err = setPolicy(policyFor(*a.Node, o))
	}
	switch {
	case err == nil:
		t.bound.Node = a.Node
	case errors.Is(err, unix.ENOSYS) && *a.Node == 0:
		t.policy = nil // a kernel without NUMA has one node
	default:
		t.policy = nil
		return nil, errors.Join(nodeError(what, *a.Node, err), t.restore())
	}
	return t, nil
}

// Restore gives the thread the CPUs and the memory policy that it had, and lets
// the goroutine go. It is called once, by the goroutine that called BindThread.
func (t *ThreadBinding) Restore() error {
	if unix.Gettid() != t.thread {
		return &BindError{Op: "restore the thread", Err: errors.New("this is another thread: call Restore on the goroutine that called BindThread")}
	}
	defer runtime.UnlockOSThread()
	return t.restore()
}

func (t *ThreadBinding) restore() error {
	var problems []error
	if err := setAffinity(0, t.cpus); err != nil {
		problems = append(problems, &BindError{Op: "give the thread its CPUs back", Err: err})
	}
	if t.policy != nil {
		if err := setPolicy(*t.policy); err != nil {
			problems = append(problems, &BindError{Op: "give the thread its memory policy back", Err: err})
		}
	}
	return errors.Join(problems...)
}

// BindProcess binds all threads of this process to the CPUs of an Affinity, those
// too that are bound already and those that it will start, and to the node's
// memory where the program has no cgo in it. With cgo, the memory policy of other
// threads cannot be set: Bound.Node is nil then, memory comes from the node of the
// CPU that first writes to it, which is the same one as long as nothing else was
// set before, and Strict is refused with errors.ErrUnsupported. What is allocated
// already stays where it is. The error is a *BindError; threads that were bound
// before it stay bound.
func BindProcess(a Affinity, o BindOptions) (Bound, error) {
	const what = "the process"
	if err := checkAffinity(what, a); err != nil {
		return Bound{}, err
	}
	var b Bound
	if a.Node != nil {
		switch err := setPolicyOfAll(policyFor(*a.Node, o)); {
		case err == nil:
			b.Node = a.Node
		case errors.Is(err, unix.ENOSYS) && *a.Node == 0:
		case errors.Is(err, errOtherThreads) && !o.Strict:
			if allowed := here().statusList("Mems_allowed_list"); allowed != nil && !allowed.Contains(*a.Node) {
				return Bound{}, nodeError(what, *a.Node, unix.EINVAL)
			}
		case errors.Is(err, errOtherThreads):
			return Bound{}, &BindError{
				Op: fmt.Sprintf("bind the process to the memory of NUMA node %d", *a.Node), Err: err,
				Hint: "start it bound, by BindThread and exec or by numactl --membind",
			}
		default:
			return Bound{}, nodeError(what, *a.Node, err)
		}
	}
	if len(a.CPUs) == 0 {
		return b, nil
	}
	if err := bindAllThreads(maskOf(a.CPUs)); err != nil {
		return b, cpuError(what, a.CPUs, err)
	}
	now, err := getAffinity(0)
	if err != nil {
		return b, &BindError{Op: "read the process's CPUs", Err: err}
	}
	b.CPUs = now.set()
	return b, nil
}

// bindAllThreads goes over the threads until no new one is found: one that was
// started meanwhile by a thread that was not bound yet has the old CPUs.
func bindAllThreads(mask cpuMask) error {
	bound := map[int]bool{}
	for {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return err
		}
		found := false
		for _, task := range tasks {
			id, err := strconv.Atoi(task.Name())
			if err != nil || bound[id] {
				continue
			}
			found = true
			bound[id] = true
			if err := setAffinity(id, mask); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if !found {
			return nil
		}
	}
}

// BindMemory puts the whole pages within a buffer on an Affinity's node: pages
// that are in use already move there, the others follow. Parts of pages at its
// ends belong to others too and stay as they are: a buffer that begins and ends at
// a page (from mmap, say) is bound as a whole. Memory that the kernel shares with
// other processes does not move, which is an error with Strict only. The error is
// a *BindError.
//
// It follows mbind(2).
func BindMemory(buffer []byte, a Affinity, o BindOptions) error {
	if a.Node == nil {
		return &BindError{Op: "bind a buffer", Err: errNothing, Hint: a.Explain()}
	}
	if err := checkAffinity("a buffer", Affinity{Node: a.Node}); err != nil {
		return err
	}
	page := uintptr(os.Getpagesize())
	start := uintptr(unsafe.Pointer(unsafe.SliceData(buffer)))
	skip := (page - start%page) % page
	if uintptr(len(buffer)) < skip+page {
		return &BindError{
			Op:  fmt.Sprintf("bind a buffer of %d bytes to node %d", len(buffer), *a.Node),
			Err: fmt.Errorf("there is no whole page of %d bytes in it", page), Hint: "allocate it by mmap",
		}
	}
	length := (uintptr(len(buffer)) - skip) / page * page
	p := policyFor(*a.Node, o)
	flags := uintptr(unix.MPOL_MF_MOVE)
	if o.Strict {
		flags |= unix.MPOL_MF_STRICT
	}
	_, _, errno := unix.Syscall6(unix.SYS_MBIND, uintptr(unsafe.Pointer(&buffer[skip])), length, uintptr(p.mode),
		uintptr(unsafe.Pointer(&p.nodes[0])), nodeBits+1, flags)
	runtime.KeepAlive(buffer)
	switch {
	case errno == 0, errno == unix.ENOSYS && *a.Node == 0:
		return nil
	case errno == unix.EIO:
		return &BindError{
			Op: fmt.Sprintf("bind a buffer of %d bytes to node %d", len(buffer), *a.Node), Err: errno,
			Hint: "some of its pages cannot move there: they are pinned, shared with another process, or the node is full",
		}
	}
	return nodeError(fmt.Sprintf("a buffer of %d bytes", len(buffer)), *a.Node, errno)
}

func checkAffinity(what string, a Affinity) error {
	op := "bind " + what
	switch {
	case len(a.CPUs) == 0 && a.Node == nil:
		return &BindError{Op: op, Err: errNothing, Hint: a.Explain()}
	case len(a.CPUs) > 0 && (a.CPUs[0] < 0 || a.CPUs[len(a.CPUs)-1] >= maxCPUs):
		return &BindError{Op: op, Err: fmt.Errorf("CPUs %s: must be 0 to %d", a.CPUs, maxCPUs-1)}
	case a.Node != nil && (*a.Node < 0 || *a.Node >= nodeBits):
		return &BindError{Op: op, Err: fmt.Errorf("NUMA node %d: must be 0 to %d", *a.Node, nodeBits-1)}
	}
	return nil
}

func cpuError(what string, cpus CPUSet, err error) error {
	e := &BindError{Op: fmt.Sprintf("bind %s to CPUs %s", what, cpus), Err: err}
	switch {
	case errors.Is(err, unix.EINVAL):
		e.Err, e.Hint = fmt.Errorf("%w: %w", errNotAllowedCPU, err), here().cpuHint(cpus)
	case errors.Is(err, unix.EPERM) && here().filtered():
		e.Hint = filterHint
	}
	return e
}

func nodeError(what string, node int, err error) error {
	e := &BindError{Op: fmt.Sprintf("bind %s to the memory of NUMA node %d", what, node), Err: err}
	switch {
	case errors.Is(err, unix.EINVAL):
		allowed := here().statusList("Mems_allowed_list")
		if allowed != nil && !allowed.Contains(node) {
			e.Err, e.Hint = fmt.Errorf("%w: %w", errNotAllowedNode, err), here().nodeHint(node, allowed)
		}
	case errors.Is(err, unix.EPERM) && here().filtered():
		e.Hint = filterHint
	}
	return e
}

// The kernel's own limits.
const (
	maxCPUs  = 1 << 16
	nodeBits = 1024
	wordBits = 64
)

// cpuMask is the kernel's set of CPUs.
type cpuMask []uint64

func maskOf(set CPUSet) cpuMask {
	m := make(cpuMask, set[len(set)-1]/wordBits+1)
	for _, c := range set {
		m[c/wordBits] |= 1 << (c % wordBits)
	}
	return m
}

func (m cpuMask) set() CPUSet {
	set := CPUSet{}
	for c := range len(m) * wordBits {
		if m[c/wordBits]&(1<<(c%wordBits)) != 0 {
			set = append(set, c)
		}
	}
	return set
}

func setAffinity(thread int, m cpuMask) error {
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, uintptr(thread), uintptr(len(m)*8), uintptr(unsafe.Pointer(&m[0])))
	if errno != 0 {
		return errno
	}
	return nil
}

// getAffinity asks with a larger mask until it holds all CPUs that there can be.
func getAffinity(thread int) (cpuMask, error) {
	for words := 16; ; words *= 2 {
		m := make(cpuMask, words)
		n, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, uintptr(thread), uintptr(words*8), uintptr(unsafe.Pointer(&m[0])))
		switch {
		case errno == 0:
			return m[:(n+7)/8], nil
		case errno != unix.EINVAL || words*wordBits >= maxCPUs:
			return nil, errno
		}
	}
}

// memPolicy is the memory policy of a thread.
type memPolicy struct {
	mode  int
	nodes [nodeBits / wordBits]uint64
}

func policyFor(node int, o BindOptions) memPolicy {
	p := memPolicy{mode: unix.MPOL_PREFERRED}
	if o.Strict {
		p.mode = unix.MPOL_BIND
	}
	p.nodes[node/wordBits] |= 1 << (node % wordBits)
	return p
}

func getPolicy() (*memPolicy, error) {
	var p memPolicy
	var mode int32
	_, _, errno := unix.RawSyscall6(unix.SYS_GET_MEMPOLICY, uintptr(unsafe.Pointer(&mode)), uintptr(unsafe.Pointer(&p.nodes[0])), nodeBits+1, 0, 0, 0)
	if errno != 0 {
		return nil, errno
	}
	p.mode = int(mode)
	return &p, nil
}

// setPolicy sets the calling thread's policy. The default one takes no nodes.
func setPolicy(p memPolicy) error {
	nodes, bits := unsafe.Pointer(&p.nodes[0]), uintptr(nodeBits+1)
	if p.nodes == (memPolicy{}).nodes {
		nodes, bits = nil, 0
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SET_MEMPOLICY, uintptr(p.mode), uintptr(nodes), bits)
	if errno != 0 {
		return errno
	}
	return nil
}

// errOtherThreads: the policy of threads that run already cannot be set.
var errOtherThreads = fmt.Errorf("the memory policy of threads that run already cannot be set: %w", errors.ErrUnsupported)

// setPolicyOfAll sets the policy of all threads, which Go can do in programs
// without cgo. The runtime ends a program whose threads answer differently, as they
// might where they are in several cpusets: that is found out first.
func setPolicyOfAll(p memPolicy) error {
	if !oneGroup() {
		return errOtherThreads
	}
	_, _, errno := syscall.AllThreadsSyscall6(unix.SYS_SET_MEMPOLICY, uintptr(p.mode), uintptr(unsafe.Pointer(&p.nodes[0])), nodeBits+1, 0, 0, 0)
	switch errno {
	case 0:
		return nil
	case unix.ENOTSUP:
		return errOtherThreads
	}
	return errno
}

// oneGroup reports whether all threads are in the same control groups.
func oneGroup() bool {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return false
	}
	first := ""
	for _, task := range tasks {
		group, err := os.ReadFile("/proc/self/task/" + task.Name() + "/cgroup")
		if err != nil {
			continue // it has ended
		}
		if first == "" {
			first = string(group)
		}
		if first != string(group) {
			return false
		}
	}
	return true
}
