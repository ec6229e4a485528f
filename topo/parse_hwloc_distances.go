package topo

import (
	"strconv"
	"strings"
)

// hwlocMatrix reads what stands in a <distances2>: the objects and the values
// between them, row by row.
func hwlocMatrix(e *element) (objects []string, values []uint64, err error) {
	for _, c := range e.children {
		switch c.name {
		case "indexes":
			objects = append(objects, strings.Fields(c.text)...)
		case "u64values":
			for _, field := range strings.Fields(c.text) {
				v, err := strconv.ParseUint(field, 10, 64)
				if err != nil {
					return nil, nil, c.errorf("%q is not a number", clip(field))
				}
				values = append(values, v)
			}
		}
	}
	if len(values) != len(objects)*len(objects) {
		return nil, nil, e.errorf("%d values for %d objects: want one for each pair", len(values), len(objects))
	}
	return objects, values, nil
}

// latencies reads the distances between NUMA nodes.
func (r *hwlocReader) latencies(e *element) error {
	objects, values, err := hwlocMatrix(e)
	if err != nil {
		return err
	}
	if indexing, ok := e.attr("indexing"); ok && indexing != "os" {
		return nil // by hwloc's own numbers, which say nothing outside it
	}
	ids := make([]int, len(objects))
	for i, o := range objects {
		if ids[i], err = strconv.Atoi(o); err != nil {
			return e.errorf("%q is not the number of a NUMA node", clip(o))
		}
	}
	for i, from := range ids {
		for _, n := range r.s.Nodes {
			if n.ID != from {
				continue
			}
			n.Distances = make(map[int]int, len(ids))
			for j, to := range ids {
				n.Distances[to] = int(min(values[i*len(ids)+j], 1<<20))
			}
		}
	}
	return nil
}

// nvlinks reads the bandwidth that hwloc had from NVML: 20000 MB/s for each
// NVLink of version 1, 25000 for each later one.
func (r *hwlocReader) nvlinks(e *element) error {
	objects, values, err := hwlocMatrix(e)
	if err != nil {
		return err
	}
	gpus := make(map[Address]*GPU)
	for _, g := range r.s.GPUs {
		gpus[g.PCI] = g
	}
	kind, _ := e.attr("type")
	place := func(o string) Address {
		if !strings.Contains(o, ":") {
			o = kind + ":" + o
		}
		return r.gp[o]
	}
	for i, from := range objects {
		g := gpus[place(from)]
		for j, to := range objects {
			address := place(to)
			value := values[i*len(objects)+j]
			// The diagonal holds a made-up value.
			if g == nil || address == "" || address == g.PCI || value == 0 {
				continue
			}
			link := NVLink{Peer: PeerSwitch, Address: address, Count: nvlinkCount(value)}
			if gpus[address] != nil {
				link.Peer = PeerGPU
			}
			if link.Count > 0 {
				g.NVLinks = append(g.NVLinks, link)
			}
		}
	}
	return nil
}

func nvlinkCount(mbps uint64) int {
	switch {
	case mbps > 1<<24:
		return 0
	case mbps%25000 == 0:
		return int(mbps / 25000)
	case mbps%20000 == 0:
		return int(mbps / 20000)
	}
	return 0
}
