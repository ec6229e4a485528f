package connsuite

import (
	"encoding/binary"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var transferCases = []Case{
	{"Message", message},
	{"EmptyMessage", emptyMessage},
	{"MessagesOfEverySize", everySize},
	{"MessageInSeveralWrites", severalWrites},
	{"OrderOfMixedSizes", mixedSizes},
	{"BothWaysAtOnce", bothWays},
	{"ManySendersAndReceivers", manySenders},
	{"BuffersAreSentWithoutCopy", buffersSent},
	{"BufferBelongsToOne", bufferStates},
	{"WrappedMemory", wrappedMemory},
	{"RecvInto", recvInto},
	{"DifferentOptions", differentOptions},
	{"MessageTooLong", tooLong},
	{"MessageOutlivesItsConnection", outlives},
	{"ReleaseTwice", releaseTwice},
	{"ManyConnectionsOfAHub", manyConnections},
}

func message(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	p := []byte("the quick brown fox")
	r.send(a, p)
	p[0] = 'X' // Send made a copy
	r.gets(b, []byte("the quick brown fox"))
	r.send(b, []byte("jumps"))
	r.gets(a, []byte("jumps"))
	require.NoError(r, a.Err())
}

func emptyMessage(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	r.send(a, nil)
	r.send(a, []byte("x"))
	r.send(a, []byte{})
	for _, want := range []string{"", "x", ""} {
		r.gets(b, []byte(want))
	}
}

// everySize goes around the length of a buffer.
func everySize(r *Rig) {
	const size = 512
	a, b := r.pair(rdmacm.ConnOptions{BufferSize: size})
	for _, n := range []int{1, 2, 255, size - 1, size, size + 1, 2*size - 1, 2 * size, 4096, 65537, 1<<20 + 1} {
		p := r.random(n)
		r.send(a, p)
		r.gets(b, p)
		r.send(b, p)
		r.gets(a, p)
	}
}

func severalWrites(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	p := r.random(9<<20 + 3)
	r.send(a, p)
	r.gets(b, p)
}

// mixedSizes has small messages wait behind large ones.
func mixedSizes(r *Rig) {
	const rounds = 200
	a, b := r.pair(rdmacm.ConnOptions{BufferSize: 256, Large: 2})
	size := func(i int) int { return []int{4, 1000, 8, 70000, 256, 257}[i%6] }
	errs := make(chan error, 1)
	go func() {
		for i := range rounds {
			p := make([]byte, size(i))
			binary.BigEndian.PutUint32(p, uint32(i))
			if err := a.Send(r.ctx, p); err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	for i := range rounds {
		m, err := b.Recv(r.ctx)
		require.NoError(r, err)
		require.Equal(r, size(i), m.Len())
		require.EqualValues(r, i, binary.BigEndian.Uint32(m.Bytes()))
		m.Release()
	}
	require.NoError(r, <-errs)
}

func bothWays(r *Rig) {
	const rounds = 500
	a, b := r.pair(rdmacm.ConnOptions{Window: 4, BufferSize: 256})
	var wg sync.WaitGroup
	for _, c := range []*rdmacm.Conn{a, b} {
		wg.Add(2)
		go func() {
			defer wg.Done()
			p := make([]byte, 700)
			for i := range rounds {
				binary.BigEndian.PutUint32(p, uint32(i))
				if !assert.NoError(r, c.Send(r.ctx, p[:4+i%600])) {
					return
				}
			}
		}()
		go func() {
			defer wg.Done()
			for i := range rounds {
				m, err := c.Recv(r.ctx)
				if !assert.NoError(r, err) || !assert.Equal(r, 4+i%600, m.Len()) {
					return
				}
				assert.EqualValues(r, i, binary.BigEndian.Uint32(m.Bytes()))
				m.Release()
			}
		}()
	}
	wg.Wait()
}

// manySenders: nothing is lost or doubled.
func manySenders(r *Rig) {
	const senders, rounds = 8, 100
	a, b := r.pair(rdmacm.ConnOptions{Window: 8, BufferSize: 256})
	var wg sync.WaitGroup
	for s := range senders {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range rounds {
				p := make([]byte, 8+300*(i%2))
				binary.BigEndian.PutUint32(p, uint32(s))
				binary.BigEndian.PutUint32(p[4:], uint32(i))
				if !assert.NoError(r, a.Send(r.ctx, p)) {
					return
				}
			}
		}()
	}
	var mu sync.Mutex
	seen := map[[2]uint32]int{}
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				mu.Lock()
				if len(seen) == senders*rounds {
					mu.Unlock()
					return
				}
				mu.Unlock()
				m, err := b.Recv(r.soon())
				if err != nil {
					continue
				}
				key := [2]uint32{binary.BigEndian.Uint32(m.Bytes()), binary.BigEndian.Uint32(m.Bytes()[4:])}
				m.Release()
				mu.Lock()
				seen[key]++
				mu.Unlock()
				if r.ctx.Err() != nil {
					return
				}
			}
		}()
	}
	wg.Wait()
	require.Len(r, seen, senders*rounds)
	for key, n := range seen {
		require.Equal(r, 1, n, "%v", key)
	}
}

func buffersSent(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	for _, n := range []int{0, 1, 4096, 100000} {
		buf, err := r.A.Buffer(n)
		require.NoError(r, err)
		want := r.random(n)
		copy(buf.Bytes(), want)
		require.NoError(r, a.SendBuffer(r.ctx, buf))
		r.gets(b, want)
	}
	// The next sends' completions give the buffers back.
	require.NoError(r, a.CloseWrite(r.ctx))
	r.eventually(func() bool { return r.A.Stats().BuffersInUse == 0 }, "buffers come back")
	require.Positive(r, r.A.Stats().PoolBytes)
}

func bufferStates(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	buf, err := r.A.Buffer(100)
	require.NoError(r, err)
	require.Equal(r, 256, buf.Cap())
	require.ErrorIs(r, buf.Resize(257), rdmacm.ErrMessageTooLong)
	require.ErrorIs(r, buf.Resize(-1), rdmacm.ErrMessageTooLong)
	require.NoError(r, buf.Resize(3))
	copy(buf.Bytes(), "abc")
	require.NoError(r, a.SendBuffer(r.ctx, buf))
	require.ErrorIs(r, a.SendBuffer(r.ctx, buf), rdmacm.ErrBufferInUse)
	buf.Release() // too late, and harmless
	r.gets(b, []byte("abc"))

	other, err := r.A.Buffer(1)
	require.NoError(r, err)
	other.Release()
	other.Release()
	require.ErrorIs(r, a.SendBuffer(r.ctx, other), rdmacm.ErrBufferInUse)
	require.ErrorIs(r, a.SendBuffer(r.ctx, nil), rdmacm.ErrBufferInUse)
	_, err = r.A.Buffer(-1)
	require.Error(r, err)
}

func wrappedMemory(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	mr, err := r.A.PD().AllocMR(8192, verbs.MROptions{})
	require.NoError(r, err)
	defer func() { require.NoError(r, mr.Close()) }()
	want := r.random(5000)
	copy(mr.Bytes()[100:], want)
	released := make(chan struct{})
	buf, err := r.A.Wrap(mr, 100, 5000, func() { close(released) })
	require.NoError(r, err)
	require.NoError(r, a.SendBuffer(r.ctx, buf))
	r.gets(b, want)
	require.NoError(r, a.CloseWrite(r.ctx))
	select {
	case <-released:
	case <-r.ctx.Done():
		require.Fail(r, "the memory was not given back")
	}
	_, err = r.A.Wrap(mr, 8000, 200, nil)
	require.ErrorContains(r, err, "8192")
}

func recvInto(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	r.send(a, []byte("12345"))
	r.send(a, []byte("123456"))
	r.send(a, []byte("1"))
	dst := make([]byte, 5)
	n, err := b.RecvInto(r.ctx, dst)
	require.NoError(r, err)
	require.Equal(r, "12345", string(dst[:n]))
	n, err = b.RecvInto(r.ctx, dst)
	require.ErrorIs(r, err, rdmacm.ErrMessageTooLong)
	require.Equal(r, 6, n)
	n, err = b.RecvInto(r.ctx, dst)
	require.NoError(r, err)
	require.Equal(r, "1", string(dst[:n]))
}

func differentOptions(r *Rig) {
	a, b := r.pairOf(
		rdmacm.ConnOptions{Window: 2, BufferSize: 256, Large: 1, MaxMessage: 5000},
		rdmacm.ConnOptions{Window: 100, BufferSize: 65536, Large: 7})
	for range 20 {
		for _, n := range []int{1, 256, 300, 5000} {
			p := r.random(n)
			r.send(a, p)
			r.send(b, p)
			r.gets(b, p)
			r.gets(a, p)
		}
	}
	require.ErrorIs(r, b.Send(r.ctx, make([]byte, 5001)), rdmacm.ErrMessageTooLong)
	p := r.random(100000)
	r.send(a, p)
	r.gets(b, p)
}

func tooLong(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{MaxMessage: 10000})
	require.ErrorIs(r, a.Send(r.ctx, make([]byte, 10001)), rdmacm.ErrMessageTooLong)
	var failure *rdmacm.ConnError
	require.ErrorAs(r, a.Send(r.ctx, make([]byte, 10001)), &failure)
	require.Equal(r, a.QPN(), failure.QPN)
	p := r.random(10000)
	r.send(a, p)
	r.gets(b, p)
}

func outlives(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{BufferSize: 1024})
	small, large := r.random(100), r.random(5000)
	r.send(a, small)
	r.send(a, large)
	m, err := b.Recv(r.ctx)
	require.NoError(r, err)
	l, err := b.Recv(r.ctx)
	require.NoError(r, err)
	require.NoError(r, b.Abort())
	r.same(small, m.Bytes())
	r.same(large, l.Bytes())
	require.ErrorIs(r, r.B.Close(), verbs.ErrBusy)
	m.Release()
	require.ErrorIs(r, r.B.Close(), verbs.ErrBusy)
	l.Release()
	require.NoError(r, r.B.Close())
}

func releaseTwice(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{Window: 2})
	for i := range 50 {
		r.send(a, []byte{byte(i)})
		m, err := b.Recv(r.ctx)
		require.NoError(r, err)
		again := m
		m.Release()
		m.Release()
		again.Release()
	}
	rdmacm.Message{}.Release()
}

// manyConnections are on several completion queues of one goroutine each.
func manyConnections(r *Rig) {
	const n = 30
	var wg sync.WaitGroup
	for i := range n {
		a, b := r.pair(rdmacm.ConnOptions{Window: 8, BufferSize: 256, Large: 1})
		wg.Add(2)
		go func() {
			defer wg.Done()
			for range 20 {
				if !assert.NoError(r, a.Send(r.ctx, []byte{byte(i)})) {
					return
				}
				m, err := a.Recv(r.ctx)
				if !assert.NoError(r, err) {
					return
				}
				assert.Equal(r, []byte{byte(i), 1}, m.Bytes())
				m.Release()
			}
		}()
		go func() {
			defer wg.Done()
			for range 20 {
				m, err := b.Recv(r.ctx)
				if !assert.NoError(r, err) {
					return
				}
				p := append([]byte{}, m.Bytes()...)
				m.Release()
				if !assert.NoError(r, b.Send(r.ctx, append(p, 1))) {
					return
				}
			}
		}()
	}
	wg.Wait()
	st := r.A.Stats()
	require.Equal(r, n, st.Conns)
	require.Greater(r, st.CQs, 1)
	require.Less(r, st.CQs, n)
}
