package bootstrap

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPythonRank runs the program of docs/launchers.md as rank 1.
func TestPythonRank(t *testing.T) {
	python := needProgram(t, "python3", "python3")
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "launchers.md"))
	require.NoError(t, err)
	_, program, ok := strings.Cut(string(text), "```python\n")
	require.True(t, ok)
	program, _, _ = strings.Cut(program, "```")

	w := World{Address: freeAddress(t), Job: "both"}
	_, port, err := splitAddress(w.Address)
	require.NoError(t, err)
	program += `
s = Session("127.0.0.1", ` + strconv.Itoa(port) + `, 1, 3, "both", b"secret")
print(s.broadcast().decode())
print(b" ".join(s.all_gather(b"one")).decode())
s.barrier()
s.close()
`
	ctx := testContext(t)
	cmd := exec.CommandContext(ctx, python, "-c", program)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	type result struct {
		output []byte
		err    error
	}
	done := make(chan result, 1)
	go func() {
		output, err := cmd.Output()
		done <- result{output, err}
	}()
	all := connectAll(ctx, t, w, 3, Options{Secret: []byte("secret")}, 0, 2)
	sessions := []*Session{all[0].Session, all[2].Session}
	require.NoError(t, all[0].err)
	require.NoError(t, all[2].err)
	requireAll(t, sessions, func(s *Session) error {
		if _, err := s.Broadcast(ctx, 0, []byte("the id")); err != nil {
			return err
		}
		parts, err := s.AllGather(ctx, []byte{'0' + byte(s.Rank())})
		if err != nil {
			return err
		}
		assert.Equal(t, "one", string(parts[1]))
		return s.Barrier(ctx)
	})
	r := <-done
	require.NoError(t, r.err, stderr.String())
	assert.Equal(t, "the id\n0 one 2\n", string(r.output))
}
