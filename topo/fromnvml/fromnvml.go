// Package fromnvml gives package topo what NVML knows about the GPUs: NVLinks,
// order, affinities, MIG slices. It joins topo and nvml, neither of which imports
// the other, and pulls in no NVML itself: the caller brings the source.
//
//	library, err := nvmllib.Open(nvmllib.Options{})
//	if err != nil {
//		return err
//	}
//	defer library.Close()
//	s, err := topo.Live(topo.ReadOptions{GPUs: fromnvml.Source(library)})
package fromnvml

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
)

// Source makes a topo.GPUSource of an nvml.Source. It returns what could be read
// beside an error that joins what could not, as nvml's sources do. It is safe for
// concurrent use. Of nil it makes nil, with which topo reads without NVML.
func Source(s nvml.Source) topo.GPUSource {
	if s == nil {
		return nil
	}
	return source{s}
}

type source struct{ nvml nvml.Source }

// GPUFacts implements topo.GPUSource.
func (s source) GPUFacts() (topo.GPUFacts, error) {
	gpus, err := s.nvml.GPUs()
	problems := []error{err}
	var facts topo.GPUFacts
	for i, g := range gpus {
		links, err := s.nvml.Links(g.UUID)
		problems = append(problems, err)
		fact, err := factOf(g, bundles(links, gpus))
		problems = append(problems, err)
		facts.GPUs = append(facts.GPUs, fact)
		for _, other := range gpus[i+1:] {
			pair, err := s.nvml.Pair(g.UUID, other.UUID)
			problems = append(problems, err)
			if pair.Ancestor == nil {
				continue
			}
			path, err := topo.PathFromNVML(int(*pair.Ancestor))
			problems = append(problems, err)
			if err == nil {
				facts.Pairs = append(facts.Pairs, topo.StatedPath{A: label(g), B: label(other), Path: path, By: "NVML"})
			}
		}
	}
	return facts, errors.Join(problems...)
}

func label(g nvml.GPU) string { return (&topo.GPU{Index: g.Index}).Label() }

func factOf(g nvml.GPU, links []topo.NVLink) (topo.GPUFact, error) {
	f := topo.GPUFact{
		Index: g.Index, UUID: g.UUID, Name: g.Name,
		CPUs: topo.CPUSet(g.CPUs), MemoryNode: g.MemoryNode, NVLinks: links, Minor: g.Minor,
	}
	if node, ok := g.NUMANode(); ok {
		f.Node = &node
	}
	if g.C2CLinks != nil {
		f.C2CLinks = *g.C2CLinks
	}
	if c := g.ComputeCapability; c != nil {
		f.ComputeCapability = c[0]*10 + c[1]
	}
	if g.MIG != nil {
		for _, d := range g.MIG.Devices {
			f.MIG = append(f.MIG, topo.MIG{UUID: d.UUID, Name: d.Name})
		}
	}
	if g.PCIAddress == "" {
		return f, nil
	}
	address, err := topo.ParseAddress(g.PCIAddress)
	if err != nil {
		return f, fmt.Errorf("%s: %w", label(g), err)
	}
	f.PCI = address
	return f, nil
}

// bundles adds up the active links by what they end at. A peer of unknown type at
// a GPU's address is that GPU.
func bundles(links []nvml.Link, gpus []nvml.GPU) []topo.NVLink {
	var out []topo.NVLink
	for _, l := range links {
		if !l.Up() {
			continue
		}
		b := topo.NVLink{Peer: peers[l.PeerType], Count: 1}
		if b.Peer == topo.PeerUnknown && l.Peer != "" && slices.ContainsFunc(gpus, func(g nvml.GPU) bool { return g.PCIAddress == l.Peer }) {
			b.Peer = topo.PeerGPU
		}
		if a, err := topo.ParseAddress(l.Peer); err == nil && l.Peer != "" {
			b.Address = a
		}
		if l.Version != nil {
			b.Version = major(*l.Version)
		}
		at := slices.IndexFunc(out, func(o topo.NVLink) bool { return o.Peer == b.Peer && o.Address == b.Address })
		if at >= 0 {
			out[at].Count++
			continue
		}
		out = append(out, b)
	}
	return out
}

var peers = map[nvml.PeerType]topo.LinkPeer{
	nvml.PeerGPU: topo.PeerGPU, nvml.PeerSwitch: topo.PeerSwitch, nvml.PeerNPU: topo.PeerCPU,
}

// major is 4 for NVLink 4.0, and 0 for a version that nvml has no name for.
func major(v nvml.LinkVersion) int {
	text, _, _ := strings.Cut(v.String(), ".")
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}
