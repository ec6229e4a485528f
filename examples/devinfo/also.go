package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/verbs"
)

// also prints what the C tools hide. What is not known is left out, or says why.
func (o options) also(w io.Writer, d verbs.DeviceInfo, s *topo.System) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "\t\t%-12s %s\n", name+":", text)
		}
	}
	fmt.Fprintln(w, "\talso:")
	h, ok := s.HCA(d.Name)
	if ok {
		var places []string
		for _, a := range h.PCI {
			places = append(places, string(a)+linkText(s, a))
		}
		line("kind", string(h.Kind))
		line("pci", strings.Join(places, "; "))
		if node, known := h.NUMA.Known(); known {
			line("numa_node", fmt.Sprintf("%d (%s)", node, h.NUMA.From))
		} else {
			line("numa_node", "not known: "+h.NUMA.From)
		}
	}
	if d.Uverbs != "" {
		file := "/dev/infiniband/" + d.Uverbs
		if ok && h.UverbsPresent != nil && !*h.UverbsPresent {
			file += " (missing here)"
		}
		line("device_file", file)
	}
	for _, p := range d.Ports {
		if o.port != 0 && p.Number != o.port {
			continue
		}
		line(fmt.Sprintf("port %d", p.Number), portText(p))
	}
}

func linkText(s *topo.System, a topo.Address) string {
	d, ok := s.Device(a)
	if !ok || d.Link.Width == 0 || d.Link.Speed == 0 {
		return ""
	}
	text := fmt.Sprintf(", x%d at %g GT/s", d.Link.Width, d.Link.Speed)
	if rate, ok := d.Link.GBps(); ok {
		text += fmt.Sprintf(" (%.1f GB/s)", rate)
	}
	if d.Link.MaxWidth > d.Link.Width || d.Link.MaxSpeed > d.Link.Speed {
		text += fmt.Sprintf(" of x%d at %g", d.Link.MaxWidth, d.Link.MaxSpeed)
	}
	return text
}

func portText(p verbs.PortInfo) string {
	var words []string
	switch {
	case p.Netdev != "":
		words = append(words, "interface "+p.Netdev)
	case p.LinkLayer == verbs.LinkLayerEthernet:
		words = append(words, "interface not seen here")
	}
	if p.Rate.Gbps > 0 {
		words = append(words, fmt.Sprintf("%g Gb/s = %g GB/s", p.Rate.Gbps, p.Rate.Gbps/8))
	}
	if p.LinkLayer == verbs.LinkLayerEthernet {
		words = append(words, gidKinds(p))
		if choice, err := verbs.ChooseGID(p); err == nil {
			words = append(words, fmt.Sprintf("connections use GID %d (%s)", choice.Index, choice.Reason))
		}
	}
	return strings.Join(words, "; ")
}

// gidKinds counts the GIDs by what they are good for.
func gidKinds(p verbs.PortInfo) string {
	count := map[string]int{}
	for _, g := range p.GIDs {
		kind := "RoCE v1"
		if g.Type == verbs.GIDTypeRoCEv2 {
			kind = "RoCE v2"
			if g.GID.IsLinkLocal() {
				kind += " link-local"
			}
		}
		count[kind]++
	}
	var words []string
	for _, kind := range []string{"RoCE v2", "RoCE v2 link-local", "RoCE v1"} {
		if count[kind] > 0 {
			words = append(words, fmt.Sprintf("%d %s", count[kind], kind))
		}
	}
	if len(words) == 0 {
		return "no GID"
	}
	return "GIDs: " + strings.Join(words, ", ")
}
