package sysfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const sample = `
# a device behind two links
[sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0]
numa_node = -1
class = 0x020700
uevent =
| DRIVER=mlx5_core
| PCI_SLOT_NAME=0000:01:00.0
empty =
refused !EACCES
[sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0]
device -> ../../../0000:01:00.0
fw_ver = 28.41.1000
gone !EINVAL
[sys/class/infiniband]
mlx5_0 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0
mlx5_10 -> ../../devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0
mlx5_2 -> /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/infiniband/mlx5_0
[]
/sys/loop -> loop
sys/bus/
`

const deviceDir = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0"

func sampleReader(t *testing.T) Reader {
	t.Helper()
	tree, err := ParseTree(sample)
	require.NoError(t, err)
	return NewReader(tree)
}

func TestReaderValues(t *testing.T) {
	r := sampleReader(t)

	s, ok, err := r.String("sys/class/infiniband/mlx5_0/fw_ver")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "28.41.1000", s)

	n, ok, err := r.Int("sys/class/infiniband/mlx5_0/device/numa_node")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, -1, n)

	h, ok, err := r.Hex(deviceDir + "/class")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, uint64(0x020700), h)

	list, ok, err := r.List(deviceDir + "/uevent")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []string{"DRIVER=mlx5_core", "PCI_SLOT_NAME=0000:01:00.0"}, list)

	list, ok, err = r.List(deviceDir + "/empty")
	require.NoError(t, err)
	assert.True(t, ok, "an empty file is there")
	assert.Empty(t, list)

	names, ok, err := r.Names("sys/class/infiniband")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, []string{"mlx5_0", "mlx5_2", "mlx5_10"}, names)

	assert.True(t, r.IsDir("sys/class/infiniband/mlx5_2"))
	assert.False(t, r.IsDir("sys/class/infiniband/mlx5_2/fw_ver"))
	assert.True(t, r.Exists("sys/bus"))
	assert.False(t, r.Exists("sys/loop"))
}

func TestReaderAbsentAndError(t *testing.T) {
	r := sampleReader(t)
	for _, name := range []string{
		"sys/none", "sys/class/infiniband/mlx5_0/gone", "sys/none/below", deviceDir + "/class/below",
	} {
		_, ok, err := r.String(name)
		require.NoError(t, err, name)
		assert.False(t, ok, name)
	}
	_, ok, err := r.Names("sys/class/none")
	require.NoError(t, err)
	assert.False(t, ok)

	_, ok, err = r.Int(deviceDir + "/refused")
	require.ErrorIs(t, err, fs.ErrPermission)
	assert.False(t, ok)

	_, ok, err = r.Int(deviceDir + "/class")
	require.ErrorIs(t, err, ErrMalformed)
	assert.False(t, ok)
	_, _, err = r.Hex(deviceDir + "/uevent")
	require.ErrorIs(t, err, ErrMalformed)

	_, _, err = r.String("sys/loop")
	require.ErrorIs(t, err, syscall.ELOOP)
}

func TestRealPath(t *testing.T) {
	r := sampleReader(t)
	for _, name := range []string{
		"sys/class/infiniband/mlx5_0/device",
		"sys/class/infiniband/mlx5_2/device",
		deviceDir,
	} {
		real, err := r.RealPath(name)
		require.NoError(t, err)
		assert.Equal(t, deviceDir, real)
	}
	_, err := r.RealPath("sys/class/infiniband/mlx5_9/device")
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = r.RealPath("../etc")
	require.ErrorIs(t, err, fs.ErrInvalid)
	_, err = NewReader(noLinks{}).RealPath("sys")
	require.Error(t, err, "a file system without links cannot resolve any")
}

// noLinks is a file system with the one method that fs.FS asks for.
type noLinks struct{}

func (noLinks) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func TestTreeIsAFileSystem(t *testing.T) {
	tree, err := ParseTree("a/b = 1\na/c -> b\nd/ \ne =\n| x\n| y\n")
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(tree, "a/b", "a/c", "d", "e"))
}

func TestDirStaysInsideACapture(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		p := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, []byte(text), 0o644))
	}
	write("capture/sys/devices/x/fw_ver", "1.2.3\n")
	write("capture/sys/class/y", "")
	write("secret", "not in the capture\n")
	link := func(target, name string) {
		require.NoError(t, os.Symlink(target, filepath.Join(root, "capture", name)))
	}
	link("../devices/x", "sys/class/relative")
	link("/sys/devices/x", "sys/class/absolute")
	link("../../../secret", "sys/class/escape")

	r := NewReader(Dir(filepath.Join(root, "capture")))
	for _, name := range []string{"relative", "absolute"} {
		s, ok, err := r.String("sys/class/" + name + "/fw_ver")
		require.NoError(t, err)
		assert.True(t, ok)
		assert.Equal(t, "1.2.3", s)
		real, err := r.RealPath("sys/class/" + name)
		require.NoError(t, err)
		assert.Equal(t, "sys/devices/x", real)
	}
	_, ok, err := r.String("sys/class/escape")
	require.NoError(t, err)
	assert.False(t, ok, "a link must not leave the capture")
}

func TestDirOfTheMachine(t *testing.T) {
	name := filepath.ToSlash(t.TempDir())[1:] + "/value"
	require.NoError(t, os.WriteFile("/"+name, []byte(" 7\n"), 0o600))
	n, ok, err := NewReader(Dir("/")).Int(name)
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, 7, n)
}

func TestCompare(t *testing.T) {
	ordered := []string{"", "ib0", "mlx4_0", "mlx5_0", "mlx5_2", "mlx5_02", "mlx5_10", "mlx5_10a", "mlx5_18446744073709551617", "mlx5_bond_0", "rxe"}
	// "mlx5_02" and "mlx5_2" differ in a leading zero only.
	ordered[4], ordered[5] = ordered[5], ordered[4]
	for i, a := range ordered {
		for j, b := range ordered {
			got := Compare(a, b)
			switch {
			case i < j:
				assert.Negative(t, got, "%q %q", a, b)
			case i > j:
				assert.Positive(t, got, "%q %q", a, b)
			default:
				assert.Zero(t, got, "%q", a)
			}
		}
	}
}
