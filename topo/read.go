package topo

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// ReadOptions say how a machine is read. The zero value reads its files only.
type ReadOptions struct {
	// GPUs gives what NVML knows; nil reads without it.
	GPUs GPUSource
	// TopologyFile is a file in NCCL's XML, as a path below the root, that a
	// virtual machine without PCIe switches is completed from. "" takes
	// var/run/nvidia-topologyd/virtualTopology.xml where it is there. A machine
	// that shows its own switches does not need the file and is not changed.
	TopologyFile string
}

// Read reads a machine from its files. The root holds "sys", and what there is of
// "proc" and "dev"; it shows symbolic links if it has the methods of the standard
// library's fs.ReadLinkFS, as os.DirFS("/") has, and is read with less precision
// without them. Nothing needs to be there: a machine without PCI, RDMA or GPUs is
// a System without them. A file that cannot be read costs its own value and a
// warning. The error is an *InvalidError, for files that contradict each other.
func Read(fsys fs.FS, opts ReadOptions) (*System, error) {
	s, err := readUnfinished(fsys, opts)
	if err != nil {
		return nil, err
	}
	if err := s.Finish(); err != nil {
		return nil, err
	}
	return s, nil
}

func readUnfinished(fsys fs.FS, opts ReadOptions) (*System, error) {
	if fsys == nil {
		return nil, fmt.Errorf("reading a machine: the root is nil: pass os.DirFS(\"/\"), or call Live: %w", fs.ErrInvalid)
	}
	r := &reading{Reader: sysfs.NewReader(fsys), fsys: fsys, sys: &System{Source: "sysfs"}, sets: map[string]CPUSet{}}
	r.host()
	r.nodes()
	r.pci()
	r.gpus()
	r.netdevs()
	r.hcas()
	r.linkNetdevs()
	r.addFacts(opts.GPUs)
	r.deviceFiles()
	if err := r.topologyFile(opts.TopologyFile); err != nil {
		return nil, err
	}
	return r.sys, nil
}

// reading reads one machine. Its methods fill sys.
type reading struct {
	sysfs.Reader
	fsys fs.FS
	sys  *System
	dirs map[Address]string // of each PCI function in the tree

	conflicts []conflict
	sets      map[string]CPUSet // lists by their text: most devices share one
}

// note keeps an error as a warning: a bad file must not lose the others.
func (r *reading) note(err error) {
	if err == nil {
		return
	}
	var pe *fs.PathError
	device := ""
	if errors.As(err, &pe) {
		device = pe.Path
	}
	r.sys.warn(WarnUnreadable, device, "%v.", err)
}

func (r *reading) text(name string) string {
	s, _, err := r.String(name)
	r.note(err)
	return s
}

// number reads a decimal, and answers false for an absent or a damaged one.
func (r *reading) number(name string) (int, bool) {
	n, ok, err := r.Int(name)
	r.note(err)
	return n, ok && err == nil
}

func (r *reading) hex(name string) uint64 {
	n, _, err := r.Hex(name)
	r.note(err)
	return n
}

// names lists a directory. Where an entry's name alone says something, the entry
// is looked at too (there, IsDir): a capture keeps what was looked at.
func (r *reading) names(dir string) []string {
	names, _, err := r.Names(dir)
	r.note(err)
	return names
}

// link returns the text of a symbolic link, "" where there is none or links are
// not shown.
func (r *reading) link(name string) string {
	fsys, ok := r.fsys.(sysfs.FS)
	if !ok {
		return ""
	}
	target, err := fsys.ReadLink(name)
	if err != nil {
		return ""
	}
	return target
}

// there reports whether something is at a path, without opening it where links
// are shown: to open a device's file is to use the device.
func (r *reading) there(name string) bool {
	_, err := r.RealPath(name)
	if errors.Is(err, errors.ErrUnsupported) {
		return r.Exists(name)
	}
	return err == nil
}

// cpus reads a CPU list.
func (r *reading) cpus(name string) CPUSet {
	text, ok, err := r.String(name)
	r.note(err)
	if !ok {
		return nil
	}
	if set, known := r.sets[text]; known {
		return set
	}
	set, err := ParseCPUList(text)
	if err != nil {
		r.note(fmt.Errorf("%s: %w", name, err))
		return nil
	}
	r.sets[text] = set
	return set
}

// functionOf returns the PCI function that a device's directory lies in: the last
// address on its real path. Where links are not shown, its uevent file names it.
func (r *reading) functionOf(device string) Address {
	real, err := r.RealPath(device)
	if err == nil {
		for p := real; p != "." && p != "/"; p = path.Dir(p) {
			if a, ok := canonical(path.Base(p)); ok {
				return a
			}
		}
		return ""
	}
	if !errors.Is(err, errors.ErrUnsupported) && !sysfs.Absent(err) {
		r.note(err)
	}
	text, _, _ := r.String(device + "/uevent")
	for _, word := range strings.Fields(text) {
		if slot, ok := strings.CutPrefix(word, "PCI_SLOT_NAME="); ok {
			if a, ok := canonical(slot); ok {
				return a
			}
		}
	}
	return ""
}

// canonical accepts an address exactly as the kernel names a directory.
func canonical(name string) (Address, bool) {
	a, err := ParseAddress(name)
	return a, err == nil && string(a) == name
}
