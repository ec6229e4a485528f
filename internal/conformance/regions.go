package conformance

import (
	"os"
	"syscall"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var regionCases = []Case{
	{"IOVAIsWhatPeersAddress", iovaAddressed},
	{"IOVAIsChecked", iovaChecked},
	{"OptionalAccessFlags", optionalAccess},
	{"RelaxedOrderingAtAnIOVA", relaxedIOVA},
	{"UnknownAccessIsRefused", unknownAccess},
	{"ReregisterMR", reregister},
	{"ReregisterMRIsChecked", reregisterChecked},
	{"NullMR", nullMR},
	{"OnDemandPaging", onDemand},
	{"RegisterEverything", everything},
	{"AdviseMR", advise},
	{"DeviceMemory", deviceMemory},
	{"DeviceMemoryIsChecked", deviceMemoryChecked},
}

// write writes src to remote and checks that it came.
func (r *Rig) write(a *End, remote verbs.RemoteBuffer, src *verbs.MR) {
	r.Helper()
	a.QP.SendBatch().Write(77, remote, src.SGE(0, int(remote.Len)))
	a.post(1)
	r.good(a.sent(), 77, verbs.WCRDMAWrite)
}

func (r *Rig) at(iova uint64) *uint64 { return &iova }

// iovaAddressed: peers and local pieces go by the iova, wherever the memory lies.
func iovaAddressed(r *Rig) {
	r.covers("ibv_reg_mr_iova")
	page := uint64(os.Getpagesize())
	a, _ := r.pair(pairOptions{})
	for _, iova := range []uint64{0, 8 * page, 1 << 40} {
		dst, err := r.PD.AllocMR(int(2*page), verbs.MROptions{Access: allRights, IOVA: r.at(iova)})
		require.NoError(r, err)
		require.Equal(r, iova, dst.Addr())
		src := r.memory(int(page))
		want := r.random(src)
		r.write(a, dst.Remote().At(page, page), src)
		require.Equal(r, want, dst.Bytes()[page:])
		back := r.memory(int(page))
		a.QP.SendBatch().Write(1, back.Remote(), dst.SGE(int(page), int(page)))
		a.post(1)
		r.good(a.sent(), 1, verbs.WCRDMAWrite)
		require.Equal(r, want, back.Bytes())
	}
}

func iovaChecked(r *Rig) {
	for _, iova := range []uint64{8, ^uint64(0) &^ uint64(os.Getpagesize()-1)} {
		_, err := r.PD.AllocMR(1<<16, verbs.MROptions{IOVA: r.at(iova)})
		require.Error(r, err)
	}
}

// optionalAccess: a kernel that does not know a wish ignores it.
func optionalAccess(r *Rig) {
	r.covers("ibv_reg_mr_iova2")
	a, _ := r.pair(pairOptions{})
	dst := r.memoryWith(64, allRights|verbs.AccessRelaxedOrdering)
	src := r.memory(64)
	want := r.random(src)
	r.write(a, dst.Remote(), src)
	require.Equal(r, want, dst.Bytes())
}

func relaxedIOVA(r *Rig) {
	r.covers("ibv_reg_mr_iova2")
	a, _ := r.pair(pairOptions{})
	dst, err := r.PD.AllocMR(64, verbs.MROptions{Access: allRights | verbs.AccessRelaxedOrdering, IOVA: r.at(1 << 30)})
	require.NoError(r, err)
	src := r.memory(64)
	want := r.random(src)
	r.write(a, dst.Remote(), src)
	require.Equal(r, want, dst.Bytes())
}

func unknownAccess(r *Rig) {
	if r.softRoCE() {
		testutil.RequireKernelFeature(r, testutil.FeatureAccessCheck)
	}
	_, err := r.PD.AllocMR(64, verbs.MROptions{Access: verbs.AccessLocalWrite | 1<<18})
	require.Error(r, err)
}

// reregister: memory, rights and domain change under the same object, and what
// was before is out of reach.
func reregister(r *Rig) {
	mr := r.memoryWith(64, verbs.AccessLocalWrite|verbs.AccessRemoteRead)
	err := mr.Reregister(verbs.ReregOptions{Access: allRights})
	if r.softRoCE() {
		// Its userspace has no such operation. The region is as it was.
		r.refuses(err, "ibv_rereg_mr")
		require.Equal(r, 64, mr.Len())
		require.NoError(r, mr.Close())
		return
	}
	require.NoError(r, err)
	r.covers("ibv_rereg_mr")
	a, _ := r.pair(pairOptions{})
	src := r.memory(4096)
	want := r.random(src)
	r.write(a, mr.Remote(), src)
	require.Equal(r, want[:64], mr.Bytes())

	other := make([]byte, 4096)
	require.NoError(r, mr.Reregister(verbs.ReregOptions{Buf: other}))
	require.Equal(r, 4096, mr.Len())
	r.write(a, mr.Remote(), src)
	require.Equal(r, want, other)

	pd, err := r.Dev.AllocPD()
	require.NoError(r, err)
	require.NoError(r, mr.Reregister(verbs.ReregOptions{PD: pd}))
	require.ErrorIs(r, pd.Close(), verbs.ErrBusy)
	a.QP.SendBatch().Write(1, mr.Remote(), src.SGE(0, 8))
	a.post(1)
	r.bad(a.sent(), 1, verbs.StatusRemoteAccess)
	require.NoError(r, mr.Close())
	require.NoError(r, pd.Close())
}

func reregisterChecked(r *Rig) {
	mr := r.memory(64)
	require.NoError(r, mr.Reregister(verbs.ReregOptions{}), "nothing changes")
	require.Error(r, mr.Reregister(verbs.ReregOptions{PD: new(verbs.PD)}))
	require.NoError(r, mr.Close())
	require.ErrorIs(r, mr.Reregister(verbs.ReregOptions{Access: allRights}), verbs.ErrClosed)
	require.Error(r, new(verbs.MR).Reregister(verbs.ReregOptions{Access: allRights}))
}

// nullMR: what is received into it is dropped, and what is sent from it is zero.
func nullMR(r *Rig) {
	null, err := r.PD.AllocNullMR()
	if err != nil {
		r.refuses(err, "ibv_alloc_null_mr")
		return
	}
	r.covers("ibv_alloc_null_mr")
	a, b := r.pair(pairOptions{qp: verbs.QPOptions{MaxRecvSGE: 3, MaxSendSGE: 3}})
	src, dst := r.memory(24), r.memory(24)
	want := r.random(src)
	copy(dst.Bytes(), "................")
	// The middle is not wanted.
	b.receive(1, dst.SGE(0, 8), null.SGE(0, 8), dst.SGE(16, 8))
	a.QP.SendBatch().Send(2, src.SGE(0, 24))
	a.post(1)
	r.good(a.sent(), 2, verbs.WCSend)
	r.good(b.received(), 1, verbs.WCRecv)
	require.Equal(r, want[:8], dst.Bytes()[:8])
	require.Equal(r, "........", string(dst.Bytes()[8:16]))
	require.Equal(r, want[16:], dst.Bytes()[16:])

	b.receive(3, dst.SGE(0, 24))
	a.QP.SendBatch().Send(4, src.SGE(0, 8), null.SGE(1<<40, 8), src.SGE(16, 8))
	a.post(1)
	r.good(a.sent(), 4, verbs.WCSend)
	r.good(b.received(), 3, verbs.WCRecv)
	require.Equal(r, want[:8], dst.Bytes()[:8])
	requireZero(r, dst.Bytes()[8:16])
	require.Equal(r, want[16:], dst.Bytes()[16:])
	require.NoError(r, null.Close())
}

// onDemand: memory that nobody has touched comes when the peer writes to it.
func onDemand(r *Rig) {
	if r.softRoCE() {
		testutil.RequireKernelFeature(r, testutil.FeatureODP)
	}
	attr, err := r.Dev.AttributesEx()
	require.NoError(r, err)
	require.True(r, attr.ODP.Supported)
	require.NotZero(r, attr.ODP.RC&verbs.ODPWrite)
	a, _ := r.pair(pairOptions{})
	const size = 1 << 20
	dst := r.memoryWith(size, allRights|verbs.AccessOnDemand)
	src := r.memory(size)
	want := r.random(src)
	r.write(a, dst.Remote(), src)
	require.Equal(r, want, dst.Bytes())
	back := r.memory(size)
	a.QP.SendBatch().Read(1, dst.Remote(), back.SGE(0, size))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMARead)
	require.Equal(r, want, back.Bytes())
}

// everything: one key for the whole address space, memory of tomorrow included.
func everything(r *Rig) {
	attr, err := r.Dev.AttributesEx()
	require.NoError(r, err)
	all, err := r.PD.RegisterEverything(verbs.AccessLocalWrite | verbs.AccessRemoteWrite)
	if !attr.ODP.Implicit || r.softRoCE() {
		// Soft-RoCE says that it can and has no code for it.
		require.Error(r, err)
		return
	}
	require.NoError(r, err)
	a, _ := r.pair(pairOptions{})
	dst, src := r.memory(4096), r.memory(4096)
	want := r.random(src)
	a.QP.SendBatch().Write(1, all.Remote().At(dst.Addr(), 4096), all.SGE(int(src.Addr()), 4096))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMAWrite)
	require.Equal(r, want, dst.Bytes())
	require.NoError(r, all.Close())
}

// advise: the pages are there when the advice was followed, and data still comes.
func advise(r *Rig) {
	access := allRights
	if r.inProcess() || testutil.KernelHas(r, testutil.FeatureODP) {
		access |= verbs.AccessOnDemand
	}
	mr, err := r.PD.AllocMR(1<<16, verbs.MROptions{Access: access})
	require.NoError(r, err)
	err = r.PD.Advise(verbs.PrefetchWrite, true, mr.SGE(0, 1<<16))
	if err != nil {
		r.refuses(err, "ibv_advise_mr")
		return
	}
	r.covers("ibv_advise_mr")
	require.NoError(r, r.PD.Advise(verbs.PrefetchRead, false, mr.SGE(0, 4096), mr.SGE(8192, 4096)))
	require.NoError(r, r.PD.Advise(verbs.PrefetchPresent, true, mr.SGE(0, 4096)))
	require.ErrorContains(r, r.PD.Advise(verbs.PrefetchRead, true, mr.SGE(1, 1<<16)), "outside its memory region")
	bad := mr.SGE(0, 8)
	bad.LKey ^= 0x5500
	require.Error(r, r.PD.Advise(verbs.PrefetchRead, true, bad))
	a, _ := r.pair(pairOptions{})
	src := r.memory(1 << 16)
	want := r.random(src)
	r.write(a, mr.Remote(), src)
	require.Equal(r, want, mr.Bytes())
}

// deviceMemory: the host copies in and out, and peers reach it as any region.
func deviceMemory(r *Rig) {
	dm, err := r.Dev.AllocDM(4096, verbs.DMOptions{LogAlign: 6})
	if err != nil {
		r.refuses(err, "ibv_alloc_dm")
		return
	}
	r.covers("ibv_alloc_dm", "ibv_memcpy_to_dm", "ibv_memcpy_from_dm", "ibv_reg_dm_mr", "ibv_free_dm")
	require.Equal(r, uint64(4096), dm.Size())
	require.NoError(r, dm.WriteAt([]byte("from the host"), 100))
	mr, err := r.PD.RegisterDM(dm, 100, 1000, allRights)
	require.NoError(r, err)
	require.Nil(r, mr.Bytes())
	require.Equal(r, verbs.RemoteBuffer{RKey: mr.RKey(), Len: 1000}, mr.Remote())
	a, _ := r.pair(pairOptions{})
	local := r.memory(1000)
	a.QP.SendBatch().Read(1, mr.Remote().At(0, 13), local.SGE(0, 13))
	a.post(1)
	r.good(a.sent(), 1, verbs.WCRDMARead)
	require.Equal(r, "from the host", string(local.Bytes()[:13]))
	want := r.random(local)
	r.write(a, mr.Remote(), local)
	got := make([]byte, 1000)
	require.NoError(r, dm.ReadAt(got, 100))
	require.Equal(r, want, got)
	require.ErrorIs(r, dm.Close(), verbs.ErrBusy)
	require.NoError(r, dm.CloseAll())
	require.ErrorIs(r, dm.ReadAt(got, 0), verbs.ErrClosed)
}

func deviceMemoryChecked(r *Rig) {
	_, err := r.Dev.AllocDM(0, verbs.DMOptions{})
	require.Error(r, err)
	require.Error(r, new(verbs.DM).WriteAt([]byte{1}, 0))
	_, err = r.PD.RegisterDM(new(verbs.DM), 0, 8, 0)
	require.ErrorIs(r, err, verbs.ErrClosed)
	dm, err := r.Dev.AllocDM(64, verbs.DMOptions{})
	if err != nil {
		r.refuses(err, "ibv_alloc_dm")
		return
	}
	for _, piece := range [][2]uint64{{0, 65}, {64, 1}, {65, 0}, {1 << 63, 1 << 63}} {
		_, err := r.PD.RegisterDM(dm, piece[0], piece[1], 0)
		require.Error(r, err, piece)
	}
	require.Error(r, dm.WriteAt(make([]byte, 65), 0))
	require.Error(r, dm.ReadAt(make([]byte, 1), 64))
	require.NoError(r, dm.ReadAt(nil, 64))
	_, err = r.Dev.AllocDM(1<<40, verbs.DMOptions{})
	require.ErrorIs(r, err, syscall.ENOMEM)
	if _, err = dm.ExportDMABuf(); err != nil {
		r.refuses(err, "ibv_dm_export_dmabuf_fd")
	}
}
