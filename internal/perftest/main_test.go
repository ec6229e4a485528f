package perftest

import (
	"bytes"
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

	for _, args := range [][]string{{"-s", "x"}, {"-d", "no_such_device"}, {"a", "b"}} {
		status, stdout, stderr = runMain(args...)
		assert.Equal(t, 1, status)
		assert.Empty(t, stdout)
		assert.True(t, strings.HasPrefix(stderr, "write_bw: "), stderr)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
}
