package topo

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// limits is what a process may use at most, as its files say.
type limits struct{ fsys fs.FS }

// statusList reads a list of /proc/thread-self/status, nil where there is none.
func (l limits) statusList(key string) CPUSet {
	data, err := fs.ReadFile(l.fsys, "proc/thread-self/status")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			if set, err := ParseCPUList(strings.TrimSpace(value)); err == nil {
				return set
			}
		}
	}
	return nil
}

// cpuset finds the control group that limits this process, and its list: of "cpus"
// or "mems". A group without the controller has its parent's limit. "" is none.
func (l limits) cpuset(kind string) (file string, list CPUSet) {
	groups, err := fs.ReadFile(l.fsys, "proc/self/cgroup")
	if err != nil {
		return "", nil
	}
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		root, name := "sys/fs/cgroup", "cpuset."+kind+".effective"
		switch {
		case fields[1] == "cpuset":
			root, name = "sys/fs/cgroup/cpuset", "cpuset.effective_"+kind
		case fields[0] != "0" || fields[1] != "":
			continue
		}
		for dir := path.Clean("/" + fields[2]); ; dir = path.Dir(dir) {
			file := path.Join(root, dir, name)
			data, err := fs.ReadFile(l.fsys, file)
			if set, perr := ParseCPUList(strings.TrimSpace(string(data))); err == nil && perr == nil && len(set) > 0 {
				return "/" + file, set
			}
			if dir == "/" {
				break
			}
		}
	}
	return "", nil
}

var (
	errNotAllowedCPU  = errors.New("none of the CPUs may be used here")
	errNotAllowedNode = errors.New("the NUMA node may not be used here")
	errNothing        = errors.New("neither CPUs nor a NUMA node are known")
)

// cpuHint says why the kernel refuses CPUs.
func (l limits) cpuHint(want CPUSet) string {
	file, list := l.cpuset("cpus")
	if file == "" || len(want.Intersect(list)) > 0 {
		return ""
	}
	return fmt.Sprintf("the cpuset allows %s (%s): start the job or the container with CPUs of %s", list, file, want)
}

// nodeHint says why a node is refused that Mems_allowed_list leaves out.
func (l limits) nodeHint(node int, allowed CPUSet) string {
	file, list := l.cpuset("mems")
	if file == "" || list.Contains(node) {
		return fmt.Sprintf("Mems_allowed_list of /proc/self/status is %s: start the job or the container with node %d", allowed, node)
	}
	return fmt.Sprintf("the cpuset allows nodes %s (%s): start the job or the container with node %d", list, file, node)
}

// filtered reports whether a seccomp filter is on, as in containers.
func (l limits) filtered() bool {
	return l.statusList("Seccomp").Contains(2)
}

const filterHint = "a seccomp filter is on (Seccomp: 2 in /proc/self/status), as in containers: give it the capability SYS_NICE"
