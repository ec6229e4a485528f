package connsuite

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
)

var regionCases = []Case{
	{"ReadAndWriteRegion", readWrite},
	{"RegionBoundsAndRights", boundsAndRights},
	{"RegionsByName", regionsByName},
	{"RegionThatNeverComes", regionNever},
	{"WriteArrivesBeforeTheMessageAfterIt", writeThenSend},
	{"ManyOperationsAtOnce", manyOperations},
	{"RevokedRegion", revokedRegion},
	{"RevokeWaitsForOperations", revokeUnderLoad},
	{"MemoryThatIsGoneEndsTheConnection", memoryGone},
}

func isAny(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

// memory registers memory of a hub, filled with what nobody guesses.
func (r *Rig) memory(g *rdmacm.Hub, size int, access verbs.Access) *verbs.MR {
	mr, err := g.PD().AllocMR(size, verbs.MROptions{Access: access})
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, mr.Close()) })
	copy(mr.Bytes(), r.random(size))
	return mr
}

const both = verbs.AccessLocalWrite | verbs.AccessRemoteRead | verbs.AccessRemoteWrite

func (r *Rig) shared(a, b *rdmacm.Conn, size int) (*verbs.MR, *rdmacm.Region, *rdmacm.RemoteRegion) {
	mr := r.memory(r.B, size, both)
	own, err := b.Advertise(r.ctx, "shared", mr, 0, size, rdmacm.RegionRead|rdmacm.RegionWrite)
	require.NoError(r, err)
	remote, err := a.Region(r.ctx, "shared")
	require.NoError(r, err)
	return mr, own, remote
}

func readWrite(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	mr, own, remote := r.shared(a, b, 100000)
	require.Equal(r, "shared", own.Name())
	require.Equal(r, "shared", remote.Name())
	require.EqualValues(r, 100000, remote.Len())
	require.Equal(r, rdmacm.RegionRead|rdmacm.RegionWrite, remote.Access())
	for _, n := range []int{0, 1, 8, 4097, 90000} {
		p := make([]byte, n)
		require.NoError(r, a.Read(r.ctx, remote, 1234, p))
		r.same(mr.Bytes()[1234:1234+n], p)
		p = r.random(n)
		require.NoError(r, a.Write(r.ctx, remote, 777, p))
		r.same(p, mr.Bytes()[777:777+n])
	}
	buf, err := r.A.Buffer(500)
	require.NoError(r, err)
	require.NoError(r, a.ReadBuffer(r.ctx, remote, 10, buf))
	r.same(mr.Bytes()[10:510], buf.Bytes())
	require.NoError(r, buf.Resize(100))
	require.NoError(r, a.WriteBuffer(r.ctx, remote, 5000, buf))
	r.same(buf.Bytes(), mr.Bytes()[5000:5100])
	require.NoError(r, buf.Resize(0))
	require.NoError(r, a.WriteBuffer(r.ctx, remote, 0, buf))
	require.NoError(r, a.ReadBuffer(r.ctx, remote, 0, buf))
	buf.Release()
	require.ErrorIs(r, a.ReadBuffer(r.ctx, remote, 0, buf), rdmacm.ErrBufferInUse)
	st := a.Stats()
	require.EqualValues(r, 6, st.Reads)
	require.EqualValues(r, 6, st.Writes)
}

func boundsAndRights(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	mr := r.memory(r.B, 1000, both)
	_, err := b.Advertise(r.ctx, "read", mr, 100, 500, rdmacm.RegionRead)
	require.NoError(r, err)
	_, err = b.Advertise(r.ctx, "write", mr, 600, 400, rdmacm.RegionWrite)
	require.NoError(r, err)
	read, err := a.Region(r.ctx, "read")
	require.NoError(r, err)
	write, err := a.Region(r.ctx, "write")
	require.NoError(r, err)
	p := make([]byte, 500)
	require.NoError(r, a.Read(r.ctx, read, 0, p))
	r.same(mr.Bytes()[100:600], p)
	require.NoError(r, a.Write(r.ctx, write, 399, p[:1]))
	require.Equal(r, p[0], mr.Bytes()[999])
	for _, bad := range []error{
		a.Read(r.ctx, read, 1, p), a.Read(r.ctx, read, 501, nil), a.Read(r.ctx, read, 1<<63, p), a.Write(r.ctx, write, 400, p[:1]),
		a.Write(r.ctx, read, 0, p[:1]), a.Read(r.ctx, write, 0, p[:1]), a.Read(r.ctx, nil, 0, p), b.Read(r.ctx, read, 0, p),
		a.Write(r.ctx, read, 0, nil), a.Write(r.ctx, nil, 0, p),
	} {
		require.Error(r, bad)
	}
	require.NoError(r, a.Err(), "nothing reached the adapter")

	local := r.memory(r.B, 100, verbs.AccessLocalWrite)
	for _, o := range []struct {
		mr     *verbs.MR
		off, n int
		access rdmacm.RegionAccess
		name   string
	}{
		{local, 0, 100, rdmacm.RegionRead, ""}, {local, 0, 100, rdmacm.RegionWrite, ""}, {mr, 0, 1001, rdmacm.RegionRead, ""},
		{mr, -1, 1, rdmacm.RegionRead, ""}, {mr, 0, 0, rdmacm.RegionRead, ""}, {mr, 0, 1, 0, ""}, {mr, 0, 1, 8, ""},
		{mr, 0, 1, rdmacm.RegionRead, string(make([]byte, 129))},
	} {
		_, err := b.Advertise(r.ctx, o.name, o.mr, o.off, o.n, o.access)
		require.Error(r, err, "%+v", o)
	}
}

// regionNever waits for a region of a peer that ends without it.
func regionNever(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	found := make(chan error, 1)
	go func() {
		_, err := a.Region(r.ctx, "never")
		found <- err
	}()
	require.NoError(r, b.CloseWrite(r.ctx))
	require.Equal(r, io.EOF, <-found)
	_, err := a.Region(r.ctx, "never")
	require.Equal(r, io.EOF, err)
}

func regionsByName(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	_, err := a.Region(r.soon(), "later")
	require.ErrorIs(r, err, context.DeadlineExceeded)
	found := make(chan error, 1)
	go func() {
		_, err := a.Region(r.ctx, "later")
		found <- err
	}()
	mr := r.memory(r.B, 100, both)
	_, err = b.Advertise(r.ctx, "other", mr, 0, 10, rdmacm.RegionRead)
	require.NoError(r, err)
	_, err = b.Advertise(r.ctx, "later", mr, 0, 10, rdmacm.RegionRead)
	require.NoError(r, err)
	require.NoError(r, <-found)
	_, err = b.Advertise(r.ctx, "later", mr, 0, 20, rdmacm.RegionRead)
	require.NoError(r, err)
	r.send(b, nil)
	r.gets(a, nil) // and with it the second one of the name
	region, err := a.Region(r.ctx, "later")
	require.NoError(r, err)
	require.EqualValues(r, 20, region.Len())
}

func writeThenSend(r *Rig) {
	const rounds = 100
	a, b := r.pair(rdmacm.ConnOptions{Window: 4})
	mr, _, remote := r.shared(a, b, 8192)
	for i := range rounds {
		p := make([]byte, 8192)
		for k := 0; k < len(p); k += 4 {
			binary.BigEndian.PutUint32(p[k:], uint32(i))
		}
		require.NoError(r, a.Write(r.ctx, remote, 0, p))
		r.send(a, []byte{byte(i)})
		m, err := b.Recv(r.ctx)
		require.NoError(r, err)
		r.same(p, mr.Bytes())
		m.Release()
	}
}

func manyOperations(r *Rig) {
	const workers, rounds = 12, 60
	a, b := r.pair(rdmacm.ConnOptions{Ops: 4})
	_, _, remote := r.shared(a, b, workers*64)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			p, q := make([]byte, 64), make([]byte, 64)
			for i := range rounds {
				for k := range p {
					p[k] = byte(w*rounds + i)
				}
				if !assert.NoError(r, a.Write(r.ctx, remote, uint64(64*w), p)) ||
					!assert.NoError(r, a.Read(r.ctx, remote, uint64(64*w), q)) {
					return
				}
				assert.Equal(r, p, q)
			}
		}()
	}
	wg.Wait()
}

func revokedRegion(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	_, own, remote := r.shared(a, b, 4096)
	require.False(r, remote.Revoked())
	require.NoError(r, own.Revoke(r.ctx))
	require.NoError(r, own.Revoke(r.ctx), "once is enough")
	require.True(r, remote.Revoked(), "the peer confirmed it")
	require.ErrorIs(r, a.Read(r.ctx, remote, 0, make([]byte, 8)), rdmacm.ErrRevoked)
	require.ErrorIs(r, a.Write(r.ctx, remote, 0, make([]byte, 8)), rdmacm.ErrRevoked)
	_, err := a.Region(r.soon(), "shared")
	require.ErrorIs(r, err, context.DeadlineExceeded)
	_, _, again := r.shared(a, b, 100)
	require.NoError(r, a.Read(r.ctx, again, 0, make([]byte, 100)))
}

// revokeUnderLoad: once Revoke has returned, the memory does not change.
func revokeUnderLoad(r *Rig) {
	const size = 64 << 10
	a, b := r.pair(rdmacm.ConnOptions{})
	mr, own, remote := r.shared(a, b, size)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				if err := a.Write(r.ctx, remote, 0, r.random(size)); err != nil {
					assert.ErrorIs(r, err, rdmacm.ErrRevoked)
					return
				}
			}
		}()
	}
	r.eventually(func() bool { return a.Stats().Writes > 20 }, "writes are under way")
	require.NoError(r, own.Revoke(r.ctx))
	before := append([]byte{}, mr.Bytes()...)
	wg.Wait()
	r.same(before, mr.Bytes())
	require.NoError(r, a.Err())
}

// memoryGone: what Revoke asks for, closing the memory enforces.
func memoryGone(r *Rig) {
	a, b := r.pair(rdmacm.ConnOptions{})
	mr, err := r.B.PD().AllocMR(4096, verbs.MROptions{Access: both})
	require.NoError(r, err)
	_, err = b.Advertise(r.ctx, "m", mr, 0, 4096, rdmacm.RegionRead)
	require.NoError(r, err)
	remote, err := a.Region(r.ctx, "m")
	require.NoError(r, err)
	require.NoError(r, mr.Close())
	err = a.Read(r.ctx, remote, 0, make([]byte, 8))
	require.ErrorIs(r, err, verbs.StatusRemoteAccess)
	<-a.Done()
	require.ErrorIs(r, a.Err(), verbs.StatusRemoteAccess)
	require.ErrorIs(r, a.Send(r.ctx, nil), verbs.StatusRemoteAccess)
}
