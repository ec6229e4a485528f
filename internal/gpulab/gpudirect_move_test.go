//go:build linux && cgo

package gpulab

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/verbs"
)

// guardBytes around what is moved must stay as they were.
const guardBytes = hostPage

// mover moves bytes between two GPUs over the device in this process and looks at
// every byte of the target after.
type mover struct {
	*wire
	from, to         *cuda.Device
	srcBuf, dstBuf   *cuda.Buffer
	src, dst         *verbs.MR
	want, got, blank []byte
}

// newMover registers memory for up to most bytes.
func newMover(w *wire, from, to *cuda.Device, alloc func(*cuda.Device, uint64) (*cuda.Buffer, error), method verbs.GPUMethod, most int) *mover {
	t := w.t
	t.Helper()
	m := &mover{wire: w, from: from, to: to}
	size := wholePages(most + 2*guardBytes)
	var err error
	m.srcBuf, err = alloc(from, size)
	require.NoError(t, err)
	m.dstBuf, err = alloc(to, size)
	require.NoError(t, err)
	opts := verbs.GPUOptions{Access: everyRight, Method: method}
	m.src, err = w.a.pd.RegisterGPU(m.srcBuf, opts)
	require.NoError(t, err)
	m.dst, err = w.b.pd.RegisterGPU(m.dstBuf, opts)
	require.NoError(t, err)
	for _, mr := range []*verbs.MR{m.src, m.dst} {
		how, ok := mr.GPUMethod()
		require.True(t, ok)
		require.Equal(t, method, how)
		require.Nil(t, mr.GPUDeclined())
	}
	m.want, m.got, m.blank = noiseOf(int(size)), make([]byte, size), bytes.Repeat([]byte{0xee}, int(size))
	require.NoError(t, from.CopyToDevice(w.ctx, m.srcBuf.Span(), m.want))
	require.NoError(t, m.src.SyncForAdapter(w.ctx, 0, m.src.Len()))
	return m
}

// noiseOf returns so many bytes of noise, which nobody changes.
func noiseOf(n int) []byte {
	if n > len(oldNoise) {
		oldNoise = make([]byte, n)
		noise(oldNoise, 42)
	}
	return oldNoise[:n]
}

var oldNoise []byte

func (m *mover) close() {
	m.t.Helper()
	for _, c := range []interface{ Close() error }{m.src, m.dst, m.srcBuf, m.dstBuf} {
		require.NoError(m.t, c.Close())
	}
}

// try moves n bytes to an offset from another and checks the target with what lies
// around it.
func (m *mover) try(op int, to, from, n int) error {
	o := operations[op]
	first, last := max(0, to-guardBytes), min(len(m.blank), to+n+guardBytes)
	around := part(m.dstBuf.Span(), first, last-first)
	if err := m.to.CopyToDevice(m.ctx, around, m.blank[first:last]); err != nil {
		return err
	}
	if err := m.dst.SyncForAdapter(m.ctx, first, last-first); err != nil {
		return err
	}
	if err := o.run(m.wire, m.dst, m.src, to, from, n); err != nil {
		return fmt.Errorf("%s of %d bytes from offset %d to %d: %w", o.name, n, from, to, err)
	}
	if err := m.dst.SyncForGPU(m.ctx, first, last-first); err != nil {
		return err
	}
	got := m.got[first:last]
	if err := m.to.CopyToHost(m.ctx, got, around); err != nil {
		return err
	}
	for _, p := range []struct {
		what      string
		got, want []byte
	}{
		{"in front of", got[:to-first], m.blank[first:to]},
		{"in", got[to-first : to-first+n], m.want[from : from+n]},
		{"behind", got[to-first+n:], m.blank[to+n : last]},
	} {
		if at := difference(p.got, p.want); at >= 0 {
			return fmt.Errorf("%s of %d bytes from offset %d to %d: byte %d %s the target is wrong", o.name, n, from, to, at, p.what)
		}
	}
	return nil
}

// moveSizes are around every boundary that something may have.
func moveSizes() []int {
	list := []int{1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 511, 512, 513, 4095, 4096, 4097, 65535, 65536, 65537}
	if !realGPU {
		return append(list, 200_001)
	}
	for _, n := range []int{1 << 20, 2 << 20, 16 << 20, 64 << 20} {
		list = append(list, n-1, n, n+1)
	}
	return append(list, 256<<20)
}

// TestGPUDirectMoves: writes, reads and sends from GPU to GPU, of every size, at
// even and odd offsets, each byte of the target and around it looked at.
func TestGPUDirectMoves(t *testing.T) {
	n := begin(t, 1, 4*time.Minute)
	r := newBench(t, n)
	list := moveSizes()
	most := list[len(list)-1]
	places := [][2]int{{0, 0}}
	if n > 1 {
		places = append(places, [2]int{0, 1}, [2]int{1, 0})
	}
	for _, place := range places {
		from, to := r.devs[place[0]], r.devs[place[1]]
		for _, a := range allocators {
			for _, method := range append(direct(t, from), verbs.GPUStaged) {
				moved, count := 0, 0
				w := newWire(t, r.ctx)
				m := newMover(w, from, to, a.alloc, method, most)
				for _, size := range list {
					for op := range operations {
						for i, offsets := range [][2]int{{0, 0}, {1, 0}, {3, 509}, {4095, 4093}} {
							if size > 1<<20 && i > 1 {
								break
							}
							require.NoError(t, m.try(op, offsets[0], offsets[1], size), "%s, %v, GPU %d to %d", a.name, method, place[0], place[1])
							moved += size
							count++
						}
					}
				}
				m.close()
				figure("gpudirect: GPU %d to GPU %d over %s, memory of %s, registered as with %v: %d writes, reads and sends of 1 to %d bytes, %d MiB, every byte right", place[0], place[1], adapter(), a.name, method, count, most, moved>>20)
			}
		}
	}
}

// TestGPUDirectHostAndGPU: one end on a GPU, the other in memory of the host, and
// requests whose pieces lie on both.
func TestGPUDirectHostAndGPU(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	w := newWire(t, r.ctx)
	d := r.devs[0]
	const size = 3 * hostPage
	for _, method := range direct(t, d) {
		buf, err := d.Alloc(wholePages(size))
		require.NoError(t, err)
		gpu, err := w.b.pd.RegisterGPU(buf, verbs.GPUOptions{Access: everyRight, Method: method})
		require.NoError(t, err)
		require.Nil(t, gpu.Bytes(), "the host does not see it")
		require.Equal(t, buf.DevicePointer(), gpu.Addr())
		require.Equal(t, verbs.RemoteBuffer{Addr: buf.DevicePointer(), RKey: gpu.RKey(), Len: buf.Size()}, gpu.Remote())
		host, err := w.a.pd.AllocMR(size, verbs.MROptions{Access: everyRight})
		require.NoError(t, err)
		noise(host.Bytes(), 7)
		want := bytes.Clone(host.Bytes())

		w.a.qp.SendBatch().Write(1, gpu.Remote().At(11, size), host.SGE(0, size))
		require.NoError(t, w.post(w.a).Err())
		got := make([]byte, size)
		require.NoError(t, d.CopyToHost(r.ctx, got, part(buf.Span(), 11, size)))
		require.Equal(t, -1, difference(got, want))

		clear(host.Bytes())
		w.a.qp.SendBatch().Read(2, gpu.Remote().At(11, size), host.SGE(0, size))
		require.NoError(t, w.post(w.a).Err())
		require.Equal(t, -1, difference(host.Bytes(), want))

		// Received into the host's memory, then the GPU's.
		half, err := w.b.pd.AllocMR(100, verbs.MROptions{})
		require.NoError(t, err)
		w.b.qp.RecvBatch().Recv(3, half.SGE(0, 100), gpu.SGE(5, size-100))
		_, err = w.b.qp.RecvBatch().Post()
		require.NoError(t, err)
		w.a.qp.SendBatch().Send(4, host.SGE(0, size))
		require.NoError(t, w.post(w.a).Err())
		require.NoError(t, w.poll(w.b).Err())
		require.Equal(t, want[:100], half.Bytes())
		got = got[:size-100]
		require.NoError(t, d.CopyToHost(r.ctx, got, part(buf.Span(), 5, size-100)))
		require.Equal(t, -1, difference(got, want[100:]))
		require.NoError(t, gpu.Close())
	}
}

// TestGPUDirectAtomics: they are carried out on memory of a GPU, and towards each
// other they are atomic.
func TestGPUDirectAtomics(t *testing.T) {
	begin(t, 1, testLimit)
	r := newBench(t, 1)
	d := r.devs[0]
	w := newWire(t, r.ctx)
	buf, err := d.Alloc(uint64(ownPages()))
	require.NoError(t, err)
	gpu, err := w.b.pd.RegisterGPU(buf, verbs.GPUOptions{Access: everyRight, Method: direct(t, d)[0]})
	require.NoError(t, err)
	require.NoError(t, d.CopyToDevice(r.ctx, part(buf.Span(), 0, 16), make([]byte, 16)))
	local, err := w.a.pd.AllocMR(8, verbs.MROptions{})
	require.NoError(t, err)
	word := func() uint64 {
		got := make([]byte, 8)
		require.NoError(t, d.CopyToHost(r.ctx, got, part(buf.Span(), 8, 8)))
		return uint64(got[0]) | uint64(got[1])<<8 | uint64(got[2])<<16
	}
	at := gpu.Remote().At(8, 8)
	w.a.qp.SendBatch().FetchAdd(1, at, 1000, local.SGE(0, 8))
	require.NoError(t, w.post(w.a).Err())
	require.EqualValues(t, 1000, word())
	w.a.qp.SendBatch().CompareSwap(2, at, 999, 5, local.SGE(0, 8))
	require.NoError(t, w.post(w.a).Err())
	require.EqualValues(t, 1000, word(), "it was not 999")
	w.a.qp.SendBatch().CompareSwap(3, at, 1000, 5, local.SGE(0, 8))
	require.NoError(t, w.post(w.a).Err())
	require.EqualValues(t, 5, word())
	require.Equal(t, byte(1000&0xff), local.Bytes()[0], "what was there before")

	// Two queue pairs add at once.
	const times = 200
	second, target := w.side(), w.side()
	target.pd = w.b.pd
	require.NoError(t, target.qp.Close())
	target.qp, err = w.b.pd.CreateQP(verbs.QPOptions{SendCQ: target.cq, RecvCQ: target.cq})
	require.NoError(t, err)
	w.connect(second, target)
	other, err := second.pd.AllocMR(8, verbs.MROptions{})
	require.NoError(t, err)
	add := func(s side, mr *verbs.MR) error {
		wc := make([]verbs.Completion, 1)
		for i := range times {
			s.qp.SendBatch().FetchAdd(uint64(i), at, 1, mr.SGE(0, 8))
			if _, err := s.qp.SendBatch().Post(); err != nil {
				return err
			}
			if _, err := s.cq.Spin(r.ctx, wc); err != nil {
				return err
			}
			if err := wc[0].Err(); err != nil {
				return err
			}
		}
		return nil
	}
	both := make(chan error, 2)
	go func() { both <- add(w.a, local) }()
	go func() { both <- add(second, other) }()
	require.NoError(t, errors.Join(<-both, <-both))
	require.EqualValues(t, 5+2*times, word())
}

// TestGPUDirectStagedInPieces: a transfer whose pieces leave while the next ones
// are copied.
func TestGPUDirectStagedInPieces(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newBench(t, n)
	from, to := r.devs[0], r.devs[n-1]
	w := newWire(t, r.ctx)
	size, piece := 200_001, 16<<10
	if realGPU {
		size, piece = 64<<20+1, 1<<20
	}
	m := newMover(w, from, to, allocators[0].alloc, verbs.GPUStaged, size)
	require.NotNil(t, m.src.Bytes())
	pieces := 0
	require.NoError(t, m.src.SyncForAdapterPieces(r.ctx, 3, size, piece, func(off, n int) error {
		pieces++
		w.a.qp.SendBatch().Write(9, m.dst.Remote().At(uint64(off), uint64(n)), m.src.SGE(off, n))
		if err := w.post(w.a).Err(); err != nil {
			return err
		}
		return m.dst.SyncForGPU(r.ctx, off, n)
	}))
	require.Equal(t, (size+piece-1)/piece, pieces)
	got := make([]byte, size)
	require.NoError(t, to.CopyToHost(r.ctx, got, part(m.dstBuf.Span(), 3, size)))
	require.Equal(t, -1, difference(got, m.want[3:3+size]))
	stop := errors.New("enough")
	require.ErrorIs(t, m.src.SyncForAdapterPieces(r.ctx, 0, size, piece, func(int, int) error { return stop }), stop)
	m.close()
	figure("gpudirect: staged write of %d bytes from GPU 0 to GPU %d in %d pieces, every byte right", size, n-1, pieces)
}
