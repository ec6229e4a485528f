package topo

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shape is a rectangle of a drawing.
type shape struct{ x, y, w, h float64 }

func (a shape) contains(b shape) bool {
	return b.x >= a.x && b.y >= a.y && b.x+b.w <= a.x+a.w && b.y+b.h <= a.y+a.h
}

func (a shape) meets(b shape) bool {
	return a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h
}

// shapes returns the page and the rectangles on it.
func shapes(t *testing.T, svg []byte) (shape, []shape) {
	t.Helper()
	var doc struct {
		Width  float64 `xml:"width,attr"`
		Height float64 `xml:"height,attr"`
		Rects  []struct {
			X string  `xml:"x,attr"`
			Y string  `xml:"y,attr"`
			W float64 `xml:"width,attr"`
			H float64 `xml:"height,attr"`
		} `xml:"rect"`
		Texts []struct {
			X float64 `xml:"x,attr"`
			Y float64 `xml:"y,attr"`
		} `xml:"text"`
	}
	require.NoError(t, xml.NewDecoder(bytes.NewReader(svg)).Decode(&doc))
	page := shape{0, 0, doc.Width, doc.Height}
	var list []shape
	for _, r := range doc.Rects[1:] { // the first is the paper
		x, err := strconv.ParseFloat(r.X, 64)
		require.NoError(t, err)
		y, err := strconv.ParseFloat(r.Y, 64)
		require.NoError(t, err)
		list = append(list, shape{x, y, r.W, r.H})
	}
	for _, text := range doc.Texts {
		assert.True(t, page.contains(shape{text.X, text.Y, 0, 0}), "a text is off the page")
	}
	return page, list
}

func TestDrawingsKeepTheirBoxesApart(t *testing.T) {
	systems := map[string]*System{"dgx-a100": dgxA100(t), "flat-vm": flatVM(t), "gb300": gb300(t)}
	for _, name := range machineNames(t) {
		if s, _, err := Parse(machine(t, name).format()); err == nil {
			systems["machine "+name] = s
		}
	}
	for name, s := range systems {
		page, list := shapes(t, write(t, s.SVG))
		for i, a := range list {
			assert.True(t, page.contains(a), "%s: a box is off the page", name)
			for _, b := range list[i+1:] {
				assert.True(t, !a.meets(b) || a.contains(b) || b.contains(a), "%s: %v lies across %v", name, a, b)
			}
		}
	}
}

func TestDrawingsAreRedWhereSomethingIsDegraded(t *testing.T) {
	m := rail(t)
	svg := string(write(t, m.finish().SVG))
	key := strings.Count(svg, svgBad) // the key explains the colour
	assert.Equal(t, 1, key)
	assert.NotContains(t, string(write(t, m.s.DOT)), svgBad)

	narrow := rail(t)
	device(t, narrow.s, "0000:06:00.0").Link.Width = 8
	s := narrow.finish()
	svg = string(write(t, s.SVG))
	assert.Greater(t, strings.Count(svg, svgBad), key)
	assert.Contains(t, svg, "Gen4 x8, 15.8 GB/s of Gen4 x16")
	assert.Contains(t, string(write(t, s.DOT)), `-- "hca mlx5_1" [label="Gen4 x8, 15.8 GB/s of Gen4 x16", color="`+svgBad)

	down := rail(t)
	down.s.HCAs[0].Ports[0].State = PortDown
	assert.Greater(t, strings.Count(string(write(t, down.finish().SVG)), svgBad), key)

	idle := rail(t)
	device(t, idle.s, "0000:04:00.0").Link.Speed = 2.5
	svg = string(write(t, idle.finish().SVG))
	assert.Equal(t, key, strings.Count(svg, svgBad), "a GPU at rest is no fault")
}

func TestDrawingsShowWhatIsNotKnown(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.node(1, "4-7")
	m.gpu("pci0000:00", "0000:01:00.0", Link{}, nil)
	m.s.HCAs = []*HCA{{Name: "rxe0", Kind: KindSoftware}}
	m.hca("pci0000:10", "0000:11:00.0", "mlx5_0", Link{}, ref(5))
	svg := string(write(t, m.finish().SVG))
	assert.Contains(t, svg, "NUMA node not known")
	assert.Contains(t, svg, "NUMA node 5")
	assert.Contains(t, svg, "not listed by the machine")
	assert.Contains(t, svg, "rxe0 (software)")
	assert.Contains(t, svg, "NUMA node 1: CPUs 4-7, no GPU or HCA")
}

func TestFabricInWords(t *testing.T) {
	s := parseAs(t, FormatMatrix, "\tGPU0\tGPU1\tGPU2\tCPU Affinity\n"+
		"GPU0\t X \tNV1\tNV2\t\nGPU1\tNV1\t X \tSYS\t\nGPU2\tNV2\tSYS\t X \t\n")
	pic := newPicture(s)
	assert.Equal(t, []string{"NVLink NV2: GPU0-GPU2", "NVLink NV1: GPU0-GPU1"}, pic.fabric.words(3))
	assert.Contains(t, string(write(t, s.DOT)), `"gpu GPU0" -- "gpu GPU2" [label="NV2"`)
	assert.Empty(t, newPicture(flatVM(t)).fabric.words(2))
}

func TestHCAWithoutAPlaceNamesItsGPUs(t *testing.T) {
	s := parseAs(t, FormatMatrix, matrixSpacesSample)
	assert.Contains(t, string(write(t, s.SVG)), "PIX to GPU0")
}

func TestWrap(t *testing.T) {
	for _, line := range wrapAll([]string{strings.Repeat("word ", 50), strings.Repeat("x", 200)}, 200, 12) {
		assert.LessOrEqual(t, len(line), 30)
	}
	assert.Equal(t, []string{"short"}, wrapAll([]string{"short"}, 200, 12))
}
