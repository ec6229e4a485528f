package nccltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func environment(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// parse reads a command line that is right.
func parse(t testing.TB, tool Tool, args string, env ...string) Config {
	t.Helper()
	cfg, err := ParseArgs(tool, strings.Fields(args), environment(env...))
	require.NoError(t, err)
	return cfg
}
