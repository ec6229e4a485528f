//go:build linux && cgo

package gpulab

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nccl"
	"github.com/gofabric/gofabric/nccl/bootstrap"
)

// doneEnv is the folder in which each rank of a job leaves a file when all is well:
// a launcher that starts nothing ends well, too.
const doneEnv = "GOFABRIC_GPULAB_DONE"

// ranksDone checks that both ranks have come to their end.
func ranksDone(t testing.TB, dir string) {
	t.Helper()
	for rank := range 2 {
		require.FileExists(t, filepath.Join(dir, fmt.Sprintf("rank-%d-of-2", rank)))
	}
}

// processLimit bounds a job of two processes.
const processLimit = 45 * time.Second

// job is a process's place among the others of a launcher.
type job struct {
	*rig
	session *bootstrap.Session
}

// joinJob finds the other processes and makes a communicator with them, on the GPU
// of this process.
func joinJob(t tester) *job {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), processLimit)
	t.Cleanup(cancel)
	world, err := bootstrap.FromEnvironment(bootstrap.Options{})
	require.NoError(t, err)
	session, err := bootstrap.Connect(ctx, world, bootstrap.Options{ConnectTimeout: processLimit})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	j := &job{rig: &rig{t: t, ctx: ctx}, session: session}
	j.open(session.LocalRank())
	j.connect()
	return j
}

// connect makes a communicator of all processes.
func (j *job) connect() {
	j.t.Helper()
	var id nccl.UniqueID
	if j.session.Rank() == 0 {
		var err error
		id, err = nccl.NewUniqueID()
		require.NoError(j.t, err)
	}
	data, err := j.session.Broadcast(j.ctx, 0, id[:])
	require.NoError(j.t, err)
	require.NoError(j.t, id.UnmarshalBinary(data))
	c, err := nccl.InitRank(j.ctx, j.devs[0], id, j.session.Rank(), j.session.Size(), nccl.Config{})
	require.NoError(j.t, err)
	j.comms = []*nccl.Comm{c}
}

// rankRole is one rank of a job, started by whatever launcher.
func rankRole(p *process) {
	start := time.Now()
	j := joinJob(p)
	c, s, ctx := j.comms[0], j.streams[0], j.ctx
	rank, n := c.Rank(), c.Size()
	require.Greater(p, n, 1, "the launcher started one process only")
	connected := time.Since(start)
	total := n * (n + 1) / 2
	for range 20 {
		require.NoError(p, sumAlone(ctx, c, s, rank+1, total))
	}
	// A ring, and what everybody has.
	const count = 1 << 16
	send, recv, all := j.alloc(0, 4*count), j.alloc(0, 4*count), j.alloc(0, 4*count*uint64(n))
	require.NoError(p, s.CopyToDevice(ctx, send, repeated(nccl.Int32, rank+10, count)))
	g := nccl.NewGroup()
	require.NoError(p, g.Send(c, send, count, nccl.Int32, (rank+1)%n, s))
	require.NoError(p, g.Recv(c, recv, count, nccl.Int32, (rank+n-1)%n, s))
	require.NoError(p, g.Run(ctx))
	require.NoError(p, g.Close())
	require.NoError(p, c.AllGather(ctx, send, all, count, nccl.Int32, s))
	require.NoError(p, c.Wait(ctx, s))
	got := make([]byte, 4*count)
	require.NoError(p, s.CopyToHost(ctx, got, recv))
	require.Equal(p, -1, difference(got, repeated(nccl.Int32, (rank+n-1)%n+10, count)))
	for from := range n {
		require.NoError(p, s.CopyToHost(ctx, got, part(all, from*4*count, 4*count)))
		require.Equal(p, -1, difference(got, repeated(nccl.Int32, from+10, count)))
	}
	// Each a communicator of its own, and all a second one.
	own, err := c.Split(ctx, rank, 0, nccl.Config{})
	require.NoError(p, err)
	require.NoError(p, sumAlone(ctx, own, s, 7, 7))
	require.NoError(p, own.Close(ctx))
	require.NoError(p, c.Close(ctx))
	j.connect()
	require.NoError(p, sumAlone(ctx, j.comms[0], s, rank+1, total))
	require.NoError(p, j.comms[0].Close(ctx))
	require.NoError(p, j.session.Barrier(ctx))
	done := filepath.Join(os.Getenv(doneEnv), fmt.Sprintf("rank-%d-of-%d", rank, n))
	require.NoError(p, os.WriteFile(done, nil, 0o600))
	if rank == 0 {
		lib, err := nccl.Library()
		require.NoError(p, err)
		figure("%d processes by %s: sums, ring, all-gather, split, second communicator right; start to communicator %.2f s; NCCL %v",
			n, j.session.World().Launcher, connected.Seconds(), lib.Version)
	}
}

// freePort is a port that was free a moment ago.
func freePort(t tester) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

// torchVariables are what torchrun sets for a rank of two.
func torchVariables(rank int, port string) []string {
	return []string{
		fmt.Sprintf("RANK=%d", rank), "WORLD_SIZE=2", fmt.Sprintf("LOCAL_RANK=%d", rank), "LOCAL_WORLD_SIZE=2",
		"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port,
	}
}

func TestTwoProcessesByTorchrunsVariables(t *testing.T) {
	begin(t, 2, processLimit+15*time.Second)
	port, dir := freePort(t), t.TempDir()
	var ranks []*child
	for rank := range 2 {
		env := append(torchVariables(rank, port), doneEnv+"="+dir)
		ranks = append(ranks, launch(t, role("rank", processLimit, env...)))
	}
	for _, p := range ranks {
		require.NoError(t, p.wait())
	}
	ranksDone(t, dir)
}

func TestTwoProcessesByMpirun(t *testing.T) {
	begin(t, 2, processLimit+15*time.Second)
	mpirun, err := exec.LookPath("mpirun")
	if err != nil {
		testutil.Skip(t, "needs mpirun")
	}
	version, err := exec.Command(mpirun, "--version").CombinedOutput()
	require.NoError(t, err, "%s", version)
	dir := t.TempDir()
	c := role("rank", processLimit, doneEnv+"="+dir, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", "OMPI_MCA_rmaps_base_oversubscribe=1",
		"PRTE_ALLOW_RUN_AS_ROOT=1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	self, err := os.Executable()
	require.NoError(t, err)
	c.args = []string{mpirun, "-n", "2", self}
	if strings.Contains(string(version), "Open MPI") {
		c.args = []string{mpirun, "--bind-to", "none", "--oversubscribe", "-n", "2", self}
	}
	require.NoError(t, launch(t, c).wait())
	ranksDone(t, dir)
}

func TestTwoProcessesByTorchrun(t *testing.T) {
	begin(t, 2, 2*processLimit)
	needPython(t, "torch.distributed.run")
	self, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	c := role("rank", processLimit, doneEnv+"="+dir, "OMP_NUM_THREADS=1")
	c.args = []string{"python3", "-m", "torch.distributed.run", "--standalone", "--no-python", "--nproc-per-node=2", self}
	require.NoError(t, launch(t, c).wait())
	ranksDone(t, dir)
}

// ordinalOf is the GPU of a rank.
func ordinalOf(rank int) int {
	n, err := cuda.DeviceCount()
	if err != nil || n == 0 {
		return 0
	}
	return rank % n
}
