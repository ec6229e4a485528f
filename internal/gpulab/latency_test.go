//go:build linux && cgo

package gpulab

import (
	_ "embed"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

//go:embed testdata/peer.c
var peerSource []byte

// peer is a program that does the same small all-reduces, in one process or more.
// All of them hold their communicators from the beginning to the end, and one at a
// time is told to work.
type peer struct {
	name      string
	processes []*child
	nccl      string
	results   map[string][]float64 // nanoseconds, one a round
}

// ask has the peer do count operations. The answer is the mean of its processes.
func (p *peer) ask(what string, count int) (float64, error) {
	for _, c := range p.processes {
		if _, err := fmt.Fprintf(c.in, "%s %d\n", what, count); err != nil {
			return 0, fmt.Errorf("%s: %w\n%s", p.name, err, c.said())
		}
	}
	sum, n := 0.0, 0
	for _, c := range p.processes {
		var ns float64
		if err := c.answer("ns", &ns); err != nil {
			return 0, err
		}
		if !math.IsNaN(ns) {
			sum, n = sum+ns, n+1
		}
	}
	return sum / float64(n), nil
}

// answer reads the next line that begins so. Others are warnings.
func (p *child) answer(begin string, values ...any) error {
	for line := range p.lines {
		if rest, ok := strings.CutPrefix(line, begin+" "); ok {
			_, err := fmt.Sscan(rest, values...)
			return err
		}
	}
	return fmt.Errorf("%s ended: %w", p.name, p.wait())
}

// peers starts all that this machine has.
func peers(t *testing.T, n int) []*peer {
	t.Helper()
	// All but torch over one libnccl: CuPy's, where there is one.
	lib, err := nccl.Library()
	require.NoError(t, err)
	path := lib.Path
	hasCuPy, hasTorch := realGPU && hasPython("cupy"), realGPU && hasPython("torch")
	if hasCuPy {
		path = libraryOf(t, "cupy").Path
	}
	over := nccl.PathEnv + "=" + path
	talk := func(c command) *child {
		c.talk = true
		return launch(t, c)
	}
	var list []*peer
	add := func(name string, processes ...*child) {
		list = append(list, &peer{name: name, processes: processes, results: map[string][]float64{}})
	}
	for _, form := range []string{formThreads, formNonBlocking, formGroup} {
		add("Go, "+form, talk(role("peer", peerLimit, over, formEnv+"="+form)))
	}
	var ranks []*child
	port := freePort(t)
	for rank := range n {
		env := append(torchVariables(rank, port), over, formEnv+"="+formProcesses)
		ranks = append(ranks, talk(role("peer", peerLimit, env...)))
	}
	add("Go, "+formProcesses, ranks...)
	if program := buildPeer(t); program != "" {
		driver, err := cuda.Library()
		require.NoError(t, err)
		add("C, threads", talk(command{
			name: "C", limit: peerLimit, talk: true,
			args: []string{program, fmt.Sprint(int(peerLimit.Seconds())), driver.Path, path, fmt.Sprint(n)},
		}))
	}
	for _, other := range []struct {
		name, module, meeting string
		there                 bool
	}{
		{"CuPy", "cupy", filepath.Join(t.TempDir(), "id"), hasCuPy},
		{"PyTorch", "torch", freePort(t), hasTorch},
	} {
		if !other.there {
			figure("latency: no %s here", other.name)
			continue
		}
		var ranks []*child
		for rank := range n {
			c := python(other.module, peerProgram, peerLimit, other.module, fmt.Sprint(rank), fmt.Sprint(n), other.meeting)
			ranks = append(ranks, talk(c))
		}
		add(other.name+", processes", ranks...)
	}
	for _, p := range list {
		for _, c := range p.processes {
			version := 0
			require.NoError(t, c.answer("ready", new(string), &version))
			p.nccl = nccl.Version(version).String()
		}
	}
	return list
}

// buildPeer compiles the C peer, or answers "" without a compiler.
func buildPeer(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		figure("latency: no C compiler here")
		return ""
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "peer.c"), filepath.Join(dir, "peer")
	require.NoError(t, os.WriteFile(source, peerSource, 0o600))
	output, err := exec.Command("cc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", source, "-o", program, "-ldl").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return program
}

// measurements are what is asked, with the number of operations in a round.
var measurements = []struct {
	what, title string
	count       int
}{
	{"wait", "all-reduce of 8 B, enqueue one and wait", 1000},
	{"batch", "all-reduce of 8 B, 20 enqueued and then a wait", 1000},
	{"enqueue", "enqueue of an all-reduce of 8 B, bursts of 100", 1000},
	{"alone", "call that has nothing to do (one rank, in place)", 5000},
}

// rounds is how often each peer is asked. The order turns from round to round, and
// the first peer is asked twice in each: the difference is what chance makes.
func rounds() int {
	if realGPU {
		return 21
	}
	return 3
}

// 8-byte all-reduces over all GPUs and the cost of their enqueues, from Go in
// several forms, C, CuPy and PyTorch, interleaved in one run.
func TestLatencyBesideOthers(t *testing.T) {
	n := begin(t, 1, 3*time.Minute)
	list := peers(t, n)
	control := &peer{name: list[0].name + " (control)", processes: list[0].processes, nccl: list[0].nccl, results: map[string][]float64{}}
	all := append(list, control)
	divide := 1
	if !realGPU {
		divide = 50 // the fakes are slow, and so is a thread that polls beside them
	}
	for _, p := range list { // warm up
		for _, m := range measurements {
			_, err := p.ask(m.what, max(m.count/divide/2, 100))
			require.NoError(t, err)
		}
	}
	for round := range rounds() {
		for i := range all {
			p := all[(i+round)%len(all)]
			for _, m := range measurements {
				ns, err := p.ask(m.what, max(m.count/divide, 100))
				require.NoError(t, err)
				p.results[m.what] = append(p.results[m.what], ns)
			}
		}
	}
	for _, m := range measurements {
		figure("latency on %d GPUs: %s; ns, median [quartiles] of %d rounds; difference to %s, median of the rounds", n, m.title, rounds(), list[0].name)
		for _, p := range all {
			report(p, list[0], m.what)
		}
	}
	for _, p := range list {
		for _, c := range p.processes {
			require.NoError(t, c.in.Close())
		}
		for _, c := range p.processes {
			require.NoError(t, c.wait())
		}
	}
}

func report(p, base *peer, what string) {
	values := p.results[what]
	if slices.ContainsFunc(values, math.IsNaN) {
		figure("    %-22s %-7s        -", p.name, p.nccl)
		return
	}
	var differences []float64
	for i, v := range values {
		differences = append(differences, v-base.results[what][i])
	}
	figure("    %-22s %-7s %8.0f [%.0f to %.0f]  %+8.0f", p.name, p.nccl, quantile(values, 0.5), quantile(values, 0.25), quantile(values, 0.75), quantile(differences, 0.5))
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}
