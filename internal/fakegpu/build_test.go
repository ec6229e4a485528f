//go:build linux

package fakegpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The programs of testdata/selftest say what the fakes do; sanitizers say
// whether they do it cleanly.
func TestSelf(t *testing.T) {
	for _, variant := range []struct {
		name  string
		flags []string
	}{
		{"plain", nil},
		{"thread", []string{"-fsanitize=thread"}},
		{"address", []string{"-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"}},
	} {
		// Go's race detector sees nothing of C, whose own is among these.
		if testutil.Race && variant.flags != nil {
			continue
		}
		for _, program := range []string{"cuda", "nccl", "misuse"} {
			t.Run(program+" "+variant.name, func(t *testing.T) {
				self(t, program, Options{Flags: variant.flags})
			})
		}
	}
}

func TestSelfOfReleases(t *testing.T) {
	for _, release := range []string{"2.14.3", "2.22.3", "2.30.7"} {
		t.Run(release, func(t *testing.T) { self(t, "release", Options{NCCL: release}) })
	}
}

// self compiles a program of testdata/selftest against the fakes and runs it.
func self(t *testing.T, program string, options Options) {
	t.Helper()
	libraries, err := Build("", options)
	require.NoError(t, err)
	dir := t.TempDir()
	binary := filepath.Join(dir, program)
	args := append([]string{"-o", binary, "testdata/selftest/" + program + ".c"}, baseFlags...)
	args = append(args, options.Flags...)
	args = append(args, libraries.NCCL, libraries.CUDA, "-Wl,-rpath,"+filepath.Dir(libraries.CUDA))
	require.NoError(t, run(args...))
	page := filepath.Join(dir, "page")
	_, err = newControl(page)
	require.NoError(t, err)
	cmd := exec.Command(binary)
	cmd.Env = append(os.Environ(), ControlEnv+"="+page, "ASAN_OPTIONS=detect_leaks=0", "GF1_FAKE_GPUS=2")
	cmd.WaitDelay = 5 * time.Second // a child of its that waits for ever
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", output)
	assert.Equal(t, "ok\n", string(output))
}
