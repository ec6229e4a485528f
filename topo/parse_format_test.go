package topo

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples are small inputs of each format, for the tests and as seeds.
var samples = map[Format][]string{
	FormatNCCL:         {ncclSample, ncclFlatSample, ncclOddSample},
	FormatHwloc:        {hwloc1Sample, hwloc2Sample, hwloc3Sample},
	FormatMatrix:       {matrixSample, matrixOldSample, matrixSpacesSample},
	FormatLspciTree:    {lspciTreeSample, "-[00]-+-00.0\n      \\-01.0-[01]----00.0\n"},
	FormatLspciVerbose: {lspciVerboseSample},
}

func parseAs(t *testing.T, format Format, text string) *System {
	t.Helper()
	s, got, err := Parse([]byte(text))
	require.NoError(t, err)
	require.Equal(t, format, got)
	assert.Equal(t, string(format), s.Source)
	return s
}

func device(t *testing.T, s *System, address Address) *PCIDevice {
	t.Helper()
	for _, d := range s.PCI { // finished or not
		if d.Address == address {
			return d
		}
	}
	require.Fail(t, "not there", address)
	return nil
}

func TestFormatsAreToldApartByContent(t *testing.T) {
	for format, texts := range samples {
		for _, text := range texts {
			parseAs(t, format, text)
			parseAs(t, format, "\xef\xbb\xbf"+text)
			parseAs(t, format, strings.ReplaceAll(text, "\n", "\r\n"))
		}
	}
}

func TestParseNamesWhatItTried(t *testing.T) {
	for _, text := range []string{"", "   \n", "hello", "<html></html>", "{}", "GPU0 is fine", "\x00\x01", "<", "<!-- only a comment -->", "hca_id: mlx5_0\n"} {
		s, format, err := Parse([]byte(text))
		assert.Nil(t, s)
		assert.Empty(t, format)
		require.ErrorIs(t, err, ErrUnknownFormat, "%q", text)
		for f := range samples {
			assert.ErrorContains(t, err, string(f))
		}
	}
}

func TestParseRefusesWhatIsTooLarge(t *testing.T) {
	_, _, err := Parse(make([]byte, MaxInput+1))
	require.ErrorIs(t, err, ErrUnknownFormat)
}

func TestStripEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain":                          "plain",
		"\t\x1b[4mGPU0\tGPU1\x1b[0m":     "\tGPU0\tGPU1",
		"\t[4mGPU0[0m":                   "\tGPU0",
		"\x1b[1;31mred\x1b[m":            "red",
		"\x1b[":                          "",
		"\x1bend\x1b":                    "end",
		"[0000:00] and [10de:2330] stay": "[0000:00] and [10de:2330] stay",
	} {
		assert.Equal(t, want, stripEscapes(in))
	}
}

// exercise asks a System that came out of a parser everything that the outputs
// ask, and reads what NCCLXML writes back.
func exercise(t *testing.T, s *System) {
	if len(s.GPUs)+len(s.HCAs) > 64 {
		return // every pair is asked for its path
	}
	s.NCCLEnv()
	for _, f := range []func(io.Writer) error{
		func(w io.Writer) error { return s.Matrix(w, MatrixOptions{Escapes: true}) },
		s.Table, s.JSON, s.SVG, s.DOT,
	} {
		require.NoError(t, f(io.Discard))
	}
	var first, second bytes.Buffer
	require.NoError(t, s.NCCLXML(&first))
	if !strings.Contains(first.String(), "<cpu") {
		return
	}
	again, format, err := Parse(first.Bytes())
	require.NoError(t, err, "%s", first.String())
	require.Equal(t, FormatNCCL, format)
	require.NoError(t, again.NCCLXML(&second))
	require.Equal(t, first.String(), second.String())
}

func fuzzFormat(f *testing.F, format Format) {
	for _, text := range samples[format] {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, p := range parsers() {
			if p.format != format {
				continue
			}
			p.not(data)
			s, err := p.parse(data)
			if err != nil {
				assert.NotEmpty(t, err.Error())
				return
			}
			s.Source = string(format)
			if s.Finish() == nil {
				exercise(t, s)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, texts := range samples {
		for _, text := range texts {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, format, err := Parse(data)
		if err != nil {
			assert.Nil(t, s)
			return
		}
		assert.NotEmpty(t, format)
	})
}
