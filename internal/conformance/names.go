package conformance

import (
	"errors"
	"os"
	"os/exec"
	"strings"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

// What the library says without a device. Package verbs has answers of its own,
// which are there without the library too.
var nameCases = []Case{
	{"NamesAreTheLibrarys", names},
	{"RatesAreTheLibrarys", rates},
	{"RequestNamesAreTheLibrarys", requestNames},
	{"ForkStatus", forkStatus},
	{"InitFork", initFork},
	{"FlowLabelPorts", flowLabelPorts},
}

// library says whether libibverbs is there: an in-process device works without.
func (r *Rig) library() bool {
	_, err := verbs.LibraryPath()
	if r.inProcess() && errors.Is(err, verbs.ErrLibraryNotFound) {
		return false
	}
	require.NoError(r, err)
	return true
}

// names: where the library has a name for a value, so have we, and the words of
// ours that follow it are the library's.
func names(r *Rig) {
	if !r.library() {
		return
	}
	r.covers("ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str", "ibv_wc_status_str")
	for v := range int32(9) {
		text, err := cverbs.NodeTypeText(v)
		require.NoError(r, err)
		if v >= 1 && v <= 7 {
			require.Equal(r, text, verbs.NodeType(v).String())
		}
	}
	for v := range int32(6) {
		text, err := cverbs.PortStateText(v)
		require.NoError(r, err)
		require.Equal(r, text, verbs.PortState(v).Description())
	}
	unknownEvent, err := cverbs.EventTypeText(999)
	require.NoError(r, err)
	for v := range int32(20) {
		text, err := cverbs.EventTypeText(v)
		require.NoError(r, err)
		require.NotEqual(r, unknownEvent, text, "%d", v)
		require.NotEqual(r, verbs.EventType(999).String(), verbs.EventType(v).String(), "%d: %s", v, text)
	}
	for v := range int32(22) {
		text, err := cverbs.WCStatusText(v)
		require.NoError(r, err)
		require.NotEmpty(r, text)
		require.NotContains(r, verbs.Status(v).Error(), "unknown", "%d: %s", v, text)
	}
	if _, err = cverbs.WROpcodeText(0); err != nil {
		r.refuses(err, "ibv_wr_opcode_str") // it came with rdma-core 49
		return
	}
	r.covers("ibv_wr_opcode_str")
	for v := range int32(20) {
		if v == 12 || v == 13 {
			continue // the library has no text there, not even unknown
		}
		text, err := cverbs.WROpcodeText(v)
		require.NoError(r, err)
		require.Equal(r, text, verbs.WROpcode(v).String())
	}
}

func rates(r *Rig) {
	if !r.library() {
		return
	}
	r.covers("ibv_rate_to_mult", "mult_to_ibv_rate", "ibv_rate_to_mbps", "mbps_to_ibv_rate")
	for v := range int32(40) {
		rate := verbs.StaticRate(v)
		want, err := cverbs.RateToMbps(v)
		require.NoError(r, err)
		mbps, ok := rate.Mbps()
		require.Equal(r, want > 0, ok, "%d", v)
		if ok {
			require.Equal(r, int(want), mbps)
			back, err := cverbs.MbpsToRate(want)
			require.NoError(r, err)
			require.Equal(r, verbs.StaticRate(back), verbs.StaticRateOfMbps(mbps))
		}
		want, err = cverbs.RateToMult(v)
		require.NoError(r, err)
		multiple, ok := rate.Multiple()
		require.Equal(r, want > 0, ok, "%d", v)
		if ok {
			require.Equal(r, int(want), multiple)
			back, err := cverbs.MultToRate(want)
			require.NoError(r, err)
			require.Equal(r, verbs.StaticRate(back), verbs.StaticRateOfMultiple(multiple))
		}
	}
	require.Equal(r, verbs.RateMax, verbs.StaticRateOfMbps(1))
	require.Equal(r, verbs.RateMax, verbs.StaticRateOfMultiple(0))
}

func forkStatus(r *Rig) {
	if !r.library() {
		return
	}
	r.covers("ibv_is_fork_initialized")
	status, err := verbs.Fork()
	require.NoError(r, err)
	require.Contains(r, []verbs.ForkStatus{verbs.ForkDisabled, verbs.ForkEnabled, verbs.ForkUnneeded}, status)
	require.NotContains(r, status.String(), "fork status")
}

// forkEnv marks the process that initFork started.
const forkEnv = "GOFABRIC_TEST_FORK"

// initFork prepares a process of its own for fork, before it registers memory, and
// moves data there.
func initFork(r *Rig) {
	if !r.library() {
		return
	}
	if os.Getenv(forkEnv) == "" {
		suite, _, _ := strings.Cut(r.Name(), "/")
		cmd := exec.Command("/proc/self/exe", "-test.run=^"+suite+"$/^InitFork$", "-test.v")
		cmd.Env = append(os.Environ(), forkEnv+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(r, err, "%s", out)
		require.Contains(r, string(out), "--- PASS: "+r.Name())
		testutil.CoversElsewhere(r, string(out), "ibv_fork_init")
		return
	}
	testutil.Covers(r, "ibv_fork_init")
	require.NoError(r, verbs.InitFork())
	status, err := verbs.Fork()
	require.NoError(r, err)
	require.NotEqual(r, verbs.ForkDisabled, status)
	a, _ := r.pair(pairOptions{})
	src, dst := r.memory(4096), r.memory(4096)
	want := r.random(src)
	r.write(a, dst.Remote(), src)
	require.NoError(r, exec.Command("/proc/self/exe", "-test.run=^$").Run())
	r.write(a, dst.Remote(), src)
	require.Equal(r, want, dst.Bytes())
}

func flowLabelPorts(r *Rig) {
	r.covers("ibv_flow_label_to_udp_sport")
	for label, want := range map[uint32]uint16{
		0: 0xc000, 1: 0xc001, 0x3fff: 0xffff, 0x4000: 0xc001, 0xfffff: 0xffc0, 0x12345: 0xe341, 0x80000: 0xc020,
	} {
		require.Equal(r, want, verbs.FlowLabelToUDPPort(label), "0x%x", label)
	}
}

// requestNames: libraries before rdma-core 49 have none.
func requestNames(r *Rig) {
	require.Equal(r, "send, flush, unknown bits 0x8000", (verbs.OpSend | verbs.OpFlush | 1<<15).String())
	if !r.library() {
		return
	}
	if _, err := cverbs.WROpcodeText(0); errors.Is(err, verbs.ErrNotSupported) {
		return
	}
	r.covers("ibv_wr_opcode_str")
	for op, opcode := range map[verbs.SendOps]int32{
		verbs.OpWrite: cverbs.IBV_WR_RDMA_WRITE, verbs.OpWriteImm: cverbs.IBV_WR_RDMA_WRITE_WITH_IMM,
		verbs.OpSend: cverbs.IBV_WR_SEND, verbs.OpSendImm: cverbs.IBV_WR_SEND_WITH_IMM, verbs.OpRead: cverbs.IBV_WR_RDMA_READ,
		verbs.OpCompareSwap: cverbs.IBV_WR_ATOMIC_CMP_AND_SWP, verbs.OpFetchAdd: cverbs.IBV_WR_ATOMIC_FETCH_AND_ADD,
		verbs.OpLocalInv: cverbs.IBV_WR_LOCAL_INV, verbs.OpBindMW: cverbs.IBV_WR_BIND_MW,
		verbs.OpSendInv: cverbs.IBV_WR_SEND_WITH_INV, verbs.OpSegmentedSend: cverbs.IBV_WR_TSO,
		verbs.OpFlush: cverbs.IBV_WR_FLUSH, verbs.OpAtomicWrite: cverbs.IBV_WR_ATOMIC_WRITE,
	} {
		text, err := cverbs.WROpcodeText(opcode)
		require.NoError(r, err)
		require.Equal(r, text, op.String())
	}
}
