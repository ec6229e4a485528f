package conformance

import (
	"context"
	"math"
	"os"
	"syscall"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var deviceCases = []Case{
	{"DeviceInTheLibrary", deviceInLibrary},
	{"PKeys", pkeys},
	{"SingleGIDs", singleGIDs},
	{"ExtendedAttributes", extendedAttributes},
	{"DeviceClock", deviceClock},
	{"ResolveEthernet", resolveEthernet},
	{"ThreadAndParentDomain", parentDomain},
	{"ParentDomainIsTheDomain", parentIsDomain},
	{"Counters", counters},
	{"ImportIsRefused", imports},
	{"WhatNewerLibrariesHave", newer},
	{"PortSpeed", portSpeed},
}

func deviceInLibrary(r *Rig) {
	r.covers("ibv_get_device_name", "ibv_get_device_guid", "ibv_get_device_index")
	name, err := r.Dev.LibraryName()
	require.NoError(r, err)
	require.Equal(r, r.Dev.Name(), name)
	guid, err := r.Dev.GUID()
	require.NoError(r, err)
	require.Equal(r, r.Dev.Attributes().NodeGUID, guid)
	index, ok, err := r.Dev.Index()
	require.NoError(r, err)
	require.True(r, ok)
	require.GreaterOrEqual(r, index, 0)
}

func pkeys(r *Rig) {
	r.covers("ibv_query_pkey", "ibv_get_pkey_index")
	port, err := r.Dev.Port(1)
	require.NoError(r, err)
	require.Positive(r, port.PKeyTable)
	// The default partition, as a full member.
	key, err := r.Dev.PKey(1, 0)
	require.NoError(r, err)
	require.Equal(r, uint16(0xffff), key)
	index, ok, err := r.Dev.PKeyIndex(1, key)
	require.NoError(r, err)
	require.True(r, ok)
	require.Zero(r, index)
	_, ok, err = r.Dev.PKeyIndex(1, 0x1234)
	require.NoError(r, err)
	require.False(r, ok)
	for _, index := range []int{-1, port.PKeyTable, math.MaxInt} {
		_, err = r.Dev.PKey(1, index)
		require.ErrorIs(r, err, syscall.EINVAL)
	}
	_, err = r.Dev.PKey(9, 0)
	require.ErrorContains(r, err, "the device has ports 1 to")
	_, _, err = r.Dev.PKeyIndex(0, 1)
	require.Error(r, err)
}

// singleGIDs: an entry by itself is what the table says of it.
func singleGIDs(r *Rig) {
	r.covers("ibv_query_gid", "ibv_query_gid_ex")
	gids, err := r.Dev.GIDs(1)
	require.NoError(r, err)
	for _, want := range gids {
		gid, err := r.Dev.QueryGID(1, want.Index)
		require.NoError(r, err)
		require.Equal(r, want.GID, gid)
		entry, err := r.Dev.QueryGIDEntry(1, want.Index)
		require.NoError(r, err)
		require.Equal(r, want, entry)
	}
	for _, index := range []int{-1, 1 << 20} {
		_, err = r.Dev.QueryGIDEntry(1, index)
		require.Error(r, err)
		_, err = r.Dev.QueryGID(1, index)
		require.Error(r, err)
	}
}

func extendedAttributes(r *Rig) {
	r.covers("ibv_query_device_ex", "ibv_is_qpt_supported")
	a, err := r.Dev.AttributesEx()
	require.NoError(r, err)
	require.Equal(r, r.Dev.Attributes(), a.DeviceAttr)
	if r.softRoCE() {
		require.Equal(r, testutil.KernelHas(r, testutil.FeatureODP), a.ODP.Supported)
		require.Zero(r, a.MaxDM)
		require.Zero(r, a.TagMatching.MaxTags)
		require.Zero(r, a.MaxWQ)
		require.False(r, a.TSO.QPs.Has(verbs.UD))
	}
	if r.inProcess() {
		require.Equal(r, uint64(1<<20), a.MaxDM)
		require.Equal(r, uint64(math.MaxUint64), a.TimestampMask)
		require.Equal(r, r.Dev.Attributes().Ports, a.PortsEx)
	}
	some := verbs.QPTypes(1<<verbs.RC | 1<<verbs.UD)
	require.True(r, some.Has(verbs.RC))
	require.False(r, some.Has(verbs.UC))
	require.False(r, some.Has(-1))
	require.False(r, some.Has(64))
}

func deviceClock(r *Rig) {
	first, err := r.Dev.Clock()
	if err != nil {
		r.refuses(err, "ibv_query_rt_values_ex")
		return
	}
	r.covers("ibv_query_rt_values_ex")
	second, err := r.Dev.Clock()
	require.NoError(r, err)
	require.Greater(r, second, first)
}

// resolveEthernet: this port's own address leads back to it, and a wait can be
// given up.
func resolveEthernet(r *Rig) {
	qp := r.end(pairOptions{}).QP
	av := verbs.AddressVector{Port: 1, Global: true, DGID: qp.GID().GID, SGIDIndex: uint8(qp.GID().Index), HopLimit: 64}
	mac, vlan, err := r.Dev.ResolveEthernet(r.ctx, av)
	if r.inProcess() {
		r.refuses(err, "ibv_resolve_eth_l2_from_gid")
		return
	}
	require.NoError(r, err)
	r.covers("ibv_resolve_eth_l2_from_gid")
	require.Len(r, mac, 6)
	require.Equal(r, verbs.NoVLAN, vlan)
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	_, _, err = r.Dev.ResolveEthernet(ctx, av)
	if err != nil {
		require.ErrorIs(r, err, context.Canceled)
	}
	av.Port = 9
	_, _, err = r.Dev.ResolveEthernet(r.ctx, av)
	require.ErrorContains(r, err, "the device has ports 1 to")
}

func parentDomain(r *Rig) {
	td, err := r.Dev.AllocTD()
	if err != nil {
		r.refuses(err, "ibv_alloc_td")
		_, err = r.PD.AllocParentDomain(nil)
		r.refuses(err, "ibv_alloc_parent_domain")
		return
	}
	r.covers("ibv_alloc_td", "ibv_alloc_parent_domain", "ibv_dealloc_td")
	pd, err := r.PD.AllocParentDomain(td)
	require.NoError(r, err)
	require.ErrorContains(r, td.Close(), "parent domain")
	require.ErrorContains(r, r.PD.Close(), "parent domain")
	require.NoError(r, pd.Close())
	require.NoError(r, td.Close())
	_, err = r.PD.AllocParentDomain(td)
	require.ErrorIs(r, err, verbs.ErrClosed)
}

// parentIsDomain: what is made in one reaches what is made in the other.
func parentIsDomain(r *Rig) {
	pd, err := r.PD.AllocParentDomain(nil)
	if err != nil {
		r.refuses(err, "ibv_alloc_parent_domain")
		return
	}
	r.covers("ibv_alloc_parent_domain")
	a, b := r.pair(pairOptions{})
	dst, err := pd.AllocMR(64, verbs.MROptions{Access: allRights})
	require.NoError(r, err)
	src := r.memory(64)
	want := r.random(src)
	r.write(a, dst.Remote(), src)
	require.Equal(r, want, dst.Bytes())
	b.receive(1, dst.SGE(0, 64))
	require.NoError(r, pd.CloseAll())
}

// counters: soft-RoCE and the in-process device have none.
func counters(r *Rig) {
	c, err := r.Dev.CreateCounters()
	if err != nil {
		r.refuses(err, "ibv_create_counters")
		_, err = new(verbs.Counters).Read(1, false)
		require.ErrorIs(r, err, verbs.ErrClosed)
		require.ErrorIs(r, new(verbs.Counters).Attach(verbs.CountBytes, 0, nil), verbs.ErrClosed)
		require.Error(r, new(verbs.Counters).Attach(7, 0, nil))
		require.Error(r, new(verbs.Counters).Attach(verbs.CountPackets, -1, nil))
		return
	}
	_, err = c.Read(0, false)
	require.Error(r, err)
	require.NoError(r, c.Close())
}

// imports: no driver here shares its objects between processes.
func imports(r *Rig) {
	handle, err := r.PD.Handle()
	require.NoError(r, err)
	_, err = r.Dev.ImportPD(handle)
	r.refuses(err, "ibv_import_pd")
	mr := r.memory(8)
	handle, err = mr.Handle()
	require.NoError(r, err)
	_, err = r.PD.ImportMR(handle)
	r.refuses(err, "ibv_import_mr")
	_, err = r.Dev.ImportDM(1)
	r.refuses(err, "ibv_import_dm")
	require.NoError(r, mr.Close())
	_, err = mr.Handle()
	require.ErrorIs(r, err, verbs.ErrClosed)
	if r.inProcess() {
		require.Equal(r, -1, r.Dev.FD())
		return
	}
	require.Positive(r, r.Dev.FD())
	null, err := os.Open(os.DevNull)
	require.NoError(r, err)
	defer null.Close()
	_, err = verbs.ImportDevice(int(null.Fd()))
	require.ErrorIs(r, err, syscall.ENODEV)
	_, err = verbs.ImportDevice(r.Dev.FD())
	r.refuses(err, "ibv_import_device")
}

// newer: what rdma-core 59 and later bring says so where it is older.
func newer(r *Rig) {
	_, err := r.Dev.AllocDMAHandle(verbs.DMAHandleOptions{})
	r.refuses(err, "ibv_alloc_dmah")
	if !r.inProcess() {
		require.ErrorContains(r, err, "rdma-core 59")
	}
	processor, hint := -1, uint8(9)
	_, err = r.Dev.AllocDMAHandle(verbs.DMAHandleOptions{CPU: &processor})
	require.ErrorContains(r, err, "no processor")
	_, err = r.Dev.AllocDMAHandle(verbs.DMAHandleOptions{Hint: &hint})
	require.ErrorContains(r, err, "0 to 3")
	_, err = r.PD.RegisterMRWith(nil, make([]byte, 8), verbs.MROptions{})
	r.refuses(err, "ibv_reg_mr_ex")
	_, err = r.PD.RegisterMRWith(nil, nil, verbs.MROptions{})
	require.ErrorContains(r, err, "at least one byte")
	_, err = r.PD.AllocDeviceMR(4096, verbs.MROptions{})
	r.refuses(err, "ibv_alloc_buf")
	_, err = r.PD.AllocDeviceMR(0, verbs.MROptions{})
	require.ErrorContains(r, err, "at least one")
}

func portSpeed(r *Rig) {
	_, err := r.Dev.PortSpeed(1)
	r.refuses(err, "ibv_query_port_speed")
	_, err = r.Dev.PortSpeed(9)
	require.ErrorContains(r, err, "the device has ports 1 to")
}
