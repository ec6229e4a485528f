//go:build linux

package doctor

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gofabric/gofabric/internal/ethtool"
	"github.com/gofabric/gofabric/internal/testutil"
)

// onTwoSockets diagnoses the lab's machine of that name, whose NUMA nodes and PCIe
// links are real to its kernel: rdmalab --machine two-socket.
func onTwoSockets(t *testing.T, opts LiveOptions) *Report {
	t.Helper()
	if os.Getenv("GOFABRIC_LAB_MACHINE") != "two-socket" {
		testutil.Skip(t, "needs the lab: go test -exec 'rdmalab --machine two-socket' -run TestLab ./topo/doctor")
	}
	m, err := Live(opts)
	require.NoError(t, err)
	return Diagnose(m)
}

// failure is the first failure of a check that names a device.
func failure(t *testing.T, r *Report, check, device string) Finding {
	t.Helper()
	res, ok := r.Result(check)
	require.True(t, ok)
	for _, f := range res.Findings {
		if f.Outcome == Fail && strings.HasPrefix(f.Device, device) {
			t.Logf("%s: %s: %s %v", check, f.Device, f.Text, f.Evidence)
			return f
		}
	}
	require.Fail(t, "not found", "%s %s: %+v", check, device, res.Findings)
	return Finding{}
}

func TestLabHealthyTwoSockets(t *testing.T) {
	const balancing = "/proc/sys/kernel/numa_balancing"
	onTwoSockets(t, LiveOptions{})
	require.NoError(t, os.WriteFile(balancing, []byte("0"), 0))
	r := onTwoSockets(t, LiveOptions{})
	assert.Equal(t, None, r.Worst(), "%+v", r.Problems())
	noFalseAlarm(t, r, 0.8)
	require.NoError(t, os.WriteFile(balancing, []byte("1"), 0))
	assert.Equal(t, Info, failure(t, onTwoSockets(t, LiveOptions{}), "numa-balancing", "").Severity)
}

// The NIC says that it does 10 Gb/s, and its PCIe link carries 2.
func TestLabSlowSlot(t *testing.T) {
	onTwoSockets(t, LiveOptions{})
	require.NoError(t, setSpeed("n0", 10000))
	f := failure(t, onTwoSockets(t, LiveOptions{}), "slot", "rxe0")
	assert.Equal(t, Warning, f.Severity)
	assert.Contains(t, f.Text, "10 Gb/s")
}

// A driver that tells what its link could be, and one that does not know.
func TestLabLinkModes(t *testing.T) {
	onTwoSockets(t, LiveOptions{})
	mbps, err := ethtool.Fastest("n4") // an e1000e
	require.NoError(t, err)
	assert.Equal(t, 1000, mbps)
	mbps, err = ethtool.Fastest("n0") // virtio
	require.NoError(t, err)
	assert.Zero(t, mbps)
}

// A process of node 1 that uses a device of node 0.
func TestLabWrongNode(t *testing.T) {
	onTwoSockets(t, LiveOptions{})
	far := exec.Command("busybox", "taskset", "0xc", "sleep", "100")
	far.Env = append(os.Environ(), "NCCL_IB_HCA==rxe0")
	require.NoError(t, far.Start())
	t.Cleanup(func() { _ = far.Process.Kill(); _ = far.Wait() })
	// Until taskset has become sleep the CPUs are not set.
	require.Eventually(t, func() bool {
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", far.Process.Pid))
		list, _ := keyed(string(status), "Cpus_allowed_list")
		return list == "2-3"
	}, 30*time.Second, 50*time.Millisecond)
	f := failure(t, onTwoSockets(t, LiveOptions{Process: far.Process.Pid}), "cpuset", "")
	assert.Equal(t, Warning, f.Severity)
	assert.Contains(t, f.Text, "rxe0 (0-1)")
}

// setSpeed sets what an interface says of its speed, as ethtool -s does.
func setSpeed(name string, mbps uint16) error {
	command := make([]byte, 44) // struct ethtool_cmd
	binary.NativeEndian.PutUint32(command, unix.ETHTOOL_SSET)
	binary.NativeEndian.PutUint16(command[12:], mbps)
	command[14] = 1    // full duplex
	command[15] = 0xff // PORT_OTHER
	return ethtool.Ask(name, command)
}
