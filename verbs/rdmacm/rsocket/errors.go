package rsocket

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/gofabric/gofabric/verbs/rdmacm"
)

// What errors.Is can ask of this package's errors, besides the errno that the
// library or the kernel answered and os.ErrDeadlineExceeded. All but io.EOF come in
// a *net.OpError.
var (
	// ErrClosed: the rsocket was closed by this side. It is net.ErrClosed and
	// rdmacm.ErrClosed.
	ErrClosed error = closedError{}
	// ErrLingering: Close or CloseWrite gave up waiting until what was sent has
	// arrived. It goes on in the background, and holds a thread while it does.
	ErrLingering = errors.New("what was sent has not arrived: closing goes on in the background")
	// ErrNotMapped: the peer has mapped no memory at the offset, or has not
	// told so by a Write of its own yet.
	ErrNotMapped = errors.New("the peer has mapped no memory there")
	// ErrNotSupported: this build or this kind of rsocket cannot do it.
	ErrNotSupported = rdmacm.ErrNotSupported
	// ErrLibraryNotFound: librdmacm is not installed.
	ErrLibraryNotFound = rdmacm.ErrLibraryNotFound
)

type closedError struct{}

func (closedError) Error() string { return "rsocket is closed" }

func (closedError) Is(target error) bool {
	return target == net.ErrClosed || target == rdmacm.ErrClosed
}

// network is what addresses and errors call this kind of connection.
const network = "rdma"

// contextError is a context's end. It tells a net.Error's user of a timeout, and
// errors.Is of both kinds of deadline.
type contextError struct{ error }

func (e contextError) Unwrap() error { return e.error }

func (e contextError) Timeout() bool { return errors.Is(e.error, context.DeadlineExceeded) }

func (e contextError) Is(target error) bool {
	return target == os.ErrDeadlineExceeded && e.Timeout()
}

func opError(op string, source, peer rdmacm.Addr, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: network, Source: addrOrNil(source), Addr: addrOrNil(peer), Err: err}
}

// addrOrNil keeps an address that is not known out of an interface.
func addrOrNil(a rdmacm.Addr) net.Addr {
	if !a.IP.IsValid() {
		return nil
	}
	return a
}
