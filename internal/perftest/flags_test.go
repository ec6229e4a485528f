package perftest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/stats"
)

func parse(t *testing.T, line string) Config {
	t.Helper()
	c, err := ParseArgs(WriteBW, strings.Fields(line))
	require.NoError(t, err, line)
	return c
}

func TestDefaults(t *testing.T) {
	c := parse(t, "")
	assert.Equal(t, Config{Tool: WriteBW, Port: 18515, IBPort: 1, Size: 65536, Iterations: 5000, TxDepth: 128,
		CQModeration: 1, Peak: true}, c)
	assert.Equal(t, RoleServer, c.Role())
	assert.Equal(t, []int{65536}, c.Sizes())
}

func TestAllFlags(t *testing.T) {
	c := parse(t, "-d mlx5_0 -i 2 -x 0 -p 4000 -s 4K -n 100 -t 64 -Q 10 -m 1024 -F -N --report_gbits --json 10.0.0.1")
	index, mtu := 0, MTU(3)
	assert.Equal(t, Config{Tool: WriteBW, Host: "10.0.0.1", Port: 4000, Device: "mlx5_0", IBPort: 2, GIDIndex: &index,
		MTU: &mtu, Size: 4096, Iterations: 100, TxDepth: 64, CQModeration: 10, Unit: stats.Gbit, JSON: true}, c)
	assert.Equal(t, RoleClient, c.Role())

	long := parse(t, "10.0.0.1 --ib-dev=mlx5_0 --ib-port=2 --gid-index=0 --port=4000 --size=4K --iters=100 --tx-depth=64 "+
		"--cq-mod=10 --mtu=1024 --CPU-freq --noPeak --report_gbits --json")
	assert.Equal(t, c, long)
}

// The expected values are those that recorded runs of the C tool printed.
func TestDerivedValues(t *testing.T) {
	for _, c := range []struct {
		line          string
		tx, cq, iters int
		peak          bool
	}{
		{"-n 50", 50, 1, 50, true},
		{"-n 5 -a", 5, 5, 5, true},
		{"-s 4096 -n 20", 20, 20, 20, true},
		{"-s 4096 -D 3", 128, 100, 0, false},
		{"-s 8192", 128, 100, 5000, true},
		{"-s 8193", 128, 1, 5000, true},
		{"-s 8193 -Q 7", 128, 7, 5000, true},
		{"-Q 1024 -t 200", 200, 200, 5000, true},
		{"-a", 128, 100, 5000, true},
		{"-n 20000", 128, 1, 20000, true},
		{"-n 20001", 128, 1, 20001, false},
		{"-N", 128, 1, 5000, false},
		{"-D 3 -n 50", 128, 1, 0, false},
	} {
		got := parse(t, c.line)
		assert.Equal(t, []any{c.tx, c.cq, c.iters, c.peak}, []any{got.TxDepth, got.CQModeration, got.Iterations, got.Peak}, c.line)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]int{"1": 1, "64K": 65536, "8M": 8 << 20, "2147483647": 2147483647} {
		assert.Equal(t, want, parse(t, "-s "+text).Size)
	}
	all := parse(t, "-a -s 100")
	sizes := all.Sizes()
	assert.Len(t, sizes, 23)
	assert.Equal(t, 2, sizes[0])
	assert.Equal(t, 8388608, sizes[22])
	assert.Equal(t, 8388608, all.Size)
}

func TestDuration(t *testing.T) {
	for line, want := range map[string][2]time.Duration{
		"-D 1":      {1 * time.Second, 0},
		"-D 5":      {5 * time.Second, 1 * time.Second},
		"-D 10":     {10 * time.Second, 2 * time.Second},
		"-D 5 -f 2": {5 * time.Second, 2 * time.Second},
		"-D 5 -f 0": {5 * time.Second, 0},
		"-f 2":      {0, 0}, // as in the C tool: without effect
	} {
		c := parse(t, line)
		assert.Equal(t, want, [2]time.Duration{c.Duration, c.Margin}, line)
		if c.Duration > 0 {
			_, err := stats.NewWindow(c.Duration, c.Margin)
			assert.NoError(t, err)
		}
	}
}

func TestBadCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"-R":                      "write_bw: -R/--rdma_cm: this flag of the C tool is not supported yet by this tool",
		"--rdma_cm":               "write_bw: -R/--rdma_cm: this flag of the C tool is not supported yet by this tool",
		"-q 4":                    "write_bw: -q/--qp: this flag of the C tool is not supported yet by this tool",
		"-b 10.0.0.1":             "write_bw: -b/--bidirectional: this flag of the C tool is not supported yet by this tool",
		"--use_cuda=0":            "write_bw: --use_cuda: this flag of the C tool is not supported yet by this tool",
		"--bogus":                 "write_bw: --bogus: there is no such flag; -h lists them",
		"-Z":                      "write_bw: -Z: there is no such flag; -h lists them",
		"-s":                      "write_bw: -s/--size: a value must follow",
		"-s 4k":                   `write_bw: -s/--size: "4k" is not a size like 4096, 64K or 8M`,
		"-s 0":                    "write_bw: -s/--size: 0 is not in 1..2147483647 bytes",
		"-s 2048M":                "write_bw: -s/--size: 2048M is not in 1..2147483647 bytes",
		"-s K":                    `write_bw: -s/--size: "K" is not a size like 4096, 64K or 8M`,
		"-n 4":                    "write_bw: -n/--iters: 4 is not in 5..100000000",
		"-n 100000001":            "write_bw: -n/--iters: 100000001 is not in 5..100000000",
		"-n 99999999999999999999": "write_bw: -n/--iters: 99999999999999999999 is not in 5..100000000",
		"-n many":                 `write_bw: -n/--iters: "many" is not a whole number`,
		"-t 0":                    "write_bw: -t/--tx-depth: 0 is not in 1..15000",
		"-t 15001":                "write_bw: -t/--tx-depth: 15001 is not in 1..15000",
		"-Q 1025":                 "write_bw: -Q/--cq-mod: 1025 is not in 1..1024",
		"-x 65":                   "write_bw: -x/--gid-index: 65 is not in 0..64",
		"-x -1":                   "write_bw: -x/--gid-index: -1 is not in 0..64",
		"-i 0":                    "write_bw: -i/--ib-port: 0 is not in 1..255",
		"-p 65536":                "write_bw: -p/--port: 65536 is not in 1..65535",
		"-m 1000":                 "write_bw: -m/--mtu: 1000 is not one of 256, 512, 1024, 2048, 4096",
		"-D 0":                    "write_bw: -D/--duration: 0 is not in 1..1048576",
		"-D 4 -f 2":               "write_bw: -f/--margin: two margins of 2 s leave nothing of 4 s; lower -f or raise -D",
		"-f 3":                    "write_bw: -f/--margin: two margins of 3 s leave nothing of 5 s; lower -f or raise -D",
		"-D 5 -a":                 "write_bw: -D/--duration: cannot go with -a; give one size with -s",
		"a b":                     `write_bw: one host at most, not ["a" "b"]; flags need a - in front`,
		"--json=maybe":            `write_bw: --json: "maybe" is neither true nor false`,
	} {
		_, err := ParseArgs(WriteBW, strings.Fields(line))
		var usage *UsageError
		require.ErrorAs(t, err, &usage, line)
		assert.EqualError(t, err, want, line)
	}
	_, err := ParseArgs(WriteBW, []string{""})
	require.Error(t, err)
}

func TestHelpAndVersion(t *testing.T) {
	assert.Equal(t, ActionHelp, parse(t, "-h").Action)
	assert.Equal(t, ActionHelp, parse(t, "--help -n 5").Action)
	assert.Equal(t, ActionVersion, parse(t, "-V").Action)
	help := Usage(WriteBW)
	for _, want := range []string{"write_bw [flags] HOST", "--report_gbits", "--json", "default 5000", "default 65536"} {
		assert.Contains(t, help, want)
	}
	assert.NotContains(t, help, "rdma_cm")
	assert.NotContains(t, help, "true|false")
}

// The tools differ in their defaults only.
func TestDefaultsComeFromTheTool(t *testing.T) {
	c, err := ParseArgs(Tool{Name: "other_bw", Size: 8, Iterations: 1000, TxDepth: 4}, nil)
	require.NoError(t, err)
	assert.Equal(t, []int{8, 1000, 4, 4}, []int{c.Size, c.Iterations, c.TxDepth, c.CQModeration})
}

func FuzzParseArgs(f *testing.F) {
	for _, seed := range []string{"", "-s 4K -n 10 host", "-D 5 -f 2", "-R", "--x=", "-", "--", "-aFN -Q1", "--json --help"} {
		f.Add(strings.ReplaceAll(seed, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := ParseArgs(WriteBW, strings.Split(line, "\x00"))
		if err != nil {
			if !strings.ContainsAny(line, "\r\n") && strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("%q", err)
			}
			return
		}
		if c.Action != ActionRun {
			return
		}
		if c.Size < 1 || c.TxDepth < 1 || c.CQModeration < 1 || c.CQModeration > c.TxDepth || (c.Iterations == 0) != (c.Duration > 0) {
			t.Fatalf("%+v", c)
		}
	})
}
