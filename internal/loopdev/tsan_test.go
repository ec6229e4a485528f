//go:build linux && cgo && tsan

package loopdev_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThreadSanitizer runs the device without Go, so that the sanitizer sees
// every lock of it. It needs a C compiler with libtsan.
func TestThreadSanitizer(t *testing.T) {
	sources, err := filepath.Glob("gf1l_*.c")
	require.NoError(t, err)
	program := filepath.Join(t.TempDir(), "stress")
	args := append([]string{"-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=thread", "-pthread",
		"-I.", "-I../cverbs", "tsan/stress.c", "-o", program}, sources...)
	out, err := exec.Command("cc", args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(program).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
