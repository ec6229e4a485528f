package topo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func linkFiles(speed string, width int, maxSpeed string, maxWidth int) string {
	return fmt.Sprintf("current_link_speed = %s GT/s PCIe\ncurrent_link_width = %d\nmax_link_speed = %s GT/s PCIe\nmax_link_width = %d\n",
		speed, width, maxSpeed, maxWidth)
}

func TestLinkRates(t *testing.T) {
	for _, c := range []struct {
		speed float64
		want  float64
	}{{8, 15.75}, {16, 31.5}, {32, 63.0}} {
		got, ok := Link{Speed: c.speed, Width: 16}.GBps()
		require.True(t, ok)
		assert.InDelta(t, c.want, got, 0.02, "GT/s %v x16", c.speed)
	}
	got, ok := Link{MaxSpeed: 2.5, MaxWidth: 4}.MaxGBps()
	assert.True(t, ok)
	assert.InDelta(t, 1.0, got, 1e-9)
	_, ok = Link{}.GBps()
	assert.False(t, ok)
}

func TestParseSpeed(t *testing.T) {
	for text, want := range map[string]float64{
		"16.0 GT/s PCIe": 16, "2.5 GT/s PCIe": 2.5, "32 GT/s PCIe/s": 32, "16 GT/s": 16, "8GT/s": 8, "64.0": 64,
	} {
		got, ok, err := ParseSpeed(text)
		require.NoError(t, err, text)
		assert.True(t, ok, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "Unknown", "Unknown speed", "unknown"} {
		_, ok, err := ParseSpeed(text)
		require.NoError(t, err)
		assert.False(t, ok, text)
	}
	for _, text := range []string{"fast", "-1", "16 GB/s", "0", "1e9", "NaN", "1.2.3"} {
		_, _, err := ParseSpeed(text)
		assert.Error(t, err, text)
	}
}

func TestParseWidth(t *testing.T) {
	for text, want := range map[string]int{"16": 16, "x8": 8, "32": 32} {
		got, ok, err := ParseWidth(text)
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	for _, text := range []string{"0", "63", "255"} {
		_, ok, err := ParseWidth(text)
		require.NoError(t, err)
		assert.False(t, ok, text)
	}
	for _, text := range []string{"", "33", "wide", "-1", "256"} {
		_, _, err := ParseWidth(text)
		assert.Error(t, err, text)
	}
}

func TestDegradedLinks(t *testing.T) {
	port := func(attrs string) string { return function("pci0000:00/0000:00:01.0", bridgeAttrs, attrs) }
	const place = "pci0000:00/0000:00:01.0/0000:01:00.0"
	for _, c := range []struct {
		name string
		text []string
		want []WarningCode
	}{
		{"full", []string{port(linkFiles("32.0", 16, "32.0", 16)), function(place, nicAttrs, linkFiles("32.0", 16, "32.0", 16))}, nil},
		{"slower", []string{port(linkFiles("16.0", 16, "32.0", 16)), function(place, nicAttrs, linkFiles("16.0", 16, "32.0", 16))}, []WarningCode{WarnDegradedLink}},
		{"narrower", []string{port(linkFiles("32.0", 8, "32.0", 16)), function(place, nicAttrs, linkFiles("32.0", 8, "32.0", 16))}, []WarningCode{WarnDegradedLink}},
		{"the slot is the limit", []string{port(linkFiles("16.0", 16, "16.0", 16)), function(place, nicAttrs, linkFiles("16.0", 16, "32.0", 16))}, []WarningCode{WarnSlotLimit}},
		{"an idle GPU", []string{port(linkFiles("2.5", 16, "32.0", 16)), function(place, gpuAttrs, linkFiles("2.5", 16, "32.0", 16))}, nil},
		{"a narrow GPU", []string{port(linkFiles("2.5", 8, "32.0", 16)), function(place, gpuAttrs, linkFiles("2.5", 8, "32.0", 16))}, []WarningCode{WarnDegradedLink}},
		{"an empty slot", []string{port(linkFiles("2.5", 0, "32.0", 16))}, nil},
		{"a second function", []string{port(""), function(place, nicAttrs, linkFiles("16.0", 16, "32.0", 16)),
			function("pci0000:00/0000:00:01.0/0000:01:00.1", nicAttrs, linkFiles("16.0", 16, "32.0", 16))}, []WarningCode{WarnDegradedLink}},
		{"no such generation", []string{port(""), function(place, nicAttrs, linkFiles("12.0", 16, "12.0", 16))}, []WarningCode{WarnBogusSpeed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.name, "GPU") {
				c.text = append(c.text, hca("mlx5_0", place))
			}
			s := readStaged(t, c.text...)
			var got []WarningCode
			for _, w := range s.Warnings {
				if w.Code != WarnNUMAUnknown {
					got = append(got, w.Code)
				}
			}
			assert.Equal(t, c.want, got, "%v", s.Warnings)
		})
	}
}

func TestBogusSwitchSpeed(t *testing.T) {
	const up = "pci0000:00/0000:00:01.0/0000:01:00.0"
	s := readStaged(t, function("pci0000:00/0000:00:01.0", bridgeAttrs),
		function(up, bridgeAttrs, linkFiles("5.0", 16, "5.0", 16)),
		function(up+"/0000:02:00.0", bridgeAttrs),
		function(up+"/0000:02:00.0/0000:03:00.0", nicAttrs, linkFiles("32.0", 16, "32.0", 16)))
	assert.Contains(t, warningsOf(s, WarnBogusSpeed), "0000:01:00.0")
}

func TestRatesOfPorts(t *testing.T) {
	for _, rate := range []float64{2.5, 25, 100, 200, 400, 800} {
		s := &System{HCAs: []*HCA{{Name: "mlx5_0", Ports: []Port{{Number: 1, RateGbps: rate}}}}}
		require.NoError(t, s.Finish())
		assert.Empty(t, s.Warnings, "%v Gb/s", rate)
	}
	s := &System{HCAs: []*HCA{{Name: "mlx5_0", Ports: []Port{{Number: 1, RateGbps: 180}}}}}
	require.NoError(t, s.Finish())
	assert.Contains(t, warningsOf(s, WarnBogusSpeed), "mlx5_0")
	for text, want := range map[string]float64{"400 Gb/sec (4X NDR)": 400, "2.5 Gb/sec (1X SDR)": 2.5, "0 Gb/sec": 0} {
		got, err := parseRate(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, bad := range []string{"", "400", "400 GB/sec", "NaN Gb/sec", "-1 Gb/sec"} {
		_, err := parseRate(bad)
		assert.Error(t, err, bad)
	}
}
