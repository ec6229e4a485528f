//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/fakegpu"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func randomBytes(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

func TestBlockingCopies(t *testing.T) {
	d := openGPU(t, 0)
	for _, n := range []int{0, 1, 4096, 4 << 20, 9<<20 + 5} {
		want := randomBytes(n)
		b := alloc(t, d, uint64(n)+1)
		span := at(t, b.Span(), 1, uint64(n))
		require.NoError(t, d.CopyToDevice(patiently(t), span, want))
		got := make([]byte, n)
		require.NoError(t, d.CopyToHost(patiently(t), got, span))
		assert.True(t, bytes.Equal(want, got), "%d bytes", n)

		other := alloc(t, d, uint64(n)+1)
		require.NoError(t, d.Copy(patiently(t), at(t, other.Span(), 0, uint64(n)), span))
		clear(got)
		require.NoError(t, d.CopyToHost(patiently(t), got, at(t, other.Span(), 0, uint64(n))))
		assert.True(t, bytes.Equal(want, got), "%d bytes", n)
	}
}

func TestCopiesThroughPinnedMemory(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	const n = 1 << 20
	out, err := d.AllocHost(n)
	require.NoError(t, err)
	in, err := d.AllocHost(n)
	require.NoError(t, err)
	assert.Equal(t, make([]byte, n), in.Bytes())
	b := alloc(t, d, n)
	copy(out.Bytes(), randomBytes(n))
	require.NoError(t, s.Copy(b.Span(), out.Span()))
	require.NoError(t, s.Copy(in.Span(), b.Span()))
	require.NoError(t, s.Synchronize(patiently(t)))
	assert.True(t, bytes.Equal(out.Bytes(), in.Bytes()))
}

func TestCopyBetweenGPUs(t *testing.T) {
	a, b := openGPU(t, 0), openGPU(t, 1)
	can, err := a.CanAccessPeer(b)
	require.NoError(t, err)
	if can {
		require.NoError(t, a.EnablePeerAccess(b))
		require.NoError(t, a.EnablePeerAccess(b), "twice")
	}
	const n = 3<<20 + 1
	from, to := alloc(t, a, n), alloc(t, b, n)
	want := randomBytes(n)
	s := newStream(t, a)
	require.NoError(t, s.CopyToDevice(patiently(t), from.Span(), want))
	require.NoError(t, s.Copy(to.Span(), from.Span()))
	require.NoError(t, s.Synchronize(patiently(t)))
	assert.True(t, bytes.Equal(want, contents(t, newStream(t, b), to.Span())))
	if can {
		require.NoError(t, a.DisablePeerAccess(b))
		require.NoError(t, a.DisablePeerAccess(b), "twice")
	}
	can, err = a.CanAccessPeer(a)
	require.NoError(t, err)
	assert.True(t, can)
	require.NoError(t, a.EnablePeerAccess(a))
}

func TestFills(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	b := alloc(t, d, 24)
	require.NoError(t, s.Fill8(at(t, b.Span(), 0, 8), 0xab))
	require.NoError(t, s.Fill16(at(t, b.Span(), 8, 8), 0x1234))
	require.NoError(t, s.Fill32(at(t, b.Span(), 16, 8), 0x01020304))
	require.NoError(t, s.Fill32(cuda.Span{}, 1), "nothing")
	assert.Equal(t, []byte{
		0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0xab, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 0x34, 0x12, 4, 3, 2, 1, 4, 3, 2, 1,
	}, contents(t, s, b.Span()))
}

// TestOutOfRangeNeverReachesTheDriver: the fake reports what a driver would not
// survive.
func TestOutOfRangeNeverReachesTheDriver(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	ctx := patiently(t)
	b := alloc(t, d, 64).Span()
	for _, c := range []struct{ off, n uint64 }{{0, 65}, {65, 0}, {64, 1}, {1, 1<<64 - 1}, {1<<64 - 1, 2}} {
		_, err := b.At(c.off, c.n)
		require.ErrorIs(t, err, cuda.ErrOutOfRange, "%+v", c)
	}
	half := at(t, b, 0, 32)
	wild := cuda.Span{Addr: 1<<64 - 16, Len: 32}
	nowhere := cuda.Span{Len: 32}
	odd := at(t, b, 1, 8)
	for name, err := range map[string]error{
		"longer source":  s.Copy(half, b),
		"longer target":  s.Copy(b, half),
		"past the end":   s.Copy(wild, half),
		"no address":     s.Copy(half, nowhere),
		"device copy":    d.Copy(ctx, half, b),
		"slice too long": s.CopyToDevice(ctx, half, make([]byte, 33)),
		"slice short":    s.CopyToHost(ctx, make([]byte, 31), half),
		"wild to host":   d.CopyToHost(ctx, make([]byte, 32), wild),
		"odd 16":         s.Fill16(odd, 1),
		"odd 32":         s.Fill32(odd, 1),
		"odd length":     s.Fill16(at(t, b, 0, 7), 1),
		"fill nowhere":   s.Fill8(nowhere, 1),
	} {
		assert.ErrorIs(t, err, cuda.ErrOutOfRange, name)
	}
	require.NoError(t, s.Synchronize(ctx))
}

func TestCopyThatIsGivenUp(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	release := keepBusy(t, s)
	b := alloc(t, d, 64)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, s.CopyToDevice(ended, b.Span(), bytes.Repeat([]byte{5}, 64)), context.Canceled)
	into := make([]byte, 64)
	require.ErrorIs(t, s.CopyToHost(ended, into, b.Span()), context.Canceled)
	release()
	assert.Equal(t, bytes.Repeat([]byte{5}, 64), contents(t, s, b.Span()))
	assert.Equal(t, make([]byte, 64), into, "what was given up is not written")
}

func TestPinnedMemoryOfCopiesIsUsedAgain(t *testing.T) {
	c := needFake(t)
	d := openGPU(t, 0)
	b := alloc(t, d, 64)
	require.NoError(t, d.CopyToDevice(patiently(t), b.Span(), make([]byte, 64)))
	before := c.Count(fakegpu.LiveHostMemory)
	for range 10 {
		require.NoError(t, d.CopyToHost(patiently(t), make([]byte, 64), b.Span()))
	}
	assert.Equal(t, before, c.Count(fakegpu.LiveHostMemory))
}
