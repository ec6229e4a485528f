package lab

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCpioGolden(t *testing.T) {
	var b bytes.Buffer
	c := newCpioWriter(&b)
	require.NoError(t, c.dir("d", 0o755))
	require.NoError(t, c.file("d/f", 0o644, 5, strings.NewReader("hello")))
	require.NoError(t, c.symlink("l", "d/f"))
	require.NoError(t, c.close())

	head := func(ino, mode, size, name string) string {
		zero := "00000000"
		return "070701" + ino + mode + zero + zero + "00000001" + zero + size + zero + zero + zero + zero + name + zero
	}
	want := head("00000001", "000041ed", "00000000", "00000002") + "d\x00" +
		head("00000002", "000081a4", "00000005", "00000004") + "d/f\x00\x00\x00" + "hello\x00\x00\x00" +
		head("00000003", "0000a1ff", "00000003", "00000002") + "l\x00" + "d/f\x00" +
		head("00000004", "00000000", "00000000", "0000000b") + "TRAILER!!!\x00\x00\x00\x00"
	assert.Equal(t, want, b.String())
	assert.Zero(t, b.Len()%4)
}

func TestCpioReadBack(t *testing.T) {
	if _, err := exec.LookPath("cpio"); err != nil {
		t.Log("cpio is not installed; the golden test covers the format")
		return
	}
	src := filepath.Join(t.TempDir(), "src")
	require.NoError(t, os.WriteFile(src, []byte("content"), 0o755))
	tr := tree{}
	require.NoError(t, tr.putFile("/usr/bin/prog", src))
	tr.putLink("/bin", "usr/bin")
	tr.putData("/etc/passwd", 0o600, []byte("root"))
	var b bytes.Buffer
	require.NoError(t, tr.write(&b))

	dir := t.TempDir()
	cmd := exec.Command("cpio", "-id", "--quiet", "--no-absolute-filenames")
	cmd.Dir, cmd.Stdin = dir, &b
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	text, err := os.ReadFile(filepath.Join(dir, "bin/prog"))
	require.NoError(t, err)
	assert.Equal(t, "content", string(text))
	fi, err := os.Stat(filepath.Join(dir, "etc/passwd"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), fi.Mode())
}

func TestCpioFileThatShrank(t *testing.T) {
	err := newCpioWriter(&bytes.Buffer{}).file("f", 0o644, 10, strings.NewReader("short"))
	assert.Error(t, err)
}
