package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/doctor/doctortest"
	"github.com/gofabric/gofabric/verbs"
)

func TestMain(m *testing.M) { os.Exit(testutil.Main(m)) }

func call(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	status = run(args, &o, &e)
	return status, o.String(), e.String()
}

func TestCommandLine(t *testing.T) {
	for _, args := range [][]string{{"word"}, {"--none"}, {"-i", "0"}, {"-i", "x"}, {"-d", "no-such-device"}} {
		status, out, errs := call(t, args...)
		assert.Equal(t, 1, status, args)
		assert.Empty(t, out)
		assert.Equal(t, 1, strings.Count(errs, "\n"), errs)
		assert.True(t, strings.HasPrefix(errs, "devinfo: "))
	}
	status, out, _ := call(t, "--help")
	assert.Zero(t, status)
	assert.Contains(t, out, "--ibstat")
}

// A machine of a capture: what /sys tells of it, in both layouts, with what the C
// tools hide.
func TestWhatSysTells(t *testing.T) {
	data := doctortest.Capture(doctortest.DGXA100)
	files, _, err := topo.CaptureContents(data)
	require.NoError(t, err)
	devices, err := verbs.DevicesIn(files)
	require.NoError(t, err)
	s, _, err := topo.Parse(data)
	require.NoError(t, err)
	var b bytes.Buffer
	o := options{verbose: true}
	for _, d := range devices {
		o.stat(&b, d)
		o.info(&b, d, nil)
		o.also(&b, d, s)
	}
	text := b.String()
	for _, line := range []string{
		"CA 'mlx5_4'\n\tCA type: MT4123\n", "\t\tState: Active\n\t\tPhysical state: LinkUp\n\t\tRate: 200\n", "\t\tLink layer: Ethernet\n",
		"\t\tState: Down\n\t\tPhysical state: Disabled\n", "hca_id:\tmlx5_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t20.31.1014\n",
		"\tboard_id:\t\t\tMT_0000000223\n", "\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n",
		"\t\tkind:        PF\n", "0000:0c:00.0, x16 at 16 GT/s (31.5 GB/s)", "\t\tnuma_node:   3 (numa_node of 0000:0c:00.0)\n",
		"interface enp97s0f0; 200 Gb/s = 25 GB/s; GIDs: 1 RoCE v2, 1 RoCE v2 link-local; connections use GID 3",
	} {
		assert.Contains(t, text, line)
	}
}

func inLab(t *testing.T) {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the lab: go test -exec 'rdmalab --with ibv_devinfo --with ibstat' -run TestLab ./examples/devinfo")
	}
}

func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	require.NoError(t, err)
	return string(out)
}

func TestLabBesideIbvDevinfo(t *testing.T) {
	inLab(t)
	_, ours, errs := call(t, "--plain")
	assert.Empty(t, errs)
	assert.Equal(t, tool(t, "ibv_devinfo"), ours)
	_, ours, errs = call(t, "--plain", "-v")
	assert.Empty(t, errs)
	assert.Equal(t, tool(t, "ibv_devinfo", "-v"), ours)
	_, ours, _ = call(t, "-l")
	assert.Equal(t, tool(t, "ibv_devinfo", "-l"), ours)
	_, ours, _ = call(t, "--plain", "-v", "-d", "rxe1", "-i", "1")
	assert.Equal(t, tool(t, "ibv_devinfo", "-v", "-d", "rxe1", "-i", "1"), ours)
}

func TestLabBesideIbstat(t *testing.T) {
	inLab(t)
	_, ours, errs := call(t, "--ibstat", "--plain")
	assert.Empty(t, errs)
	assert.Equal(t, tool(t, "ibstat"), ours)
}

// rdma link has one line a port: state, physical state and interface.
func TestLabBesideRdmaLink(t *testing.T) {
	inLab(t)
	devices, err := verbs.Devices()
	require.NoError(t, err)
	var lines []string
	for _, d := range devices {
		for _, p := range d.Ports {
			lines = append(lines, strings.Join([]string{
				"link", d.Name + "/1", "state", strings.TrimPrefix(p.State.String(), "PORT_"), "physical_state", physStates[p.PhysState], "netdev", p.Netdev}, " "))
		}
	}
	var theirs []string
	for _, line := range strings.Split(strings.TrimSpace(tool(t, "rdma", "link")), "\n") {
		theirs = append(theirs, strings.TrimSpace(line))
	}
	assert.Equal(t, theirs, lines)
	_, ours, errs := call(t)
	assert.Empty(t, errs)
	assert.Contains(t, ours, "interface v0; ")
	assert.Contains(t, ours, "device_file: /dev/infiniband/uverbs0")
}

// Both say that a port is down.
func TestLabPortDown(t *testing.T) {
	inLab(t)
	out, err := exec.Command("sh", "-ec", `$(command -v ip) link set v0 down`).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() {
		out, err := exec.Command("sh", "-ec", `$(command -v ip) link set v0 up`).CombinedOutput()
		require.NoError(t, err, "%s", out)
	})
	_, ours, _ := call(t, "--ibstat", "--plain")
	assert.Equal(t, tool(t, "ibstat"), ours)
	_, ours, _ = call(t, "--plain", "-v")
	assert.Equal(t, tool(t, "ibv_devinfo", "-v"), ours)
}
