package rdmacm

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// request hands a connection request to a listener. It reports whether there was
// anybody to take it.
func (id *ID) request(raw crdmacm.Event) bool {
	id.mu.Lock()
	take := id.take
	id.mu.Unlock()
	return take != nil && take(raw)
}

// Bind gives the id a local address. One of a single interface binds it to that
// interface's device; a wildcard does not.
//
// Implements: rdma_bind_addr.
func (id *ID) Bind(addr Addr) error {
	const op = "bind address"
	s, err := addr.sockaddr()
	if err != nil {
		return &OpError{Op: op, Address: addr.String(), Err: err}
	}
	if err := id.obj.Use(); err != nil {
		return id.err(op, err)
	}
	defer id.obj.Done()
	if err := id.raw.Bind(s); err != nil {
		return &OpError{Op: op, Address: addr.String(), Err: err, Hint: bindHint(addr, err)}
	}
	return nil
}

// listen begins to take requests and gives them to take.
func (id *ID) listen(backlog int, take func(crdmacm.Event) bool) error {
	const op = "listen"
	if backlog < 1 {
		return id.err(op, fmt.Errorf("backlog %d: it must be at least 1", backlog))
	}
	if err := id.obj.Use(); err != nil {
		return id.err(op, err)
	}
	defer id.obj.Done()
	id.mu.Lock()
	id.take = take
	id.mu.Unlock()
	return id.inUse(op, id.raw.Listen(backlog))
}
