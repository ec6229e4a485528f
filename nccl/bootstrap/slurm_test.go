package bootstrap

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

// cluster is a Slurm of one node: its daemons run for the test, with all their
// files in one folder.
type cluster struct {
	dir string
	env []string
}

// slurmConf keeps to what needs no other service: no accounting, no control
// groups. The node claims more processors than the machine may have. A batch job
// does not wait for others to come, as it does for three seconds by default.
const slurmConf = `ClusterName=gofabric
SlurmctldHost=%[2]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[1]s/munge.sock
CredType=cred/munge
SlurmctldPort=%[3]d
SlurmdPort=%[4]d
SlurmctldPidFile=%[1]s/slurmctld.pid
SlurmdPidFile=%[1]s/slurmd.pid
SlurmdSpoolDir=%[1]s/spool
StateSaveLocation=%[1]s/state
SlurmctldLogFile=%[1]s/slurmctld.log
SlurmdLogFile=%[1]s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
NodeName=%[2]s NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=test Nodes=%[2]s Default=YES MaxTime=INFINITE State=UP
`

func startSlurm(t *testing.T) *cluster {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		testutil.Skip(t, "needs root on Linux, to run Slurm's daemons")
	}
	munged := needProgram(t, "munged", "munge")
	slurmctld := needProgram(t, "slurmctld", "slurm-wlm")
	slurmd := needProgram(t, "slurmd", "slurm-wlm")
	host, err := os.Hostname()
	require.NoError(t, err)
	host, _, _ = strings.Cut(host, ".")

	c := &cluster{dir: scratch(t)}
	for _, dir := range []string{"spool", "state"} {
		require.NoError(t, os.Mkdir(filepath.Join(c.dir, dir), 0o755))
	}
	key := make([]byte, 128)
	fill(key)
	require.NoError(t, os.WriteFile(c.path("munge.key"), key, 0o400))
	conf := fmt.Sprintf(slurmConf, c.dir, host, freePort(t), freePort(t))
	require.NoError(t, os.WriteFile(c.path("slurm.conf"), []byte(conf), 0o644))
	c.env = []string{"SLURM_CONF=" + c.path("slurm.conf")}

	t.Cleanup(func() { c.requireGone(t) })
	c.daemon(t, munged, "--foreground", "--key-file="+c.path("munge.key"), "--socket="+c.path("munge.sock"),
		"--pid-file="+c.path("munged.pid"), "--log-file="+c.path("munged.log"), "--seed-file="+c.path("munged.seed"), "--num-threads=2")
	require.Eventually(t, func() bool { _, err := os.Stat(c.path("munge.sock")); return err == nil }, patience, 10*time.Millisecond)
	c.daemon(t, slurmctld, "-D", "-c")
	c.daemon(t, slurmd, "-D")
	sinfo := needProgram(t, "sinfo", "slurm-wlm")
	require.Eventually(t, func() bool {
		cmd := exec.Command(sinfo, "-h", "-o", "%t")
		cmd.Env = append(os.Environ(), c.env...)
		output, err := cmd.Output()
		return err == nil && strings.TrimSpace(string(output)) == "idle"
	}, launchTimeout, 200*time.Millisecond, "the node did not become idle")
	t.Cleanup(func() { c.requireQuiet(t) })
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

// daemon runs one until the test's end.
func (c *cluster) daemon(t *testing.T, program string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Dir = c.dir
	log, err := os.Create(c.path(filepath.Base(program) + ".out"))
	require.NoError(t, err)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second // then it is killed
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s:\n%s", filepath.Base(program), text)
		}
	})
}

// processes lists those of the cluster whose command line begins so: all have
// its folder in their environment or arguments.
func (c *cluster) processes(begins string) map[int]string {
	found := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		environ, _ := os.ReadFile(filepath.Join(process, "environ"))
		command, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		pid, err := strconv.Atoi(filepath.Base(process))
		ours := bytes.Contains(environ, []byte(c.dir)) || bytes.Contains(command, []byte(c.dir))
		if err == nil && ours && bytes.HasPrefix(command, []byte(begins)) {
			found[pid] = string(bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		}
	}
	return found
}

// requireQuiet waits for the steps' own daemons: they report to the others, and
// would go on trying after those have ended.
func (c *cluster) requireQuiet(t *testing.T) {
	assert.Eventually(t, func() bool { return len(c.processes("slurmstepd")) == 0 }, patience, 50*time.Millisecond)
}

// requireGone looks that no process of the cluster stays, and ends those that do.
func (c *cluster) requireGone(t *testing.T) {
	for pid, command := range c.processes("") {
		assert.Fail(t, "a process was left", "%d: %s", pid, command)
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
}

func TestSrun(t *testing.T) {
	srun := needProgram(t, "srun", "slurm-wlm")
	c := startSlurm(t)
	tmp := c.path("tmp")
	require.NoError(t, os.Mkdir(tmp, 0o700))
	t.Run("rendezvous file", func(t *testing.T) {
		assert.Equal(t, ranksBy(LauncherSlurm, 4), launchWorkers(t, "meet", tmp, c.env, srun, "-n", "4"))
		requireNothingLeft(t, tmp)
	})
	t.Run("address", func(t *testing.T) {
		env := append(c.env, "MASTER_ADDR=127.0.0.1")
		assert.Equal(t, ranksBy(LauncherSlurm, 4), launchWorkers(t, "meet", tmp, env, srun, "-n", "4"))
	})
	t.Run("PMI", func(t *testing.T) {
		assert.Equal(t, ranksBy(LauncherPMI, 4), launchWorkers(t, "meet", tmp, c.env, srun, "--mpi=pmi2", "-n", "4"))
	})
	t.Run("a rank dies", func(t *testing.T) {
		assert.Empty(t, launchWorkers(t, "die", tmp, c.env, srun, "-n", "4"))
		requireNothingLeft(t, tmp)
	})
	// The batch shell has SLURM_NTASKS=4 and is alone; the step that it starts is
	// three.
	t.Run("batch", func(t *testing.T) {
		sbatch := needProgram(t, "sbatch", "slurm-wlm")
		binary, err := os.Executable()
		require.NoError(t, err)
		script := fmt.Sprintf("#!/bin/sh\n%s=alone %s || exit 1\n%s=meet srun -n 3 %s\ntouch %s\n", workerEnv, binary, workerEnv, binary, c.path("done"))
		require.NoError(t, os.WriteFile(c.path("job.sh"), []byte(script), 0o755))
		launchProgram(t, tmp, c.env, sbatch, "-n", "4", "-o", c.path("job.out"), c.path("job.sh"))
		require.Eventually(t, func() bool { _, err := os.Stat(c.path("done")); return err == nil }, launchTimeout, 50*time.Millisecond)
		output, err := os.ReadFile(c.path("job.out"))
		require.NoError(t, err)
		first, rest, _ := strings.Cut(string(output), "\n")
		assert.Equal(t, "rank 0 of 1 by none", first)
		assert.ElementsMatch(t, ranksBy(LauncherSlurm, 3), strings.Split(strings.TrimSpace(rest), "\n"))
	})
}
