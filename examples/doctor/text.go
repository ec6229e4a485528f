package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/topo/doctor"
)

// finding is what several devices have in common.
type finding struct {
	check   doctor.Check
	one     doctor.Finding
	devices []string
}

// fold puts together what one check says alike of several devices.
func fold(results []doctor.Result, o doctor.Outcome) []finding {
	var list []finding
	for _, res := range results {
		first := len(list)
	next:
		for _, f := range res.Findings {
			if f.Outcome != o {
				continue
			}
			for i := first; i < len(list); i++ {
				if list[i].one.Text == f.Text && list[i].one.Severity == f.Severity {
					list[i].devices = append(list[i].devices, f.Device)
					list[i].one.Evidence = append(list[i].one.Evidence, f.Evidence...)
					continue next
				}
			}
			f.Evidence = append([]doctor.Evidence(nil), f.Evidence...)
			list = append(list, finding{res.Check, f, []string{f.Device}})
		}
	}
	return list
}

// subject names the devices of a finding, not more than fit a line.
func (f finding) subject() string {
	const most = 4
	names := f.devices
	if len(names) == 1 && names[0] == "" {
		return ""
	}
	if len(names) > most+1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

func (f finding) sentence() string {
	if s := f.subject(); s != "" {
		return s + ": " + f.one.Text
	}
	return f.one.Text
}

func writeText(w io.Writer, r *doctor.Report, symptom string, verbose bool) error {
	var b bytes.Buffer
	counts := map[doctor.Severity]int{}
	for _, p := range r.Problems() {
		counts[p.Finding.Severity]++
	}
	name := r.Hostname
	if name == "" {
		name = r.Source
	}
	fmt.Fprintf(&b, "%s: %d critical, %d warning, %d info; %d of %d checks that apply have an answer\n", printable.Text(name),
		counts[doctor.Critical], counts[doctor.Warning], counts[doctor.Info], r.Count(doctor.Pass)+r.Count(doctor.Fail), len(r.Results)-r.Count(doctor.NotApplicable))
	if s, ok := doctor.FindSymptom(symptom); ok {
		fmt.Fprintf(&b, "Ordered for: %s.\n", s.Means)
	}
	problems := fold(r.Results, doctor.Fail)
	for _, severity := range []doctor.Severity{doctor.Critical, doctor.Warning, doctor.Info} {
		for _, f := range problems {
			if f.one.Severity == severity {
				writeProblem(&b, f, verbose)
			}
		}
	}
	switch {
	case r.Count(doctor.NotApplicable) == len(r.Results):
		b.WriteString("\nNothing was checked: no GPU and no RDMA device is seen here. Where there should be\n" +
			"some, their driver is not loaded, or the container was not given them.\n")
	case len(problems) == 0 && r.Count(doctor.Pass) == 0:
		b.WriteString("\nNothing could be judged: what was read does not tell enough.\n")
	case len(problems) == 0:
		b.WriteString("\nNothing wrong was found.\n")
	}
	writeList(&b, "Not known", fold(r.Results, doctor.Unknown))
	if verbose {
		writeList(&b, "Right", fold(r.Results, doctor.Pass))
		writeList(&b, "Not applicable", fold(r.Results, doctor.NotApplicable))
	} else {
		var right []string
		for _, res := range r.Results {
			if res.Outcome == doctor.Pass {
				right = append(right, res.Name)
			}
		}
		if len(right) > 0 {
			b.WriteString("\nRight: " + wrapped(strings.Join(right, ", "), 7) + "\n")
		}
		fmt.Fprintf(&b, "\n%d checks do not apply; -v shows all reasons.\n", r.Count(doctor.NotApplicable))
	}
	_, err := w.Write(b.Bytes())
	return err
}

func writeProblem(b *bytes.Buffer, f finding, verbose bool) {
	const most = 6
	fmt.Fprintf(b, "\n%s  %s  [%d %s]\n", strings.ToUpper(f.one.Severity.String()), wrapped(f.sentence(), 10), f.check.Number, f.check.Name)
	fmt.Fprintf(b, "  cause     %s\n", wrapped(f.one.Cause, 12))
	fmt.Fprintf(b, "  fix       %s\n", wrapped(f.one.Fix, 12))
	head := "evidence"
	for i, e := range f.one.Evidence {
		if i == most && !verbose {
			fmt.Fprintf(b, "  %-8s  and %d more; -v shows them\n", head, len(f.one.Evidence)-most)
			break
		}
		fmt.Fprintf(b, "  %-8s  %s: %s\n", head, place(e.Source), e.Value)
		head = ""
	}
}

// place writes a file below the root as people do.
func place(source string) string {
	for _, top := range []string{"sys/", "proc/", "dev/", "etc/", "var/"} {
		if strings.HasPrefix(source, top) {
			return "/" + source
		}
	}
	return source
}

func writeList(b *bytes.Buffer, title string, list []finding) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, f := range list {
		fmt.Fprintf(b, "  %-18s %s\n", f.check.Name, wrapped(f.sentence(), 21))
	}
}

// wrapped breaks a text into lines of a terminal's width, indented but the first.
func wrapped(text string, indent int) string {
	const width = 96
	var b strings.Builder
	column := indent
	for i, word := range strings.Fields(text) {
		if i > 0 {
			if column+1+len(word) > width {
				b.WriteString("\n" + strings.Repeat(" ", indent))
				column = indent
			} else {
				b.WriteByte(' ')
				column++
			}
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

func listChecks(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range doctor.Checks() {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\n", c.Number, c.Name, c.Severity, c.Asks)
	}
	return t.Flush()
}

// jsonReport is the form of --json.
type jsonReport struct {
	Schema  string         `json:"schema"`
	Symptom string         `json:"symptom,omitempty"`
	Summary map[string]int `json:"summary"`
	*doctor.Report
}

func document(r *doctor.Report, symptom string) jsonReport {
	d := jsonReport{Schema: "gofabric doctor 1", Symptom: symptom, Report: r, Summary: map[string]int{
		"pass": r.Count(doctor.Pass), "fail": r.Count(doctor.Fail), "unknown": r.Count(doctor.Unknown), "notApplicable": r.Count(doctor.NotApplicable),
		"critical": 0, "warning": 0, "info": 0,
	}}
	for _, p := range r.Problems() {
		d.Summary[p.Finding.Severity.String()]++
	}
	return d
}
