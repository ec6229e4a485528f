package main

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/topo"
)

// dryRun plans a rank with an environment of its own.
func dryRun(t *testing.T, o execOptions, environ ...string) (*rankRun, error) {
	t.Helper()
	m, err := readMachine(dgx(t), nil)
	require.NoError(t, err)
	return o.prepare(m.sys, environ)
}

// Each launcher's variables name the rank on the machine, and that picks the GPU.
func TestRankOfLauncher(t *testing.T) {
	for name, c := range map[string]struct {
		o       execOptions
		environ []string
		gpu     int
		ranks   int
	}{
		"mpirun":     {execOptions{rank: -1}, []string{"OMPI_COMM_WORLD_RANK=11", "OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_RANK=3", "OMPI_COMM_WORLD_LOCAL_SIZE=8"}, 3, 8},
		"torchrun":   {execOptions{rank: -1}, []string{"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=h", "MASTER_PORT=29500"}, 1, 4},
		"srun":       {execOptions{rank: -1}, []string{"SLURM_PROCID=6", "SLURM_STEP_NUM_TASKS=8", "SLURM_LOCALID=2", "SLURM_STEP_ID=0", "SLURM_JOB_ID=7", "SLURM_NODEID=1", "SLURM_STEP_NODELIST=a,b", "SLURM_STEP_TASKS_PER_NODE=4(x2)"}, 2, 4},
		"nobody":     {execOptions{rank: -1}, nil, 0, 1},
		"flags":      {execOptions{rank: 6}, nil, 6, 8},
		"both flags": {execOptions{rank: 1, ranks: 2}, []string{"OMPI_COMM_WORLD_RANK=7"}, 1, 2},
		// The launcher gave the rank a GPU of its own, or the user a part of them.
		"one visible":   {execOptions{rank: 3}, []string{"CUDA_VISIBLE_DEVICES=6"}, 6, 4},
		"some visible":  {execOptions{rank: 1}, []string{"CUDA_VISIBLE_DEVICES=4,5,6"}, 5, 3},
		"visible by id": {execOptions{rank: 0}, []string{"CUDA_VISIBLE_DEVICES=GPU-00000000-0000-0000-0000-000000000007"}, 7, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := dryRun(t, c.o, c.environ...)
			require.NoError(t, err)
			assert.Equal(t, c.gpu, r.GPU.Index)
			assert.Equal(t, c.ranks, r.ranks)
			assert.Contains(t, r.set, variable{"TOPO_GPU", r.GPU.Label()})
		})
	}
}

func TestRankRefused(t *testing.T) {
	for words, c := range map[string]struct {
		o       execOptions
		environ []string
	}{
		"its ranks are 0 to 7": {execOptions{rank: 8}, nil},
		"shows 2 GPUs":         {execOptions{rank: 2}, []string{"CUDA_VISIBLE_DEVICES=0,1"}},
		"shows no GPU":         {execOptions{rank: 0}, []string{"CUDA_VISIBLE_DEVICES=-1"}},
		"rank 3 of the machi":  {execOptions{rank: -1, ranks: 2}, []string{"RANK=3", "WORLD_SIZE=4", "LOCAL_RANK=3"}},
		"pass --rank":          {execOptions{rank: -1}, []string{"RANK=3", "WORLD_SIZE=4"}},
		"RANK":                 {execOptions{rank: -1}, []string{"RANK=x", "WORLD_SIZE=4"}},
	} {
		_, err := dryRun(t, c.o, c.environ...)
		assert.ErrorContains(t, err, words)
	}
}

// What is set already stays, except by --one-gpu; and numbers keep their meaning.
func TestEnvironment(t *testing.T) {
	r, err := dryRun(t, execOptions{rank: 2}, "NCCL_IB_HCA==mlx5_7", "PATH=/bin")
	require.NoError(t, err)
	assert.Contains(t, r.kept, variable{"NCCL_IB_HCA", "=mlx5_7"})
	assert.Contains(t, r.set, variable{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"})
	env := r.environment([]string{"NCCL_IB_HCA==mlx5_7", "PATH=/bin"})
	assert.Equal(t, []string{"NCCL_IB_HCA==mlx5_7", "PATH=/bin"}, env[:2])
	assert.Contains(t, env, "TOPO_GPU=GPU2")
	assert.False(t, slices.ContainsFunc(r.set, func(v variable) bool { return v.name == cudaVisible }))

	const list = "CUDA_VISIBLE_DEVICES=4,5,6"
	r, err = dryRun(t, execOptions{rank: 1, oneGPU: true}, list)
	require.NoError(t, err)
	assert.Equal(t, []string{"PATH=/bin", "CUDA_VISIBLE_DEVICES=5"}, r.environment([]string{list, "PATH=/bin"})[:2])
	assert.False(t, slices.ContainsFunc(r.set, func(v variable) bool { return v.name == cudaOrder }))

	r, err = dryRun(t, execOptions{rank: 1, oneGPU: true})
	require.NoError(t, err)
	assert.Contains(t, r.set, variable{cudaVisible, "GPU-00000000-0000-0000-0000-000000000001"})
}

func TestDryRun(t *testing.T) {
	out := succeed(t, "exec", "--rank", "0", "--ranks", "8", "--dry-run", "--from", dgx(t), "--", "prog", "a b")
	assert.Contains(t, out, "rank 0 of 8 on this machine\nRank 0 runs on GPU0 with mlx5_0.")
	assert.Contains(t, out, "\nbind node 3, CPUs 48-63,176-191\n")
	assert.Contains(t, out, "\nset  TOPO_HCAS=mlx5_0\n")
	assert.True(t, strings.HasSuffix(out, "\nrun  prog 'a b'\n"), out)
	assert.Contains(t, succeed(t, "exec", "--rank", "0", "--dry-run", "--no-bind", "--from", dgx(t)), "\nbind nothing\n")
}

// TestExec runs a program as each rank of this machine and compares what the
// kernel says with the plan. In the lab's machine of two sockets, ranks have their
// RDMA device and its node.
func TestExec(t *testing.T) {
	s, err := topo.Live(topo.ReadOptions{})
	if err != nil {
		_, _, errs := topoTool(t, "", "exec", "--", "true")
		assert.NotEmpty(t, errs)
		return
	}
	ranks := max(1, len(s.GPUs), len(s.HCAs))
	p, err := s.Plan(ranks)
	require.NoError(t, err)
	for _, rank := range p.Ranks {
		cmd := exec.Command("/proc/self/exe", "exec", "--", "sh", "-c",
			`cat /proc/self/status; echo "hcas: $TOPO_HCAS"; echo "rank: $OMPI_COMM_WORLD_LOCAL_RANK"; head -n 1 /proc/self/numa_maps 2>/dev/null; exit 7`)
		local := []string{"_LOCAL_RANK=", "_RANK=", "_LOCAL_SIZE=", "_SIZE="}
		cmd.Env = append(os.Environ(), asTool+"=1")
		for i, v := range []int{rank.Rank, rank.Rank, ranks, ranks} {
			cmd.Env = append(cmd.Env, "OMPI_COMM_WORLD"+local[i]+strconv.Itoa(v))
		}
		out, err := cmd.CombinedOutput()
		var ended *exec.ExitError
		require.ErrorAs(t, err, &ended, "%s", out)
		require.Equal(t, 7, ended.ExitCode(), "the program's own status: %s", out)
		text := string(out)
		assert.Contains(t, text, "rank: "+strconv.Itoa(rank.Rank)+"\n")
		assert.Contains(t, text, "hcas: "+hcaNames(rank)+"\n")
		if rank.CPUs != nil && subset(rank.CPUs, allowed(t)) {
			assert.Contains(t, text, "Cpus_allowed_list:\t"+rank.CPUs.String()+"\n")
		}
		if rank.Node != nil && len(s.Nodes) > 1 {
			assert.Contains(t, text, "prefer")
			assert.Contains(t, text, ":"+strconv.Itoa(*rank.Node)+" ")
		}
	}
	status, _, errs := topoTool(t, "", "exec", "--rank", "0", "--", "no-such-program-anywhere")
	assert.Equal(t, exitFailed, status)
	assert.Contains(t, errs, "no-such-program-anywhere")
}

// allowed are the CPUs that this process may use.
func allowed(t *testing.T) topo.CPUSet {
	t.Helper()
	for line := range strings.Lines(string(read(t, "/proc/self/status"))) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			set, err := topo.ParseCPUList(strings.TrimSpace(list))
			require.NoError(t, err)
			return set
		}
	}
	return nil
}

func subset(a, b topo.CPUSet) bool { return len(a.Intersect(b)) == len(a) }
