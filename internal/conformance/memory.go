package conformance

import (
	"os"
	"os/exec"
	"unsafe"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var memoryCases = []Case{
	{"MemoryIsZeroedAndOnAPage", zeroedPage},
	{"EmptyMemoryIsRefused", emptyMemory},
	{"ProgramsStartWhileMemoryIsRegistered", execWhileRegistered},
	{"RemoteWriteNeedsLocalWrite", writeNeedsLocalWrite},
	{"DeviceAttributes", attributes},
	{"PortAndGIDs", portAndGIDs},
	{"PortOutOfRange", portOutOfRange},
	{"GIDIndexOutOfRange", gidOutOfRange},
	{"LimitsAreChecked", limits},
}

func zeroedPage(r *Rig) {
	for _, size := range []int{1, 100, 4096, 4097, 1 << 20} {
		mr := r.memory(size)
		require.Len(r, mr.Bytes(), size)
		require.Equal(r, size, mr.Len())
		requireZero(r, mr.Bytes())
		require.Zero(r, mr.Addr()%uint64(os.Getpagesize()))
		require.Equal(r, uint64(uintptr(unsafe.Pointer(&mr.Bytes()[0]))), mr.Addr())
		require.Equal(r, verbs.RemoteBuffer{Addr: mr.Addr(), RKey: mr.RKey(), Len: uint64(size)}, mr.Remote())
		require.NoError(r, mr.Close())
	}
}

// execWhileRegistered: starting a program needs no fork support of the library.
func execWhileRegistered(r *Rig) {
	a, b := r.pair(pairOptions{})
	src, dst := r.memory(8192), r.memory(8192)
	want := r.random(src)
	b.receive(1, dst.SGE(0, 8192))
	cmd := exec.Command("/proc/self/exe", "-test.run=^$")
	require.NoError(r, cmd.Run())
	a.QP.SendBatch().Send(2, src.SGE(0, 8192))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, want, dst.Bytes())
}

func emptyMemory(r *Rig) {
	for _, size := range []int{0, -1} {
		_, err := r.PD.AllocMR(size, verbs.MROptions{})
		require.Error(r, err)
	}
	_, err := r.PD.RegisterMR(nil, verbs.MROptions{})
	require.Error(r, err)
}

// writeNeedsLocalWrite: such a region would be written to by peers but not by
// its owner's device, and the kernel refuses it.
func writeNeedsLocalWrite(r *Rig) {
	_, err := r.PD.AllocMR(64, verbs.MROptions{Access: verbs.AccessRemoteWrite})
	require.ErrorContains(r, err, "need local write")
}

func attributes(r *Rig) {
	r.covers("ibv_query_device")
	if !r.inProcess() {
		r.covers("ibv_get_device_list", "ibv_free_device_list", "ibv_open_device")
	}
	a := r.Dev.Attributes()
	info, err := r.Dev.Info()
	require.NoError(r, err)
	require.Equal(r, info.NodeGUID, a.NodeGUID)
	require.Len(r, info.Ports, a.Ports)
	require.Positive(r, a.MaxQP)
	require.Positive(r, a.MaxQPWR)
	require.Positive(r, a.MaxCQE)
	require.Positive(r, a.MaxSGE)
}

func portAndGIDs(r *Rig) {
	r.covers("ibv_query_port", "ibv_query_gid_table")
	info, err := r.Dev.Info()
	require.NoError(r, err)
	for _, want := range info.Ports {
		got, err := r.Dev.Port(want.Number)
		require.NoError(r, err)
		require.Equal(r, want.State, got.State)
		require.Equal(r, want.LinkLayer, got.LinkLayer)
		require.Equal(r, want.LID, got.LID)
		require.Positive(r, got.ActiveMTU.Bytes())
		gids, err := r.Dev.GIDs(want.Number)
		require.NoError(r, err)
		require.Equal(r, want.GIDs, gids)
		require.NotEmpty(r, gids)
	}
	choice, err := r.Dev.ChooseGID(1)
	require.NoError(r, err)
	require.Contains(r, choice.Explain(), "taken")
}

func portOutOfRange(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	for _, port := range []int{-1, 255} {
		_, err := r.Dev.Port(port)
		require.ErrorContains(r, err, "the device has ports 1 to")
		_, err = r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, Port: port})
		require.ErrorContains(r, err, "the device has ports 1 to")
	}
}

func gidOutOfRange(r *Rig) {
	cq := r.cq(verbs.CQOptions{})
	for _, index := range []int{-1, 63, 1 << 20} {
		_, err := r.PD.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, GIDIndex: &index})
		var bad *verbs.GIDIndexError
		require.ErrorAs(r, err, &bad)
	}
}

func limits(r *Rig) {
	a := r.Dev.Attributes()
	cq := r.cq(verbs.CQOptions{})
	for _, o := range []verbs.QPOptions{
		{},
		{SendCQ: cq},
		{SendCQ: cq, RecvCQ: cq, MaxSend: -1},
		{SendCQ: cq, RecvCQ: cq, MaxSend: a.MaxQPWR + 1},
		{SendCQ: cq, RecvCQ: cq, MaxRecv: a.MaxQPWR + 1},
		{SendCQ: cq, RecvCQ: cq, MaxSendSGE: a.MaxSGE + 1},
		{SendCQ: cq, RecvCQ: cq, MaxRecvSGE: -3},
		{SendCQ: cq, RecvCQ: cq, MaxInline: -1},
		{SendCQ: cq, RecvCQ: cq, Type: 99},
	} {
		_, err := r.PD.CreateQP(o)
		require.Error(r, err, "%+v", o)
	}
	for _, o := range []verbs.CQOptions{{Depth: -1}, {Depth: a.MaxCQE + 1}, {Vector: -1}, {Vector: 1 << 20}} {
		_, err := r.Dev.CreateCQ(o)
		require.Error(r, err, "%+v", o)
	}
}
