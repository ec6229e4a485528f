//go:build linux

package lab

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStoreFillsOnce(t *testing.T) {
	c := Config{Cache: t.TempDir()}
	var fills atomic.Int32
	var wg sync.WaitGroup
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			dir, s, err := store(context.Background(), c, "kernels", "x", func(dir string) (stamp, error) {
				fills.Add(1)
				return stamp{Version: "1"}, os.WriteFile(filepath.Join(dir, "f"), nil, 0o644)
			})
			assert.NoError(t, err)
			assert.Equal(t, "1", s.Version)
			assert.FileExists(t, filepath.Join(dir, "f"))
		}()
	}
	wg.Wait()
	assert.EqualValues(t, 1, fills.Load())

	c.Refresh = true
	_, s, err := store(context.Background(), c, "kernels", "x", func(string) (stamp, error) { return stamp{Version: "2"}, nil })
	require.NoError(t, err)
	assert.Equal(t, "2", s.Version)
}

func TestStoreKeepsNothingOfAFailure(t *testing.T) {
	c := Config{Cache: t.TempDir()}
	broken := errors.New("broken")
	_, _, err := store(context.Background(), c, "kernels", "x", func(dir string) (stamp, error) {
		return stamp{}, errors.Join(broken, os.WriteFile(filepath.Join(dir, "half"), nil, 0o644))
	})
	assert.ErrorIs(t, err, broken)
	left, err := os.ReadDir(filepath.Join(c.Cache, "kernels"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestLockHonoursTheContext(t *testing.T) {
	cache := t.TempDir()
	release, err := lock(context.Background(), cache, "x")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = lock(ctx, cache, "x")
	assert.ErrorIs(t, err, context.Canceled)
	release()
	release, err = lock(context.Background(), cache, "x")
	require.NoError(t, err)
	release()
}

func TestVerdictIsRemembered(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kvm.json")
	_, ok := readVerdict(file, "k")
	assert.False(t, ok)
	want := kvmVerdict{Key: "k", Reason: "spins"}
	require.NoError(t, writeVerdict(file, want))
	got, ok := readVerdict(file, "k")
	assert.True(t, ok)
	assert.Equal(t, want, got)
	_, ok = readVerdict(file, "after a reboot")
	assert.False(t, ok)
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o644))
	_, ok = readVerdict(file, "k")
	assert.False(t, ok)
}

func TestProbeVerdicts(t *testing.T) {
	ctx := context.Background()
	v, err := probeKVM(ctx, "k", func(context.Context) error { return nil })
	require.NoError(t, err)
	assert.True(t, v.Usable)
	v, err = probeKVM(ctx, "k", func(context.Context) error { return &GuestError{Reason: "not ready", Console: "long"} })
	require.NoError(t, err)
	assert.Equal(t, kvmVerdict{Key: "k", Reason: "not ready"}, v)
	// An interrupted probe has found out nothing.
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = probeKVM(gone, "k", func(context.Context) error { return context.Canceled })
	assert.ErrorIs(t, err, context.Canceled)
}

func TestKernelFilesInBothLayouts(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"one package": {"boot/vmlinuz-6.1.0-57-amd64": nil, "lib/modules/6.1.0-57-amd64/modules.builtin": nil},
		"split":       {"usr/lib/modules/6.1.0-57-amd64/vmlinuz": nil, "usr/lib/modules/6.1.0-57-amd64/modules.builtin": nil},
	} {
		dir := t.TempDir()
		writeRoot(t, dir, files)
		k, err := findKernel(dir, "6.1.0-57-amd64")
		require.NoError(t, err, name)
		assert.FileExists(t, k.vmlinuz)
		assert.DirExists(t, k.modules)
		_, err = findKernel(dir, "6.2")
		assert.Error(t, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	base := Config{Cache: t.TempDir()}
	c, err := base.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, "6.1", c.Kernel)
	assert.Equal(t, "host", c.Userland)
	for name, change := range map[string]func(*Config){
		"unknown kernel":   func(c *Config) { c.Kernel = "5.4" },
		"path as kernel":   func(c *Config) { c.Kernel = "../6.1" },
		"half a kernel":    func(c *Config) { c.Vmlinuz = "/boot/vmlinuz" },
		"unknown userland": func(c *Config) { c.Userland = "plan9" },
		"mirror, no key":   func(c *Config) { c.Mirror = "http://mirror.example" },
	} {
		c := base
		change(&c)
		_, err := c.withDefaults()
		assert.Error(t, err, name)
	}
}

func TestJobIsChecked(t *testing.T) {
	j, err := Job{Path: "true"}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, 4200, j.MTU)
	for name, j := range map[string]Job{
		"no program":   {},
		"relative dir": {Path: "x", Dir: "rel"},
		"accelerator":  {Path: "x", Accel: "hvf"},
		"MTU":          {Path: "x", MTU: 100},
		"memory":       {Path: "x", MemoryMiB: 1},
		"mapping":      {Path: "x", In: []Mapping{{Host: "a", Guest: "rel"}}},
		"root":         {Path: "x", Out: []Mapping{{Host: "a", Guest: "/"}}},
	} {
		_, err := j.withDefaults()
		assert.Error(t, err, name)
	}
}
