package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Mapping pairs a file or folder of the host with one of the guest.
type Mapping struct {
	Host  string
	Guest string
	// Optional outgoing files may be absent when the job ends.
	Optional bool
}

// Job is one program to run in a guest.
type Job struct {
	// Path is the program: a file of the host, which is copied into the guest
	// under the same absolute path, or, where it has no slash, a program that
	// the guest has or else one in the host's PATH.
	Path string
	Args []string
	// Env is the whole environment, beyond PATH, HOME, TMPDIR and
	// GOFABRIC_LAB, which are set unless Env has them.
	Env []string
	// Dir is the working directory in the guest; it is created. "" is /root.
	Dir string
	// In is copied into the guest before, Out out of it after the job.
	In  []Mapping
	Out []Mapping
	// Stdout and Stderr receive the output as it comes; nil drops it. If both
	// are the same writer, the guest uses one pipe and the order is kept.
	Stdout io.Writer
	Stderr io.Writer
	// Console, where set, receives the guest's console.
	Console io.Writer
	// Stdin is the job's standard input; nil is an empty one. A Read that waits
	// when the run ends is left waiting: the caller closes what it reads from.
	Stdin io.Reader
	// Signals are forwarded to the job while it runs.
	Signals <-chan os.Signal

	// Accel is "auto" ("" means the same), "kvm" or "tcg".
	Accel string
	// CPUs and MemoryMiB size the guest; 0 is 2 CPUs and 1024 MiB, or what
	// Machine has.
	CPUs      int
	MemoryMiB int
	// Machine is the guest's hardware, nil a plain one with a veth pair. Its NICs
	// take the place of the pair: each has an address 10.0.0.N/24 and a device
	// rxeN, from 10.0.0.1 and rxe0 in the order of the machine's text. The image
	// needs the modules of [Machine.Modules].
	Machine *Machine
	// MTU is the veth pair's, or the cable's; 0 is 4200, which gives the largest path MTU,
	// 4096 bytes.
	MTU int
	// DeviceMode is the permission of the nodes in /dev/infiniband; 0 is
	// 0666. They belong to root.
	DeviceMode fs.FileMode
	// BootTimeout bounds the time until the job starts; 0 is 2 minutes. The
	// context bounds the whole run.
	BootTimeout time.Duration

	end *pairEnd // of a guest of a pair
}

// Result is how a job ended.
type Result struct {
	// ExitCode is the job's own, or 128 plus the number of the signal that
	// killed it.
	ExitCode int
	// Signal is the number of that signal, 0 if it exited.
	Signal int
	// Accel is the accelerator that was used, "kvm" or "tcg".
	Accel string
	// Boot is the time from QEMU's start to the job's, Job the job's own.
	Boot time.Duration
	Job  time.Duration
}

// jobFile tells the guest's init what to do.
const jobFile = guestDir + "/job.json"

// jobSpec is the job as the guest's init reads it.
type jobSpec struct {
	Path       string
	Args       []string
	Env        []string
	Dir        string
	Out        []string
	Optional   []bool
	OnePipe    bool
	Stdin      bool
	End        *pairEnd
	Staged     bool
	NICs       []stagedNIC
	MTU        int
	DeviceMode uint32
}

func (j Job) withDefaults() (Job, error) {
	if j.Path == "" {
		return j, fmt.Errorf("lab: no program to run")
	}
	if j.Dir == "" {
		j.Dir = "/root"
	}
	if !path.IsAbs(j.Dir) {
		return j, fmt.Errorf("lab: working directory %q: must be absolute", j.Dir)
	}
	for _, m := range append(append([]Mapping{}, j.In...), j.Out...) {
		if m.Host == "" || !path.IsAbs(m.Guest) || path.Clean(m.Guest) == "/" {
			return j, fmt.Errorf("lab: file mapping %q to %q: needs a host path and an absolute guest path", m.Host, m.Guest)
		}
	}
	switch j.Accel {
	case "":
		j.Accel = accelAuto
	case accelAuto, accelKVM, accelTCG:
	default:
		return j, fmt.Errorf("lab: accelerator %q: choose auto, kvm or tcg", j.Accel)
	}
	if j.Machine != nil {
		if err := j.Machine.check(); err != nil {
			return j, err
		}
		if j.CPUs != 0 || j.MemoryMiB != 0 {
			return j, fmt.Errorf("lab: CPUs and memory are set, and the machine's nodes have them too: leave one out")
		}
		if j.end != nil {
			return j, fmt.Errorf("lab: a guest of a pair has no machine: run it by itself")
		}
		j.CPUs, j.MemoryMiB = j.Machine.cpus(), j.Machine.memory()
	}
	for _, n := range []struct {
		name       string
		value      *int
		def, least int
		most       int
	}{
		{"CPUs", &j.CPUs, 2, 1, 64},
		{"memory in MiB", &j.MemoryMiB, 1024, 256, 1 << 20},
		{"MTU", &j.MTU, 4200, 1280, 65535},
	} {
		if *n.value == 0 {
			*n.value = n.def
		}
		if *n.value < n.least || *n.value > n.most {
			return j, fmt.Errorf("lab: %s is %d, must be %d to %d", n.name, *n.value, n.least, n.most)
		}
	}
	if j.DeviceMode == 0 {
		j.DeviceMode = 0o666
	}
	if j.BootTimeout == 0 {
		j.BootTimeout = 2 * time.Minute
	}
	return j, nil
}

// place maps a guest path through the base tree's symbolic links: unpacking a
// folder over a link such as /bin would replace the link.
func (im *Image) place(guest string) string {
	rest := strings.Split(strings.Trim(path.Clean(guest), "/"), "/")
	at := "/"
	for steps := 0; len(rest) > 0 && steps < 10*maxLinks; steps++ {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		e, ok := im.tree[next]
		if !ok || e.mode&^0o7777 != cpioSymlink || len(rest) == 0 {
			at = next
			continue
		}
		if path.IsAbs(e.target) {
			at = "/"
		}
		rest = append(strings.Split(strings.Trim(e.target, "/"), "/"), rest...)
	}
	return at
}

// jobTree builds the archive that goes behind the base archive: init, the
// job's program, its files and its description.
func (im *Image) jobTree(j Job) (tree, error) {
	t := tree{}
	col := newCollector(openLibraryRoot(im.root), t)
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	if err := t.putFile("/init", self); err != nil {
		return nil, err
	}
	col.addForeign(self, "/init")
	program, err := im.addProgram(t, col, j)
	if err != nil {
		return nil, err
	}
	for _, m := range j.In {
		if err := t.putAll(im.place(m.Guest), m.Host); err != nil {
			return nil, err
		}
	}
	if err := col.err("userland " + im.cfg.Userland); err != nil {
		return nil, err
	}
	t.mkdir(im.place(j.Dir), 0o755)
	spec := jobSpec{
		Path: program, Args: j.Args, Dir: j.Dir, Env: im.environment(j),
		OnePipe: sameWriter(j.Stdout, j.Stderr), Stdin: j.Stdin != nil, End: j.end,
		MTU: j.MTU, DeviceMode: permOf(j.DeviceMode),
	}
	if j.Machine != nil {
		spec.Staged, spec.NICs = true, j.Machine.staged()
	}
	for _, m := range j.Out {
		spec.Out = append(spec.Out, m.Guest)
		spec.Optional = append(spec.Optional, m.Optional)
		t.mkdir(im.place(path.Dir(m.Guest)), 0o755)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("lab: %w", err)
	}
	t.putData(jobFile, 0o644, text)
	// What the base archive has already need not travel twice, and folders
	// must not change their permissions.
	for p := range t {
		if base, ok := im.tree[p]; ok && (base.mode&^0o7777 == cpioDir || t[p].source != "" && base.source == t[p].source) {
			delete(t, p)
		}
	}
	return t, nil
}

// sameWriter is exec.Cmd's rule: writers that cannot be compared differ.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a != nil && a == b
}

// addProgram adds the job's program and returns its guest path.
func (im *Image) addProgram(t tree, col *collector, j Job) (string, error) {
	host := j.Path
	if !strings.Contains(host, "/") {
		for _, dir := range strings.Split(guestPath, ":") {
			at := im.place(path.Join(dir, host))
			if _, ok := im.tree[at]; ok {
				return path.Join(dir, host), nil
			}
		}
		found := openLibraryRoot("/").findProgram(host)
		if found == "" {
			return "", &MissingError{Where: "the guest and the host", Items: []Missing{{Thing: "program " + host}}}
		}
		host = found
	}
	host, err := filepath.Abs(host)
	if err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	at := im.place(host)
	if e, ok := im.tree[at]; ok && e.source == host {
		return at, nil
	}
	if err := t.putFile(at, host); err != nil {
		return "", err
	}
	if t[at].mode&0o111 == 0 {
		return "", fmt.Errorf("lab: %s is not executable", host)
	}
	col.addForeign(host, at)
	return at, nil
}

// guestPath is the guest's PATH.
const guestPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + busyboxDir

func (im *Image) environment(j Job) []string {
	env := j.Env
	set := map[string]bool{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		set[name] = true
	}
	defaults := [][2]string{
		{"PATH", guestPath}, {"HOME", "/root"}, {"TMPDIR", "/tmp"}, {"TERM", "dumb"},
		{"GOFABRIC_LAB", im.cfg.Kernel}, {"GOFABRIC_LAB_USERLAND", im.cfg.Userland},
		// A race-enabled program otherwise sleeps a second at its end.
		{"GORACE", "atexit_sleep_ms=0"},
	}
	if j.end != nil {
		defaults = append(defaults, [2]string{"GOFABRIC_LAB_PEER", j.end.Peer})
	}
	for _, d := range defaults {
		if !set[d[0]] {
			env = append(env, d[0]+"="+d[1])
		}
	}
	return env
}
