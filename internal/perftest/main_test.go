package perftest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func runMain(args ...string) (status int, stdout, stderr string) {
	var out, problems bytes.Buffer
	status = Main(WriteBW, args, &out, &problems)
	return status, out.String(), problems.String()
}

func TestMainWithoutRun(t *testing.T) {
	status, stdout, stderr := runMain("-h")
	assert.Zero(t, status)
	assert.Contains(t, stdout, "--cq-mod")
	assert.True(t, strings.HasSuffix(stdout, "\n"))
	assert.Empty(t, stderr)

	status, stdout, _ = runMain("-V")
	assert.Zero(t, status)
	assert.Equal(t, VersionText(), stdout)

	for _, args := range [][]string{{"-s", "x"}, {"-d", "no_such_device"}, {"a", "b"}, {"-d", "loop0", "--compare", "ib_write_bw"}} {
		status, stdout, stderr = runMain(args...)
		assert.Equal(t, 1, status)
		assert.Empty(t, stdout)
		assert.True(t, strings.HasPrefix(stderr, "write_bw: "), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "write_bw: "), stderr)
	}
}

var errFull = errors.New("no space left")

// full takes so many bytes.
type full int

func (f *full) Write(p []byte) (int, error) {
	if len(p) > int(*f) {
		return 0, errFull
	}
	*f -= full(len(p))
	return len(p), nil
}

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, flag := range []string{"-h", "-V"} {
		var problems bytes.Buffer
		assert.Equal(t, 1, Main(WriteBW, []string{flag}, new(full), &problems))
		assert.Equal(t, "write_bw: no space left\n", problems.String())
	}
}
