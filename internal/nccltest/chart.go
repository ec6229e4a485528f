package nccltest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/report/plot"
	"github.com/gofabric/gofabric/nccl"
)

// chart is what --plot draws: the rows of this run, and those of others.
type chart struct {
	cfg     *Config
	release nccl.Version
	devices []device
	own     recording
	others  []recording

	file *os.File
	made bool // the file was not there before
}

// chartRow is a row of the table. label is its type, reduction and root.
type chartRow struct {
	size   uint64
	label  string
	halves [2]chartHalf // out of place, in place
}

// chartHalf may be not a number, where nothing was measured.
type chartHalf struct{ seconds, bus float64 }

// newChart reads the other results and takes the file's name, so that neither is
// found missing at the end of a long run. What the file held stays until then.
func newChart(cfg *Config, release nccl.Version) (*chart, error) {
	c := &chart{cfg: cfg, release: release, own: recording{name: "this run", cpu: cfg.CPUTime}}
	var err error
	if c.others, err = readRecordings(cfg.PlotWith); err != nil {
		return nil, err
	}
	for _, other := range c.others {
		if other.cpu != cfg.CPUTime {
			return nil, fmt.Errorf("--plot-with: %s: the CPU's time (-C) and that of operations do not go into one chart", other.name)
		}
	}
	c.made = true
	if c.file, err = os.OpenFile(cfg.Plot, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); errors.Is(err, fs.ErrExist) {
		c.made = false
		c.file, err = os.OpenFile(cfg.Plot, os.O_WRONLY, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("--plot: %w", err)
	}
	return c, nil
}

// rowLabel names what a row shares with the others of its series.
func rowLabel(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "none" || s == "-1" })
	if n := len(parts); n > 0 && strings.Trim(parts[n-1], "0123456789") == "" {
		parts[n-1] = "root " + parts[n-1]
	}
	return strings.Join(parts, " ")
}

func (c *chart) row(r *row, name string) {
	t := r.trial
	made := chartRow{size: t.bytes(), label: rowLabel(t.dt.String(), name, fmt.Sprint(t.root))}
	for i := range r.halves {
		m := &r.halves[i]
		made.halves[i] = chartHalf{m.seconds, m.bus}
		if c.cfg.CPUTime {
			made.halves[i].seconds = m.cpu
		}
	}
	c.own.rows = append(c.own.rows, made)
}

// write draws what there is, also of a run that ended early. Without a row the
// file stays as it was.
func (c *chart) write(path limit.Path, failure error) error {
	if len(c.own.rows) == 0 {
		err := c.file.Close()
		if c.made {
			err = errors.Join(err, os.Remove(c.cfg.Plot))
		}
		return err
	}
	err := c.file.Truncate(0)
	if err == nil {
		err = c.figure(path, failure).SVG(c.file)
	}
	if err = errors.Join(err, c.file.Close()); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// figure lays out the panels.
func (c *chart) figure(path limit.Path, failure error) plot.Figure {
	size := plot.Axis{Label: "size", Scale: plot.Log2, Format: plot.Bytes}
	bandwidth := plot.Panel{X: size, Y: plot.Axis{Label: "bus bandwidth (GB/s)"}}
	time := plot.Panel{X: size, Y: plot.Axis{Label: "time of an operation", Scale: plot.Log10, Format: plot.Seconds}}
	if c.cfg.CPUTime {
		time.Y.Label = "time in which the CPU issued an operation"
	}
	if path.Known() {
		bandwidth.Limits = []plot.Limit{{Name: fmt.Sprintf("limit %.4g GB/s: %s", path.Limit, path.Name), At: path.Limit}}
	}
	runs := append([]recording{c.own}, c.others...)
	labels := map[string]bool{}
	for _, run := range runs {
		for _, row := range run.rows {
			labels[row.label] = true
		}
	}
	colour, empty, repeated := 0, 0, false
	for _, run := range runs {
		for _, s := range run.series() {
			for place, word := range []string{"out-of-place", "in-place"} {
				parts := []string{word}
				if len(labels) > 1 {
					parts = append([]string{s.label}, parts...)
				}
				if len(runs) > 1 {
					parts = append([]string{run.name}, parts...)
				}
				line := plot.Series{Name: strings.Join(parts, ", "), Colour: colour, Dashed: place == 1}
				line.Points = s.points(place, func(h chartHalf) float64 { return h.bus })
				bandwidth.Series = append(bandwidth.Series, line)
				line.Points = s.points(place, func(h chartHalf) float64 { return h.seconds })
				time.Series = append(time.Series, line)
			}
			colour++
			repeated = repeated || s.repeated
			if s.sizes[0] == 0 {
				empty++
			}
		}
	}
	return plot.Figure{
		Title: c.cfg.Tool.Name, Subtitle: c.subtitle(labels), Panels: []plot.Panel{bandwidth, time},
		Notes: c.notes(path, empty > 0, repeated, failure),
	}
}

// subtitle tells the GPUs, the library and what all rows share.
func (c *chart) subtitle(labels map[string]bool) string {
	var names, parts []string
	count := map[string]int{}
	for _, d := range c.devices {
		if count[d.Name] == 0 {
			names = append(names, d.Name)
		}
		count[d.Name]++
	}
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d x %s", count[name], name))
	}
	parts = append(parts, fmt.Sprintf("NCCL %v", c.release))
	if len(labels) == 1 {
		for label := range labels {
			parts = append(parts, label)
		}
	}
	return strings.Join(parts, ", ")
}

func (c *chart) notes(path limit.Path, empty, repeated bool, failure error) (notes []string) {
	var bad *ResultError
	if errors.As(failure, &bad) {
		notes = append(notes, "The run failed: "+command.OneLine(bad.Error())+".")
	} else if failure != nil {
		notes = append(notes, "The run ended early: "+command.OneLine(failure.Error())+".")
	}
	of := ""
	if len(c.others) > 0 {
		of = " of this run's machine"
	}
	if path.Known() {
		notes = append(notes, fmt.Sprintf("The limit%s: %v.", of, path))
		if len(c.devices) > 2 {
			notes = append(notes, "Switches that reduce or copy (NVLS) move fewer bytes than the bus bandwidth counts: it may pass the limit.")
		}
	} else {
		notes = append(notes, fmt.Sprintf("The limit of the links%s is %s.", of, command.OneLine(path.String())))
	}
	if repeated {
		notes = append(notes, "Sizes that were measured several times have the median.")
	}
	if empty {
		notes = append(notes, "Results of 0 bytes have no place on the axis.")
	}
	return notes
}

// chartSeries is the rows of one label, by size.
type chartSeries struct {
	label    string
	sizes    []uint64 // ascending
	halves   map[uint64][][2]chartHalf
	repeated bool // a size has several rows, as with -N
}

// series divides the rows by their labels, in the order of the run.
func (r *recording) series() (list []*chartSeries) {
	index := map[string]*chartSeries{}
	for _, row := range r.rows {
		s := index[row.label]
		if s == nil {
			s = &chartSeries{label: row.label, halves: map[uint64][][2]chartHalf{}}
			index[row.label] = s
			list = append(list, s)
		}
		if len(s.halves[row.size]) == 0 {
			s.sizes = append(s.sizes, row.size)
		} else {
			s.repeated = true
		}
		s.halves[row.size] = append(s.halves[row.size], row.halves)
	}
	for _, s := range list {
		sort.Slice(s.sizes, func(i, j int) bool { return s.sizes[i] < s.sizes[j] })
	}
	return list
}

// points are the medians of one place.
func (s *chartSeries) points(place int, value func(chartHalf) float64) (list []plot.Point) {
	for _, size := range s.sizes {
		var values []float64
		for _, halves := range s.halves[size] {
			values = append(values, value(halves[place]))
		}
		list = append(list, plot.Point{X: float64(size), Y: pairs.Median(values)})
	}
	return list
}
