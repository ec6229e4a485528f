package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// vm is what one guest is made of.
type vm struct {
	accel   string
	machine *Machine // nil: so many CPUs and so much memory, and no more
	cpus    int
	memory  int // MiB
	kernel  string
	initrd  *os.File
	console *consoleTail
	link    *link // nil for a guest by itself
}

// The guest's end of the port and the archive are inherited by QEMU under
// these numbers: nothing has to be named in a file system and cleaned up.
const (
	portFD   = 3
	initrdFD = 4
	linkFD   = 5 // and the next, of a guest of a pair
)

func (m vm) args() []string {
	cpu := "max"
	accel := "tcg,thread=multi"
	if m.accel == accelKVM {
		accel, cpu = "kvm", "host"
	}
	// An oops is a failed run as much as a panic is, and both end QEMU.
	// All emulated processors read the host's one counter, but 6.1 finds them out
	// of step and turns to the HPET, where reading the clock costs more than
	// posting a request.
	const kernelArgs = "console=ttyS0 quiet panic=-1 oops=panic random.trust_cpu=1 tsc=reliable"
	args := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
		"-accel", accel, "-cpu", cpu,
		"-kernel", m.kernel, "-initrd", fmt.Sprintf("/proc/self/fd/%d", initrdFD), "-append", kernelArgs,
		"-serial", "stdio",
		"-chardev", fmt.Sprintf("socket,id=lab,fd=%d", portFD),
		"-device", "virtio-serial-pci", "-device", "virtserialport,chardev=lab,name=" + portName,
	}
	if m.machine != nil {
		args = append(args, m.machine.args()...)
	} else {
		args = append(args, "-smp", fmt.Sprint(m.cpus), "-m", fmt.Sprint(m.memory))
	}
	if m.link != nil {
		args = append(args, m.link.args(linkFD)...)
	}
	return args
}

// guest is one running QEMU.
type guest struct {
	port *os.File
	done chan struct{} // closed when QEMU has ended
	err  error         // its exit, once done is closed
	kill context.CancelFunc
}

// startGuest starts QEMU. It ends with the context, with stop, and with this
// process, however that ends.
func startGuest(ctx context.Context, qemu string, m vm) (*guest, error) {
	pair, err := socketpair("guest port")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	g := &guest{port: pair[0], done: make(chan struct{}), kill: cancel}
	theirs := pair[1]
	cmd := exec.CommandContext(ctx, qemu, m.args()...)
	cmd.ExtraFiles = []*os.File{theirs, m.initrd}
	if m.link != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, m.link.cable, m.link.monitor)
	}
	cmd.Stdout, cmd.Stderr = m.console, m.console
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.WaitDelay = 2 * time.Second
	started := make(chan error, 1)
	go func() {
		// The death signal belongs to the thread that started the process:
		// the thread must live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(g.done)
		err := cmd.Start()
		theirs.Close()
		started <- err
		if err == nil {
			g.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		cancel()
		g.port.Close()
		return nil, fmt.Errorf("lab: starting QEMU: %w", err)
	}
	return g, nil
}

// stop ends QEMU and waits for its end.
func (g *guest) stop() {
	g.kill()
	<-g.done
	g.port.Close()
}

// Run boots a guest, runs the job in it and ends it. A result is returned if
// the job started and ended; a job that fails is a result, not an error. Errors
// are a [GuestError], the context's, or about the host. Files that came out of
// the guest lie where [Job.Out] says, also after an error.
func (im *Image) Run(ctx context.Context, j Job) (Result, error) {
	j, err := j.withDefaults()
	if err != nil {
		return Result{}, err
	}
	qemu, j, err := im.prepare(ctx, j)
	if err != nil {
		return Result{}, err
	}
	return im.runOne(ctx, qemu, j, nil)
}

// prepare finds QEMU and settles on an accelerator.
func (im *Image) prepare(ctx context.Context, j Job) (string, Job, error) {
	qemu, err := exec.LookPath(qemuProgram)
	if err != nil {
		return "", j, &MissingError{Where: "the host", Items: []Missing{{qemuProgram, debianPackage(qemuProgram)}}}
	}
	if j.Accel == accelAuto {
		j.Accel, err = im.chooseAccel(ctx, qemu, func(ctx context.Context) error {
			probe, err := Job{Path: "true", Accel: accelKVM, BootTimeout: kvmProbeTime}.withDefaults()
			if err == nil {
				_, err = im.runOne(ctx, qemu, probe, nil)
			}
			return err
		})
	}
	return qemu, j, err
}

// runOne runs the job in a guest, which is one of a pair if l is not nil.
func (im *Image) runOne(ctx context.Context, qemu string, j Job, l *link) (Result, error) {
	if l != nil {
		defer l.close()
	}
	initrd, err := im.initrd(j)
	if err != nil {
		return Result{}, err
	}
	defer initrd.Close()
	start := time.Now()
	console := &consoleTail{copy: j.Console}
	g, err := startGuest(ctx, qemu, vm{
		accel: j.Accel, machine: j.Machine, cpus: j.CPUs, memory: j.MemoryMiB,
		kernel: im.boot, initrd: initrd, console: console, link: l,
	})
	if err != nil {
		return Result{}, err
	}
	defer g.stop()
	if l != nil {
		// Only QEMU may hold them, or the peer never sees its end.
		l.close()
	}

	s := newJobSession(j)
	defer s.files.abort()
	type end struct {
		outcome
		err error
	}
	ended := make(chan end, 1)
	go func() {
		o, err := readGuest(g.port, s)
		ended <- end{o, err}
	}()
	boot := time.NewTimer(j.BootTimeout)
	defer boot.Stop()
	port := &frameWriter{w: g.port}
	fail := func(format string, args ...any) (Result, error) {
		g.stop()
		return Result{}, &GuestError{Reason: fmt.Sprintf(format, args...), Console: console.text()}
	}
	// A reader of the output that has stopped reading must not hold up the
	// end of a run.
	await := func() {
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
		}
	}
	ready, started := s.ready, s.started
	var mayStart <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			g.stop()
			await()
			return Result{}, fmt.Errorf("lab: the run was ended: %w", context.Cause(ctx))
		case <-boot.C:
			r, err := fail("the guest did not get ready in %v under %s", j.BootTimeout, j.Accel)
			await()
			return r, err
		case <-ready:
			ready = nil
			if l == nil {
				return fail("the guest waits for a start as if it were one of a pair")
			}
			close(l.node.ready)
			mayStart = l.node.start
		case <-mayStart:
			mayStart = nil
			_ = port.send(frameGo, nil)
		case <-started:
			boot.Stop()
			started = nil
			if j.Stdin != nil {
				go s.sendInput(port)
			}
		case sig := <-j.Signals:
			// A guest that is about to end no longer reads.
			if n, ok := sig.(syscall.Signal); ok {
				_ = port.send(frameSignal, []byte{byte(n)})
			}
		case e := <-ended:
			switch {
			case ctx.Err() != nil:
				return Result{}, fmt.Errorf("lab: the run was ended: %w", context.Cause(ctx))
			case isStreamEnd(e.err):
				// The console's last words are there once QEMU has ended.
				select {
				case <-g.done:
				case <-time.After(5 * time.Second):
				}
				if s.isStarted() {
					return fail("the guest ended before the job did: its kernel stopped")
				}
				return fail("the guest ended before it was ready, QEMU says: %v", g.err)
			case e.err != nil:
				return Result{}, e.err
			case e.fail != "":
				return fail("setting up the guest: %s", e.fail)
			}
			return s.result(*e.exit, start)
		}
	}
}

// isStreamEnd says whether the guest's stream ended early.
func isStreamEnd(err error) bool {
	return err != nil && !errors.Is(err, errFrame) && !errors.Is(err, errHost)
}

// initrd returns the base archive with the job's behind it, in memory.
func (im *Image) initrd(j Job) (*os.File, error) {
	t, err := im.jobTree(j)
	if err != nil {
		return nil, err
	}
	base, err := os.Open(im.archive)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	defer base.Close()
	fd, err := unix.MemfdCreate("lab-initrd", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("lab: memfd_create: %w", err)
	}
	f := os.NewFile(uintptr(fd), "lab-initrd")
	if _, err = f.ReadFrom(base); err == nil {
		err = t.write(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lab: building the guest's archive: %w", err)
	}
	return f, nil
}

// QEMUVersion returns the first line that QEMU prints about itself.
func QEMUVersion(ctx context.Context) (string, error) {
	out, err := output(exec.CommandContext(ctx, qemuProgram, "--version"))
	line, _, _ := strings.Cut(out, "\n")
	return line, err
}
