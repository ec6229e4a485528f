package main

import (
	"bytes"
	"os"
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
	require.Len(t, o.jobs, 1)
	assert.Equal(t, "/b/verbs.test", o.jobs[0].Path)
	assert.Equal(t, []string{"-test.v=true", "-test.run=X", "--kernel", "own"}, o.jobs[0].Args)
	assert.True(t, o.strict)

	o, err = parse([]string{"--strict=false", "--env", "A=b", "--out", "/g/x:h", "--", "list"})
	require.NoError(t, err)
	assert.Equal(t, verbRun, o.verb)
	assert.Equal(t, "list", o.jobs[0].Path)
	assert.Contains(t, o.jobs[0].Env, "A=b")
	assert.Equal(t, []lab.Mapping{{Host: "h", Guest: "/g/x"}}, o.jobs[0].Out)

	o, err = parse([]string{"--script", "steps.sh", "arg"})
	require.NoError(t, err)
	abs, err := filepath.Abs("steps.sh")
	require.NoError(t, err)
	assert.Equal(t, "sh", o.jobs[0].Path)
	assert.Equal(t, []string{abs, "arg"}, o.jobs[0].Args)

	o, err = parse([]string{"pair", "--kernel", "6.12", "--", "a", "-x", "--", "b.test", "--", "y"})
	require.NoError(t, err)
	assert.Equal(t, "6.12", o.cfg.Kernel)
	require.Len(t, o.jobs, 2)
	assert.Equal(t, []string{"a", "-x"}, append([]string{o.jobs[0].Path}, o.jobs[0].Args...))
	assert.Equal(t, []string{"b.test", "-test.v=true", "--", "y"}, append([]string{o.jobs[1].Path}, o.jobs[1].Args...))

	o, err = parse([]string{"fetch", "--kernel", "7.3"})
	require.NoError(t, err)
	assert.Equal(t, verbFetch, o.verb)
	assert.Equal(t, "7.3", o.cfg.Kernel)
}

func TestMachine(t *testing.T) {
	o, err := parse([]string{"--machine", "two-socket", "--module", "x", "prog"})
	require.NoError(t, err)
	require.NotNil(t, o.jobs[0].Machine)
	assert.Equal(t, []string{"x", "e1000e", "virtio_net"}, o.cfg.ExtraModules)
	assert.Contains(t, o.jobs[0].Env, "GOFABRIC_LAB_MACHINE=two-socket")

	o, err = parse([]string{"machine", "two-socket"})
	require.NoError(t, err)
	assert.Equal(t, verbMachine, o.verb)
	var b bytes.Buffer
	require.NoError(t, printMachine(&b, o.machine))
	file := filepath.Join(t.TempDir(), "own.json")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	m, err := readMachine(file)
	require.NoError(t, err)
	assert.Equal(t, lab.Machines()["two-socket"], m)
	assert.ErrorContains(t, printMachine(&b, ""), "two-socket")
}

func TestParseRefuses(t *testing.T) {
	for _, args := range [][]string{
		{}, {"--nosuch", "x"}, {"--timeout", "-1s", "x"}, {"--device-mode", "999", "x"}, {"--in", ":", "x"},
		{"--allow-skip", "(", "x"}, {"list", "extra"},
		{"--machine", "no-such", "x"}, {"pair", "--machine", "two-socket", "--", "a", "--", "b"}, {"machine", "a", "b"},
		{"pair", "--", "a"}, {"pair", "--", "a", "--"}, {"pair", "--script", "s", "--", "a", "--", "b"},
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
