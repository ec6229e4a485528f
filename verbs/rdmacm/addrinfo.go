package rdmacm

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs"
)

// AddrInfo is an answer of the library's own look-up of names (struct
// rdma_addrinfo), with what a daemon such as ibacm may have added: a route and
// data to send when connecting. DialEndpoint needs none of it.
type AddrInfo struct {
	Passive     bool // to listen, rather than to connect
	Type        verbs.QPType
	PortSpace   PortSpace
	Source      Addr // zero if there is none
	Destination Addr // zero if there is none
	// SourceName and DestinationName are canonical names, where known.
	SourceName, DestinationName string

	raw crdmacm.AddrInfo
}

// AddrInfoHints narrow a look-up.
type AddrInfoHints struct {
	// Passive asks for addresses to listen at.
	Passive bool
	// NumericHost takes node for an address and looks up no name.
	NumericHost bool
	// NoRoute leaves the route to be resolved later.
	NoRoute bool
	// PortSpace is the kind of service; zero is TCP.
	PortSpace PortSpace
	// Source is the address to come from.
	Source Addr
}

// GetAddrInfo looks up a node and a service by the library. node or service can
// be "". The look-up cannot be stopped: if the context ends first, a thread
// finishes it.
//
// Implements: rdma_getaddrinfo, rdma_freeaddrinfo.
func GetAddrInfo(ctx context.Context, node, service string, hints AddrInfoHints) ([]AddrInfo, error) {
	const op = "look up"
	fail := func(err error) error { return &OpError{Op: op, Address: node + ":" + service, Err: err} }
	raw, err := hints.raw()
	if err != nil {
		return nil, fail(err)
	}
	type answer struct {
		list []crdmacm.AddrInfo
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		list, err := crdmacm.GetAddrInfo(node, service, raw)
		done <- answer{list, err}
	}()
	select {
	case <-ctx.Done():
		return nil, fail(ctx.Err())
	case a := <-done:
		if a.err != nil {
			return nil, fail(a.err)
		}
		var infos []AddrInfo
		for _, r := range a.list {
			infos = append(infos, addrInfoOf(r))
		}
		return infos, nil
	}
}

func (h AddrInfoHints) raw() (crdmacm.AddrInfo, error) {
	if h.PortSpace == 0 {
		h.PortSpace = TCP
	}
	raw := crdmacm.AddrInfo{PortSpace: int(h.PortSpace), QPType: int(verbs.RC)}
	if h.PortSpace.datagrams() {
		raw.QPType = int(verbs.UD)
	}
	for _, f := range []struct {
		on   bool
		flag int
	}{
		{h.Passive, crdmacm.RAI_PASSIVE}, {h.NumericHost, crdmacm.RAI_NUMERICHOST}, {h.NoRoute, crdmacm.RAI_NOROUTE},
	} {
		if f.on {
			raw.Flags |= f.flag
		}
	}
	if h.Source == (Addr{}) {
		return raw, nil
	}
	var err error
	raw.Source, err = h.Source.sockaddr()
	return raw, err
}

func addrInfoOf(r crdmacm.AddrInfo) AddrInfo {
	a := AddrInfo{
		Passive: r.Flags&crdmacm.RAI_PASSIVE != 0, Type: verbs.QPType(r.QPType), PortSpace: PortSpace(r.PortSpace),
		SourceName: r.SourceName, DestinationName: r.DestinationName, raw: r,
	}
	if r.Source != nil {
		a.Source = addrOf(r.Source)
	}
	if r.Destination != nil {
		a.Destination = addrOf(r.Destination)
	}
	return a
}

// NewID makes an id of the answer, on the channel that ids share: ready to
// connect, or bound and ready to listen. The library resolves address and route
// in one go, for up to four seconds; if the context ends first, a thread finishes
// that and releases what it made.
//
// Implements: rdma_create_ep, rdma_destroy_ep, rdma_migrate_id.
func (a AddrInfo) NewID(ctx context.Context) (*ID, error) {
	const op = "make an id for"
	to := a.Destination
	if a.Passive {
		to = a.Source
	}
	fail := func(err error) error { return &OpError{Op: op, Address: to.String(), Err: err} }
	if a.raw.PortSpace == 0 {
		return nil, fail(errors.New("the answer is not one of GetAddrInfo"))
	}
	type made struct {
		raw crdmacm.ID
		err error
	}
	done := make(chan made, 1)
	go func() {
		raw, err := crdmacm.CreateEP(a.raw)
		done <- made{raw, err}
	}()
	var m made
	select {
	case m = <-done:
	case <-ctx.Done():
		go func() {
			if m := <-done; m.err == nil {
				m.raw.DestroyEP()
			}
		}()
		return nil, fail(ctx.Err())
	}
	if m.err != nil {
		return nil, fail(m.err)
	}
	ch, err := acquireShared()
	if err != nil {
		m.raw.DestroyEP()
		return nil, fail(err)
	}
	// It waits on a channel of the library's own until it has migrated.
	if err := m.raw.Migrate(ch.raw); err != nil {
		m.raw.DestroyEP()
		return nil, fail(errors.Join(err, releaseShared()))
	}
	id, err := newID(ch, IDOptions{PortSpace: a.PortSpace}, func() (crdmacm.ID, error) { return m.raw, nil })
	if err != nil {
		m.raw.DestroyEP()
		return nil, fail(errors.Join(err, releaseShared()))
	}
	id.pooled = true
	return id, nil
}

// String says what the answer leads to.
func (a AddrInfo) String() string {
	if a.Passive {
		return fmt.Sprintf("listen at %v (%v)", a.Source, a.Type)
	}
	return fmt.Sprintf("%v (%v)", a.Destination, a.Type)
}
