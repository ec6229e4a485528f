package verbs

import (
	"fmt"
	"slices"
	"sync"
)

// groups are the multicast groups that a queue pair is attached to.
type groups struct {
	mu   sync.Mutex
	list []group
}

type group struct {
	gid GID
	lid uint16
}

// IsMulticast reports whether the GID names a multicast group: it is one of
// IPv6, or a mapped one of IPv4 such as ::ffff:239.1.2.3.
func (g GID) IsMulticast() bool {
	return g[0] == 0xff || g.IsIPv4Mapped() && g[12]>>4 == 0xe
}

// AttachMulticast has a UD queue pair receive what is sent to a multicast
// group: to MulticastQPN behind an address handle to the group's GID. On
// InfiniBand the subnet manager must have been asked to join the group, which
// gives its LID; on RoCE the LID is 0, and the host must have joined the
// group's IP address for the packets to get here. Close detaches.
//
// Implements: ibv_attach_mcast.
func (qp *QP) AttachMulticast(gid GID, lid uint16) error {
	const op = "attach to multicast group"
	if qp.opts.Type != UD || !gid.IsMulticast() {
		return qp.err(op, fmt.Errorf("%v with a queue pair of type %v: it takes a multicast GID and UD", gid, qp.opts.Type))
	}
	if err := qp.obj.Use(); err != nil {
		return qp.err(op, err)
	}
	defer qp.obj.Done()
	qp.groups.mu.Lock()
	defer qp.groups.mu.Unlock()
	g := group{gid, lid}
	if slices.Contains(qp.groups.list, g) {
		return nil
	}
	if err := qp.qp.AttachMcast(gid, lid); err != nil {
		return qp.err(op, err)
	}
	qp.groups.list = append(qp.groups.list, g)
	return nil
}

// DetachMulticast ends what AttachMulticast with the same arguments began. It
// does nothing if the queue pair is not attached.
//
// Implements: ibv_detach_mcast.
func (qp *QP) DetachMulticast(gid GID, lid uint16) error {
	const op = "detach from multicast group"
	if err := qp.obj.Use(); err != nil {
		return qp.err(op, err)
	}
	defer qp.obj.Done()
	qp.groups.mu.Lock()
	defer qp.groups.mu.Unlock()
	i := slices.Index(qp.groups.list, group{gid, lid})
	if i < 0 {
		return nil
	}
	if err := qp.qp.DetachMcast(gid, lid); err != nil {
		return qp.err(op, err)
	}
	qp.groups.list = slices.Delete(qp.groups.list, i, i+1)
	return nil
}

// leaveGroups detaches from all groups, for a queue pair that is being closed:
// an attached one cannot be destroyed.
func (qp *QP) leaveGroups() error {
	for len(qp.groups.list) > 0 {
		last := len(qp.groups.list) - 1
		g := qp.groups.list[last]
		if err := qp.qp.DetachMcast(g.gid, g.lid); err != nil {
			return fmt.Errorf("detach from multicast group %v: %w", g.gid, err)
		}
		qp.groups.list = qp.groups.list[:last]
	}
	return nil
}
