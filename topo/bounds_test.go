//go:build !race

package topo

// Inputs of this size take the race detector minutes, and one goroutine reads them.

import (
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

func TestTextInManyPiecesIsReadOnce(t *testing.T) {
	// Joining the pieces one by one takes minutes.
	text := "<system version=\"1\"><cpu numaid=\"0\"/>" + strings.Repeat("x<!---->", 1<<20) + "</system>"
	_, _, err := Parse([]byte(text))
	require.NoError(t, err)
}

func TestInputsOfTooManyThingsAreRefused(t *testing.T) {
	_, _, err := Parse([]byte("<system version=\"1\">" + strings.Repeat("<a/>", maxXMLElements+1) + "</system>"))
	assert.ErrorContains(t, err, "more than")
	s := &System{}
	for i := range mostPaired + 1 {
		s.HCAs = append(s.HCAs, &HCA{Name: fmt.Sprint("mlx5_", i)})
	}
	var invalid *InvalidError
	assert.ErrorAs(t, s.Finish(), &invalid)
}

func TestPlanOfTooManyRanksIsRefused(t *testing.T) {
	s := &System{}
	require.NoError(t, s.Finish())
	for _, n := range []int{math.MinInt, -1, 0, MaxRanks + 1, 1e9, math.MaxInt} {
		_, err := s.Plan(n)
		assert.Error(t, err, n)
	}
	p, err := s.Plan(MaxRanks)
	require.NoError(t, err)
	assert.Len(t, p.Ranks, MaxRanks)
}

func TestTwoCapturesInOneFileAreRefused(t *testing.T) {
	const head = captureHead + "\n-- machine.json --\n"
	for _, text := range []string{head + "{}\n-- machine.json --\n{}\n", head + "{}{}\n", head + "{}]\n"} {
		_, format, err := Parse([]byte(text))
		assert.Error(t, err, text)
		assert.Equal(t, FormatCapture, format)
	}
	_, _, err := Parse([]byte(head + "{}\n"))
	assert.NoError(t, err)
}

func TestTooManyCPUElementsAreRefused(t *testing.T) {
	cpu := "<cpu numaid=\"0\" affinity=\"" + strings.Repeat("ffffffff,", 250) + "ff\"/>"
	_, _, err := Parse([]byte("<system version=\"1\">" + strings.Repeat(cpu, mostPaired+1) + "</system>"))
	assert.ErrorContains(t, err, "CPUs")
}

// A root of files that wait for ever, lead in circles or are not what their name
// says must not stop a reading.
func TestReadingSurvivesAHostileRoot(t *testing.T) {
	root := t.TempDir()
	device := filepath.Join(root, "sys/devices/pci0000:00/0000:00:01.0")
	for _, dir := range []string{device, filepath.Join(root, "sys/devices/system/node/node0"), filepath.Join(root, "sys/class/infiniband"),
		filepath.Join(root, "sys/class/net"), filepath.Join(root, "proc"), filepath.Join(root, "var/run/nvidia-topologyd")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	fifo := func(name string) { require.NoError(t, syscall.Mkfifo(name, 0o644)) }
	for _, name := range []string{"class", "vendor", "numa_node", "local_cpulist", "uevent", "current_link_speed"} {
		fifo(filepath.Join(device, name))
	}
	fifo(filepath.Join(root, "sys/devices/system/node/online"))
	fifo(filepath.Join(root, "proc/cpuinfo"))
	fifo(filepath.Join(root, "topology.xml"))
	fifo(filepath.Join(root, virtualTopology))
	require.NoError(t, os.Mkdir(filepath.Join(device, "device"), 0o755))
	link := func(target, name string) { require.NoError(t, os.Symlink(target, filepath.Join(root, name))) }
	link("loop", "sys/class/net/loop")
	link("../../..", "sys/class/infiniband/mlx5_0")
	for _, name := range []string{"0000:00:02.0", "0000:00:03.0", "pci0000:01", "pci0000:02"} {
		link("..", "sys/devices/pci0000:00/0000:00:01.0/"+name)
	}
	link("../../../../../../../../../etc", "sys/class/net/eth0")
	link("/dev/zero", "proc/version")
	for name, opts := range map[string]ReadOptions{"plain": {}, "named": {TopologyFile: "topology.xml"}} {
		s, err := Read(sysfs.Dir(root), opts)
		require.NoError(t, err, name)
		assert.Len(t, s.PCI, 1)
		require.NoError(t, Capture(io.Discard, sysfs.Dir(root), CaptureOptions{ReadOptions: opts}))
		// A root that hides its links shows a circle, and may refuse it.
		hidden := struct{ fs.StatFS }{os.DirFS(root).(fs.StatFS)}
		if _, err = Read(hidden, opts); err != nil {
			var invalid *InvalidError
			require.ErrorAs(t, err, &invalid)
		}
		require.NoError(t, Capture(io.Discard, hidden, CaptureOptions{ReadOptions: opts}))
	}
}
