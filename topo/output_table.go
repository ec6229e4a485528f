package topo

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Table writes the machine as people read it: NUMA nodes, GPUs and RDMA devices
// with their places, links and ports, then the warnings. What is not known is a
// dash.
func (s *System) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tCPUS\tMEMORY")
	for _, n := range s.Nodes {
		fmt.Fprintf(t, "%d\t%s\t%s\n", n.ID, nodeCPUs(n), memoryText(n))
	}
	if len(s.GPUs) > 0 {
		fmt.Fprintln(t, "\nGPU\tPCI\tNODE\tLINK\tNVLINKS\tNEAREST HCAS\tNAME")
		for _, g := range s.GPUs {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", g.Label(), dash(string(g.PCI)), dash(numaWord(g.NUMA)),
				dash(s.linkText(g.PCI)), dash(nvlinkWord(g)), dash(s.nearestText(g)), dash(g.Name))
		}
	}
	if len(s.HCAs) > 0 {
		fmt.Fprintln(t, "\nHCA\tKIND\tPCI\tNODE\tLINK\tPORTS\tINTERFACES")
		for _, h := range s.HCAs {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", h.Name, dash(string(h.Kind)), dash(joinAddresses(h.PCI)), dash(numaWord(h.NUMA)),
				dash(s.linkText(firstAddress(h.PCI))), dash(portsText(h)), dash(interfacesText(h)))
		}
	}
	if len(s.Warnings) > 0 {
		fmt.Fprintln(t)
	}
	for _, x := range s.Warnings {
		subject := ""
		if x.Device != "" {
			subject = x.Device + ": "
		}
		fmt.Fprintf(t, "warning: %s%s\n", subject, x.Text)
	}
	return t.Flush()
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func nodeCPUs(n *NUMANode) string {
	switch {
	case n.MemoryOnly():
		return "none: memory only"
	case !n.CPUsKnown:
		return "-"
	}
	return n.CPUs.String()
}

func memoryText(n *NUMANode) string {
	if n.Memory == nil {
		return "-"
	}
	return strconv.FormatFloat(float64(*n.Memory)/(1<<30), 'f', 1, 64) + " GiB"
}

func numaWord(n NUMA) string {
	if id, ok := n.Known(); ok {
		return strconv.Itoa(id)
	}
	return ""
}

func firstAddress(list []Address) Address {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func joinAddresses(list []Address) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = string(a)
	}
	return strings.Join(words, "+")
}

// linkText writes the PCIe link of a function: "Gen4 x16 31.5 GB/s", and what it
// could be where that is more. "" is a link of which nothing is known.
func (s *System) linkText(a Address) string {
	d, ok := s.Device(a)
	if !ok {
		return ""
	}
	return widthAndSpeed(d.Link)
}

func widthAndSpeed(l Link) string {
	now := speedWords(l.Speed, l.Width)
	most := speedWords(l.MaxSpeed, l.MaxWidth)
	switch {
	case now == "":
		return most
	case most == "" || now == most:
		return now
	}
	return now + " (of " + most + ")"
}

func speedWords(speed float64, width int) string {
	var words []string
	if g, ok := Generation(speed); ok {
		words = append(words, "Gen"+strconv.Itoa(g))
	} else if speed > 0 {
		words = append(words, number(speed)+" GT/s")
	}
	if width > 0 {
		words = append(words, "x"+strconv.Itoa(width))
	}
	return strings.Join(words, " ")
}

func nvlinkWord(g *GPU) string {
	n := 0
	for _, l := range g.NVLinks {
		n += l.Count
	}
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func portsText(h *HCA) string {
	var words []string
	for _, p := range h.Ports {
		word := strconv.Itoa(p.Number) + ":"
		if p.State != "" {
			word += string(p.State)
		}
		if p.RateGbps > 0 {
			word += " " + number(p.RateGbps) + " Gb/s"
		}
		if p.LinkLayer != "" {
			word += " " + string(p.LinkLayer)
		}
		words = append(words, strings.Replace(word, ": ", ":", 1))
	}
	return strings.Join(words, ", ")
}

func interfacesText(h *HCA) string {
	var words []string
	for _, p := range h.Ports {
		words = append(words, p.Netdevs...)
	}
	return strings.Join(words, ", ")
}

// nearestText names the HCAs on the shortest path of a GPU.
func (s *System) nearestText(g *GPU) string {
	best := PathUnknown
	var names []string
	for _, h := range s.HCAs {
		if h.Management {
			continue
		}
		p, _ := s.Path(g, h)
		switch {
		case p == PathUnknown || best.Closer(p):
		case p == best:
			names = append(names, h.Name)
		default:
			best, names = p, []string{h.Name}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ",") + " " + best.String()
}
