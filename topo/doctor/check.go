package doctor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gofabric/gofabric/topo/counters"
)

// Severity is how bad a failure is.
type Severity = counters.Severity

// The severities of failures.
const (
	None     = counters.None
	Info     = counters.Info
	Warning  = counters.Warning
	Critical = counters.Critical
)

// Outcome is a check's answer.
type Outcome int

// The outcomes. They are ordered: of the answers about several devices the
// greatest is the check's.
const (
	NotApplicable Outcome = iota
	Pass
	Unknown
	Fail
)

var outcomes = map[Outcome]string{NotApplicable: "not applicable", Pass: "pass", Unknown: "unknown", Fail: "fail"}

// String returns "pass", "fail", "unknown" or "not applicable".
func (o Outcome) String() string { return outcomes[o] }

// MarshalText implements encoding.TextMarshaler with the words of String.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText reads the words of String.
func (o *Outcome) UnmarshalText(text []byte) error {
	for known, word := range outcomes {
		if word == string(text) {
			*o = known
			return nil
		}
	}
	return fmt.Errorf("doctor: %q is no outcome: want pass, fail, unknown or not applicable", clip(string(text)))
}

// Evidence is what a finding rests on.
type Evidence struct {
	Source string `json:"source"` // a file below the root, a variable, "NVML"
	Value  string `json:"value"`
}

// Finding is a check's answer about one device, or about the machine.
type Finding struct {
	Outcome  Outcome    `json:"outcome"`
	Severity Severity   `json:"severity"` // of a failure, None otherwise
	Device   string     `json:"device,omitempty"`
	Text     string     `json:"text"`            // what was found, or why it is not known
	Cause    string     `json:"cause,omitempty"` // of a failure, as for Fix
	Fix      string     `json:"fix,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Check is a question about a machine.
type Check struct {
	Number   int      `json:"number"` // does not change between releases
	Name     string   `json:"name"`   // nor does the name
	Asks     string   `json:"asks"`   // what is right where it passes
	Source   string   `json:"source"` // where it looks
	Severity Severity `json:"severity"`
	examine  func(*exam)
}

// Checks lists all checks by number.
func Checks() []Check {
	list := slices.Concat(portChecks, pcieChecks, configChecks, gpuDirectChecks, limitChecks, roceChecks,
		selectionChecks, settingChecks, numaChecks, topologyFileChecks, gpuChecks, counterChecks, fleetChecks, measureChecks)
	slices.SortFunc(list, func(a, b Check) int { return cmp.Compare(a.Number, b.Number) })
	return list
}

// Result is a check with its answers.
type Result struct {
	Check
	Outcome  Outcome   `json:"outcome"`
	Worst    Severity  `json:"worst"` // of its failures
	Findings []Finding `json:"findings"`
}

// Report is a machine's diagnosis. It marshals to JSON.
type Report struct {
	Source   string   `json:"source"` // the System's
	Hostname string   `json:"hostname,omitempty"`
	Results  []Result `json:"results"`
}

// Problem is a failure with the check that found it.
type Problem struct {
	Check   Check
	Finding Finding
}

// Diagnose asks every check about a machine.
func Diagnose(m *Machine) *Report {
	r := &Report{Hostname: m.Facts.Hostname}
	if m.System != nil {
		r.Source = m.System.Source
	}
	x := newExam(m)
	for _, c := range Checks() {
		x.findings = nil
		c.examine(x)
		res := Result{Check: c, Findings: x.findings}
		for _, f := range x.findings {
			res.Outcome = max(res.Outcome, f.Outcome)
			res.Worst = max(res.Worst, f.Severity)
		}
		r.Results = append(r.Results, res)
	}
	return r
}

// Problems are the failures, the worst first, then in the checks' order.
func (r *Report) Problems() []Problem {
	var list []Problem
	for _, res := range r.Results {
		for _, f := range res.Findings {
			if f.Outcome == Fail {
				list = append(list, Problem{res.Check, f})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b Problem) int { return cmp.Compare(b.Finding.Severity, a.Finding.Severity) })
	return list
}

// Worst is the severity of the worst failure, None without one.
func (r *Report) Worst() Severity {
	worst := None
	for _, res := range r.Results {
		worst = max(worst, res.Worst)
	}
	return worst
}

// Count counts the checks with an outcome.
func (r *Report) Count(o Outcome) int {
	n := 0
	for _, res := range r.Results {
		if res.Outcome == o {
			n++
		}
	}
	return n
}

// Result returns a check's result by name, and false for an unknown name.
func (r *Report) Result(name string) (Result, bool) {
	for _, res := range r.Results {
		if res.Name == name {
			return res, true
		}
	}
	return Result{}, false
}

func clip(s string) string { return clipTo(s, 120) }

func clipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
