package rdmacm

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// resolveLimit is how long the kernel looks for an address or a route if the
// context leaves it so long.
const resolveLimit = 5 * time.Second

// ResolveAddr finds the device and the port that lead to an address, and binds
// the id to them. source can be the zero Addr: then the routing table decides.
// It fails with ErrTimedOut if the address does not answer within five seconds.
//
// Implements: rdma_resolve_addr.
func (id *ID) ResolveAddr(ctx context.Context, source, destination Addr) error {
	const op = "resolve address"
	fail := func(err error) error {
		e := &OpError{Op: op, Address: destination.String(), Err: err}
		if !destination.IP.IsValid() {
			e.Hint = ibHint(err)
		} else if errors.Is(err, syscall.ENODEV) {
			e.Hint = routeHint(destination.IP)
		}
		return e
	}
	to, err := destination.sockaddr()
	if err != nil {
		return fail(err)
	}
	var from *crdmacm.Sockaddr
	if source != (Addr{}) {
		if from, err = source.sockaddr(); err != nil {
			return fail(err)
		}
	}
	if err := id.begin(ctx); err != nil {
		return fail(err)
	}
	defer id.finish()
	if err := id.raw.ResolveAddr(from, to, timeoutMS(ctx, resolveLimit)); err != nil {
		if source != (Addr{}) {
			return &OpError{Op: op, Address: destination.String(), Err: err, Hint: bindHint(source, err)}
		}
		return fail(err)
	}
	if _, err := id.await(ctx, EventAddrResolved, EventAddrError); err != nil {
		return fail(err)
	}
	if id.raw.Device() == "" {
		// The library could not open the device that the kernel chose, and says
		// nothing of it.
		return fail(syscall.ENODEV)
	}
	return nil
}

// ResolveRoute finds the way to the address that ResolveAddr found.
//
// Implements: rdma_resolve_route.
func (id *ID) ResolveRoute(ctx context.Context) error {
	const op = "resolve route"
	if err := id.begin(ctx); err != nil {
		return id.err(op, err)
	}
	defer id.finish()
	err := id.raw.ResolveRoute(timeoutMS(ctx, resolveLimit))
	if err == nil {
		_, err = id.await(ctx, EventRouteResolved, EventRouteError)
	}
	if err == nil {
		return nil
	}
	l := id.location()
	e := &OpError{Op: op, Address: l.Remote.String(), Device: l.Device, Port: l.Port, Err: err}
	if !l.Remote.IP.IsValid() {
		e.Hint = ibHint(err)
	}
	return e
}
