package arch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeProgramBuilds keeps the first program that people copy working.
func TestReadmeProgramBuilds(t *testing.T) {
	needLinuxCgo(t)
	_, rest, ok := strings.Cut(string(read(t, "README.md")), "```go\n")
	require.True(t, ok, "README.md has no Go program")
	program, _, ok := strings.Cut(rest, "\n```")
	require.True(t, ok)
	buildOutside(t, program+"\n")
}
