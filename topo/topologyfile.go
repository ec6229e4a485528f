package topo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// virtualTopology is where NVIDIA's daemon writes the topology of a virtual
// machine; NCCL reads it there too.
const virtualTopology = "var/run/nvidia-topologyd/virtualTopology.xml"

// topologyFile completes a virtual machine without switches from a file in NCCL's
// XML. A file that is named and missing, or damaged, is a warning.
func (r *reading) topologyFile(name string) error {
	named := name != ""
	if !named {
		name = virtualTopology
	}
	if err := r.sys.index(); err != nil {
		return err
	}
	r.sys.classifyBridges()
	if !r.sys.flat() {
		return nil
	}
	told, err := r.readTopology(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
	case err != nil:
		r.note(fmt.Errorf("topology file: %w", err))
	default:
		r.sys.complete(told)
		r.sys.Host.TopologyFile = name
	}
	return nil
}

func (r *reading) readTopology(name string) (*System, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxInput))
	if err != nil {
		return nil, err
	}
	told, err := parseNCCL(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return told, told.index()
}

// complete takes the places of devices from a description of the same machine:
// the switches above them, and NUMA nodes where the machine tells none.
func (s *System) complete(told *System) {
	for _, d := range s.PCI {
		t, ok := told.Device(d.Address)
		if !ok {
			continue
		}
		d.Parent, d.Root, d.Placed = t.Parent, "", true
		if d.StatedNode == nil {
			d.StatedNode = t.StatedNode
		}
		for _, b := range told.bridgesAbove(d.Address) {
			if _, listed := s.devices[b.Address]; !listed {
				s.PCI = append(s.PCI, b)
				s.devices[b.Address] = b
			}
		}
	}
	if len(s.Nodes) == 0 {
		s.Nodes = told.Nodes
	}
}
