package nccltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofabric/gofabric/internal/nccltest/limit"
	"github.com/gofabric/gofabric/internal/report/plot"
	"github.com/gofabric/gofabric/nvml/nvmltest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// openHost is a machine of data as an open library.
type openHost struct{ *nvmltest.Host }

func (openHost) Close() error { return nil }

// pathOf is the path between a machine's first GPUs.
func pathOf(host *nvmltest.Host, n int) limit.Path {
	var addresses []string
	for _, g := range host.Data.Inventory[:n] {
		addresses = append(addresses, g.PCIAddress)
	}
	m := limit.Machine{NVML: func() (limit.Source, error) { return openHost{host}, nil }, Files: fstest.MapFS{}, Lookup: environment()}
	return limit.Find([]*limit.Facts{m.Collect("vm", addresses, false)})
}

// replay prints a recording through an output, with the results times factor.
func replay(t *testing.T, file, args string, path limit.Path, factor float64) (*output, *bytes.Buffer) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	cfg := parse(t, AllReduce, args)
	var b bytes.Buffer
	o, err := newOutput(&cfg, &b, true, 22803)
	require.NoError(t, err)
	o.path = path
	require.NoError(t, o.head(recordedDevices(t, string(data))))
	for _, r := range parseTable(string(data), false) {
		for i := range r.halves {
			r.halves[i].bus *= factor
		}
		made := recordedRow(t, &cfg, r)
		made.trial.how.register = cfg.Register
		require.NoError(t, o.row(made))
	}
	return o, &b
}

func seriesOf(f plot.Figure) (names []string) {
	for _, s := range f.Panels[0].Series {
		names = append(names, s.Name)
	}
	return names
}

const g2 = "h200x2-nccl-tests-g2.txt"

func TestChart(t *testing.T) {
	dir := t.TempDir()
	svg, older := filepath.Join(dir, "a.svg"), filepath.Join(dir, "older.json")
	file, _ := replay(t, "h200x2-nccl-tests-t2.txt", "-t 2 -J "+older, limit.Path{}, 1)
	require.NoError(t, file.close(nil))
	o, _ := replay(t, g2, "-g 2 --plot "+svg+" --plot-with "+older, pathOf(nvmltest.H200Pair(), 2), 1)

	f := o.chart.figure(o.path, nil)
	assert.Equal(t, "all_reduce_perf", f.Title)
	assert.Equal(t, "2 x NVIDIA H200, NCCL 2.28.3, float sum", f.Subtitle)
	require.Len(t, f.Panels, 2)
	assert.Equal(t, []string{"this run, out-of-place", "this run, in-place", "older, out-of-place", "older, in-place"}, seriesOf(f))
	assert.Equal(t, []plot.Limit{{Name: "limit 450 GB/s: NVLink 4.0, 18 links x 25 GB/s", At: 450}}, f.Panels[0].Limits)
	assert.Empty(t, f.Panels[1].Limits)
	own := f.Panels[0].Series[0].Points
	require.Len(t, own, 30)
	assert.Equal(t, plot.Point{X: 4 << 30, Y: 345.36}, own[29])
	assert.InDelta(t, 12436.3e-6, f.Panels[1].Series[0].Points[29].Y, 1e-12)
	assert.Equal(t, plot.Point{X: 8 << 20, Y: 180.15}, f.Panels[0].Series[3].Points[10])
	assert.Equal(t, []string{"The limit of this run's machine: NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each direction (NVML)."}, f.Notes)

	require.NoError(t, o.close(nil))
	data, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Equal(t, 8, strings.Count(string(data), `class="series"`))
	assert.Equal(t, 1, strings.Count(string(data), `class="limit"`))
	assert.True(t, strings.HasSuffix(string(data), "</svg>\n"))
}

func TestChartWithoutALimit(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "a.svg")
	o, _ := replay(t, g2, "-g 2 --plot "+svg, limit.Path{Unknown: "nobody\nlooked"}, 1)
	f := o.chart.figure(o.path, errors.New("a rank\n\tfailed"))
	assert.Empty(t, f.Panels[0].Limits)
	assert.Equal(t, []string{"out-of-place", "in-place"}, seriesOf(f))
	assert.Equal(t, []string{"The run ended early: a rank; failed.", "The limit of the links is unknown: nobody; looked."}, f.Notes)
	assert.Equal(t, "The run failed: 3 results have wrong elements.", o.chart.figure(o.path, &ResultError{OutOfBounds: 3}).Notes[0])
}

// TestChartKeepsAFile that was there until there is something to draw.
func TestChartKeepsAFile(t *testing.T) {
	dir := t.TempDir()
	svg := filepath.Join(dir, "a.svg")
	empty := func() {
		cfg := parse(t, AllReduce, "--plot "+svg)
		o, err := newOutput(&cfg, &bytes.Buffer{}, true, 22803)
		require.NoError(t, err)
		require.NoError(t, o.close(errors.New("failed")))
	}
	empty()
	assert.NoFileExists(t, svg)
	require.NoError(t, os.WriteFile(svg, bytes.Repeat([]byte("old\n"), 1<<16), 0o600))
	empty()
	data, err := os.ReadFile(svg)
	require.NoError(t, err)
	assert.Len(t, data, 4<<16)
	o, _ := replay(t, g2, "--plot "+svg, limit.Path{}, 1)
	require.NoError(t, o.close(nil))
	data, err = os.ReadFile(svg)
	require.NoError(t, err)
	assert.False(t, bytes.Contains(data, []byte("old\n")))

	for args, want := range map[string]string{
		"--plot /nowhere/a.svg":                                         "--plot: open /nowhere/a.svg",
		"--plot " + svg + " --plot-with /nowhere/b.json":                "--plot-with: open /nowhere/b.json",
		"--plot " + svg + " --plot-with " + svg:                         "--plot-with: " + svg + ": not a results file of -J",
		"--plot " + filepath.Join(dir, "b.svg") + " -J /nowhere/x.json": "-J/--output_file",
	} {
		cfg := parse(t, AllReduce, args)
		_, err := newOutput(&cfg, &bytes.Buffer{}, true, 22803)
		require.Error(t, err)
		assert.Contains(t, err.Error(), want)
	}
	assert.NoFileExists(t, filepath.Join(dir, "b.svg"))
}

func TestChartOfManySeries(t *testing.T) {
	nan := math.NaN()
	row := func(size uint64, label string, bus float64) chartRow {
		return chartRow{size, label, [2]chartHalf{{1e-6, bus}, {nan, nan}}}
	}
	c := &chart{cfg: &Config{Tool: Broadcast, CPUTime: true}, release: 22803, own: recording{name: "this run"}}
	c.devices = []device{{Name: "A"}, {Name: "B"}, {Name: "A"}}
	c.own.rows = []chartRow{row(64, "float", 3), row(32, "float", 2), row(64, "float", 5), row(64, "float", 4), row(0, "half root 1", 0)}
	f := c.figure(pathOf(nvmltest.H200(), 3), nil)
	assert.Equal(t, []string{"float, out-of-place", "float, in-place", "half root 1, out-of-place", "half root 1, in-place"}, seriesOf(f))
	assert.Equal(t, "2 x A, 1 x B, NCCL 2.28.3", f.Subtitle)
	assert.Equal(t, []plot.Point{{X: 32, Y: 2}, {X: 64, Y: 4}}, f.Panels[0].Series[0].Points)
	assert.Equal(t, "time in which the CPU issued an operation", f.Panels[1].Y.Label)
	assert.Len(t, f.Notes, 4)
	assert.Contains(t, f.Notes[1], "NVLS")
	require.NoError(t, f.SVG(&bytes.Buffer{}))
}

func TestRowLabel(t *testing.T) {
	for want, parts := range map[string][]string{
		"float sum": {"float", "sum", "-1"}, "half root 2": {"half", "none", "2"}, "int8": {"int8", "", "-1"}, "int8 max root 0": {"int8", "max", "0"}, "": nil,
	} {
		assert.Equal(t, want, rowLabel(parts...))
	}
}

func TestRecordings(t *testing.T) {
	// As the C tool writes it.
	r, err := parseRecording([]byte(`{"version": 3, "args": ["./all_reduce_perf"], "env": [], "results": [
		{"size": 8, "count": 2, "type": "float", "redop": "sum", "root": "    -1",
		 "out_of_place": {"cpu_time": 20.5, "alg_bw": 0.000390, "bus_bw": 0.000390, "nwrong": null}, "in_place": null,
		 "actual_iterations": 20, "experiment_name": "x"},
		{"size": 16, "type": "float", "redop": "none", "root": "     3",
		 "out_of_place": {"cpu_time": "nan", "alg_bw": "nan", "bus_bw": "nan", "nwrong": 0.0}}]}`))
	require.NoError(t, err)
	assert.True(t, r.cpu)
	require.Len(t, r.rows, 2)
	assert.Equal(t, "float sum", r.rows[0].label)
	assert.Equal(t, "float root 3", r.rows[1].label)
	assert.Equal(t, chartHalf{20.5 / 1e6, 0.00039}, r.rows[0].halves[0])
	assert.True(t, math.IsNaN(r.rows[0].halves[1].bus))
	assert.True(t, math.IsNaN(r.rows[1].halves[0].seconds))
	for _, bad := range []string{"", "[]", "{}", `{"results": []}`, `{"results": [{}]}`, `{"results": [{"size": -1}]}`,
		`{"results": [{"size": 1, "in_place": {}}]}`, `{"results": [{"size": 1, "in_place": {"time": "x", "bus_bw": 1}}]}`} {
		_, err := parseRecording([]byte(bad))
		require.Error(t, err, bad)
	}

	dir := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(`{"results": [{"size": 1}]}`), 0o600))
		return path
	}
	a, b, c := write("1/x.json"), write("2/x.json"), write("y.json")
	list, err := readRecordings([]string{a, b, c})
	require.NoError(t, err)
	assert.Equal(t, []string{a, b, "y"}, []string{list[0].name, list[1].name, list[2].name})

	cfg := parse(t, AllReduce, "-C 1 --plot "+filepath.Join(dir, "z.svg")+" --plot-with "+c)
	_, err = newOutput(&cfg, &bytes.Buffer{}, true, 22803)
	assert.ErrorContains(t, err, "the CPU's time")
}

func FuzzParseRecording(f *testing.F) {
	f.Add([]byte(`{"results": [{"size": 8, "type": "float", "redop": "sum", "root": "-1", "out_of_place": {"time": 1, "bus_bw": "nan"}, "in_place": null}]}`))
	f.Add([]byte(`{"results": [{"size": 18446744073709551615, "in_place": {"cpu_time": 1e308, "bus_bw": -1}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecording(data)
		if err != nil {
			return
		}
		require.NotEmpty(t, r.rows)
		c := &chart{cfg: &Config{Tool: AllReduce}, own: r, others: []recording{r}}
		require.NoError(t, c.figure(limit.Path{Limit: 1, Name: "x"}, nil).SVG(&bytes.Buffer{}))
	})
}

func TestLimitCheckOfRecordings(t *testing.T) {
	path := pathOf(nvmltest.H200Pair(), 2)
	for file, args := range recordings {
		o, b := replay(t, file, args+" --limit-check", path, 1)
		low, err := o.limitCheck()
		require.NoError(t, err)
		assert.Zero(t, low, "%s\n%s", file, b)
		assert.Contains(t, b.String(), "# gofabric: limit check: NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each direction (NVML)\n")
		assert.Regexp(t, `(?m)^# gofabric: \d+ results judged, 0 too low: OK$`, b.String())
		assert.Regexp(t, `(?m)^# gofabric: expected is what was measured on two NVIDIA H200 .*; 90 % of it must be reached$`, b.String())
	}
	o, b := replay(t, g2, "-g 2 --limit-check", path, 1)
	_, err := o.limitCheck()
	require.NoError(t, err)
	assert.Contains(t, b.String(), "# 4294967296     float     sum  out-of-place   345.36    76.7 %    76.7 %       ok\n")
	assert.Contains(t, b.String(), "#    1048576     float     sum  in-place        45.24    10.1 %         -        -\n")
	assert.Len(t, parseTable(b.String(), false), 30, "the lines are comments")

	o, b = replay(t, g2, "-g 2 --limit-check", path, 0.85)
	low, err := o.limitCheck()
	require.NoError(t, err)
	assert.Equal(t, 24, low)
	assert.Contains(t, b.String(), "# gofabric: 24 results judged, 24 too low: FAILED\n")
}

func TestLimitCheckDoesNotJudgeWhatWasNotMeasured(t *testing.T) {
	pair := pathOf(nvmltest.H200Pair(), 2)
	for args, path := range map[string]limit.Path{
		"": pathOf(nvmltest.H100(), 2), "-g 2": pathOf(nvmltest.H200(), 3), "-m 2": pair, "-z 1": pair, "-u 1": pair, "-x 1": pair, "-y 1": pair, "-I 1": pair, "-R 1": pair, "-o max": pair,
	} {
		o, b := replay(t, g2, args+" --limit-check", path, 0.1)
		low, err := o.limitCheck()
		require.NoError(t, err)
		assert.Zero(t, low)
		assert.Contains(t, b.String(), "of limit", args)
		assert.Contains(t, b.String(), "# gofabric: 0 results judged, 0 too low: NOT JUDGED: such a path, or such a run over it, was not measured\n", args)
	}
	o, b := replay(t, g2, "-R 2 --limit-check", pair, 0.1)
	low, err := o.limitCheck()
	require.NoError(t, err)
	assert.Equal(t, 24, low, b.String())

	o, b = replay(t, g2, "--limit-check", limit.Path{Unknown: "no NVML"}, 0.1)
	low, err = o.limitCheck()
	require.NoError(t, err)
	assert.Zero(t, low)
	assert.Contains(t, b.String(), "# gofabric: limit check: unknown: no NVML\n# gofabric: 0 results judged, 0 too low: NOT JUDGED: the path is unknown\n")

	o, b = replay(t, g2, "", pair, 0.1)
	before := b.Len()
	low, err = o.limitCheck()
	require.NoError(t, err)
	assert.Zero(t, low)
	assert.Equal(t, before, b.Len())
}

func TestLinksTravel(t *testing.T) {
	data, err := json.Marshal(introduction{Tool: "x"})
	require.NoError(t, err)
	var got introduction
	require.NoError(t, json.Unmarshal(data, &got))
	assert.Nil(t, got.Links)
}
