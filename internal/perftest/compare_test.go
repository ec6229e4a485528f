package perftest

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The parser reads what the C tools printed; the tests of whole runs read ours
// with the same one.
func TestReadValuesOfTheCTools(t *testing.T) {
	for name, c := range map[string]struct {
		latency bool
		want    []value
	}{
		"wbw.client":     {false, []value{{65536, 43.32}}},
		"wbw_brb.client": {false, []value{{4096, 15.57}, {4096, 7.94}, {4096, 7.62}}},
		"slat.client":    {true, []value{{2, 228.64}}},
		"slat_D.client":  {true, []value{{2, 3708.56}}},
		"wlat_H.client":  {true, []value{{2, 384.52}}},
	} {
		text, err := os.ReadFile("../report/testdata/" + name + ".out")
		require.NoError(t, err)
		assert.Equal(t, c.want, readValues(string(text), c.latency), name)
	}
	text, err := os.ReadFile("../report/testdata/wbw_a.client.out")
	require.NoError(t, err)
	assert.Len(t, readValues(string(text), false), 23)
}

func TestComparisonTable(t *testing.T) {
	config := &Config{Tool: WriteBW, Pairs: 7}
	var table []*comparison
	for turn := range config.Pairs {
		c, ours, again := 100.0, 99.0+float64(turn), 98.0+float64(turn)/2
		var err error
		table, err = addTurn(table, [][]value{{{64, c}}, {{64, ours}}, {{64, again}}})
		require.NoError(t, err)
	}
	var b bytes.Buffer
	require.NoError(t, writeComparison(&b, config, table, 1))
	assert.Contains(t, b.String(), "# 1 runs failed and were repeated")
	assert.Contains(t, b.String(), "1.020 [0.990, 1.050]")
	assert.Contains(t, b.String(), "above C's interval")

	_, err := addTurn(table, [][]value{{{64, 1}}, nil, {{64, 1}}})
	assert.Error(t, err)
	_, err = addTurn(table, [][]value{{{64, 1}, {128, 1}}, {{64, 1}, {128, 1}}, {{64, 1}, {128, 1}}})
	assert.Error(t, err)
}

func TestVerdict(t *testing.T) {
	control := []float64{0.9, 0.95, 1, 1.05, 1.1, 1}
	assert.Equal(t, "within C's interval", verdict([]float64{1}, control))
	assert.Equal(t, "below C's interval", verdict([]float64{0.5}, control))
	assert.Equal(t, "above C's interval", verdict([]float64{1.5}, control))
	assert.Contains(t, verdict([]float64{1}, control[:3]), "too few")
	assert.Equal(t, "-", verdict(nil, nil))
}

// A tool that does not print a table, or fails, ends the comparison.
func TestCompareRefuses(t *testing.T) {
	config := Config{Tool: WriteBW, Device: "nothing0", Port: 28515, Compare: "/nonexistent/ib_write_bw", Pairs: 1}
	assert.Error(t, Compare(context.Background(), config, new(bytes.Buffer)))
}

func TestCompareArguments(t *testing.T) {
	config, err := ParseArgs(SendBW, []string{"-d", "rxe1", "-s", "4K", "-n", "20", "-F", "-q", "4", "--threads", "2", "--bind=0-1",
		"--compare", "ib_send_bw", "--pairs", "6", "--server-dev", "rxe0", "-p", "20000"})
	require.NoError(t, err)
	assert.Equal(t, []string{"--CPU-freq", "--iters=20", "--qp=4", "--size=4096"}, config.shared)
	assert.Equal(t, []string{"--bind=0-1", "--threads=2"}, config.own)
	assert.Equal(t, []string{"rxe1", "rxe0"}, []string{config.Device, config.ServerDevice})
}

func TestParseBind(t *testing.T) {
	cpus, err := parseBind("0-2,8")
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 2, 8}, cpus)
	for _, bad := range []string{"", "3-1", "a", "-1", "0-", "1-99999999"} {
		_, err := parseBind(bad)
		assert.Error(t, err, bad)
	}
}

func FuzzParseBind(f *testing.F) {
	for _, seed := range []string{"near", "0-3,8", "", "-", "1-1", "65535"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := parseBind(text)
		if err == nil && text != bindNear && len(cpus) == 0 {
			t.Fatal(text)
		}
	})
}

func FuzzReadValues(f *testing.F) {
	f.Add(" 65536      50               34.85              21.45  \t\t   0.000343\n", false)
	f.Add(" 2       100          204.91         763.34       228.64   \t       264.01      \t71.79  \t\t763.34  \t\t763.34 \n", true)
	f.Fuzz(func(t *testing.T, text string, latency bool) { readValues(text, latency) })
}

func TestParseCPU(t *testing.T) {
	load, ok := parseCPU([]byte("cpu  10 1 5 100 0 0\ncpu0 1 2 3 4\n"))
	assert.True(t, ok)
	assert.Equal(t, cpuLoad{10, 100}, load)
	_, ok = parseCPU([]byte("intr 1"))
	assert.False(t, ok)
	assert.Nil(t, startCPU(false).percent())
}
