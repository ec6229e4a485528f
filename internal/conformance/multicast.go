package conformance

import (
	"net"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/require"
)

var multicastCases = []Case{
	{"MulticastReachesTheGroup", multicast},
	{"MulticastIsChecked", multicastChecks},
}

// groupGID is a group of IPv4: 239.1.2.3.
var groupGID = verbs.GID{10: 0xff, 11: 0xff, 12: 239, 13: 1, 14: 2, 15: 3}

// joinOnHost has the host's IP layer let the group in, as RoCE needs it on a
// device that stands on a network interface. A device without one has no IP
// layer in front of it.
func (r *Rig) joinOnHost() {
	choice, err := r.Dev.ChooseGID(1)
	require.NoError(r, err)
	if choice.Netdev == "" {
		return
	}
	iface, err := net.InterfaceByName(choice.Netdev)
	require.NoError(r, err)
	conn, err := net.ListenMulticastUDP("udp4", iface, &net.UDPAddr{IP: groupGID.IP().AsSlice(), Port: 19999})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, conn.Close()) })
}

func (e *End) toGroup() *verbs.AddressHandle {
	group := e.r.endpoint(e.QP)
	group.GID = groupGID
	ah, err := e.QP.CreateAH(group, verbs.RouteOptions{HopLimit: 1})
	require.NoError(e.r, err)
	return ah
}

func multicast(r *Rig) {
	r.covers("ibv_attach_mcast", "ibv_detach_mcast")
	r.joinOnHost()
	a := r.udEnd(verbs.QPOptions{})
	b, c, d := r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{}), r.udEnd(verbs.QPOptions{})
	mr := r.memory(1024)
	for _, e := range []*End{b, c} {
		require.NoError(r, e.QP.AttachMulticast(groupGID, 0))
		require.NoError(r, e.QP.AttachMulticast(groupGID, 0), "twice is once")
	}
	ah := a.toGroup()
	tell := func(text string, id uint64) {
		copy(mr.Bytes(), text)
		a.QP.SendBatch().SendTo(id, ah, verbs.MulticastQPN, verbs.DefaultQKey, mr.SGE(0, len(text)))
		a.post(1)
		r.good(a.sent(), id, verbs.WCSend)
	}
	for i, e := range []*End{b, c, d} {
		e.receive(uint64(i), mr.SGE(100+100*i, 100))
		e.receive(uint64(10+i), mr.SGE(500+100*i, 100))
	}
	tell("first", 1)
	for i, e := range []*End{b, c} {
		got := e.received()
		r.good(got, uint64(i), verbs.WCRecv)
		require.Equal(r, "first", string(mr.Bytes()[100+100*i+verbs.GRHLen:][:5]))
		from, _ := got.SrcQP()
		require.Equal(r, a.QP.Num(), from)
		require.True(r, got.HasGRH())
		grh, err := verbs.ParseGRH(mr.Bytes()[100+100*i:])
		require.NoError(r, err)
		require.Equal(r, groupGID, grh.DGID)
	}
	require.NoError(r, b.QP.DetachMulticast(groupGID, 0))
	require.NoError(r, b.QP.DetachMulticast(groupGID, 0), "not attached any more")
	tell("second", 2)
	r.good(c.received(), 11, verbs.WCRecv)
	require.Equal(r, "second", string(mr.Bytes()[600+verbs.GRHLen:][:6]))
	// Behind the second message; b and d got neither.
	r.quiet(b.Recv)
	r.quiet(d.Recv)
	require.NoError(r, c.QP.Close(), "closing detaches")
}

func multicastChecks(r *Rig) {
	a := r.end(pairOptions{})
	require.ErrorContains(r, a.QP.AttachMulticast(groupGID, 0), "type RC")
	u := r.udEnd(verbs.QPOptions{})
	require.ErrorContains(r, u.QP.AttachMulticast(u.QP.GID().GID, 0), "multicast GID")
	require.NoError(r, u.QP.Close())
	require.ErrorIs(r, u.QP.AttachMulticast(groupGID, 0), verbs.ErrClosed)
	require.ErrorIs(r, u.QP.DetachMulticast(groupGID, 0), verbs.ErrClosed)
}
