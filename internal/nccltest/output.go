package nccltest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
)

// headers is the release of NCCL that package nccl was written against.
const headers nccl.Version = 23007

// output prints a run as the C tool does, and keeps it for the JSON file. On
// other processes than the first it prints nothing.
type output struct {
	w       io.Writer
	cfg     *Config
	enabled bool
	release nccl.Version
	now     func() time.Time
	file    *jsonFile
	chart   *chart // nil: no --plot
	path    limit.Path
	limits  limitTable

	bandwidths float64
	results    int
}

func newOutput(cfg *Config, w io.Writer, enabled bool, release nccl.Version) (*output, error) {
	o := &output{w: w, cfg: cfg, enabled: enabled, release: release, now: time.Now}
	if !enabled {
		return o, nil
	}
	var err error
	if cfg.Plot != "" {
		if o.chart, err = newChart(cfg, release); err != nil {
			return nil, err
		}
	}
	if cfg.Output == "" {
		return o, nil
	}
	if o.file, err = createJSON(cfg, o.now(), release); err != nil {
		return nil, errors.Join(err, o.close(err))
	}
	return o, o.print("# Writing JSON output to %s\n", o.file.name)
}

func (o *output) print(format string, args ...any) error {
	if !o.enabled {
		return nil
	}
	_, err := fmt.Fprintf(o.w, format, args...)
	return err
}

// comment prints a line of its own.
func (o *output) comment(format string, args ...any) error {
	return o.print("# "+format+"\n", args...)
}

// head prints all that stands before the table.
func (o *output) head(devices []device) error {
	cfg := o.cfg
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, "# "+format+"\n", args...) }
	line("nccl-tests version %s nccl-headers=%d nccl-library=%d", testsVersion, headers, o.release)
	line("Collective test starting: %s", cfg.Tool.Name)
	step, unit := cfg.StepBytes, "bytes"
	if cfg.StepFactor > 1 {
		step, unit = cfg.StepFactor, "factor"
	}
	line("nThread %d nGpus %d minBytes %d maxBytes %d step: %d(%s) warmup iters: %d iters: %d agg iters: %d validation: %d graph: %d unalign: %d",
		cfg.Threads, cfg.GPUs, cfg.MinBytes, cfg.MaxBytes, step, unit, cfg.Warmup, cfg.Iters, cfg.Aggregate, cfg.Checks, cfg.Graph, cfg.Unalign)
	switch cfg.Blocking {
	case blockingBarrier:
		line("Blocking Enabled: wait and barrier after each inner iteration (-m) ")
	case blockingWait:
		line("Blocking Enabled: wait after each inner iteration (-m), no barrier ")
	case blockingOuter:
		line("Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier ")
	}
	if cfg.PerIter {
		cut := ""
		if cfg.PerIterCut > 0 {
			cut = fmt.Sprintf("; summary skips first %d iterations", cfg.PerIterCut)
		}
		line("Per-Iteration Report: CUDA event timing; i_* uses max over process rows%s ", cut)
	}
	if cfg.ParallelInit {
		line("Parallel Init Enabled: threads call into NcclInitRank concurrently ")
	}
	if cfg.IssueThreads {
		line("gofabric: each GPU is driven from a thread of its own (--issue=threads)")
	}
	if cfg.Auto {
		line("gofabric: each size in the fastest way that was measured (--mode auto)")
	}
	b.WriteString("#\n")
	line("Using devices")
	for _, d := range devices {
		line(" Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s", d.Rank, d.Group, d.PID, d.Host, d.Ordinal, d.Address, d.Name)
	}
	if o.file != nil {
		o.file.config(cfg, devices)
	}
	if o.chart != nil {
		o.chart.devices = devices
	}
	return o.print("%s", b.Bytes())
}

// tableHeader prints the table's three lines.
func (o *output) tableHeader() error {
	cfg := o.cfg
	stamp, pad, layout := "", 0, ""
	if cfg.Timestamps {
		stamp, pad, layout = "timestamp", 19, "%Y-%m-%d %H:%M:%S"
	}
	time := "time"
	if cfg.CPUTime {
		time = "cputime"
	}
	place := func(v string) string { return "           " + v }
	half := fmt.Sprintf("  %7s  %6s  %6s  %6s", time, "algbw", "busbw", "#wrong")
	units := fmt.Sprintf("  %7s  %6s  %6s  %6s", "(us)", "(GB/s)", "(GB/s)", "")
	title := place("out-of-place            ") + place("in-place          ")
	if cfg.PerIter {
		half += fmt.Sprintf("  %7s  %7s  %7s  %7s", "i_min", "i_max", "i_p99", "i_cv%")
		units += fmt.Sprintf("  %7s  %7s  %7s  %7s", "(us)", "(us)", "(us)", "(%)")
		title = "              out-of-place (+ per-iteration)                                in-place (+ per-iteration)"
	}
	mode := ""
	if cfg.Auto {
		mode = "  mode"
	}
	row := func(a, b, c, d, e string) string { return fmt.Sprintf("# %10s  %12s  %8s  %6s  %6s", a, b, c, d, e) }
	return o.print("#\n%s%s\n%s%s%s %*s%s\n%s%s%s %*s\n",
		row("", "", "", "", ""), title,
		row("size", "count", "type", "redop", "root"), half, half, pad, stamp, mode,
		row("(B)", "(elements)", "", "", ""), units, units, pad, layout)
}

// row is a line of the table.
type row struct {
	trial  *trial
	halves [2]measurement // out of place, in place
}

// label is what the table calls the reduction.
func label(c *collective, op values.Op) string {
	switch {
	case c.reduces || c.labelled:
		return op.String()
	case c.unlabelled:
		return ""
	}
	return "none"
}

func (o *output) row(r *row) error {
	cfg, t := o.cfg, r.trial
	name := label(cfg.Tool.collective, t.op)
	var b bytes.Buffer
	if cfg.pattern != nil && cfg.pattern.summary {
		for half := range r.halves {
			cfg.pattern.summarize(&b, t, r.halves[half].seconds)
		}
	}
	fmt.Fprintf(&b, "%12d  %12d  %8v  %6s  %6d", t.bytes(), t.counts.param, t.dt, name, t.root)
	for i := range r.halves {
		m := &r.halves[i]
		seconds := m.seconds
		if cfg.CPUTime {
			seconds = m.cpu
		}
		fmt.Fprintf(&b, "  %7s  %6s  %6s", fit(seconds*1e6, 7), fit(m.algorithm, 6), fit(m.bus, 6))
		if m.checked {
			fmt.Fprintf(&b, "  %6s", general(float64(m.wrong)))
		} else {
			b.WriteString("    N/A")
		}
		if p := m.perIter; p != nil {
			fmt.Fprintf(&b, "  %7s  %7s  %7s  %7s", fit(p.least*1e6, 7), fit(p.greatest*1e6, 7), fit(p.p99*1e6, 7), fit(p.variation(), 7))
		}
		o.bandwidths += m.bus
		o.results++
	}
	if cfg.Timestamps {
		fmt.Fprintf(&b, "%21s", o.now().Format(time.DateTime))
	}
	if cfg.Auto {
		fmt.Fprintf(&b, "  %v", t.how)
	}
	b.WriteByte('\n')
	if cfg.Spread {
		for i, place := range []string{"out-of-place", "in-place"} {
			spread(&b, place, r.halves[i].threads, cfg.gpus())
		}
	}
	if o.file != nil {
		o.file.row(cfg, r, name)
	}
	if o.chart != nil {
		o.chart.row(r, name)
	}
	if cfg.LimitCheck {
		o.limits.row(cfg, o.path, r, name)
	}
	return o.print("%s", b.Bytes())
}

// spread prints the fastest and the slowest of the threads' times.
func spread(b *bytes.Buffer, place string, threads []float64, gpus int) {
	least, most := 0, 0
	for i, v := range threads {
		if v < threads[least] {
			least = i
		}
		if v > threads[most] {
			most = i
		}
	}
	rank := func(i int) string {
		if gpus == 1 {
			return fmt.Sprintf("rank %d", i)
		}
		return fmt.Sprintf("ranks %d-%d", i*gpus, (i+1)*gpus-1)
	}
	fmt.Fprintf(b, "#   spread %-12s  min %s us (%s)  max %s us (%s)  ratio %.3f\n",
		place, fit(threads[least]*1e6, 7), rank(least), fit(threads[most]*1e6, 7), rank(most), threads[most]/threads[least])
}

// average is the mean bus bandwidth of all results, in GB/s.
func (o *output) average() float64 { return o.bandwidths / float64(o.results) }

func (o *output) footer(wrong int, memory []int64) error {
	verdict, demanded := "OK", ""
	if wrong > 0 {
		verdict = "FAILED"
	}
	okay := true
	if least := o.cfg.MinBandwidth; least != nil {
		demanded = "OK"
		if okay = !(o.average() < 0.9**least); !okay {
			demanded = "FAILED"
		}
	}
	if o.file != nil {
		o.file.footer(wrong, o.average(), o.cfg.MinBandwidth != nil, okay)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %-20s : %d %s\n", "Out of bounds values", wrong, verdict)
	fmt.Fprintf(&b, "# %-20s : %s %s\n", "Avg bus bandwidth", general(o.average()), demanded)
	fmt.Fprintf(&b, "#\n# Collective test concluded: %s\n", o.cfg.Tool.Name)
	if o.cfg.Memory {
		var all int64
		for _, n := range memory {
			all += n
		}
		fmt.Fprintf(&b, "# %-20s : Initialization %s | User-Allocated %s | Collective %s | Total  %s\n", "GPU memory usage",
			bytesText(memory[0]), bytesText(memory[1]), bytesText(memory[2]), bytesText(all))
	}
	b.WriteString("#\n\n")
	return o.print("%s", b.Bytes())
}

// close writes the JSON file, with the error that ended the run, and the chart.
func (o *output) close(err error) (failed error) {
	if o.chart != nil {
		failed = o.chart.write(o.path, err)
	}
	if o.file != nil {
		failed = errors.Join(failed, o.file.write(o.now(), err))
	}
	return failed
}
