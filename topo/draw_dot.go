package topo

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// DOT writes the drawing of SVG as a graph for Graphviz: clusters are NUMA nodes,
// edges are links with generation, width and rate, red where they are degraded;
// NVLinks are dashed.
func (s *System) DOT(w io.Writer) error {
	b := bufio.NewWriter(w)
	pic := newPicture(s)
	b.WriteString("graph topology {\n")
	fmt.Fprintf(b, "  label=%s;\n  labelloc=t;\n  rankdir=LR;\n  fontname=\"sans-serif\";\n", dotText(pic.title, pic.subtitle))
	b.WriteString("  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=11];\n")
	b.WriteString("  edge [fontname=\"sans-serif\", fontsize=9, color=\"#777777\"];\n")
	for i, c := range pic.columns {
		fmt.Fprintf(b, "  subgraph cluster_%d {\n    label=%s;\n    style=rounded;\n    color=\"#bbbbbb\";\n", i, dotText(c.title, c.lines...))
		if len(c.boxes) == 0 {
			fmt.Fprintf(b, "    empty_%d [label=\"no GPU and no HCA here\", shape=plaintext, style=\"\"];\n", i)
		}
		for _, box := range c.boxes {
			dotBox(b, box, nil)
		}
		b.WriteString("  }\n")
	}
	for i, line := range pic.empty {
		fmt.Fprintf(b, "  aside_%d [label=%s, shape=plaintext, style=\"\"];\n", i, dotText(line))
	}
	dotFabric(b, pic, s.GPUs)
	b.WriteString("}\n")
	return b.Flush()
}

func dotBox(b *bufio.Writer, x, above *box) {
	colours := svgColours[x.kind]
	var lines []string
	border := colours[1]
	for _, l := range x.lines {
		lines = append(lines, l.text)
		if l.bad {
			border = svgBad
		}
	}
	if above == nil && x.link != "" {
		lines = append(lines, x.link)
	}
	if x.bad {
		border = svgBad
	}
	fmt.Fprintf(b, "    %s [label=%s, fillcolor=\"%s\", color=\"%s\"];\n", dotID(x), dotText(x.title, lines...), colours[0], border)
	if above != nil {
		attrs := ""
		if x.bad {
			attrs = fmt.Sprintf(", color=\"%s\", fontcolor=\"%s\", penwidth=2", svgBad, svgBad)
		}
		fmt.Fprintf(b, "    %s -- %s [label=%s%s];\n", dotID(above), dotID(x), dotText(x.link), attrs)
	}
	for _, c := range x.children {
		dotBox(b, c, x)
	}
}

// dotFabric draws NVLinks: through one node where all GPUs share the same number,
// between the pairs otherwise.
func dotFabric(b *bufio.Writer, pic *picture, gpus []*GPU) {
	const style = "style=dashed, color=\"#5a8f1e\", fontcolor=\"#3d6412\""
	if _, ok := pic.fabric.all.NVLinks(); ok && len(gpus) > 2 {
		b.WriteString("  \"nvlink\" [label=\"NVLink\", shape=ellipse, fillcolor=\"#f3faea\", color=\"#5a8f1e\"];\n")
		for _, g := range gpus {
			fmt.Fprintf(b, "  %s -- \"nvlink\" [label=%s, %s];\n", dotQuote("gpu "+g.Label()), dotText(pic.fabric.all.String()), style)
		}
		return
	}
	for _, p := range pic.fabric.pairs {
		fmt.Fprintf(b, "  %s -- %s [label=%s, %s, constraint=false];\n", dotQuote("gpu "+p.a), dotQuote("gpu "+p.b), dotText(p.path.String()), style)
	}
}

func dotID(x *box) string { return dotQuote(string(x.kind) + " " + x.id) }

// dotText is a label of several lines.
func dotText(first string, lines ...string) string {
	all := []string{first}
	for _, l := range lines {
		if l != "" {
			all = append(all, l)
		}
	}
	return dotQuote(strings.Join(all, "\n"))
}

var dotEscaper = strings.NewReplacer("\\", "\\\\", "\"", "\\\"", "\n", "\\n", "\r", " ", "\x00", "")

func dotQuote(text string) string { return "\"" + dotEscaper.Replace(text) + "\"" }
