package arch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadmeProgramsBuild keeps the first programs that people copy working.
func TestReadmeProgramsBuild(t *testing.T) {
	needLinuxCgo(t)
	blocks := strings.Split(string(read(t, "README.md")), "```go\n")[1:]
	require.NotEmpty(t, blocks, "README.md has no Go program")
	for _, block := range blocks {
		program, _, ok := strings.Cut(block, "\n```")
		require.True(t, ok)
		buildOutside(t, program+"\n")
	}
}
