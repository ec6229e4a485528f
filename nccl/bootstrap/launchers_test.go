package bootstrap

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

// launchTimeout bounds a launcher with its processes.
const launchTimeout = time.Minute

// needProgram skips where a launcher is not installed.
func needProgram(t *testing.T, name, pkg string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		// Daemons are not on every user's PATH.
		if path, err = exec.LookPath(filepath.Join("/usr/sbin", name)); err != nil {
			testutil.Skip(t, fmt.Sprintf("needs %s: install %s", name, pkg))
		}
	}
	return path
}

// scratch is a folder with a short name: sockets are put below it.
func scratch(t *testing.T) string {
	dir, err := os.MkdirTemp("", "gf")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// launch runs a launcher whose processes are this test binary in a role, and
// returns the lines that they wrote, sorted.
func launchWorkers(t *testing.T, role, tmp string, env []string, launcher string, args ...string) []string {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	return launchProgram(t, tmp, append(env, workerEnv+"="+role), launcher, append(args, binary)...)
}

func launchProgram(t *testing.T, tmp string, env []string, program string, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), launchTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "TMPDIR="+tmp)
	cmd.Dir = tmp
	cmd.WaitDelay = 5 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	require.NoError(t, err, "%s\n%s", output, stderr.String())
	lines := strings.FieldsFunc(string(output), func(r rune) bool { return r == '\n' })
	slices.Sort(lines)
	return lines
}

// ranksBy is what the workers of a world on this machine write.
func ranksBy(launcher string, size int) []string {
	var lines []string
	for rank := range size {
		lines = append(lines, fmt.Sprintf("rank %d of %d local %d of %d by %s", rank, size, rank, size, launcher))
	}
	return lines
}

// requireNothingLeft looks that no rendezvous file stays.
func requireNothingLeft(t *testing.T, tmp string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(tmp, "gofabric-*"))
	require.NoError(t, err)
	assert.Empty(t, files)
}

func TestMpirun(t *testing.T) {
	mpirun := needProgram(t, "mpirun", "openmpi-bin")
	tmp := scratch(t)
	args := []string{"--oversubscribe", "-n", "4"}
	// What mpirun asks of root, and no other user's mpirun minds.
	env := []string{"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}
	t.Run("rendezvous file", func(t *testing.T) {
		assert.Equal(t, ranksBy(LauncherOpenMPI, 4), launchWorkers(t, "meet", tmp, env, mpirun, args...))
		requireNothingLeft(t, tmp)
	})
	t.Run("address", func(t *testing.T) {
		env := append(env, "MASTER_ADDR=127.0.0.1")
		assert.Equal(t, ranksBy(LauncherOpenMPI, 4), launchWorkers(t, "meet", tmp, env, mpirun, args...))
	})
	t.Run("files alone", func(t *testing.T) {
		env := append(env, EnvExchangeDir+"="+tmp)
		assert.Equal(t, ranksBy(LauncherOpenMPI, 4), launchWorkers(t, "meet", tmp, env, mpirun, args...))
		requireNothingLeft(t, tmp)
	})
	t.Run("a rank dies", func(t *testing.T) {
		assert.Empty(t, launchWorkers(t, "die", tmp, env, mpirun, args...))
		requireNothingLeft(t, tmp)
	})
}

// TestTorchrunsVariables starts processes as torchrun's agent does, which listens
// on MASTER_PORT itself.
func TestTorchrunsVariables(t *testing.T) {
	binary, err := os.Executable()
	require.NoError(t, err)
	address := freeAddress(t)
	tmp := scratch(t)
	script := `for r in 0 1 2 3; do RANK=$r LOCAL_RANK=$r "$0" & all="$all $!"; done; for p in $all; do wait $p || exit 1; done`
	host, port, err := splitAddress(address)
	require.NoError(t, err)
	for _, agent := range []string{"False", "True"} {
		env := []string{
			"WORLD_SIZE=4", "LOCAL_WORLD_SIZE=4", "MASTER_ADDR=" + host, fmt.Sprintf("MASTER_PORT=%d", port), "TORCHELASTIC_RUN_ID=none",
			"TORCHELASTIC_RESTART_COUNT=0", "TORCHELASTIC_USE_AGENT_STORE=" + agent, workerEnv + "=meet",
		}
		assert.Equal(t, ranksBy(LauncherEnv, 4), launchProgram(t, tmp, env, "/bin/sh", "-c", script, binary))
	}
}
