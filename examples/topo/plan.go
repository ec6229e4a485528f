package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gofabric/gofabric/topo"
)

func printPlan(w io.Writer, s *topo.System, ranks int) error {
	p, err := s.Plan(ranks)
	if err != nil {
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "RANK\tGPU\tRDMA DEVICES\tNODE\tCPUS")
	for _, r := range p.Ranks {
		gpu, node := "-", "-"
		if r.GPU != nil {
			gpu = r.GPU.Label()
		}
		if r.Node != nil {
			node = fmt.Sprint(*r.Node)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", r.Rank, gpu, orDash(hcaNames(r)), node, orDash(r.CPUs.String()))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, r := range p.Ranks {
		fmt.Fprintln(w, r.Explain())
	}
	return nil
}

func hcaNames(r topo.RankPlan) string {
	names := make([]string, len(r.HCAs))
	for i, h := range r.HCAs {
		names[i] = h.Name
	}
	return strings.Join(names, ",")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// printNCCLEnv writes lines for a shell: reasons are comments.
func printNCCLEnv(w io.Writer, s *topo.System) {
	for _, v := range s.NCCLEnv() {
		reason := strings.ReplaceAll(v.Reason, "\n", " ")
		if v.Set {
			fmt.Fprintf(w, "# %s\nexport %s=%s\n", reason, v.Name, shellQuote(v.Value))
		} else {
			fmt.Fprintf(w, "# %s is left alone: %s\n", v.Name, reason)
		}
	}
}

const shellSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/=^+@%"

// shellQuote writes a word as a shell reads it back.
func shellQuote(word string) string {
	if word != "" && strings.Trim(word, shellSafe) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
