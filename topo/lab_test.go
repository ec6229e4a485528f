//go:build linux

package topo

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
)

// onTwoSockets skips what needs the lab's machine of that name: rdmalab --machine
// two-socket. Its nodes 0 and 1 have the CPUs 0-1 and 2-3, node 2 is only memory.
func onTwoSockets(t *testing.T) *System {
	t.Helper()
	if os.Getenv("GOFABRIC_LAB_MACHINE") != "two-socket" {
		testutil.Skip(t, "needs the lab: go test -exec 'rdmalab --machine two-socket' -run TestLab")
	}
	s, err := Live(ReadOptions{})
	require.NoError(t, err)
	return s
}

// TestLabPaths reads every kind of path from a real kernel's files, between the
// interfaces, between the RDMA devices on them, and between PCI functions.
func TestLabPaths(t *testing.T) {
	s := onTwoSockets(t)
	require.Len(t, s.HCAs, 6)
	want := [][]string{
		//   n0      n1      n2      n3      n4      n5
		{"X", "PIX", "PXB", "PHB", "NODE", "SYS"},
		{"PIX", "X", "PXB", "PHB", "NODE", "SYS"},
		{"PXB", "PXB", "X", "PHB", "NODE", "SYS"},
		{"PHB", "PHB", "PHB", "X", "NODE", "SYS"},
		{"NODE", "NODE", "NODE", "NODE", "X", "SYS"},
		{"SYS", "SYS", "SYS", "SYS", "SYS", "X"},
	}
	for i, row := range want {
		for j, path := range row {
			for _, form := range []string{"n%d", "rxe%d"} {
				a, err := s.Find(fmt.Sprintf(form, i))
				require.NoError(t, err)
				b, err := s.Find(fmt.Sprintf(form, j))
				require.NoError(t, err)
				got, why := s.Path(a, b)
				assert.Equal(t, path, got.String(), "%s to %s: %s", a.Label(), b.Label(), why)
			}
		}
		n, ok := s.Netdev(fmt.Sprintf("n%d", i))
		require.True(t, ok)
		h := s.HCAs[i]
		assert.Equal(t, []string{n.Name}, h.Ports[0].Netdevs)
		assert.Equal(t, KindSoftware, h.Kind)
		assert.NotEmpty(t, n.PCI)
		node, ok := h.NUMA.Known()
		assert.True(t, ok, h.NUMA.From)
		assert.Equal(t, map[bool]int{true: 1}[i == 5], node)
		assert.Equal(t, []string{"0-1", "2-3"}[node], s.CPUsFor(h).CPUs.String())
	}
	assert.Equal(t, 2, s.ComputeNodes(), "a node that is only memory is no socket")
	n3, _ := s.Netdev("n3")
	card, ok := s.Device(n3.PCI)
	require.True(t, ok)
	port, ok := s.Device(card.Parent)
	require.True(t, ok)
	assert.Equal(t, Link{Speed: 2.5, Width: 1, MaxSpeed: 8, MaxWidth: 8}, port.Link, "a card that is slower than its slot")
	assert.Equal(t, RootPort, port.Bridge)
}

// A capture of the guest tells the same as the guest.
func TestLabCapture(t *testing.T) {
	s := onTwoSockets(t)
	var text strings.Builder
	require.NoError(t, CaptureLive(&text, CaptureOptions{}))
	again, format, err := Parse([]byte(text.String()))
	require.NoError(t, err)
	assert.Equal(t, FormatCapture, format)
	var want, got strings.Builder
	require.NoError(t, s.Matrix(&want, MatrixOptions{}))
	require.NoError(t, again.Matrix(&got, MatrixOptions{}))
	assert.Equal(t, want.String(), got.String())
}

// TestLabBindThread binds to an RDMA device's node and reads CPUs and the place of
// new memory back.
func TestLabBindThread(t *testing.T) {
	s := onTwoSockets(t)
	for name, where := range map[string]struct{ cpus, node string }{"rxe0": {"0-1", "0"}, "rxe5": {"2-3", "1"}} {
		h, ok := s.HCA(name)
		require.True(t, ok)
		b, err := BindThread(s.CPUsFor(h), BindOptions{})
		require.NoError(t, err)
		assert.Equal(t, "CPUs "+where.cpus+", memory of node "+where.node, b.Bound().String())
		assert.Equal(t, where.cpus, status(t, ownThread, cpuList))
		memory := mapped(t, 16)
		touch(memory)
		line := numaMap(t, memory)
		assert.Contains(t, line, " prefer", line)
		assert.Contains(t, line, " N"+where.node+"=16", line)
		// A program that is started is bound too, and its memory.
		out, err := exec.Command("cat", "/proc/self/status", "/proc/self/numa_maps").Output()
		require.NoError(t, err)
		assert.Contains(t, string(out), cpuList+":\t"+where.cpus+"\n")
		assert.Contains(t, string(out), ":"+where.node+" ")
		require.NoError(t, b.Restore())
		assert.Equal(t, "0-3", status(t, ownThread, cpuList))
		assert.Contains(t, numaMap(t, memory), " default ", "the policy was the thread's")
	}
}

// Memory that has no CPUs takes buffers and no threads.
func TestLabBindMemoryOnlyNode(t *testing.T) {
	onTwoSockets(t)
	node := 2
	b, err := BindThread(Affinity{Node: &node}, BindOptions{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, "any CPU, memory of node 2", b.Bound().String())
	assert.Equal(t, "0-3", status(t, ownThread, cpuList))
	memory := mapped(t, 8)
	touch(memory)
	line := numaMap(t, memory)
	require.NoError(t, b.Restore())
	assert.Contains(t, line, " bind:2 ")
	assert.Contains(t, line, " N2=8")
}

// TestLabBindMemory moves a buffer that is in use, and leaves what is around it.
func TestLabBindMemory(t *testing.T) {
	onTwoSockets(t)
	for _, strict := range []bool{false, true} {
		for _, node := range []int{0, 1, 2} {
			memory := mapped(t, 16)
			touch(memory)
			require.NoError(t, BindMemory(memory, Affinity{Node: &node}, BindOptions{Strict: strict}))
			line := numaMap(t, memory)
			assert.Contains(t, line, fmt.Sprintf("%s:%d ", map[bool]string{false: "prefer", true: "bind"}[strict], node), line)
			assert.Contains(t, line, fmt.Sprintf(" N%d=16", node), line)
		}
	}
	memory := mapped(t, 4)
	touch(memory)
	page := len(memory) / 4
	one := 1
	require.NoError(t, BindMemory(memory[page-1:3*page+1], Affinity{Node: &one}, BindOptions{}))
	assert.Contains(t, numaMap(t, memory), " default ")
	assert.Contains(t, numaMap(t, memory[page:]), " prefer")
	assert.Contains(t, numaMap(t, memory[page:]), " N1=2")
	assert.Contains(t, numaMap(t, memory[3*page:]), " default ")
}

// TestLabBindProcess looks at every thread of a process that bound itself.
func TestLabBindProcess(t *testing.T) {
	onTwoSockets(t)
	said := boundChild(t, "2-3")
	assert.Equal(t, []string{"CPUs 2-3, memory of the node of each CPU"}, said["bound"])
	for _, got := range said["thread"] {
		assert.Equal(t, "2-3", got)
	}
	said = boundChild(t, "node1")
	strict := boundChild(t, "node1!")
	if withCgo {
		assert.Equal(t, []string{"any CPU, memory of the node of each CPU"}, said["bound"])
		require.Len(t, strict["refused"], 1)
		assert.Contains(t, strict["refused"][0], "numactl --membind")
		return
	}
	assert.Equal(t, []string{"any CPU, memory of node 1"}, said["bound"])
	require.Greater(t, len(said["policy"]), 3)
	for _, got := range said["policy"] {
		assert.Contains(t, got, "prefer")
	}
	require.Greater(t, len(strict["policy"]), 3)
	for _, got := range strict["policy"] {
		assert.Equal(t, "bind:1", got)
	}
}

// A cpuset that the machine's owner set is named.
func TestLabBindCpuset(t *testing.T) {
	s := onTwoSockets(t)
	const dir = "/sys/fs/cgroup/topo-test"
	mountCgroups(t)
	require.NoError(t, os.Mkdir(dir, 0o755))
	write := func(file, text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0)) }
	write("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset")
	write(dir+"/cpuset.cpus", "0-1")
	write(dir+"/cpuset.mems", "0")
	cmd := exec.Command("sh", "-c", "echo $$ >"+dir+`/cgroup.procs; export `+bindChild+`=2-3; /proc/$0/exe; export `+bindChild+`=node1; exec /proc/$0/exe`, fmt.Sprint(os.Getpid()))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	refused := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, refused, 2, "%s", out)
	assert.Contains(t, refused[0], "the cpuset allows 0-1 (/sys/fs/cgroup/topo-test/cpuset.cpus.effective): start the job or the container with CPUs of 2-3")
	assert.Contains(t, refused[1], "the cpuset allows nodes 0 (/sys/fs/cgroup/topo-test/cpuset.mems.effective): start the job or the container with node 1")
	assert.NotEmpty(t, s.Nodes)
}

// mountCgroups gives the guest, whose init has none, the control groups.
func mountCgroups(t *testing.T) {
	t.Helper()
	out, err := exec.Command("busybox", "mount", "-t", "cgroup2", "none", "/sys/fs/cgroup").CombinedOutput()
	require.NoError(t, err, "%s", out)
}
