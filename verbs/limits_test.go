//go:build linux

package verbs_test

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
)

// ordinaryEnv marks the process that ordinary started.
const ordinaryEnv = "GOFABRIC_TEST_ORDINARY"

// ordinary reports whether the test runs as an ordinary user. If not, it runs
// the test once more as one, in a process of its own: root passes the limits
// that the test is about.
func ordinary(t *testing.T) bool {
	t.Helper()
	if os.Getenv(ordinaryEnv) != "" {
		return true
	}
	self, err := os.Executable()
	require.NoError(t, err)
	const nobody = 65534
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), ordinaryEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "as user %d:\n%s", nobody, out)
	return false
}

// TestMemlockTooLow: the error says how much may be locked.
func TestMemlockTooLow(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "needs a device that every user may open: run it in the lab")
	}
	if !ordinary(t) {
		return
	}
	const limit = 64 << 10
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unix.Rlimit{Cur: limit, Max: limit}))
	dev, err := verbs.Open(testutil.Device(t))
	require.NoError(t, err)
	defer func() { require.NoError(t, dev.CloseAll()) }()
	pd, err := dev.AllocPD()
	require.NoError(t, err)

	for name, register := range map[string]func(size int) (*verbs.MR, error){
		"AllocMR":    func(size int) (*verbs.MR, error) { return pd.AllocMR(size, verbs.MROptions{}) },
		"RegisterMR": func(size int) (*verbs.MR, error) { return pd.RegisterMR(make([]byte, size), verbs.MROptions{}) },
	} {
		_, err = register(1 << 20)
		require.ErrorIs(t, err, syscall.ENOMEM, name)
		var op *verbs.OpError
		require.ErrorAs(t, err, &op, name)
		assert.Contains(t, op.Hint, "RLIMIT_MEMLOCK allows 65536 bytes, of which 0 are in use", name)

		// What is within the limit by itself may be too much together.
		mr, err := register(limit / 2)
		require.NoError(t, err, name)
		_, err = register(limit/2 + 1)
		require.ErrorIs(t, err, syscall.ENOMEM, name)
		require.ErrorAs(t, err, &op, name)
		assert.Contains(t, op.Hint, "RLIMIT_MEMLOCK allows 65536 bytes, of which ", name)
		require.NoError(t, mr.Close())
	}
}

// TestNodeWithoutPermission: the error names the node to open up.
func TestNodeWithoutPermission(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "takes a device's node away from users: run it in the lab")
	}
	name := testutil.Device(t)
	node := nodeOf(t, name)
	if os.Getenv(ordinaryEnv) == "" {
		before, err := os.Stat(node)
		require.NoError(t, err)
		require.NoError(t, os.Chmod(node, 0o600))
		defer func() { require.NoError(t, os.Chmod(node, before.Mode().Perm())) }()
	}
	if !ordinary(t) {
		return
	}
	_, err := verbs.Open(name)
	require.ErrorIs(t, err, syscall.EACCES)
	var op *verbs.OpError
	require.ErrorAs(t, err, &op)
	assert.Contains(t, op.Hint, node)
}

// nodeOf returns the node in /dev through which a device is opened.
func nodeOf(t *testing.T, device string) string {
	t.Helper()
	list, err := verbs.Devices()
	require.NoError(t, err)
	for _, d := range list {
		if d.Name == device {
			return "/dev/infiniband/" + d.Uverbs
		}
	}
	require.FailNow(t, "no device", device)
	return ""
}
