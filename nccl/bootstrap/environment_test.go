package bootstrap

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixture reads a launcher's variables as they were, or as they are documented.
func fixture(t testing.TB, name string) []string {
	data, err := os.ReadFile(filepath.Join("testdata", "environments", name+".env"))
	require.NoError(t, err)
	return append(strings.Split(strings.TrimSpace(string(data)), "\n"), "PATH=/usr/bin", "TMPDIR=/scratch")
}

func number(n int) *int { return &n }

// user is the folder of rendezvous files on one machine.
func user(name string) string {
	return filepath.Join(userFolder(environ{"TMPDIR": "/scratch"}), name+".rendezvous")
}

func TestLaunchers(t *testing.T) {
	for _, c := range []struct {
		fixture string
		want    World
	}{
		{"torchrun-two-nodes", World{
			Rank: 3, Size: 4, LocalRank: number(1), LocalSize: 2, Launcher: LauncherEnv, Job: "torchrun.run-48213.1",
			// torchrun's agent listens on MASTER_PORT itself.
			Address: "gpu003.cluster.example:41238", MorePorts: []int{41239, 41240, 41241, 41242, 41243, 41244, 41245},
		}},
		{"pytorchjob", World{Rank: 2, Size: 4, Launcher: LauncherEnv, Address: "train-master-0:23456", MorePorts: []int{}}},
		{"openmpi-4.1", World{
			Rank: 2, Size: 4, LocalRank: number(2), LocalSize: 4, Launcher: LauncherOpenMPI, Job: "openmpi.1044709377",
			RendezvousFile: user("gofabric-45353e7b4b7b3e4c"),
		}},
		{"openmpi-5-two-nodes", World{
			Rank: 5, Size: 8, LocalRank: number(1), LocalSize: 4, Launcher: LauncherOpenMPI, Job: "openmpi.prterun-n1-70215@1",
			Address: "n1:0", MorePorts: nil,
		}},
		{"prterun", World{Rank: 5, Size: 8, Launcher: LauncherPMIx, Job: "pmix.prterun-n1-70215@1", Address: "n1:29400", MorePorts: []int{}}},
		{"srun-pmix", World{
			Rank: 11, Size: 16, LocalRank: number(3), LocalSize: 8, Launcher: LauncherPMIx, Job: "pmix.slurm.pmix.48213.2", Address: "gpu003:0",
		}},
		{"srun-pmi2", World{
			Rank: 11, Size: 16, LocalRank: number(3), LocalSize: 8, Launcher: LauncherPMI, Job: "pmi.48213.2", Address: "gpu003:0",
		}},
		{"mpich-hydra", World{Rank: 2, Size: 4, LocalRank: number(2), LocalSize: 4, Launcher: LauncherPMI, Address: "127.0.0.1:29400", MorePorts: []int{}}},
		{"intelmpi", World{Rank: 4, Size: 8, LocalRank: number(0), LocalSize: 4, Launcher: LauncherPMI, Address: "n1:29400", MorePorts: []int{}}},
		{"pals", World{
			Rank: 5, Size: 8, LocalRank: number(1), LocalSize: 4, Launcher: LauncherPMI,
			Job: "pmi.3f1c0a52-55f4-4c6e-9ad1-bd4c9c1a0b43", Address: "x1000c0s0b0n0:0",
		}},
		{"srun-one-node", World{
			Rank: 2, Size: 4, LocalRank: number(2), LocalSize: 4, Launcher: LauncherSlurm, Job: "slurm.prod.1.0.",
			RendezvousFile: user("gofabric-1c4b5b3d3b1f8d0e"),
		}},
		{"srun-two-nodes", World{
			Rank: 11, Size: 16, LocalRank: number(3), LocalSize: 8, Launcher: LauncherSlurm, Job: "slurm.prod.48213.2.", Address: "gpu003:0",
		}},
		{"srun-reserved-ports", World{
			Rank: 11, Size: 16, LocalRank: number(3), LocalSize: 8, Launcher: LauncherSlurm, Job: "slurm.prod.48213.2.",
			Address: "gpu003:12000", MorePorts: []int{12001, 12002, 12003},
		}},
		{"sbatch-shell", World{Size: 1, Launcher: LauncherNone}},
		{"srun-pty-shell", World{Size: 1, Launcher: LauncherNone}},
		{"kubernetes-indexed-job", World{Rank: 3, Size: 8, Launcher: LauncherKubernetes, Address: "train-0.train:29500", MorePorts: []int{}}},
		{"leaderworkerset", World{Rank: 2, Size: 4, Launcher: LauncherLWS, Address: "serve-0.serve.default:29500", MorePorts: []int{}}},
	} {
		t.Run(c.fixture, func(t *testing.T) {
			got, err := FromEnvironment(Options{Environ: fixture(t, c.fixture)})
			require.NoError(t, err)
			require.NoError(t, got.check())
			if host, derived := strings.CutSuffix(c.want.Address, ":0"); derived {
				// Ports that follow from the job's name.
				ports := derivedPorts(jobForPorts(got.Job, c.fixture))
				c.want.setAddress(host, ports)
			}
			if c.want.RendezvousFile != "" {
				name, err := jobFile(c.want.Job, "")
				require.NoError(t, err)
				c.want.RendezvousFile = user(name)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

// jobForPorts: below srun the ports follow from the step, whoever names the job.
func jobForPorts(job, fixture string) string {
	if strings.HasPrefix(fixture, "srun") {
		return "slurm.prod.48213.2."
	}
	return job
}

func TestNestedLaunchers(t *testing.T) {
	srun := fixture(t, "srun-two-nodes")
	for _, c := range []struct {
		name     string
		environ  []string
		launcher string
		rank     int
	}{
		{"torchrun below srun", slices.Concat(srun, fixture(t, "torchrun-two-nodes")), LauncherEnv, 3},
		{"srun's ranks by hand", slices.Concat(srun, []string{"RANK=11", "WORLD_SIZE=16", "MASTER_ADDR=a", "MASTER_PORT=1"}), LauncherEnv, 11},
		{"mpirun in an allocation", slices.Concat(srun, fixture(t, "openmpi-5-two-nodes")), LauncherOpenMPI, 5},
		{"mpirun in a batch shell", append(fixture(t, "sbatch-shell"), fixture(t, "openmpi-4.1")...), LauncherOpenMPI, 2},
		{"torchrun in an indexed job", append(fixture(t, "kubernetes-indexed-job"), "RANK=15", "WORLD_SIZE=16", "MASTER_PORT=1", "LOCAL_RANK=1"), LauncherEnv, 15},
		{"empty variables are none", []string{"RANK=", "WORLD_SIZE=", "OMPI_COMM_WORLD_RANK=", "PMI_RANK="}, LauncherNone, 0},
		{"an address alone is nothing", []string{"MASTER_ADDR=n1", "MASTER_PORT=1", "WORLD_SIZE=1"}, LauncherNone, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, err := FromEnvironment(Options{Environ: c.environ})
			require.NoError(t, err)
			assert.Equal(t, c.launcher, w.Launcher)
			assert.Equal(t, c.rank, w.Rank)
		})
	}
}

func requireEnvError(t testing.TB, err error, variables ...string) {
	t.Helper()
	var e *EnvironmentError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, variables, e.Variables, "%v", err)
	for _, name := range variables {
		assert.Contains(t, err.Error(), name)
	}
	assert.NotContains(t, err.Error(), "\n")
}

func TestPartialAndContradictoryVariables(t *testing.T) {
	for _, c := range []struct {
		environ   string
		variables string
	}{
		{"RANK=1", "RANK WORLD_SIZE"},
		{"WORLD_SIZE=4", "WORLD_SIZE RANK"},
		{"LOCAL_RANK=1", "LOCAL_RANK RANK"},
		{"RANK=4 WORLD_SIZE=4", "RANK WORLD_SIZE"},
		{"RANK=-1 WORLD_SIZE=4", "RANK"},
		{"RANK=one WORLD_SIZE=4", "RANK"},
		{"RANK=+1 WORLD_SIZE=4", "RANK"},
		{"RANK=0 WORLD_SIZE=99999999999999999999", "WORLD_SIZE"},
		{"RANK=0 WORLD_SIZE=100000", "WORLD_SIZE"},
		{"RANK=0 WORLD_SIZE=0", "WORLD_SIZE"},
		{"RANK=1 WORLD_SIZE=4", "MASTER_ADDR MASTER_PORT"},
		{"RANK=1 WORLD_SIZE=4 MASTER_ADDR=n1", "MASTER_ADDR MASTER_PORT"},
		{"RANK=1 WORLD_SIZE=4 MASTER_PORT=1", "MASTER_PORT MASTER_ADDR"},
		{"RANK=1 WORLD_SIZE=4 MASTER_ADDR=n1 MASTER_PORT=70000", "MASTER_PORT"},
		{"RANK=1 WORLD_SIZE=4 MASTER_ADDR=n/1 MASTER_PORT=1", "MASTER_ADDR"},
		{"RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=8 MASTER_ADDR=n1 MASTER_PORT=1", "LOCAL_WORLD_SIZE WORLD_SIZE"},
		{"RANK=1 WORLD_SIZE=4 LOCAL_WORLD_SIZE=0 MASTER_ADDR=n1 MASTER_PORT=1", "LOCAL_WORLD_SIZE"},
		{"RANK=1 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2 MASTER_ADDR=n1 MASTER_PORT=1", "LOCAL_RANK LOCAL_WORLD_SIZE"},
		{"RANK=1 WORLD_SIZE=4 LOCAL_RANK=4 MASTER_ADDR=n1 MASTER_PORT=1", "LOCAL_RANK WORLD_SIZE"},
		// All ranks would be alone.
		{"RANK=0 WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", "RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE"},
		{"RANK=1 WORLD_SIZE=4 PMI_RANK=2 PMI_SIZE=4 MASTER_ADDR=a MASTER_PORT=1", "RANK WORLD_SIZE PMI_RANK PMI_SIZE"},
		{"OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE"},
		{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK"},
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4", "MASTER_ADDR MASTER_PORT"},
		{"OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 WORLD_SIZE=8 MASTER_ADDR=a MASTER_PORT=1", "WORLD_SIZE OMPI_COMM_WORLD_SIZE"},
		{"OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=3", "OMPI_COMM_WORLD_SIZE"},
		{"PMIX_RANK=1", "PMIX_RANK WORLD_SIZE"},
		{"PMI_RANK=1", "PMI_RANK PMI_SIZE"},
		{"PMI_RANK=1 PMI_SIZE=2 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2", "GOFABRIC_JOB_ID MASTER_ADDR MASTER_PORT"},
		{"SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_JOB_ID=7", "SLURM_STEP_ID SLURM_STEP_NUM_TASKS"},
		{"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_JOB_ID=7", "SLURM_STEP_NUM_TASKS SLURM_PROCID"},
		{"SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_JOB_ID=7", "SLURM_STEP_NUM_TASKS SLURM_STEP_ID"},
		{"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS SLURM_JOB_ID"},
		{"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_JOB_ID=7 SLURM_STEP_NODELIST=n[1-", "SLURM_STEP_NODELIST"},
		{"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_JOB_ID=7 SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=1(x2)", "SLURM_STEP_TASKS_PER_NODE SLURM_NODEID"},
		{"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 SLURM_JOB_ID=7 SLURM_STEP_NODELIST=n1,n2 SLURM_STEP_RESV_PORTS=a", "SLURM_STEP_RESV_PORTS"},
		{"LWS_LEADER_ADDRESS=a LWS_GROUP_SIZE=2", "LWS_LEADER_ADDRESS LWS_WORKER_INDEX"},
		{"LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=a", "LWS_WORKER_INDEX LWS_GROUP_SIZE"},
		{"LWS_WORKER_INDEX=1 LWS_GROUP_SIZE=2", "LWS_WORKER_INDEX LWS_LEADER_ADDRESS"},
		{"JOB_COMPLETION_INDEX=1", "JOB_COMPLETION_INDEX WORLD_SIZE"},
		{"JOB_COMPLETION_INDEX=1 WORLD_SIZE=2", "MASTER_ADDR MASTER_PORT"},
		{"NCCL_COMM_ID=nonsense", "NCCL_COMM_ID"},
		{"GOFABRIC_LAUNCHER=loadleveler", "GOFABRIC_LAUNCHER"},
		{"GOFABRIC_RENDEZVOUS_DIR=/d RANK=1 WORLD_SIZE=2", "GOFABRIC_JOB_ID GOFABRIC_RENDEZVOUS_DIR"},
		{"GOFABRIC_EXCHANGE_DIR=/d RANK=1 WORLD_SIZE=2", "GOFABRIC_JOB_ID GOFABRIC_EXCHANGE_DIR"},
		{"GOFABRIC_EXCHANGE_DIR=/d GOFABRIC_RENDEZVOUS_DIR=/d RANK=1 WORLD_SIZE=2", "GOFABRIC_RENDEZVOUS_DIR GOFABRIC_EXCHANGE_DIR"},
	} {
		t.Run(c.environ, func(t *testing.T) {
			_, err := FromEnvironment(Options{Environ: strings.Fields(c.environ)})
			var e *EnvironmentError
			require.ErrorAs(t, err, &e)
			assert.Equal(t, strings.Fields(c.variables), e.Variables, "%v", err)
			assert.NotContains(t, err.Error(), "\n")
			t.Log(err)
		})
	}
}

func TestWaysToMeet(t *testing.T) {
	ranks := []string{"RANK=1", "WORLD_SIZE=2"}
	torch := append(slices.Clone(ranks), "MASTER_ADDR=n1", "MASTER_PORT=7")
	job := append(slices.Clone(torch), "GOFABRIC_JOB_ID=j")
	name, err := jobFile("j", "")
	require.NoError(t, err)
	for _, c := range []struct {
		name    string
		options Options
		want    World
	}{
		{"master", Options{Environ: torch}, World{Address: "n1:7", MorePorts: []int{}}},
		{"an IPv6 address", Options{Environ: append(slices.Clone(ranks), "MASTER_ADDR=fd00::5", "MASTER_PORT=7")}, World{Address: "[fd00::5]:7", MorePorts: []int{}}},
		{"the program's address", Options{Environ: torch, Address: "n2:8"}, World{Address: "n2:8"}},
		{"a folder by variable", Options{Environ: append(slices.Clone(job), "GOFABRIC_RENDEZVOUS_DIR=/shared")}, World{Job: "j", RendezvousFile: "/shared/" + name + ".rendezvous"}},
		{"a folder by option", Options{Environ: torch, RendezvousDir: "/shared", Job: "j"}, World{Job: "j", RendezvousFile: "/shared/" + name + ".rendezvous"}},
		{"files alone", Options{Environ: append(slices.Clone(job), "GOFABRIC_EXCHANGE_DIR=/shared")}, World{Job: "j", ExchangeDir: "/shared/" + name + ".exchange"}},
		{"one machine", Options{Environ: append(slices.Clone(ranks), "LOCAL_WORLD_SIZE=2", "TMPDIR=/scratch"), Job: "j"}, World{Job: "j", LocalSize: 2, RendezvousFile: user(name)}},
		{"NCCL by itself", Options{Environ: append(slices.Clone(ranks), "NCCL_COMM_ID=n1:9")}, World{CommID: "n1:9"}},
		{"NCCL and a master", Options{Environ: append(slices.Clone(torch), "NCCL_COMM_ID=n1:9")}, World{CommID: "n1:9", Address: "n1:7", MorePorts: []int{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := FromEnvironment(c.options)
			require.NoError(t, err)
			c.want.Rank, c.want.Size, c.want.Launcher = 1, 2, LauncherEnv
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.want.CommID == "", got.NeedsExchange())
		})
	}
}

func TestProgramsSize(t *testing.T) {
	w, err := FromEnvironment(Options{Environ: []string{"JOB_COMPLETION_INDEX=1", "MASTER_ADDR=a"}, Size: 2})
	require.NoError(t, err)
	assert.Equal(t, 2, w.Size)
	_, err = FromEnvironment(Options{Environ: []string{"RANK=1", "WORLD_SIZE=2"}, Size: 3})
	requireEnvError(t, err, "WORLD_SIZE")
	_, err = FromEnvironment(Options{Environ: []string{}, Size: 3})
	requireEnvError(t, err, "RANK")
}

func TestAskedForLauncher(t *testing.T) {
	environ := append(fixture(t, "srun-two-nodes"), "RANK=0", "WORLD_SIZE=1")
	_, err := FromEnvironment(Options{Environ: environ})
	requireEnvError(t, err, "RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
	w, err := FromEnvironment(Options{Environ: environ, Launcher: LauncherSlurm})
	require.NoError(t, err)
	assert.Equal(t, 11, w.Rank)
	w, err = FromEnvironment(Options{Environ: append(slices.Clone(environ), "GOFABRIC_LAUNCHER=none")})
	require.NoError(t, err)
	assert.Equal(t, World{Size: 1, Launcher: LauncherNone}, w)
	_, err = FromEnvironment(Options{Environ: environ, Launcher: LauncherOpenMPI})
	require.Error(t, err)
}

func TestTopOfThePorts(t *testing.T) {
	ports := masterPorts(environ{"TORCHELASTIC_USE_AGENT_STORE": "True"}, 65530)
	assert.Equal(t, 65529, ports[0])
	assert.Len(t, ports, portCandidates)
}

func FuzzFromEnvironment(f *testing.F) {
	entries, err := os.ReadDir(filepath.Join("testdata", "environments"))
	require.NoError(f, err)
	for _, entry := range entries {
		f.Add(strings.Join(fixture(f, strings.TrimSuffix(entry.Name(), ".env")), "\n"))
	}
	f.Add("RANK=1\nWORLD_SIZE=2\nMASTER_ADDR=a\nMASTER_PORT=1")
	f.Fuzz(func(t *testing.T, text string) {
		w, err := FromEnvironment(Options{Environ: strings.Split(text, "\n")})
		var environment *EnvironmentError
		switch {
		case err == nil && w.NeedsExchange():
			assert.NoError(t, w.check())
		case err != nil:
			assert.True(t, errors.As(err, &environment), "%v", err)
		}
	})
}
