package nccltest

import (
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaults(t *testing.T) {
	cfg := parse(t, AllReduce, "")
	assert.Equal(t, []any{1, 1, uint64(32 << 20), uint64(32 << 20), uint64(1 << 20), uint64(1), 20, 1, 1, 1, 1},
		[]any{cfg.Threads, cfg.GPUs, cfg.MinBytes, cfg.MaxBytes, cfg.StepBytes, cfg.StepFactor, cfg.Iters, cfg.Warmup, cfg.Aggregate, cfg.Cycles, cfg.Checks})
	assert.Equal(t, []nccl.DataType{nccl.Float32}, cfg.Types)
	assert.Equal(t, []values.Op{values.Sum}, cfg.Ops)
	assert.Equal(t, AverageMean, cfg.Average)
	require.NotNil(t, cfg.Root)
	assert.Zero(t, *cfg.Root)
	assert.Nil(t, cfg.CTAPolicy)
	assert.Zero(t, cfg.Timeout)
}

func TestLongNames(t *testing.T) {
	long := parse(t, AllReduce, "--nthreads 2 --ngpus 3 --minbytes 8 --maxbytes 1.5G --stepbytes 4k --stepfactor 2 --iters 5 --agg_iters 2 "+
		"--warmup_iters 0 --run_cycles 0 --parallel_init 1 --check 0 --op mulsum --datatype bfloat16 --root -1 --blocking 3 --stream_null 1 "+
		"--timeout 7 --cudagraph 0 --report_cputime 1 --report_timestamps 1 --output_file a.json --average 3 --local_register 2 --cta_policy 2 "+
		"--memory 1 --unalign 4 --per_iter_timing 1 --per_iter_skip 2")
	short := parse(t, AllReduce, "-t2 -g 3 -b 8 -e 1.5G -i 4k -f 2 -n 5 -m 2 -w 0 -N 0 -p 1 -c 0 -o mulsum -d bfloat16 -r -1 -z 3 -y 1 -T 7 -G 0 "+
		"-C 1 -S 1 -J a.json -a 3 -R 2 -x 2 -M 1 -u 4 -I 1 -K 2")
	long.args, short.args = nil, nil
	assert.Equal(t, short.shared, long.shared)
	long.Tool, short.Tool = Tool{}, Tool{}
	assert.Equal(t, short, long)
	assert.Equal(t, uint64(3<<29), short.MaxBytes)
	assert.Equal(t, 7*time.Second, short.Timeout)
	assert.Nil(t, short.Root)
	assert.NotContains(t, short.shared, "a.json")
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	for args, want := range map[string]string{
		"-D 1":                       "-D/--device_implementation: runs the C tool's own kernels",
		"--device_cta_count=4":       "-V/--device_cta_count: is for -D",
		"-t 0":                       "-t/--nthreads: 0 is not in 1..4096",
		"-n x":                       `-n/--iters: "x" is not a whole number`,
		"-n 0":                       "-n/--iters: 0 is less than 1, or too large",
		"-b 3X":                      `-b/--minbytes: "3X" is not a size`,
		"-b 0":                       "-b/--minbytes: the sizes begin at 1",
		"-b 2 -e 1":                  "-b/--minbytes: 2 is more than the last size",
		"-i 0":                       "-i/--stepbytes: 0 leads to no other size",
		"-o xor":                     `-o/--op: "xor" is none of all, sum`,
		"-d real":                    `-d/--datatype: "real" is none of all, int8`,
		"-z 4":                       "-z/--blocking: 4 is not in 0..3",
		"-z 1 -G 2":                  "-z/--blocking: does not go with -G",
		"-y 1 -G 2":                  "-y/--stream_null: does not go with -G",
		"-z 1 -m 2":                  "-z/--blocking: 1 and 2 wait for each operation",
		"-p 2":                       "-p/--parallel_init: 2 is not in 0..1",
		"-J results.xml":             "-J/--output_file: the name must end in .json",
		"--issue=cores":              "--issue: \"cores\" is none of threads",
		"--mode auto -R 1":           "--mode: auto tries -G and -R itself",
		"--mode auto -I 1":           "--mode: auto tries graphs",
		"--mode auto -z 1":           "--mode: auto tries graphs",
		"--mode auto -y 1":           "--mode: auto tries graphs",
		"--plot a.png":               "--plot: the name must end in .svg",
		"--plot-with a.json":         "--plot-with: needs --plot",
		"--plot a.svg --compare x":   "--plot: does not go with --compare",
		"--limit-check --compare x":  "--limit-check: does not go with --compare",
		"-Q":                         "-Q: there is no such flag",
		"--iterations 2":             "--iterations: there is no such flag",
		"-n":                         "-n/--iters: a value must follow",
		"8":                          `"8" is no flag`,
		"-b 8 -e 99999999999999999G": "-e/--maxbytes: \"99999999999999999G\" is not a size",
	} {
		_, err := ParseArgs(AllReduce, strings.Fields(args), environment())
		var usage *UsageError
		if assert.ErrorAs(t, err, &usage, args) {
			assert.Contains(t, err.Error(), "all_reduce_perf: "+want)
			assert.NotContains(t, err.Error(), "\n")
		}
	}
	_, err := ParseArgs(HyperCube, []string{"-m", "2"}, environment())
	assert.ErrorContains(t, err, "-m/--agg_iters")
}

// TestWhatTheCToolIgnoresIsIgnored, and said.
func TestWhatTheCToolIgnoresIsIgnored(t *testing.T) {
	cfg := parse(t, AllReduce, "-I 1 -G 2 -z 3 -K 3 -n 5")
	assert.False(t, cfg.PerIter)
	assert.Zero(t, cfg.PerIterCut)
	assert.Equal(t, blockingNone, cfg.Blocking)
	assert.Len(t, cfg.notes, 3)
	assert.Len(t, parse(t, AllReduce, "-I 5 -K 99").notes, 2)
}

func TestVariables(t *testing.T) {
	cfg := parse(t, AllReduce, "", envDevice, "3", envSplit, "MOD 2", envMinBandwidth, "10.5")
	require.NotNil(t, cfg.Device)
	assert.Equal(t, 3, *cfg.Device)
	assert.Equal(t, 1, cfg.Group.color(5))
	require.NotNil(t, cfg.MinBandwidth)
	assert.Equal(t, 10.5, *cfg.MinBandwidth)
	assert.Nil(t, parse(t, AllReduce, "", envDevice, "-1").Device)
	assert.Equal(t, 4, parse(t, AllReduce, "", envSplitMask, "0x4", envSplit, "MOD 2").Group.color(7))
	for _, pair := range [][2]string{{envDevice, "gpu"}, {envSplit, "XOR 3"}, {envSplit, "DIV 0"}, {envSplit, "MOD"}, {envSplitMask, "zz"}, {envMinBandwidth, "fast"}} {
		_, err := ParseArgs(AllReduce, nil, environment(pair[0], pair[1]))
		var usage *UsageError
		if assert.ErrorAs(t, err, &usage) {
			assert.Equal(t, pair[0], usage.Flag)
		}
	}
}

func TestSizes(t *testing.T) {
	for args, want := range map[string]int{
		"-b 8 -e 4G -f 2": 30, "-b 8 -e 100 -f 8": 2, "-b 1M -e 4M": 4, "-b 1 -e 4G -i 1": 1 << 32, "-b 1 -e 2000000000G -f 2147483647": 2, "": 1,
	} {
		cfg := parse(t, AllReduce, args)
		assert.Equal(t, want, cfg.sizes(), args)
	}
}

func TestSplits(t *testing.T) {
	for text, want := range map[string][]int{
		"AND 1": {0, 1, 0, 1}, "&0b1": {0, 1, 0, 1}, "or 1": {1, 1, 3, 3}, "|1": {1, 1, 3, 3},
		"MOD 3": {0, 1, 2, 0}, "%3": {0, 1, 2, 0}, "div2": {0, 0, 1, 1}, "/ 0x2": {0, 0, 1, 1},
	} {
		s, err := parseSplit(text)
		require.NoError(t, err)
		for process, color := range want {
			assert.Equal(t, color, s.color(process), text)
		}
	}
	assert.Zero(t, split{}.color(7))
}

func TestUsageNamesEveryFlag(t *testing.T) {
	text := Usage(AllReduce)
	for _, flag := range []string{"-t, --nthreads", "-K, --per_iter_skip", "-x, --cta_policy", "--compare", "-h, --help"} {
		assert.Contains(t, text, flag)
	}
	assert.NotContains(t, newParser(AllReduce).set.FlagUsages(), "device_implementation")
	for _, also := range []string{"-D, --device_implementation", "-V, --device_cta_count", envDevice, envSplitMask, envMinBandwidth} {
		assert.Contains(t, text, also)
	}
	assert.NotContains(t, text, envSpread)
	assert.Contains(t, Usage(AllToAllV), envSpread)
	cfg := parse(t, AllReduce, "-h -n 5")
	assert.True(t, cfg.Help)
}

func FuzzParseArgs(f *testing.F) {
	for _, seed := range []string{"-b 8 -e 4G -f 2", "-o all -d all -r -1", "-I 1 -K 5 -n 5", "-t -1", "--mode=auto", "-b .5k -e 1e3M", "-D"} {
		f.Add(seed, "MOD 2")
	}
	f.Fuzz(func(t *testing.T, args, group string) {
		cfg, err := ParseArgs(AllReduce, strings.Fields(args), environment(envSplit, group))
		if err != nil {
			assert.NotContains(t, err.Error(), "\n")
			return
		}
		if !cfg.Help {
			assert.Positive(t, cfg.gpus()*cfg.threads())
			assert.LessOrEqual(t, cfg.MinBytes, cfg.MaxBytes)
			assert.GreaterOrEqual(t, cfg.Group.color(3), 0)
		}
	})
}

func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"8", "1.5G", "4k", "32MB", "-1", "nan", "1e9", "G"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if v, ok := parseSize(text); ok {
			assert.Less(t, v, uint64(1)<<62)
		}
	})
}

func FuzzParseTable(f *testing.F) {
	f.Add("           8             2     float     sum      -1    18.87    0.00    0.00       0    19.63    0.00    0.00       0\n", false)
	f.Add("8 2 float -1 1 2 3 N/A 4 5 6 N/A", false)
	f.Add("8 2 float sum 0 1 2 3 0 1 1 1 1 4 5 6 0 1 1 1 1 2026-01-01 10:00:00", true)
	f.Fuzz(func(t *testing.T, text string, perIter bool) {
		assert.LessOrEqual(t, len(parseTable(text, perIter)), strings.Count(text, "\n")+1)
	})
}
