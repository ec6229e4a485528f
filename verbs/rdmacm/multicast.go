package rdmacm

import (
	"context"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs"
)

// Group is a multicast group that an id has joined.
type Group struct {
	Addr Addr
	// GID and LID are what verbs.QP.AttachMulticast takes, to receive.
	GID verbs.GID
	LID uint16
	// AV is the way to the group, for PD.CreateAH. Datagrams go to
	// verbs.MulticastQPN with QKey.
	AV   verbs.AddressVector
	QKey uint32
}

// JoinOptions are the options of joining a multicast group.
type JoinOptions struct {
	// SendOnly joins to send, not to receive. Not every subnet manager can.
	SendOnly bool
}

// Join joins a multicast group, on the device that the id is bound to: by
// ResolveAddr to the group's address, or by Bind to one interface's. The id's
// port space is UDP or IPoIB. The kernel joins the group's IP address too, or
// asks the subnet manager; the queue pair that is to receive is attached with
// verbs.QP.AttachMulticast.
//
// Implements: rdma_join_multicast, rdma_join_multicast_ex.
func (id *ID) Join(ctx context.Context, group Addr, opts JoinOptions) (Group, error) {
	const op = "join multicast group"
	fail := func(err error) error { return &OpError{Op: op, Address: group.String(), Err: err} }
	s, err := group.sockaddr()
	if err != nil {
		return Group{}, fail(err)
	}
	if err := id.begin(ctx); err != nil {
		return Group{}, fail(err)
	}
	defer id.finish()
	id.mu.Lock()
	id.joined++
	mark := id.joined
	id.mu.Unlock()
	if opts.SendOnly {
		err = id.raw.JoinEx(s, crdmacm.RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, mark)
	} else {
		err = id.raw.Join(s, mark)
	}
	if err != nil {
		return Group{}, fail(err)
	}
	ev, err := id.awaitThat(ctx, func(ev Event) bool {
		return (ev.Type == EventMulticastJoin || ev.Type == EventMulticastError) && ev.Arg == mark
	})
	if err != nil {
		return Group{}, fail(err)
	}
	return Group{Addr: group, GID: ev.AV.DGID, LID: ev.AV.DLID, AV: ev.AV, QKey: ev.QKey}, nil
}

// Leave leaves a group that Join joined. Closing the id leaves all.
//
// Implements: rdma_leave_multicast.
func (id *ID) Leave(group Addr) error {
	s, err := group.sockaddr()
	if err != nil {
		return id.err("leave multicast group", err)
	}
	return id.call("leave multicast group", func(raw crdmacm.ID) error { return raw.Leave(s) })
}
