package lab

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// StartPair boots two guests with a cable between them, and returns when both
// are ready and their jobs start. A guest that fails ends the other; a job that
// fails does not, because its peer may have something to say about it. The
// context ends both.
func (im *Image) StartPair(ctx context.Context, a, b Job) (*Pair, error) {
	cable, err := socketpair("cable")
	if err != nil {
		return nil, err
	}
	ends := pairEnds()
	both, cancel := context.WithCancelCause(ctx)
	start := make(chan struct{})
	p := &Pair{}
	for i, side := range []struct {
		job  Job
		node **Node
	}{{a, &p.A}, {b, &p.B}} {
		n, err := im.startNode(both, side.job, ends[i], cable[i], start)
		if err != nil {
			cable[1].Close()
			cancel(err)
			if i == 1 {
				<-p.A.done
			}
			return nil, err
		}
		*side.node = n
	}
	go func() {
		defer cancel(nil)
		p.supervise(start, cancel)
	}()
	select {
	case <-start:
		return p, nil
	case <-p.A.done:
	case <-p.B.done:
	}
	_, _, err = p.Wait()
	return nil, err
}

// RunPair is [Image.StartPair] and [Pair.Wait].
func (im *Image) RunPair(ctx context.Context, a, b Job) (ra, rb Result, err error) {
	p, err := im.StartPair(ctx, a, b)
	if err != nil {
		return Result{}, Result{}, err
	}
	return p.Wait()
}

// supervise starts the jobs and sees to the end of both.
func (p *Pair) supervise(start chan<- struct{}, cancel context.CancelCauseFunc) {
	ended := make(chan *Node)
	for _, n := range []*Node{p.A, p.B} {
		go func() { <-n.done; ended <- n }()
	}
	readyA, readyB := p.A.ready, p.B.ready
	for left := 2; left > 0; {
		select {
		case <-readyA:
			readyA = nil
		case <-readyB:
			readyB = nil
		case n := <-ended:
			left--
			if n.err != nil && !errors.Is(n.err, ErrPoweredOff) {
				cancel(fmt.Errorf("guest %s failed", n.end.Name))
			}
		}
		if readyA == nil && readyB == nil && start != nil {
			close(start)
			start = nil
		}
	}
}

// startNode boots one guest of a pair. It takes over the cable's end.
func (im *Image) startNode(ctx context.Context, j Job, end pairEnd, cable *os.File, start <-chan struct{}) (*Node, error) {
	defer func() {
		if cable != nil {
			cable.Close()
		}
	}()
	j.end = &end
	j, err := j.withDefaults()
	if err != nil {
		return nil, err
	}
	qemu, j, err := im.prepare(ctx, j)
	if err != nil {
		return nil, err
	}
	qmp, err := socketpair("monitor")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	n := &Node{
		end: end, ready: make(chan struct{}), start: start, cancel: cancel,
		monitor: newMonitor(qmp[0]), done: make(chan struct{}),
	}
	ours := cable
	cable = nil
	go func() {
		defer close(n.done)
		defer cancel(nil)
		defer qmp[0].Close()
		n.result, n.err = im.runOne(ctx, qemu, j, &link{node: n, cable: ours, monitor: qmp[1]})
		if n.err != nil {
			n.err = fmt.Errorf("guest %s: %w", end.Name, n.err)
		}
	}()
	return n, nil
}

// link is what QEMU gets for a guest of a pair.
type link struct {
	node    *Node
	cable   *os.File
	monitor *os.File
}

// close closes what QEMU has inherited.
func (l *link) close() {
	l.cable.Close()
	l.monitor.Close()
}

func (l *link) args(firstFD int) []string {
	return []string{
		"-netdev", fmt.Sprintf("socket,id=wire,fd=%d", firstFD),
		// Without a ROM the firmware does not look for something to boot there.
		"-device", "virtio-net-pci,netdev=wire,romfile=,id=" + cableID + ",mac=" + l.node.end.MAC,
		"-chardev", fmt.Sprintf("socket,id=qmp,fd=%d", firstFD+1), "-mon", "chardev=qmp,mode=control",
	}
}

// socketpair returns two connected ends that no name in a file system and no
// port leads to.
func socketpair(name string) (ends [2]*os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return ends, fmt.Errorf("lab: socketpair: %w", err)
	}
	for i, fd := range fds {
		ends[i] = os.NewFile(uintptr(fd), name)
	}
	return ends, nil
}
