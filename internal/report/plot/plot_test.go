package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// element is a part of a drawing.
type element struct {
	name, text string
	attributes map[string]string
}

// draw writes a figure, and reads it as XML.
func draw(t testing.TB, f Figure) []element {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f.SVG(&b))
	return parts(t, b.String())
}

func parts(t testing.TB, document string) (list []element) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(document))
	var open []int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err, "%s", document)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Name.Local] = a.Value
			}
			open = append(open, len(list))
			list = append(list, e)
		case xml.CharData:
			if len(open) > 0 {
				list[open[len(open)-1]].text += string(token)
			}
		case xml.EndElement:
			open = open[:len(open)-1]
		}
	}
}

func of(list []element, class string) (found []element) {
	for _, e := range list {
		if e.attributes["class"] == class {
			found = append(found, e)
		}
	}
	return found
}

func texts(list []element) (found []string) {
	for _, e := range list {
		if e.name == "text" {
			found = append(found, e.text)
		}
	}
	return found
}

func sweep(scale float64) (busbw, time []Point) {
	for size := 8.0; size <= 4<<30; size *= 2 {
		seconds := scale * (1e-5 + size/400e9)
		busbw = append(busbw, Point{size, size / seconds / 1e9})
		time = append(time, Point{size, seconds})
	}
	return busbw, time
}

// typical is a figure of the kind that the tools make.
func typical() Figure {
	f := Figure{
		Title: "all_reduce_perf", Subtitle: "2 GPUs",
		Panels: []Panel{
			{X: Axis{"size", Log2, Bytes}, Y: Axis{Label: "bus bandwidth (GB/s)"}, Limits: []Limit{{"limit 450 GB/s", 450}}},
			{X: Axis{"size", Log2, Bytes}, Y: Axis{"time", Log10, Seconds}},
		},
		Notes: []string{"the limit is the links'"},
	}
	for i, name := range []string{"this run, out-of-place", "this run, in-place", "old, out-of-place", "old, in-place"} {
		busbw, time := sweep(1 + float64(i)/9)
		s := Series{Name: name, Colour: i / 2, Dashed: i%2 == 1, Points: busbw}
		f.Panels[0].Series = append(f.Panels[0].Series, s)
		s.Points = time
		f.Panels[1].Series = append(f.Panels[1].Series, s)
	}
	return f
}

func TestStructure(t *testing.T) {
	list := draw(t, typical())
	assert.Equal(t, "svg", list[0].name)
	assert.Equal(t, "all_reduce_perf", list[1].text)
	assert.Len(t, of(list, "panel"), 2)
	series := of(list, "series")
	require.Len(t, series, 8)
	for i, s := range series {
		assert.Equal(t, 30, strings.Count(s.attributes["d"], "L")+1)
		assert.Equal(t, palette[i%4/2], s.attributes["stroke"])
		assert.Equal(t, i%2 == 1, s.attributes["stroke-dasharray"] != "")
	}
	assert.Len(t, of(list, "limit"), 1)
	words := texts(list)
	for _, want := range []string{"limit 450 GB/s", "bus bandwidth (GB/s)", "time", "8 B", "4 KiB", "2 MiB", "1 GiB", "0", "500", "10 µs", "1 ms", "the limit is the links'"} {
		assert.Contains(t, words, want)
	}
	for name, times := range map[string]int{"this run, in-place": 1, "size": 1, "2 MiB": 2} {
		assert.Equal(t, times, count(words, name), name)
	}
	for _, e := range list {
		assert.NotContains(t, []string{"image", "style", "script", "use"}, e.name)
	}
	// What a viewer shows over a point.
	var titles []string
	for _, e := range list {
		if e.name == "title" {
			titles = append(titles, e.text)
		}
	}
	assert.Len(t, titles, 1+8*30)
	assert.Contains(t, titles, "this run, out-of-place: 8 B, 10 µs")
}

func count(list []string, want string) (n int) {
	for _, v := range list {
		if v == want {
			n++
		}
	}
	return n
}

func TestSameFigureSameText(t *testing.T) {
	var a, b bytes.Buffer
	require.NoError(t, typical().SVG(&a))
	require.NoError(t, typical().SVG(&b))
	assert.Equal(t, a.String(), b.String())
}

// TestAllIsOnThePage: no mark, no line and no label leaves the page, whatever the
// values are.
func TestAllIsOnThePage(t *testing.T) {
	for name, points := range map[string][]Point{
		"one":      {{8, 1}},
		"zero":     {{8, 0}, {16, 0}},
		"negative": {{8, -5}, {16, 5}},
		"tiny":     {{1, 1e-290}, {2, 2e-290}},
		"huge":     {{1, 1e299}, {1 << 60, 2e299}},
		"near":     {{33 << 20, 400}, {34 << 20, 401}, {35 << 20, 402}},
		"far":      {{1, 1e-200}, {math.Exp2(900), 1e200}},
	} {
		for _, x := range []Scale{Linear, Log2, Log10} {
			for _, y := range []Scale{Linear, Log2, Log10} {
				list := draw(t, Figure{Panels: []Panel{{
					X: Axis{Scale: x}, Y: Axis{Scale: y}, Series: []Series{{Name: "s", Points: points}}, Limits: []Limit{{"limit", 3}},
				}}})
				assert.Less(t, len(list), 400, "%s %v %v", name, x, y)
				for _, e := range list {
					if e.name == "circle" {
						within(t, e.attributes["cx"], pageWidth)
						within(t, e.attributes["cy"], 500)
					}
					if e.name == "text" {
						within(t, e.attributes["x"], pageWidth)
						within(t, e.attributes["y"], 500)
					}
				}
				assert.GreaterOrEqual(t, len(texts(list)), 5, "%s %v %v: labels", name, x, y)
			}
		}
	}
}

func within(t *testing.T, text string, limit float64) {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	assert.True(t, v >= 0 && v <= limit, "%v is not in 0..%v", v, limit)
}

func TestPointsWithoutAPlaceAreLeftOut(t *testing.T) {
	points := []Point{{0, 1}, {8, 0}, {16, 2}, {32, math.NaN()}, {64, math.Inf(1)}, {128, 3}}
	list := draw(t, Figure{Panels: []Panel{{X: Axis{Scale: Log2}, Y: Axis{Scale: Log10}, Series: []Series{{Points: points}}}}})
	require.Len(t, of(list, "series"), 1)
	assert.Equal(t, 1, strings.Count(of(list, "series")[0].attributes["d"], "L"))

	list = draw(t, Figure{Panels: []Panel{{X: Axis{Scale: Log2}, Series: []Series{{Points: []Point{{0, 1}}}}}}})
	assert.Contains(t, texts(list), "no values")
	assert.Empty(t, of(list, "series"))
	assert.Contains(t, texts(draw(t, Figure{Panels: []Panel{{}}})), "no values")
	draw(t, Figure{})
}

func TestLongSeriesHaveNoMarks(t *testing.T) {
	var points []Point
	for i := range marked + 1 {
		points = append(points, Point{float64(i), float64(i)})
	}
	circles := func(points []Point) (n int) {
		for _, e := range draw(t, Figure{Panels: []Panel{{Series: []Series{{Points: points}}}}}) {
			if e.name == "circle" {
				n++
			}
		}
		return n
	}
	assert.Equal(t, marked, circles(points[:marked]))
	assert.Zero(t, circles(points))
}

// TestHeadroom: a share ends at 100 %, and the label of a limit has its place.
func TestHeadroom(t *testing.T) {
	panel := Panel{Series: []Series{{Points: []Point{{1, 0}, {2, 1}}}}}
	top := func() float64 {
		f := frame{panel: &panel, bottom: 300, top: 0, right: 500}
		f.axes()
		return f.y.high
	}
	assert.Equal(t, 1.0, top())
	panel.Limits = []Limit{{"limit", 0.5}}
	assert.Equal(t, 1.0, top())
	panel.Limits[0].At = 0.99
	assert.InDelta(t, 1.2, top(), 1e-9)
}

// TestFarLimit: one that would press the points to the ground is words.
func TestFarLimit(t *testing.T) {
	f := Figure{Panels: []Panel{{Series: []Series{{Points: []Point{{1, 1}, {2, 2}}}}, Limits: []Limit{{"limit 450", 450}, {"limit 3", 3}}}}}
	list := draw(t, f)
	assert.Len(t, of(list, "limit"), 1)
	assert.Contains(t, texts(list), "limit 450 (above this chart)")
	assert.NotContains(t, texts(list), "500")

	f.Panels[0].Y.Scale = Log10
	assert.Len(t, of(draw(t, f), "limit"), 2)
}

func TestAnyTextIsXML(t *testing.T) {
	for _, text := range []string{"<a href='x'>&amp;", "\x00\x1b[K\xff\ufffe", strings.Repeat("long ", 100), "</svg>"} {
		draw(t, Figure{Title: text, Subtitle: text, Notes: []string{text}, Panels: []Panel{{
			X: Axis{Label: text}, Y: Axis{Label: text}, Series: []Series{{Name: text, Colour: -1, Points: []Point{{1, 1}}}}, Limits: []Limit{{text, 1}},
		}}})
	}
}

func TestSeriesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for i := range len(palette) * len(marks) {
		s := Series{Colour: i}
		seen[s.colour()+marks[i%len(marks)]] = true
	}
	assert.Len(t, seen, len(palette)*len(marks))
}

func TestLabels(t *testing.T) {
	for v, want := range map[float64]string{
		8: "8 B", 1023: "1023 B", 1024: "1 KiB", 65536: "64 KiB", 1.5 * (1 << 30): "1.5 GiB", 4 << 30: "4 GiB", 0: "0 B", 1 << 60: "1024 PiB",
	} {
		assert.Equal(t, want, Bytes(v))
	}
	for v, want := range map[float64]string{
		3.36e-6: "3.36 µs", 0.0124: "12.4 ms", 1: "1 s", 100: "100 s", 1e-5: "10 µs", 0.9999999: "1 s", 2e-10: "0.2 ns", 0: "0 ns",
	} {
		assert.Equal(t, want, Seconds(v))
	}
	for v, want := range map[float64]string{
		0: "0", 450: "450", 0.1 + 0.2: "0.3", 1234567: "1234567", 1e9: "1e+09", -2.5: "-2.5", 1e-9: "1e-09", 26.562: "26.6",
	} {
		assert.Equal(t, want, decimals(v))
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriterFails(t *testing.T) {
	require.ErrorIs(t, typical().SVG(broken{}), io.ErrClosedPipe)
}

func FuzzSVG(f *testing.F) {
	f.Add("name", 8.0, 1.0, 4294967296.0, 346.0, 450.0, 1, 2)
	f.Add("<\xff>", 0.0, -1.0, math.Inf(1), math.NaN(), 1e300, 0, 0)
	f.Add("", 1e-300, 1e-300, 1e300, 1e300, 1e-300, 2, 1)
	f.Add("", 5.0, 5.0, math.Nextafter(5, 6), math.Nextafter(5, 6), 5.0, 2, 1)
	f.Fuzz(func(t *testing.T, name string, x1, y1, x2, y2, limit float64, x, y int) {
		list := draw(t, Figure{Title: name, Panels: []Panel{{
			X: Axis{name, Scale(uint(x) % 3), Bytes}, Y: Axis{name, Scale(uint(y) % 3), Seconds},
			Series: []Series{{Name: name, Points: []Point{{x1, y1}, {x2, y2}}}}, Limits: []Limit{{name, limit}},
		}}})
		assert.Less(t, len(list), 500)
		for _, e := range list {
			for _, v := range e.attributes {
				assert.NotContains(t, v, "NaN")
				assert.NotContains(t, v, "Inf")
			}
		}
	})
}
