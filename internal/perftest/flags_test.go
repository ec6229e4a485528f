package perftest

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/stats"
	"github.com/gofabric/gofabric/verbs"
)

func parse(t *testing.T, line string) Config {
	t.Helper()
	c, err := ParseArgs(WriteBW, strings.Fields(line))
	require.NoError(t, err, line)
	return c
}

// defaults is a configuration of write_bw without flags.
func defaults() Config {
	return Config{Tool: WriteBW, Port: 18515, Timeout: time.Minute, IBPort: 1, AckTimeout: 14, RetryCount: 7, Connection: verbs.RC, QueuePairs: 1,
		Size: 65536, Iterations: 5000, TxDepth: 128, RxDepth: 1, CQModeration: 1, PostList: 1, RecvPostList: 1, Peak: true, Pairs: 15}
}

func TestDefaults(t *testing.T) {
	c := parse(t, "")
	assert.Equal(t, defaults(), c)
	assert.Equal(t, RoleServer, c.Role())
	assert.Equal(t, []int{65536}, c.Sizes())
}

func TestAllFlags(t *testing.T) {
	c := parse(t, "-d mlx5_0 -i 2 -x 0 -p 4000 -s 4K -n 100 -t 64 -Q 10 -m 1024 -F -N --report_gbits --json 10.0.0.1")
	index, mtu := 0, MTU(3)
	want := defaults()
	want.Host, want.Port, want.Device, want.IBPort, want.GIDIndex, want.MTU = "10.0.0.1", 4000, "mlx5_0", 2, &index, &mtu
	want.Size, want.Iterations, want.TxDepth, want.CQModeration, want.Peak = 4096, 100, 64, 10, false
	want.Unit, want.JSON = stats.Gbit, true
	want.shared = []string{"--CPU-freq", "--cq-mod=10", "--gid-index=0", "--ib-port=2", "--iters=100", "--mtu=1024", "--noPeak",
		"--report_gbits", "--size=4096", "--tx-depth=64"}
	assert.Equal(t, want, c)
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
		"-R -d loop0":              "write_bw: -R/--rdma_cm: loop0 is a device inside this process, which rdma_cm does not know: leave -R and -z out",
		"-z -d loop0":              "write_bw: -z/--comm_rdma_cm: loop0 is a device inside this process, which rdma_cm does not know: leave -R and -z out",
		"-R -c UC":                 "write_bw: -R/--rdma_cm: connects RC and UD: leave -c UC out, or take -z, which leaves the queue pairs alone",
		"-T 16":                    "write_bw: -T/--tos: needs -R",
		"-z -T 16":                 "write_bw: -T/--tos: needs -R",
		"-R -T 256":                "write_bw: -T/--tos: 256 is not in 0..255",
		"-z --retry_count 3":       "write_bw: --retry_count: needs -R",
		"-R --compare ib_write_bw": "write_bw: --compare: runs both ends over 127.0.0.1, which leads to no adapter: leave -R and -z out",
		"--use_rocm=0":             "write_bw: --use_rocm: is for accelerators that this tool does not drive; --use_cuda is for NVIDIA's",
		"--use_cuda=-1":            "write_bw: --use_cuda: -1 is not in 0..65536",
		"--use_cuda_dmabuf":        "write_bw: --use_cuda_dmabuf: needs --use_cuda or --use_cuda_bus_id",
		"-e":                       "write_bw: -e/--events: does not go with writes, as in the C tool: the peer gets no completion to sleep for",
		"-H":                       "write_bw: -H/--report-histogram: is for the latency tools",
		"-o 4":                     "write_bw: -o/--outs: is for the tools of read and atomic",
		"-c UD":                    "write_bw: -c/--connection: UD carries only sends: use send_bw or send_lat",
		"-c XRC":                   "write_bw: -c/--connection: XRC is not offered by this tool: it has RC, UC and UD",
		"-c rc":                    `write_bw: -c/--connection: "rc" is not one of RC, UC, UD`,
		"-l 3 -n 10":               "write_bw: -l/--post_list: -n must be a multiple of 3",
		"-l 200 -n 400":            "write_bw: -l/--post_list: the send queue holds 128 (-t)",
		"-l 6 -n 12 -Q 4":          "write_bw: -l/--post_list: must be a multiple of -Q, which is 4",
		"--threads 3 -q 2":         "write_bw: --threads: each has a queue pair at least: there are 2 (-q)",
		"--report-both":            "write_bw: --report-both: needs -b",
		"--cpu_util":               "write_bw: --cpu_util: needs -D",
		"--run_infinitely -a":      "write_bw: --run_infinitely: runs for -D seconds at a time: leave -a and -n out",
		"--output=latency":         "write_bw: --output: this tool has bandwidth and message_rate",
		"--output=x":               `write_bw: --output: "x" is not one of bandwidth, message_rate, latency`,
		"--bind=x":                 `write_bw: --bind: "x" is neither "near" nor a list of CPUs like 0-3,8`,
		"--plot=":                  "write_bw: --plot: the value is empty; leave the flag out for the default",
		"--ib-dev= -n 5":           "write_bw: -d/--ib-dev: the value is empty; leave the flag out for the default",
		"--compare=x host":         "write_bw: --compare: runs both ends on this machine: leave the host out",
		"-w 0":                     `write_bw: -w/--limit_bw: "0" is not a number above zero`,
		"-I 913":                   "write_bw: -I/--inline_size: 913 is not in 0..912",
		"-u 0":                     "write_bw: -u/--qp-timeout: 0 is not in 1..31",
		"--bogus":                  "write_bw: --bogus: there is no such flag; -h lists them",
		"-Y":                       "write_bw: -Y: there is no such flag; -h lists them",
		"-s":                       "write_bw: -s/--size: a value must follow",
		"-s 4k":                    `write_bw: -s/--size: "4k" is not a size like 4096, 64K or 8M`,
		"-s 0":                     "write_bw: -s/--size: 0 is not in 1..2147483647 bytes",
		"-s 2048M":                 "write_bw: -s/--size: 2048M is not in 1..2147483647 bytes",
		"-s K":                     `write_bw: -s/--size: "K" is not a size like 4096, 64K or 8M`,
		"-n 4":                     "write_bw: -n/--iters: 4 is not in 5..100000000",
		"-n 100000001":             "write_bw: -n/--iters: 100000001 is not in 5..100000000",
		"-n 99999999999999999999":  "write_bw: -n/--iters: 99999999999999999999 is not in 5..100000000",
		"-n many":                  `write_bw: -n/--iters: "many" is not a whole number`,
		"-t 0":                     "write_bw: -t/--tx-depth: 0 is not in 1..15000",
		"-t 15001":                 "write_bw: -t/--tx-depth: 15001 is not in 1..15000",
		"-Q 1025":                  "write_bw: -Q/--cq-mod: 1025 is not in 1..1024",
		"-x 65":                    "write_bw: -x/--gid-index: 65 is not in 0..64",
		"-x -1":                    "write_bw: -x/--gid-index: -1 is not in 0..64",
		"-i 0":                     "write_bw: -i/--ib-port: 0 is not in 1..255",
		"-p 65536":                 "write_bw: -p/--port: 65536 is not in 1..65535",
		"-m 1000":                  "write_bw: -m/--mtu: 1000 is not one of 256, 512, 1024, 2048, 4096",
		"-D 0":                     "write_bw: -D/--duration: 0 is not in 1..1048576",
		"-D 4 -f 2":                "write_bw: -f/--margin: two margins of 2 s leave nothing of 4 s; lower -f or raise -D",
		"-f 3":                     "write_bw: -f/--margin: two margins of 3 s leave nothing of 5 s; lower -f or raise -D",
		"-D 5 -a":                  "write_bw: -D/--duration: cannot go with -a; give one size with -s",
		"a b":                      `write_bw: one host at most, not ["a" "b"]; flags need a - in front`,
		"--json=maybe":             `write_bw: --json: "maybe" is neither true nor false`,
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
	for _, want := range []string{"write_bw [flags] HOST", "--report_gbits", "--json", "default 5000", "default 65536", "-d loop0"} {
		assert.Contains(t, help, want)
	}
	assert.NotContains(t, help, "true|false")
}

// The defaults and the rules of the other tools, as recorded runs printed them.
func TestOtherToolsDefaults(t *testing.T) {
	for _, c := range []struct {
		tool            Tool
		line            string
		size, n, tx, rx int
	}{
		{ReadBW, "", 65536, 1000, 128, 1},
		{SendBW, "", 65536, 1000, 128, 512},
		{SendBW, "-n 20", 65536, 20, 20, 20},
		{SendBW, "-n 53", 65536, 53, 53, 54},
		{SendBW, "-n 53 -a", 8388608, 53, 53, 53},
		{SendBW, "-c UD -s 64", 64, 1000, 128, 1000},
		{SendBW, "-c UC -n 100000", 65536, 100000, 128, 16000},
		{SendBW, "-c UD -D 5 -s 64", 64, 0, 128, 512},
		{AtomicBW, "", 8, 1000, 128, 1},
		{WriteLat, "", 2, 1000, 1, 1},
		{SendLat, "-n 100", 2, 100, 1, 100},
		{SendLat, "-D 3", 2, 0, 1, 512},
		{AtomicLat, "", 8, 1000, 1, 1},
	} {
		got, err := ParseArgs(c.tool, strings.Fields(c.line))
		require.NoError(t, err, "%s %s", c.tool.Name, c.line)
		assert.Equal(t, []int{c.size, c.n, c.tx, c.rx}, []int{got.Size, got.Iterations, got.TxDepth, got.RxDepth}, "%s %s", c.tool.Name, c.line)
	}
}

func TestPostListModeration(t *testing.T) {
	assert.Equal(t, 8, parse(t, "-l 8 -n 64").CQModeration)
	assert.Equal(t, 4, parse(t, "-l 8 -n 64 -Q 4").CQModeration)
}

// What the C tools refuse, ours refuse too, and name the flag.
func TestOtherToolsRefuse(t *testing.T) {
	for line, tool := range map[string]Tool{
		"-q 2": WriteLat, "-b": SendLat, "-Q 2": ReadLat, "-N": AtomicLat, "-s 16": AtomicBW, "-a": AtomicLat, "-I 8": ReadBW,
		"-c UC": ReadBW, "-r 8": WriteBW, "--use-srq": ReadBW, "-A FETCH_AND_ADD": SendBW, "-t 2": SendLat, "-e": WriteLat,
		"--perform_warm_up": SendBW, "-c UD": WriteLat, "-A x": AtomicBW, "--recv_post_list 3 -n 10": SendBW, "--use-srq --threads 1": SendBW,
	} {
		_, err := ParseArgs(tool, strings.Fields(line))
		var usage *UsageError
		require.ErrorAs(t, err, &usage, "%s %s", tool.Name, line)
		assert.NotEmpty(t, usage.Flag)
		assert.NotContains(t, usage.Problem, "there is no such flag", line)
	}
}

// Each flag of the C tools is there or refused by name.
func TestNoFlagOfTheCToolIsUnknown(t *testing.T) {
	for _, tool := range Tools {
		text, err := os.ReadFile("testdata/flags/" + tool.Name + ".txt")
		require.NoError(t, err)
		set := newParser(tool).set
		for _, name := range strings.Fields(string(text)) {
			short, long, both := strings.Cut(name, ",")
			if !both {
				short, long = "", short
			}
			flag := set.Lookup(strings.TrimPrefix(long, "--"))
			// 4.5 prints --hop_limit for what it parses as such, and --com_rdma_cm
			// for what it parses as --comm_rdma_cm.
			if assert.NotNil(t, flag, "%s: %s", tool.Name, name) && both && long != "--com_rdma_cm" {
				assert.Equal(t, strings.TrimPrefix(short, "-"), flag.Shorthand, "%s: %s", tool.Name, name)
			}
		}
	}
}

func FuzzParseArgs(f *testing.F) {
	for _, seed := range []string{"", "-s 4K -n 10 host", "-D 5 -f 2", "-R", "--x=", "-", "--", "-aFN -Q1", "--json --help"} {
		f.Add(strings.ReplaceAll(seed, " ", "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		c, err := ParseArgs(Tools[len(line)%len(Tools)], strings.Split(line, "\x00"))
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
