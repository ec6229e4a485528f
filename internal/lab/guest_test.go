//go:build linux && amd64

package lab

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMain makes this test binary the init of the guests that it boots.
func TestMain(m *testing.M) {
	Guest()
	os.Exit(m.Run())
}

// inGuest boots real guests only when asked to: it takes minutes and a network
// for the first download. GOFABRIC_LAB_TEST=1 asks.
func inGuest(t *testing.T) (*Image, context.Context) {
	t.Helper()
	if os.Getenv("GOFABRIC_LAB_TEST") == "" {
		testutil.Skip(t, "set GOFABRIC_LAB_TEST=1 to boot guests")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	im, err := Ensure(ctx, Config{Kernel: os.Getenv("GOFABRIC_LAB_KERNEL"), Userland: os.Getenv("GOFABRIC_LAB_USERLAND"), Log: func(l string) { t.Log(l) }})
	require.NoError(t, err)
	return im, ctx
}

func TestGuestRuns(t *testing.T) {
	im, ctx := inGuest(t)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "in"), []byte("carried"), 0o644))
	var stdout, stderr bytes.Buffer
	r, err := im.Run(ctx, Job{
		Path:   "sh",
		Args:   []string{"-c", "cat in; echo to-stderr >&2; mkdir out; head -c 10000000 /dev/zero > out/big; rdma link; uname -r; exit 3"},
		Dir:    "/mnt",
		In:     []Mapping{{Host: filepath.Join(dir, "in"), Guest: "/mnt/in"}},
		Out:    []Mapping{{Guest: "/mnt/out", Host: filepath.Join(dir, "out")}},
		Stdout: &stdout, Stderr: &stderr,
	})
	require.NoError(t, err)
	assert.Equal(t, 3, r.ExitCode)
	assert.Contains(t, stdout.String(), "carried")
	assert.Contains(t, stdout.String(), "link rxe0/1 state ACTIVE")
	assert.Contains(t, stdout.String(), "link rxe1/1 state ACTIVE")
	assert.Contains(t, stdout.String(), im.Kernel())
	assert.Equal(t, "to-stderr\n", stderr.String())
	fi, err := os.Stat(filepath.Join(dir, "out", "big"))
	require.NoError(t, err)
	assert.EqualValues(t, 10000000, fi.Size())
	t.Logf("%s %s: ready after %v", im.Kernel(), r.Accel, r.Boot)
}

func TestGuestPanicIsAnError(t *testing.T) {
	im, ctx := inGuest(t)
	_, err := im.Run(ctx, Job{Path: "sh", Args: []string{"-c", "echo c > /proc/sysrq-trigger"}})
	var guest *GuestError
	require.ErrorAs(t, err, &guest)
	assert.Contains(t, guest.Console, "Kernel panic")
}

func TestGuestEndsWithTheContext(t *testing.T) {
	im, ctx := inGuest(t)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	started := &onWrite{do: cancel}
	_, err := im.Run(ctx, Job{Path: "sh", Args: []string{"-c", "echo started; sleep 1000"}, Stdout: started})
	assert.ErrorIs(t, err, context.Canceled)
}

// onWrite calls do for what is written to it.
type onWrite struct{ do func() }

func (w *onWrite) Write(p []byte) (int, error) { w.do(); return len(p), nil }
