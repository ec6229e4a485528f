package nccltest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files in testdata are what all_reduce_perf of nccl-tests 2.19.6 printed on
// two H200s.
var recordings = map[string]string{
	"h200x2-nccl-tests-g2.txt":  "-g 2 -b 8 -e 4G -f 2 -w 10 -n 50",
	"h200x2-nccl-tests-t2.txt":  "-t 2 -b 8 -e 16M -f 4 -w 20 -n 200",
	"h200x2-nccl-tests-G20.txt": "-g 2 -b 8 -e 16M -f 4 -w 20 -n 200 -G 20",
}

var (
	deviceLine  = regexp.MustCompile(`^#  Rank +(\d+) Group +(\d+) Pid +(\d+) on +(\S+) device +(\d+) \[(.*)\] (.*)$`)
	headersOf   = regexp.MustCompile(`nccl-headers=\d+`)
	averageLine = regexp.MustCompile(`# Avg bus bandwidth +: (\S+)`)
)

// TestOutputIsTheCTools prints the recorded numbers and compares every character
// of every line, but for the release that the headers had.
func TestOutputIsTheCTools(t *testing.T) {
	for file, args := range recordings {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", file))
			require.NoError(t, err)
			want := string(data)
			cfg := parse(t, AllReduce, args)
			var b bytes.Buffer
			o, err := newOutput(&cfg, &b, true, nccl.Version(22803))
			require.NoError(t, err)

			require.NoError(t, o.head(recordedDevices(t, want)))
			// libnccl's own line.
			b.WriteString("NCCL version 2.28.3+cuda13.0\n")
			require.NoError(t, o.tableHeader())
			rows := parseTable(want, false)
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.NoError(t, o.row(recordedRow(t, &cfg, r)))
			}
			// The average is of numbers that the table rounds.
			var average float64
			_, err = fmt.Sscan(averageLine.FindStringSubmatch(want)[1], &average)
			require.NoError(t, err)
			assert.InDelta(t, average, o.average(), 0.01)
			o.bandwidths, o.results = average, 1
			require.NoError(t, o.footer(0, nil))

			got := regexp.MustCompile(`(?m)^# gofabric: .*\n`).ReplaceAllString(b.String(), "")
			plain := func(s string) []string {
				return strings.Split(headersOf.ReplaceAllString(strings.TrimRight(s, "\n"), "nccl-headers=N"), "\n")
			}
			assert.Equal(t, plain(want), plain(got))
		})
	}
}

func recordedDevices(t *testing.T, text string) (list []device) {
	for line := range strings.Lines(text) {
		m := deviceLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		var d device
		_, err := fmt.Sscan(strings.Join(m[1:6], " "), &d.Rank, &d.Group, &d.PID, &d.Host, &d.Ordinal)
		require.NoError(t, err)
		d.Address, d.Name = m[6], m[7]
		list = append(list, d)
	}
	require.Len(t, list, 2)
	return list
}

// recordedRow is a row whose numbers are those of a printed one.
func recordedRow(t *testing.T, cfg *Config, r tableRow) *row {
	dt, err := nccl.ParseDataType(r.dataType)
	require.NoError(t, err)
	this := &trial{ranks: 2, dt: dt, op: cfg.Ops[0], root: r.root}
	this.counts = cfg.Tool.collective.counts(nil, r.size/this.element(), this.element(), 2)
	made := &row{trial: this}
	for i, half := range r.halves {
		made.halves[i] = measurement{
			seconds: half.time / 1e6, algorithm: half.algorithm, bus: half.bus, checked: half.wrong != nil, threads: []float64{1},
		}
		if half.wrong != nil {
			made.halves[i].wrong = uint64(*half.wrong)
		}
	}
	return made
}

// TestNumbersFitTheirColumns takes C's rules at their edges.
func TestNumbersFitTheirColumns(t *testing.T) {
	for v, want := range map[float64]string{
		0: "   0.00", 3.4: "   3.40", 9999.99: "9999.99", 18602.7: "18602.7", 1234567: "1234567", 12345678: "1.2e+07", 0.004: "   0.00",
	} {
		assert.Equal(t, want, fit(v, 7))
	}
	assert.Equal(t, "346.12", fit(346.12, 6))
	assert.Equal(t, " 1e+06", fit(1234567, 6))
	assert.Equal(t, "30.461", general(30.461))
	assert.Equal(t, "1.23457e+06", general(1234567))
	assert.Equal(t, "100000", general(100000))
	assert.Equal(t, "1.50 KB", bytesText(1536))
	assert.Equal(t, "-2.00 B", bytesText(-2))
	assert.Equal(t, "16.0 GB", bytesText(16<<30))
}

// TestHeadersOfOtherTables has the lines that no recording has.
func TestHeadersOfOtherTables(t *testing.T) {
	for args, want := range map[string]string{
		"-I 1 -S 1 -C 1": "" +
			"#                                                                 out-of-place (+ per-iteration)                                in-place (+ per-iteration)\n" +
			"#       size         count      type   redop    root  cputime   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%" +
			"  cputime   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%           timestamp\n" +
			"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)" +
			"     (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)   %Y-%m-%d %H:%M:%S\n",
	} {
		cfg := parse(t, AllReduce, args)
		var b bytes.Buffer
		o, err := newOutput(&cfg, &b, true, 22803)
		require.NoError(t, err)
		require.NoError(t, o.tableHeader())
		assert.Equal(t, "#\n"+want, b.String())
	}
}
