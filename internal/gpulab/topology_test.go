//go:build linux && cgo

package gpulab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
	"github.com/gofabric/gofabric/nvml/nvmllib"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/fromnvml"
)

// liveTopology reads this machine with its driver's help. There is nothing to hold
// it against where the GPUs are fakes.
func liveTopology(t *testing.T) *topo.System {
	t.Helper()
	limit(t, testLimit)
	if !realGPU {
		testutil.Skip(t, "needs NVIDIA GPUs: make gpu on a machine that has some")
	}
	library, err := nvmllib.Open(nvmllib.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, library.Close()) })
	s, err := topo.Live(topo.ReadOptions{GPUs: fromnvml.Source(library)})
	require.NoError(t, err)
	require.NotEmpty(t, s.GPUs)
	return s
}

// record keeps a file for the record, beside the logs.
func record(t *testing.T, name string, data []byte) {
	t.Helper()
	if dir := os.Getenv("GOFABRIC_GPU_LOGS"); dir != "" {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
}

var escapeCodes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestMatrixIsNvidiaSMIs compares character by character, apart from escape codes.
func TestMatrixIsNvidiaSMIs(t *testing.T) {
	s := liveTopology(t)
	smi, err := exec.LookPath("nvidia-smi")
	if err != nil {
		testutil.Skip(t, "needs nvidia-smi")
	}
	want, err := exec.Command(smi, "topo", "-m").Output()
	require.NoError(t, err)
	var got bytes.Buffer
	require.NoError(t, s.Matrix(&got, topo.MatrixOptions{}))
	record(t, "nvidia-smi-topo-m.txt", want)
	record(t, "topo-matrix.txt", got.Bytes())
	assert.Equal(t, escapeCodes.ReplaceAllString(string(want), ""), got.String())
	for _, w := range s.Warnings {
		t.Logf("%s: %s", w.Device, w.Text)
	}
	figure("topology: %d GPUs, %d RDMA devices, the matrix is nvidia-smi's: %v", len(s.GPUs), len(s.HCAs), !t.Failed())
}

// TestNCCLTakesOurTopology gives NCCL our XML as the machine's topology: it must
// read it without a warning, find the GPUs in it as near to each other as we do,
// and sum over them.
func TestNCCLTakesOurTopology(t *testing.T) {
	s := liveTopology(t)
	var xml bytes.Buffer
	require.NoError(t, s.NCCLXML(&xml))
	record(t, "topo-nccl.xml", xml.Bytes())
	dir := t.TempDir()
	ours, dump, log := filepath.Join(dir, "ours.xml"), filepath.Join(dir, "dump.xml"), filepath.Join(dir, "log")
	require.NoError(t, os.WriteFile(ours, xml.Bytes(), 0o644))
	p := launch(t, role("topology", time.Minute,
		"NCCL_TOPO_FILE="+ours, "NCCL_TOPO_DUMP_FILE="+dump, "NCCL_DEBUG=INFO", "NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH", "NCCL_DEBUG_FILE="+log))
	require.NoError(t, p.wait())

	said, err := os.ReadFile(log)
	require.NoError(t, err)
	record(t, "topo-nccl.log", said)
	assert.Contains(t, string(said), "NCCL_TOPO_FILE set by environment to "+ours)
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "NCCL WARN") {
			assert.NotRegexp(t, `(?i)xml|topo`, line)
		}
	}
	made, err := os.ReadFile(dump)
	require.NoError(t, err)
	record(t, "topo-nccl-dump.xml", made)
	theirs, format, err := topo.Parse(made)
	require.NoError(t, err)
	assert.Equal(t, topo.FormatNCCL, format)
	require.Len(t, theirs.GPUs, min(len(s.GPUs), mostGPUs))
	for _, a := range theirs.GPUs {
		for _, b := range theirs.GPUs {
			want, _ := s.NCCLPath(atAddress(t, s, a.PCI), atAddress(t, s, b.PCI))
			got, why := theirs.NCCLPath(a, b)
			assert.Equal(t, want, got, "%s to %s: %s", a.PCI, b.PCI, why)
		}
	}
	figure("topology: NCCL took our XML of %d GPUs", len(theirs.GPUs))
}

func atAddress(t *testing.T, s *topo.System, a topo.Address) *topo.GPU {
	t.Helper()
	for _, g := range s.GPUs {
		if g.PCI == a {
			return g
		}
	}
	t.Fatalf("NCCL has a GPU at %s that we do not list", a)
	return nil
}

// topologyRole sums over the GPUs with what the environment says of the topology.
func topologyRole(p *process) {
	r := newRig(p, gpus(p), nccl.Config{})
	r.sumOnce()
}
