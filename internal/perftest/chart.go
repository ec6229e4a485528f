package perftest

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"time"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/internal/report/plot"
)

// chart is what --plot draws.
type chart struct {
	config *Config
	rows   []result
	file   *os.File
	made   bool // the file was not there before
}

// newChart takes the file's name; what the file held stays until there is
// something to draw.
func newChart(c *Config) (*chart, error) {
	f, made, err := takeFile(c.Plot)
	if err != nil {
		return nil, fmt.Errorf("--plot: %w", err)
	}
	return &chart{config: c, file: f, made: made}, nil
}

// takeFile opens a file for writing and leaves what is in it; made tells that it was
// not there before.
func takeFile(name string) (f *os.File, made bool, err error) {
	f, err = os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, fs.ErrExist) {
		f, err = os.OpenFile(name, os.O_WRONLY, 0)
		return f, false, err
	}
	return f, true, err
}

// canWrite finds out whether a file can be written later.
func canWrite(name string) error {
	f, made, err := takeFile(name)
	if err != nil {
		return err
	}
	err = f.Close()
	if made {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

func (c *chart) add(r result) { c.rows = append(c.rows, r) }

// write draws what there is, also of a run that ended early. Without a row the
// file stays as it was.
func (c *chart) write(o *output, failure error) error {
	if len(c.rows) == 0 {
		err := c.file.Close()
		if c.made {
			err = errors.Join(err, os.Remove(c.config.Plot))
		}
		return err
	}
	var err error
	if info, statErr := c.file.Stat(); statErr == nil && info.Mode().IsRegular() {
		err = c.file.Truncate(0)
	}
	if err == nil {
		figure := c.figure(o.chartLimit())
		figure.Subtitle = o.chartSubtitle()
		if failure != nil {
			figure.Notes = append(figure.Notes, "The run ended early: "+command.OneLine(failure.Error())+".")
		}
		if inProcess(o.run.local.dev.Name()) {
			figure.Notes = append(figure.Notes, "Note: "+inProcessNote+".")
		}
		err = figure.SVG(c.file)
	}
	if err = errors.Join(err, c.file.Close()); err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return nil
}

// chartLimit is what the port can do, as far as it tells: bytes a second.
func (o *output) chartLimit() (bytesPerSecond float64, name string) {
	rate := o.run.local.port.Rate
	if rate.Gbps <= 0 || inProcess(o.run.local.dev.Name()) {
		return 0, ""
	}
	way := 1.0
	if o.config.Bidirectional {
		way = 2
	}
	name = fmt.Sprintf("port: %g Gbit/s", rate.Gbps)
	if way == 2 {
		name += " each way"
	}
	return way * rate.BytesPerSecond(), name
}

func (o *output) chartSubtitle() string {
	c, local := o.config, o.run.local
	text := fmt.Sprintf("%s, %v, MTU %d", local.dev.Name(), c.Connection, o.run.agreed.MTU.Bytes())
	if c.QueuePairs > 1 {
		text += fmt.Sprintf(", %d queue pairs", c.QueuePairs)
	}
	if c.Duration > 0 {
		return text + fmt.Sprintf(", %v", c.Duration)
	}
	return text + fmt.Sprintf(", %d messages", c.Iterations*c.QueuePairs)
}

// figure lays out the panels.
func (c *chart) figure(limit float64, limitName string) plot.Figure {
	f := plot.Figure{Title: c.config.title()}
	switch {
	case !c.config.Tool.Latency:
		f.Panels = c.bandwidthPanels(limit, limitName)
		if limit == 0 {
			f.Notes = append(f.Notes, "No limit is shown: the port's rate is not known, or has no meaning.")
		} else {
			f.Notes = append(f.Notes, "The limit is what the port signals, headers of packets included.")
		}
	case c.config.Duration > 0:
		f.Panels = []plot.Panel{c.overSize("latency", plot.Seconds, plot.Log10, curve{"average", func(r result) float64 { return r.rate.Average.Seconds() }})}
	case len(c.rows) == 1:
		f.Panels = samplePanels(c.rows[0].samples)
		l := c.rows[0].latency
		f.Notes = append(f.Notes, fmt.Sprintf("%d samples of %d bytes: typical %s, 99 %% %s, 99.9 %% %s.", len(c.rows[0].samples), l.Size,
			plot.Seconds(l.Typical.Seconds()), plot.Seconds(l.P99.Seconds()), plot.Seconds(l.P999.Seconds())))
	default:
		at := func(pick func(r result) time.Duration) func(result) float64 {
			return func(r result) float64 { return pick(r).Seconds() }
		}
		f.Panels = []plot.Panel{c.overSize("latency", plot.Seconds, plot.Log10,
			curve{"typical", at(func(r result) time.Duration { return r.latency.Typical })},
			curve{"least", at(func(r result) time.Duration { return r.latency.Min })},
			curve{"99 %", at(func(r result) time.Duration { return r.latency.P99 })},
			curve{"99.9 %", at(func(r result) time.Duration { return r.latency.P999 })})}
	}
	return f
}

// curve is one line over the size.
type curve struct {
	name  string
	value func(result) float64
}

// overSize is a panel of lines over the message size. A value that is not a number
// was not measured.
func (c *chart) overSize(label string, format func(float64) string, scale plot.Scale, curves ...curve) plot.Panel {
	p := plot.Panel{
		X: plot.Axis{Label: "message size", Scale: plot.Log2, Format: plot.Bytes},
		Y: plot.Axis{Label: label, Scale: scale, Format: format},
	}
	for i, one := range curves {
		s := plot.Series{Name: one.name, Colour: i}
		for _, r := range c.rows {
			if v := one.value(r); !math.IsNaN(v) {
				s.Points = append(s.Points, plot.Point{X: float64(r.size()), Y: v})
			}
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	return p
}

func (r result) size() uint64 {
	switch {
	case r.latency != nil:
		return r.latency.Size
	case r.rate != nil:
		return r.rate.Size
	}
	return r.bandwidth.Size
}

func (c *chart) bandwidthPanels(limit float64, limitName string) []plot.Panel {
	unit := c.config.Unit
	name := map[bool]string{false: "bandwidth (MiB/s)", true: "bandwidth (Gbit/s)"}[unit.String() == "Gb/sec"]
	bandwidth := c.overSize(name, nil, plot.Linear,
		curve{"average", func(r result) float64 { return unit.FromBytes(r.bandwidth.BytesPerSecond) }},
		curve{"peak", func(r result) float64 {
			if r.bandwidth.PeakBytesPerSecond == nil {
				return math.NaN()
			}
			return unit.FromBytes(*r.bandwidth.PeakBytesPerSecond)
		}})
	if limit > 0 {
		bandwidth.Limits = []plot.Limit{{Name: limitName, At: unit.FromBytes(limit)}}
	}
	rate := c.overSize("messages a second (millions)", nil, plot.Log10,
		curve{"average", func(r result) float64 { return r.bandwidth.MessagesPerSecond / 1e6 }})
	return []plot.Panel{bandwidth, rate}
}

// samplePanels are the histogram of a latency and its distribution. Both have a
// logarithmic axis, because the slowest samples are many times the usual.
func samplePanels(samples []time.Duration) []plot.Panel {
	sorted := slices.Sorted(slices.Values(samples))
	x := plot.Axis{Label: "latency", Scale: plot.Log10, Format: plot.Seconds}
	share := func(v float64) string { return fmt.Sprintf("%.4g %%", v) }
	cdf := plot.Series{Name: "share of samples below", Colour: 1}
	for i, d := range sorted {
		// A step for each value, not for each sample.
		if i+1 < len(sorted) && sorted[i+1] == d {
			continue
		}
		cdf.Points = append(cdf.Points, plot.Point{X: d.Seconds(), Y: 100 * float64(i+1) / float64(len(sorted))})
	}
	return []plot.Panel{
		{X: x, Y: plot.Axis{Label: "samples"}, Series: []plot.Series{{Name: "samples", Points: histogram(sorted)}}},
		{X: x, Y: plot.Axis{Label: "share of samples below", Format: share}, Series: []plot.Series{cdf}},
	}
}

// histogram is the outline of bars of equal width on a logarithmic axis.
func histogram(sorted []time.Duration) (outline []plot.Point) {
	const perDecade = 40
	positive := sorted
	for len(positive) > 0 && positive[0] <= 0 {
		positive = positive[1:]
	}
	if len(positive) == 0 {
		return nil
	}
	bin := func(d time.Duration) int { return int(math.Floor(math.Log10(d.Seconds()) * perDecade)) }
	edge := func(b int) float64 { return math.Pow(10, float64(b)/perDecade) }
	first, last := bin(positive[0]), bin(positive[len(positive)-1])
	counts := make([]int, last-first+1)
	for _, d := range positive {
		counts[bin(d)-first]++
	}
	outline = append(outline, plot.Point{X: edge(first)})
	for i, n := range counts {
		outline = append(outline, plot.Point{X: edge(first + i), Y: float64(n)}, plot.Point{X: edge(first + i + 1), Y: float64(n)})
	}
	return append(outline, plot.Point{X: edge(last + 1)})
}
