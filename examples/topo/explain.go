package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

// explain writes what belongs to a device, the best first, each with its reasons.
func explain(w io.Writer, s *topo.System, name string) error {
	e, err := s.Find(name)
	if err != nil {
		return err
	}
	switch d := e.(type) {
	case *topo.GPU:
		fmt.Fprintf(w, "%s%s\n", d.Label(), words(" at ", string(d.PCI))+words(", ", d.Name)+words(", ", linkOf(s, d.PCI)))
		explainPlace(w, s, e)
		explainChoices(w, s, d, "RDMA devices", s.HCAsFor(d))
	case *topo.HCA:
		addresses := make([]string, len(d.PCI))
		for i, a := range d.PCI {
			addresses[i] = string(a)
		}
		at := words(" at ", strings.Join(addresses, " and "))
		if d.Parent != "" {
			at += " on " + d.Parent
		}
		if len(d.PCI) > 0 {
			at += words(", ", linkOf(s, d.PCI[0]))
		}
		fmt.Fprintf(w, "%s%s\n", d.Name, words(" ", string(d.Kind))+at)
		explainPlace(w, s, e)
		for _, p := range d.Ports {
			fmt.Fprintf(w, "Port %d: %s\n", p.Number, portText(p))
		}
		explainChoices(w, s, d, "GPUs", s.GPUsFor(d))
	default:
		fmt.Fprintln(w, e.Label())
		explainPlace(w, s, e)
		explainPaths(w, s, e)
	}
	return nil
}

func words(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

func linkOf(s *topo.System, a topo.Address) string {
	d, ok := s.Device(a)
	if !ok || d.Link.Width == 0 || d.Link.Speed == 0 {
		return ""
	}
	text := fmt.Sprintf("PCIe x%d at %g GT/s", d.Link.Width, d.Link.Speed)
	if rate, ok := d.Link.GBps(); ok {
		text += fmt.Sprintf(" (%.1f GB/s)", rate)
	}
	return text
}

func portText(p topo.Port) string {
	parts := []string{string(p.State)}
	if p.State == "" {
		parts[0] = "state not known"
	}
	if p.RateGbps > 0 {
		parts = append(parts, fmt.Sprintf("%g Gb/s", p.RateGbps))
	}
	if p.LinkLayer != "" {
		parts = append(parts, string(p.LinkLayer))
	}
	return strings.Join(append(parts, p.Netdevs...), ", ")
}

func explainPlace(w io.Writer, s *topo.System, e topo.Endpoint) {
	a := s.CPUsFor(e)
	fmt.Fprintf(w, "Threads and buffers: %s\n", affinityText(a))
	fmt.Fprintf(w, "  %s\n", a.Explain())
}

func affinityText(a topo.Affinity) string {
	switch {
	case a.Node == nil && a.CPUs == nil:
		return "not known"
	case a.Node == nil:
		return "CPUs " + a.CPUs.String()
	case a.CPUs == nil:
		return fmt.Sprintf("node %d", *a.Node)
	}
	return fmt.Sprintf("node %d, CPUs %s", *a.Node, a.CPUs)
}

// explainChoices marks the best with a star: several are a tie.
func explainChoices(w io.Writer, s *topo.System, e topo.Endpoint, what string, choices []topo.Choice) {
	if len(choices) == 0 {
		fmt.Fprintf(w, "\n%s for %s: none is seen.\n", what, e.Label())
		return
	}
	fmt.Fprintf(w, "\n%s for %s, the best first (* is best, several are equal):\n", what, e.Label())
	for _, c := range choices {
		mark := " "
		if c.Best {
			mark = "*"
		}
		line := fmt.Sprintf("%s %-10s %s, for NCCL %s", mark, c.Device.Label(), c.Path, c.NCCLPath)
		if c.RateGbps > 0 {
			line += fmt.Sprintf(", %g Gb/s", c.RateGbps)
		}
		fmt.Fprintf(w, "%s\n    %s\n", line, c.Explain())
	}
}

// explainPaths is for what is neither a GPU nor an RDMA device.
func explainPaths(w io.Writer, s *topo.System, e topo.Endpoint) {
	var others []topo.Endpoint
	for _, g := range s.GPUs {
		others = append(others, g)
	}
	for _, h := range s.HCAs {
		others = append(others, h)
	}
	if len(others) > 0 {
		fmt.Fprintln(w, "\nPaths:")
	}
	for _, other := range others {
		path, why := s.Path(e, other)
		fmt.Fprintf(w, "  %-10s %-5s %s\n", other.Label(), path, why)
	}
}
