//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/topo/doctor"
)

// Faults that are made on a real kernel, and found. The lab's default guest has
// rxe0 and rxe1 on a pair of interfaces:
//
//	go test -exec 'rdmalab --kernel 6.12 --module sch_netem' -run TestLab ./examples/doctor

func inLab(t *testing.T) {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the lab: go test -exec 'rdmalab --module sch_netem'")
	}
}

// doctorIn runs the program with a changed environment and returns its report.
func doctorIn(t *testing.T, change func(*exec.Cmd), args ...string) *doctor.Report {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", append([]string{"--json"}, args...)...)
	cmd.Env = append(os.Environ(), asTool+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if change != nil {
		change(cmd)
	}
	out, err := cmd.Output()
	var status *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &status, "%s", stderr.String())
		require.Equal(t, exitCritical, status.ExitCode(), "%s", stderr.String())
	}
	var r doctor.Report
	require.NoError(t, json.Unmarshal(out, &r), "%s", out)
	return &r
}

func with(vars ...string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, vars...) }
}

// finds wants one check to fail, with a severity, naming a device, and returns its
// finding.
func finds(t *testing.T, r *doctor.Report, check string, s doctor.Severity, device string) doctor.Finding {
	t.Helper()
	res, ok := r.Result(check)
	require.True(t, ok)
	for _, f := range res.Findings {
		if f.Outcome == doctor.Fail && strings.HasPrefix(f.Device, device) {
			assert.Equal(t, s, f.Severity)
			t.Logf("%s: %s: %s %v", check, f.Device, f.Text, f.Evidence)
			return f
		}
	}
	require.Fail(t, "not found", "%s %s: %+v", check, device, res.Findings)
	return doctor.Finding{}
}

func healthy(t *testing.T, r *doctor.Report) {
	t.Helper()
	for _, p := range r.Problems() {
		assert.LessOrEqual(t, p.Finding.Severity, doctor.Info, "%s %s: %s", p.Check.Name, p.Finding.Device, p.Finding.Text)
	}
	assert.LessOrEqual(t, r.Count(doctor.Unknown), len(r.Results)/5)
}

func shell(t *testing.T, command string) {
	t.Helper()
	out, err := exec.Command("sh", "-ec", command).CombinedOutput()
	require.NoError(t, err, "%s: %s", command, out)
}

// breakIt runs a command, and another one when the test ends.
func breakIt(t *testing.T, command, mend string) {
	t.Helper()
	shell(t, command)
	t.Cleanup(func() { shell(t, mend) })
}

const iproute = `ip=$(command -v ip); `

func TestLabHealthy(t *testing.T) {
	inLab(t)
	healthy(t, doctorIn(t, nil))
	healthy(t, doctorIn(t, nil, "--watch", "50ms"))
}

func TestLabPortDown(t *testing.T) {
	inLab(t)
	breakIt(t, iproute+"$ip link set v0 down", iproute+"$ip link set v0 up")
	r := doctorIn(t, nil)
	finds(t, r, "port-state", doctor.Critical, "rxe0")
	finds(t, r, "physical-state", doctor.Critical, "rxe0")
	finds(t, doctorIn(t, with("NCCL_IB_HCA==rxe0")), "hca-selection", doctor.Warning, "rxe0")
}

func TestLabSmallMTU(t *testing.T) {
	inLab(t)
	breakIt(t, iproute+"$ip link set v0 mtu 1500", iproute+"$ip link set v0 mtu 4200")
	r := doctorIn(t, nil)
	finds(t, r, "roce-mtu", doctor.Warning, "rxe0")
	finds(t, r, "mtu-alike", doctor.Warning, "")
}

func TestLabNoAddress(t *testing.T) {
	inLab(t)
	breakIt(t, iproute+"$ip -4 address flush dev v0", iproute+"$ip address add 10.0.0.1/24 dev v0")
	f := finds(t, doctorIn(t, nil), "roce-gid", doctor.Warning, "rxe0")
	assert.Contains(t, f.Text, "link-local")
	finds(t, doctorIn(t, with("NCCL_IB_GID_INDEX=1")), "gid-index", doctor.Critical, "rxe0")
}

func TestLabMemlock(t *testing.T) {
	inLab(t)
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_MEMLOCK, &old))
	low := unix.Rlimit{Cur: 64 << 10, Max: old.Max}
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &low))
	t.Cleanup(func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_MEMLOCK, &old)) })
	healthy(t, doctorIn(t, nil)) // root has CAP_IPC_LOCK
	const nobody = 65534
	r := doctorIn(t, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	})
	f := finds(t, r, "memlock", doctor.Critical, "")
	assert.Contains(t, f.Text, "64 KiB")
}

func TestLabMissingDeviceFile(t *testing.T) {
	inLab(t)
	breakIt(t, "mv /dev/infiniband/uverbs0 /dev/uverbs0.away", "mv /dev/uverbs0.away /dev/infiniband/uverbs0")
	finds(t, doctorIn(t, nil), "device-files", doctor.Critical, "rxe0")
}

func TestLabDeniedDeviceFile(t *testing.T) {
	inLab(t)
	breakIt(t, "chmod 600 /dev/infiniband/uverbs0", "chmod 666 /dev/infiniband/uverbs0")
	const nobody = 65534
	r := doctorIn(t, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	})
	finds(t, r, "device-files", doctor.Critical, "rxe0")
}

func TestLabSettings(t *testing.T) {
	inLab(t)
	finds(t, doctorIn(t, with("NCCL_IB_DISABLE=1")), "fabric-used", doctor.Critical, "")
	finds(t, doctorIn(t, with("NCCL_SOCKET_IFNAME=bond7")), "fabric-used", doctor.Critical, "bond7")
	finds(t, doctorIn(t, with("NCCL_IB_GID_INDEX=9")), "gid-index", doctor.Critical, "rxe")
	finds(t, doctorIn(t, with("NCCL_IB_HCA=mlx5_0")), "hca-selection", doctor.Warning, "mlx5_0")
	finds(t, doctorIn(t, with("NCCL_NET_GDR_LEVEL=NODE")), "gdr-level", doctor.Warning, "")
	finds(t, doctorIn(t, with("NCCL_IB_TC=high")), "nccl-conf", doctor.Warning, "NCCL_IB_TC")
	healthy(t, doctorIn(t, with("NCCL_IB_HCA==rxe0,rxe1", "NCCL_IB_GID_INDEX=1", "NCCL_SOCKET_IFNAME=v")))
}

func TestLabConf(t *testing.T) {
	inLab(t)
	breakIt(t, "echo NCCL_IB_DISABLE=1 >/etc/nccl.conf; echo export NCCL_IB_TC=106 >>/etc/nccl.conf", "rm /etc/nccl.conf")
	r := doctorIn(t, nil)
	f := finds(t, r, "fabric-used", doctor.Critical, "")
	assert.Equal(t, "/etc/nccl.conf:1", f.Evidence[0].Source)
	finds(t, r, "nccl-conf", doctor.Warning, "")
	res, _ := doctorIn(t, with("NCCL_IB_DISABLE=0")).Result("fabric-used")
	assert.Equal(t, doctor.Pass, res.Outcome, "the environment goes before the file")
}

// Packets are lost while data moves: the transport's counters say so.
func TestLabPacketLoss(t *testing.T) {
	inLab(t)
	breakIt(t, "tc qdisc add dev v1 root netem loss 5%", "tc qdisc del dev v1 root")
	server := exec.Command("ib_write_bw", "-d", "rxe0", "-x", "1", "-s", "65536", "-n", "400", "-t", "8", "-p", "19000")
	require.NoError(t, server.Start())
	client := exec.Command("sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do ib_write_bw -d rxe1 -x 1 -s 65536 -n 400 -t 8 -p 19000 10.0.0.1 && break; sleep 0.3; done")
	require.NoError(t, client.Start())
	t.Cleanup(func() {
		for _, cmd := range []*exec.Cmd{client, server} {
			_ = cmd.Process.Kill()
			var ended *exec.ExitError
			if err := cmd.Wait(); err != nil {
				require.ErrorAs(t, err, &ended)
			}
		}
	})
	f := finds(t, doctorIn(t, nil, "--watch", "6s"), "transport-errors", doctor.Warning, "rxe")
	assert.Contains(t, f.Evidence[0].Value, "+")
}

func TestLabProbe(t *testing.T) {
	inLab(t)
	r := doctorIn(t, nil, "--probe")
	healthy(t, r)
	res, _ := r.Result("roce-mtu")
	assert.Equal(t, "active_mtu 4096", res.Findings[0].Evidence[0].Value)
}

// A process of the job is judged by its own limits and settings.
func TestLabProcess(t *testing.T) {
	inLab(t)
	cmd := exec.Command("sleep", "100")
	cmd.Env = append(os.Environ(), "NCCL_IB_DISABLE=1")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	finds(t, doctorIn(t, nil, "--pid", fmt.Sprint(cmd.Process.Pid)), "fabric-used", doctor.Critical, "")
}
