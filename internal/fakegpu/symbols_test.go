//go:build linux && cgo

package fakegpu

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// declared lists the functions that a header of the fakes declares.
func declared(t *testing.T, header string) []string {
	t.Helper()
	text, err := os.ReadFile(header)
	require.NoError(t, err)
	var names []string
	for _, match := range regexp.MustCompile(`\b((?:nccl|cu)[A-Z]\w+)\(`).FindAllSubmatch(text, -1) {
		names = append(names, string(match[1]))
	}
	require.Greater(t, len(names), 50)
	return names
}

func TestEveryDeclaredFunctionExists(t *testing.T) {
	libraries, err := Build("", Options{})
	require.NoError(t, err)
	for header, path := range map[string]string{
		"testdata/cuda/fakecuda.h": libraries.CUDA, "testdata/nccl/fakenccl.h": libraries.NCCL,
	} {
		library, err := dl.Open("a fake", "", path)
		require.NoError(t, err)
		for _, name := range declared(t, header) {
			_, err := library.Symbol(name, "")
			assert.NoError(t, err)
		}
		_, err = library.Symbol("gf1_enter", "")
		assert.Error(t, err, "the fakes export their inside")
	}
}

// A release has what its predecessors have, and nothing that comes later.
func TestReleasesOfNCCL(t *testing.T) {
	all := declared(t, "testdata/nccl/fakenccl.h")
	added := slices.Concat(slices.Collect(maps.Values(since))...)
	for _, name := range added {
		assert.Contains(t, all, name)
	}
	for _, release := range []string{"2.14.3", "2.18.1", "2.22.3", "2.27.3", "2.28.3", "2.29.7", "2.30.4"} {
		t.Run(release, func(t *testing.T) {
			libraries, err := Build("", Options{NCCL: release})
			require.NoError(t, err)
			library, err := dl.Open("libnccl", "", libraries.NCCL)
			require.NoError(t, err)
			version, err := versionCode(release)
			require.NoError(t, err)
			missing := newerThan(version)
			for _, name := range all {
				_, err := library.Symbol(name, "")
				if slices.Contains(missing, name) {
					assert.Error(t, err, name)
				} else {
					assert.NoError(t, err, name)
				}
			}
		})
	}
}

func TestVersionCode(t *testing.T) {
	for text, code := range map[string]int{"2.14.3": 21403, "2.28.3": 22803, "2.30.7": 23007} {
		got, err := versionCode(text)
		require.NoError(t, err)
		assert.Equal(t, code, got)
	}
	for _, bad := range []string{"", "2", "2.13.4", "2.31.0", "3.x.1"} {
		_, err := versionCode(bad)
		assert.Error(t, err, bad)
	}
}

func TestHiddenFunctions(t *testing.T) {
	libraries, err := Build("", Options{HideCUDA: []string{"cuMemGetHandleForAddressRange"}})
	require.NoError(t, err)
	library, err := dl.Open("libcuda", "", libraries.CUDA)
	require.NoError(t, err)
	_, err = library.Symbol("cuMemGetHandleForAddressRange", "11.7")
	assert.Error(t, err)
	_, err = library.Symbol("cuMemAlloc_v2", "")
	assert.NoError(t, err)
}
