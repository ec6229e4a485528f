package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/lab"
)

func TestParse(t *testing.T) {
	o, err := parse([]string{"--kernel", "6.12", "/b/verbs.test", "-test.run=X", "--kernel", "own"})
	require.NoError(t, err)
	assert.Equal(t, "6.12", o.cfg.Kernel)
	assert.Equal(t, "/b/verbs.test", o.job.Path)
	assert.Equal(t, []string{"-test.v=true", "-test.run=X", "--kernel", "own"}, o.job.Args)
	assert.True(t, o.strict)

	o, err = parse([]string{"--strict=false", "--env", "A=b", "--out", "/g/x:h", "--", "list"})
	require.NoError(t, err)
	assert.Equal(t, verbRun, o.verb)
	assert.Equal(t, "list", o.job.Path)
	assert.Contains(t, o.job.Env, "A=b")
	assert.Equal(t, []lab.Mapping{{Host: "h", Guest: "/g/x"}}, o.job.Out)

	o, err = parse([]string{"--script", "steps.sh", "arg"})
	require.NoError(t, err)
	abs, err := filepath.Abs("steps.sh")
	require.NoError(t, err)
	assert.Equal(t, "sh", o.job.Path)
	assert.Equal(t, []string{abs, "arg"}, o.job.Args)

	o, err = parse([]string{"fetch", "--kernel", "7.3"})
	require.NoError(t, err)
	assert.Equal(t, verbFetch, o.verb)
	assert.Equal(t, "7.3", o.cfg.Kernel)
}

func TestParseRefuses(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--nosuch", "x"}, {"--timeout", "-1s", "x"}, {"--device-mode", "999", "x"}, {"--in", ":", "x"},
		{"--allow-skip", "(", "x"}, {"list", "extra"},
	} {
		_, err := parse(args)
		assert.Error(t, err, args)
	}
	_, err := parse([]string{"--help"})
	assert.ErrorIs(t, err, errHelp)
}

func TestEnvironment(t *testing.T) {
	host := []string{"GOGC=1", "GOFABRIC_X=2", "GOFABRIC_CACHE=/c", "GOFABRIC_LAB=nested", "HOME=/h", "RDMAV_X=3"}
	assert.Equal(t, []string{"GOGC=9", "GOFABRIC_X=2", "RDMAV_X=3"}, environment(host, []string{"RDMAV_X", "ABSENT", "GOGC=9"}))
}

func TestRefusedSkips(t *testing.T) {
	o, err := parse([]string{"--allow-skip", "^TestXRC", "x.test"})
	require.NoError(t, err)
	assert.Equal(t, []string{"TestA"}, o.refused([]string{"TestXRC/a", "TestA"}))
}
