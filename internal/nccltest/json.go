package nccltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/nccl"
)

// jsonVersion is the version of the C tool's document.
const jsonVersion = 3

// decimal is a number with six decimals, as C's %f; what is none is "nan".
type decimal float64

func (d decimal) MarshalJSON() ([]byte, error) {
	v := float64(d)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte(`"nan"`), nil
	}
	return strconv.AppendFloat(nil, v, 'f', 6, 64), nil
}

// document is the C tool's document. Booleans are strings there.
type document struct {
	Version     int         `json:"version"`
	Start       string      `json:"start_time"`
	Args        []string    `json:"args"`
	Env         []string    `json:"env"`
	NCCLVersion int         `json:"nccl_version"`
	Config      *docConfig  `json:"config,omitempty"`
	Results     []docResult `json:"results"`
	OutOfBounds *docBounds  `json:"out_of_bounds,omitempty"`
	Average     *docAverage `json:"average_bus_bandwidth,omitempty"`
	Errors      []string    `json:"errors"`
	End         string      `json:"end_time"`
}

type docConfig struct {
	Threads     int         `json:"nthreads"`
	GPUs        int         `json:"ngpus"`
	MinBytes    uint64      `json:"minimum_bytes"`
	MaxBytes    uint64      `json:"maximum_bytes"`
	StepFactor  *uint64     `json:"step_factor,omitempty"`
	StepBytes   *uint64     `json:"step_bytes,omitempty"`
	Warmup      int         `json:"warmup_iters"`
	Iterations  int         `json:"iterations"`
	Aggregated  int         `json:"aggregated_iterations"`
	Validation  int         `json:"validation"`
	Graph       int         `json:"graph"`
	Blocking    string      `json:"blocking_collectives"`
	PerIter     string      `json:"per_iter_timing"`
	PerIterSkip int         `json:"per_iter_skip"`
	Parallel    string      `json:"parallel_init"`
	Devices     []docDevice `json:"devices"`
}

type docDevice struct {
	Rank    int    `json:"rank"`
	Group   int    `json:"group"`
	PID     int    `json:"pid"`
	Host    string `json:"hostname"`
	Device  int    `json:"device"`
	Address string `json:"device_hex"`
	Name    string `json:"device_info"`
}

type docResult struct {
	Size         uint64    `json:"size"`
	Count        uint64    `json:"count"`
	Type         string    `json:"type"`
	RedOp        string    `json:"redop"`
	Root         string    `json:"root"`
	OutOfPlace   *docHalf  `json:"out_of_place"`
	OutIteration *docIters `json:"out_of_place_per_iter,omitempty"`
	InPlace      *docHalf  `json:"in_place"`
	InIteration  *docIters `json:"in_place_per_iter,omitempty"`
	Iterations   int       `json:"actual_iterations"`
	Experiment   string    `json:"experiment_name"`
	// Mode is ours: what --mode auto chose.
	Mode string `json:"mode,omitempty"`
}

type docHalf struct {
	Time    *decimal `json:"time,omitempty"`
	CPUTime *decimal `json:"cpu_time,omitempty"`
	AlgBW   decimal  `json:"alg_bw"`
	BusBW   decimal  `json:"bus_bw"`
	Wrong   *decimal `json:"nwrong"`
}

type docIters struct {
	Skipped   int         `json:"skipped_iterations"`
	Min       decimal     `json:"min_us"`
	Max       decimal     `json:"max_us"`
	Avg       decimal     `json:"avg_us"`
	P50       decimal     `json:"p50_us"`
	P95       decimal     `json:"p95_us"`
	P99       decimal     `json:"p99_us"`
	Deviation decimal     `json:"stdev_us"`
	Variation decimal     `json:"cv_pct"`
	Times     []decimal   `json:"times_us"`
	Processes [][]decimal `json:"per_process_max_times_us,omitempty"`
}

type docBounds struct {
	Count int    `json:"count"`
	Okay  string `json:"okay"`
}

type docAverage struct {
	Bandwidth decimal `json:"bandwidth"`
	Okay      string  `json:"okay"`
}

// jsonFile is the file of -J. Its name is taken at the start, so that it is not
// found missing at the end of a long run.
type jsonFile struct {
	name string
	file *os.File
	doc  document
}

// createJSON makes a new file: the one that is asked for or, while there is one,
// that name with a number.
func createJSON(cfg *Config, now time.Time, release nccl.Version) (*jsonFile, error) {
	name := cfg.Output
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	for i := 0; errors.Is(err, fs.ErrExist); i++ {
		name = fmt.Sprintf("%s.%d", cfg.Output, i)
		file, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	}
	if err != nil {
		return nil, fmt.Errorf("-J/--output_file: %w", err)
	}
	j := &jsonFile{name: name, file: file}
	j.doc = document{
		Version: jsonVersion, Start: now.Format(time.DateTime), Args: append([]string{cfg.Tool.Name}, cfg.args...),
		Env: []string{}, NCCLVersion: int(release), Results: []docResult{}, Errors: []string{},
	}
	if cfg.JSONEnv {
		j.doc.Env = os.Environ()
	}
	return j, nil
}

func (j *jsonFile) config(cfg *Config, devices []device) {
	c := &docConfig{
		Threads: cfg.Threads, GPUs: cfg.GPUs, MinBytes: cfg.MinBytes, MaxBytes: cfg.MaxBytes, Warmup: cfg.Warmup,
		Iterations: cfg.Iters, Aggregated: cfg.Aggregate, Validation: cfg.Checks, Graph: cfg.Graph,
		Blocking: strconv.FormatBool(cfg.Blocking != blockingNone), PerIter: strconv.FormatBool(cfg.PerIter),
		PerIterSkip: cfg.PerIterCut, Parallel: strconv.FormatBool(cfg.ParallelInit),
	}
	if cfg.StepFactor > 1 {
		c.StepFactor = &cfg.StepFactor
	} else {
		c.StepBytes = &cfg.StepBytes
	}
	for _, d := range devices {
		c.Devices = append(c.Devices, docDevice{d.Rank, d.Group, d.PID, d.Host, d.Ordinal, d.Address, d.Name})
	}
	j.doc.Config = c
}

func (j *jsonFile) row(cfg *Config, r *row, name string) {
	t := r.trial
	d := docResult{
		Size: t.bytes(), Count: t.counts.param, Type: t.dt.String(), RedOp: name, Root: fmt.Sprintf("%6d", t.root),
		OutOfPlace: half(cfg, &r.halves[0]), OutIteration: iterations(r.halves[0].perIter),
		InPlace: half(cfg, &r.halves[1]), InIteration: iterations(r.halves[1].perIter), Iterations: cfg.Iters,
	}
	if cfg.Auto {
		d.Mode = t.how.String()
	}
	j.doc.Results = append(j.doc.Results, d)
}

func half(cfg *Config, m *measurement) *docHalf {
	h := &docHalf{AlgBW: decimal(m.algorithm), BusBW: decimal(m.bus)}
	time := decimal(m.seconds * 1e6)
	if cfg.CPUTime {
		time = decimal(m.cpu * 1e6)
		h.CPUTime = &time
	} else {
		h.Time = &time
	}
	if m.checked {
		wrong := decimal(m.wrong)
		h.Wrong = &wrong
	}
	return h
}

func iterations(r *iterReport) *docIters {
	if r == nil {
		return nil
	}
	us := func(seconds float64) decimal { return decimal(seconds * 1e6) }
	list := func(times []float64) (l []decimal) {
		for _, v := range times {
			l = append(l, us(v))
		}
		return l
	}
	d := &docIters{
		Skipped: r.skipped, Min: us(r.least), Max: us(r.greatest), Avg: us(r.mean), P50: us(r.p50), P95: us(r.p95), P99: us(r.p99),
		Deviation: us(r.deviation), Variation: decimal(r.variation()), Times: list(r.times),
	}
	if len(r.processes) > 1 {
		for _, p := range r.processes {
			d.Processes = append(d.Processes, list(p))
		}
	}
	return d
}

func (j *jsonFile) footer(wrong int, average float64, demanded, okay bool) {
	j.doc.OutOfBounds = &docBounds{wrong, strconv.FormatBool(wrong == 0)}
	j.doc.Average = &docAverage{decimal(average), "unchecked"}
	if demanded {
		j.doc.Average.Okay = strconv.FormatBool(okay)
	}
}

func (j *jsonFile) write(now time.Time, failure error) error {
	j.doc.End = now.Format(time.DateTime)
	if failure != nil {
		j.doc.Errors = append(j.doc.Errors, command.OneLine(failure.Error()))
	}
	data, err := json.Marshal(j.doc)
	if err == nil {
		_, err = j.file.Write(append(data, '\n'))
	}
	return errors.Join(err, j.file.Close())
}
