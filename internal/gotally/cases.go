package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// printCases prints which subtest of the tests that begin with prefix ended how
// in each part.
func printCases(out io.Writer, parts []part, prefix string) {
	ends := map[string]map[int]string{} // by subtest and part
	var names []string
	for i, p := range parts {
		for test, end := range p.Cases {
			parent, name, _ := strings.Cut(test, "/")
			if !strings.HasPrefix(parent, prefix) {
				continue
			}
			if ends[name] == nil {
				ends[name] = map[int]string{}
				names = append(names, name)
			}
			ends[name][i] = end
		}
	}
	slices.Sort(names)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\ncase")
	for _, p := range parts {
		fmt.Fprint(table, "\t", p.Name)
	}
	fmt.Fprintln(table)
	for _, name := range names {
		fmt.Fprint(table, name)
		for i := range parts {
			fmt.Fprint(table, "\t", shortEnd(ends[name][i]))
		}
		fmt.Fprintln(table)
	}
	table.Flush()
}

// shortEnd makes what is not a pass stand out.
func shortEnd(action string) string {
	switch action {
	case "pass":
		return "ok"
	case "":
		return "-" // it was not run
	}
	return strings.ToUpper(action)
}
