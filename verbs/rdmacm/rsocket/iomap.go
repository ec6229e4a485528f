package rsocket

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
)

// IOMap is memory of this side that the peer writes to with WriteAt, without this
// side's processor. It is safe for concurrent use; what the peer writes and what the
// program reads are for the two to order, as by a message after the data.
type IOMap struct {
	life   life.Object
	conn   *Conn
	offset int64

	mu  sync.Mutex
	mem []byte
}

// IOPage is what the size and the offset of a mapping are multiples of.
const IOPage = crdmacm.IOPage

// MapIO allocates memory of a size in bytes and lets the peer write to it, from
// an offset of the program's choice on; both are multiples of IOPage. The peer learns of it with this side's next
// Write. It can know as many mappings as its own IOMaps says; one more is
// syscall.ENOMEM.
//
// Implements: riomap.
func (c *Conn) MapIO(size int, offset int64) (*IOMap, error) {
	if size <= 0 || size > math.MaxUint32 || offset < 0 || offset > math.MaxInt64-int64(size) ||
		size%IOPage != 0 || offset%IOPage != 0 {
		return nil, c.fail("map", fmt.Errorf("%d bytes at offset %d: want less than 4 GiB and an offset from 0, in multiples of %d", size, offset, IOPage))
	}
	mem, err := allocate(size)
	if err != nil {
		return nil, c.fail("map", err)
	}
	m := &IOMap{conn: c, offset: offset, mem: mem}
	err = c.quick(func() error {
		err := c.fd.IOMap(mem, offset)
		if err == nil {
			c.maps.Store(m, nil)
		}
		return err
	})
	if err != nil {
		return nil, c.fail("map", errors.Join(err, release(mem)))
	}
	life.Enter(&m.life, m, fmt.Sprintf("rsocket mapping of %d bytes at %d", size, offset))
	return m, nil
}

// Bytes returns the memory, which is gone after Close.
func (m *IOMap) Bytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mem
}

// Offset returns where the peer finds it.
func (m *IOMap) Offset() int64 { return m.offset }

// Close takes the memory back. A peer that writes to it afterwards breaks the
// connection. After the connection's Close it only frees the memory. More than one
// call does no harm.
//
// Implements: riounmap.
func (m *IOMap) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mem == nil {
		return nil
	}
	err := m.conn.quick(func() error { return m.conn.unmap(m) })
	if errors.Is(err, ErrClosed) {
		// The device may write until the rsocket is gone.
		err = nil
		select {
		case <-m.conn.gone:
		default:
			err = ErrLingering
		}
	}
	if err != nil {
		return m.conn.fail("unmap", err)
	}
	if err := m.life.Close(func() error { return release(m.mem) }); err != nil {
		return m.conn.fail("unmap", err)
	}
	m.mem = nil
	return nil
}

// unmap takes a mapping back that the library has. Its memory does not change while
// the library knows it.
func (c *Conn) unmap(m *IOMap) error {
	if _, mapped := c.maps.LoadAndDelete(m); !mapped {
		return nil
	}
	return c.fd.IOUnmap(m.mem)
}

// unmapAll is for Close: rclose never returns while there are mappings.
func (c *Conn) unmapAll() {
	c.maps.Range(func(m, _ any) bool {
		_ = c.unmap(m.(*IOMap))
		return true
	})
}

// CloseAll is Close.
func (m *IOMap) CloseAll() error { return m.Close() }

// WriteAt writes to memory that the peer mapped, at the peer's offsets. The peer's
// program is not told; a Write that follows arrives after the data. It ends with the
// deadline of writes. Where nothing is mapped the error is ErrNotMapped.
//
// A peer in C has to map whole pages as well: the library (rdma-core 44 to 64) never
// returns from a write across a mapping's end, so each of its calls stays in a page.
//
// Implements: riowrite, rpoll.
func (c *Conn) WriteAt(b []byte, offset int64) (n int, err error) {
	if offset < 0 || offset > math.MaxInt64-int64(len(b)) {
		return 0, c.fail("write", fmt.Errorf("offset %d: %w", offset, ErrNotMapped))
	}
	err = c.do(context.Background(), &c.out, func() (bool, error) {
		if n == len(b) {
			return true, nil
		}
		m, err := c.fd.IOWrite(b[n:min(len(b), n+mostAtOnce)], offset+int64(n))
		n += m
		if m == 0 && err == nil {
			err = ErrNotMapped
		}
		return err == nil && n == len(b), err
	})
	return n, c.fail("write", err)
}
