package rsocket

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// Conn is a connected stream. It is safe for concurrent use, and a net.Conn: one
// goroutine at a time reads and one writes, others wait for their turn. What arrived
// and went is copied once on each side.
type Conn struct {
	*socket
	readOff, writeOff atomic.Bool
	broken            error    // why the stream ended early; of whoever reads
	maps              sync.Map // of *IOMap, those that the library knows
}

var (
	_ net.Conn    = (*Conn)(nil)
	_ io.WriterAt = (*Conn)(nil)
)

// mostAtOnce bounds what one crossing copies, so that a deadline is seen.
const mostAtOnce = 1 << 20

// Read reads what has arrived, at least one byte. io.EOF says that the peer closed
// its side, or that its process died: rsockets do not tell these apart. A connection
// that broke answers syscall.EIO or what the library kept of it.
//
// Implements: rread, rpoll.
func (c *Conn) Read(b []byte) (int, error) { return c.ReadContext(context.Background(), b) }

// ReadContext is Read with a context. If it ends, nothing has been read.
//
// Implements: rread, rpoll.
func (c *Conn) ReadContext(ctx context.Context, b []byte) (int, error) {
	return c.read(ctx, b, c.fd.Read)
}

// Peek is Read that leaves the bytes for the next.
//
// Implements: rrecv, rpoll.
func (c *Conn) Peek(ctx context.Context, b []byte) (int, error) {
	return c.read(ctx, b, c.fd.Peek)
}

func (c *Conn) read(ctx context.Context, b []byte, call func([]byte) (int, error)) (n int, err error) {
	var ended error
	err = c.do(ctx, &c.in, func() (bool, error) {
		if len(b) == 0 {
			return true, nil
		}
		if c.readOff.Load() {
			ended = io.EOF
			return true, nil
		}
		n, err = call(b[:min(len(b), mostAtOnce)])
		if n == 0 && err == nil {
			ended = c.whyEnded()
		}
		return err == nil, err
	})
	if ended == io.EOF {
		return 0, io.EOF
	}
	if err == nil {
		err = ended
	}
	return n, c.fail("read", err)
}

// whyEnded tells the end of a stream from a broken connection. The library tells an
// error once and answers as at a stream's end afterwards.
func (c *Conn) whyEnded() error {
	if c.broken != nil {
		return c.broken
	}
	code, err := c.fd.Option(crdmacm.SOL_SOCKET, crdmacm.SO_ERROR)
	if err != nil {
		return err
	}
	if code != 0 {
		c.broken = syscall.Errno(code)
		return c.broken
	}
	return io.EOF
}

// Write writes all of b. With an error it tells how many bytes the library took:
// those are on their way, unless the connection broke. A peer that is gone is
// syscall.ECONNRESET, and after CloseWrite the answer is syscall.EPIPE.
//
// Implements: rwrite, rpoll.
func (c *Conn) Write(b []byte) (int, error) { return c.WriteContext(context.Background(), b) }

// WriteContext is Write with a context.
//
// Implements: rwrite, rpoll.
func (c *Conn) WriteContext(ctx context.Context, b []byte) (n int, err error) {
	err = c.do(ctx, &c.out, func() (bool, error) {
		if n == len(b) {
			return true, nil
		}
		if c.writeOff.Load() {
			return true, syscall.EPIPE
		}
		m, err := c.fd.Write(b[n:min(len(b), n+mostAtOnce)])
		n += m
		return err == nil && n == len(b), err
	})
	return n, c.fail("write", err)
}

// WriteBuffers writes a list of buffers without joining them first, 64 a crossing,
// as one Write: nothing of another comes between. It consumes what was written, as
// net.Buffers.WriteTo does, which would write them one by one here.
//
// Implements: rwritev, rpoll.
func (c *Conn) WriteBuffers(ctx context.Context, list *net.Buffers) (n int64, err error) {
	err = c.do(ctx, &c.out, func() (bool, error) {
		consume(list, 0)
		if len(*list) == 0 {
			return true, nil
		}
		if c.writeOff.Load() {
			return true, syscall.EPIPE
		}
		m, err := c.fd.Writev(upToEmpty(*list))
		n += int64(m)
		consume(list, m)
		return err == nil && len(*list) == 0, err
	})
	return n, c.fail("write", err)
}

// consume takes n bytes off the front, and buffers that are empty.
func consume(list *net.Buffers, n int) {
	for len(*list) > 0 {
		first := (*list)[0]
		if n < len(first) {
			(*list)[0] = first[n:]
			return
		}
		n -= len(first)
		(*list)[0] = nil
		*list = (*list)[1:]
	}
}

// upToEmpty returns the buffers before the first that is empty.
func upToEmpty(list net.Buffers) net.Buffers {
	for i, b := range list {
		if len(b) == 0 {
			return list[:i]
		}
	}
	return list
}

// CloseRead ends reading: the bytes that have arrived and those that follow are
// dropped, and Read answers io.EOF. The peer is not told.
//
// Implements: rshutdown.
func (c *Conn) CloseRead() error {
	c.readOff.Store(true)
	return c.fail("close", c.alone(false, func() error { return c.fd.Shutdown(crdmacm.SHUT_RD) }))
}

// CloseWrite ends writing: the peer reads what was written, then io.EOF. It returns
// when all of it has arrived, or after Linger with ErrLingering.
//
// Implements: rshutdown.
func (c *Conn) CloseWrite() error {
	c.writeOff.Store(true)
	return c.fail("close", c.alone(false, func() error { return c.fd.Shutdown(crdmacm.SHUT_WR) }))
}

// Close ends all calls, waits until what was written has arrived at the peer's
// adapter, and releases the rsocket. A peer that lost power never confirms that:
// then Close answers ErrLingering after Linger and the rest happens in a thread of its
// own, once the adapter gives up. More than one call does no harm.
//
// Implements: rclose.
func (c *Conn) Close() error { return c.fail("close", c.close(c.unmapAll)) }

// CloseAll is Close.
func (c *Conn) CloseAll() error { return c.Close() }

// LocalAddr returns this side's address, a rdmacm.Addr.
//
// Implements: rgetsockname.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns the peer's address, a rdmacm.Addr.
//
// Implements: rgetpeername.
func (c *Conn) RemoteAddr() net.Addr { return c.peer }

// SetDeadline ends calls at a time, also those that wait; the zero time is none.
// A call that it ends answers os.ErrDeadlineExceeded, and can be made again.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.deadline.set(t)
	c.out.deadline.set(t)
	return nil
}

// SetReadDeadline is SetDeadline for what reads.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.deadline.set(t)
	return nil
}

// SetWriteDeadline is SetDeadline for what writes.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.deadline.set(t)
	return nil
}

// SetOption sets an option; those of buffers and queues only before there is a
// connection, which is what Options are for.
//
// Implements: rsetsockopt.
func (c *Conn) SetOption(o Option, value int) error { return c.setOption(o, value) }

// Option returns an option as the library has it.
//
// Implements: rgetsockopt.
func (c *Conn) Option(o Option) (int, error) { return c.option(o) }
