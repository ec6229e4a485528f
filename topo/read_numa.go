package topo

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	sysNodes = "sys/devices/system/node"
	sysCPUs  = "sys/devices/system/cpu"
)

// nodes reads the NUMA nodes that are online. Which numbers they have says
// nothing: POWER9 has 0, 8 and 250 to 255.
func (r *reading) nodes() {
	r.sys.Host.OnlineCPUs = r.cpus(path.Join(sysCPUs, "online"))
	// The kernel's node lists have the form of its CPU lists.
	online := r.cpus(path.Join(sysNodes, "online"))
	var ids []int
	for _, name := range r.names(sysNodes) {
		digits, ok := strings.CutPrefix(name, "node")
		if id, err := strconv.Atoi(digits); ok && err == nil && id >= 0 && r.IsDir(path.Join(sysNodes, name)) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		r.sys.Nodes = append(r.sys.Nodes, r.node(id, online == nil || online.Contains(id)))
	}
	r.distances(online)
}

func (r *reading) node(id int, online bool) *NUMANode {
	dir := path.Join(sysNodes, fmt.Sprintf("node%d", id))
	n := &NUMANode{ID: id, Online: online}
	n.Mask = r.text(path.Join(dir, "cpumap"))
	cpus := r.cpus(path.Join(dir, "cpulist"))
	if cpus != nil {
		n.CPUs, n.CPUsKnown = cpus, true
	}
	if n.Mask != "" {
		mask, short, err := ParseCPUMask(n.Mask)
		switch {
		case err != nil:
			r.note(fmt.Errorf("%s/cpumap: %w", dir, err))
		case cpus == nil:
			n.CPUs, n.CPUsKnown = mask, true
		case !slices.Equal(mask, cpus):
			r.sys.warn(WarnConflictingMask, fmt.Sprintf("node%d", id),
				"Its CPUs are %s as a list and %s as a mask; the list is believed.", cpus, mask)
		}
		if short {
			r.sys.warn(WarnTruncatedMask, fmt.Sprintf("node%d", id), "A word of the mask %s lost digits.", n.Mask)
		}
	}
	if size, ok := r.memTotal(path.Join(dir, "meminfo")); ok {
		n.Memory = &size
	}
	return n
}

// memTotal reads "Node 0 MemTotal:  1056440128 kB".
func (r *reading) memTotal(name string) (uint64, bool) {
	for line := range strings.Lines(r.text(name)) {
		_, rest, ok := strings.Cut(line, "MemTotal:")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 2 && fields[1] == "kB" {
			kb, err := strconv.ParseUint(fields[0], 10, 53)
			return kb << 10, err == nil
		}
	}
	return 0, false
}

// distances reads each node's row. A row has one column for each node online, in
// the order of their numbers.
func (r *reading) distances(online CPUSet) {
	columns := []int(online)
	if columns == nil {
		for _, n := range r.sys.Nodes {
			columns = append(columns, n.ID)
		}
	}
	for _, n := range r.sys.Nodes {
		name := path.Join(sysNodes, fmt.Sprintf("node%d", n.ID), "distance")
		words := strings.Fields(r.text(name))
		if len(words) == 0 {
			continue
		}
		if len(words) != len(columns) {
			r.note(fmt.Errorf("%s: %d distances for %d nodes", name, len(words), len(columns)))
			continue
		}
		row := map[int]int{}
		for i, w := range words {
			d, err := strconv.ParseUint(w, 10, 16)
			if err != nil {
				r.note(fmt.Errorf("%s: %q is no distance", name, clip(w)))
				row = nil
				break
			}
			row[columns[i]] = int(d)
		}
		n.Distances = row
	}
}
