//go:build linux && cgo

package nccl

import (
	"fmt"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is element i of rank r: small odd numbers, so that every reduction is
// exact in every type, and an average is whole.
func sample(r, i int) float64 { return float64(1 + 2*((i+r)%2)) }

// reduced is what a reduction makes of element i.
func reduced(op RedOp, ranks, i int) float64 {
	v := sample(0, i)
	for r := 1; r < ranks; r++ {
		w := sample(r, i)
		switch op {
		case Sum, Avg:
			v += w
		case Prod:
			v *= w
		case Max:
			v = max(v, w)
		case Min:
			v = min(v, w)
		}
	}
	if op == Avg {
		v /= float64(ranks)
	}
	return v
}

// collective is an operation with the buffers that rank r gives and expects.
type collective struct {
	name string
	// send and want return the contents of rank r's buffers; nil leaves one out.
	send, want func(r int) func(i int) float64
	// counts are in units of the operation's count.
	sendCount, recvCount int
	record               func(g *Group, c *Comm, send, recv cuda.Span, count int, s *cuda.Stream) error
}

func collectives(ranks, count, root int, dt DataType, op RedOp) []collective {
	mine := func(r int) func(int) float64 { return func(i int) float64 { return sample(r, i) } }
	sum := func(int) func(int) float64 { return func(i int) float64 { return reduced(op, ranks, i) } }
	only := func(f func(int) func(int) float64) func(int) func(int) float64 {
		return func(r int) func(int) float64 {
			if r != root {
				return nil
			}
			return f(r)
		}
	}
	gathered := func(int) func(int) float64 { return func(i int) float64 { return sample(i/count, i%count) } }
	list := []collective{
		{"AllReduce", mine, sum, 1, 1, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
			return g.AllReduce(c, send, recv, n, dt, op, s)
		}},
		{"Reduce", mine, only(sum), 1, 1, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
			return g.Reduce(c, send, recv, n, dt, op, root, s)
		}},
		{"Broadcast", only(mine), func(int) func(int) float64 { return mine(root) }, 1, 1,
			func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
				return g.Broadcast(c, send, recv, n, dt, root, s)
			}},
		{"AllGather", mine, gathered, 1, ranks, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
			return g.AllGather(c, send, recv, n, dt, s)
		}},
		{"ReduceScatter", mine, func(r int) func(int) float64 { return func(i int) float64 { return reduced(op, ranks, r*count+i) } },
			ranks, 1, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
				return g.ReduceScatter(c, send, recv, n, dt, op, s)
			}},
	}
	later := []collective{
		{"AllToAll", mine, func(r int) func(int) float64 {
			return func(i int) float64 { return sample(i/count, r*count+i%count) }
		}, ranks, ranks, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
			return g.AllToAll(c, send, recv, n, dt, s)
		}},
		{"Gather", mine, only(gathered), 1, ranks, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
			return g.Gather(c, send, recv, n, dt, root, s)
		}},
		{"Scatter", only(mine), func(r int) func(int) float64 { return func(i int) float64 { return sample(root, r*count+i) } },
			ranks, 1, func(g *Group, c *Comm, send, recv cuda.Span, n int, s *cuda.Stream) error {
				return g.Scatter(c, send, recv, n, dt, root, s)
			}},
	}
	lib, err := load(LoadOptions{})
	if err == nil && lib.info.Version >= MakeVersion(2, 28, 3) {
		list = append(list, later...)
	}
	return list
}

// known reports whether the loaded library has the type.
func known(t testing.TB, dt DataType) bool {
	lib, err := Library()
	require.NoError(t, err)
	return dt.Since() <= lib.Version
}

func (r *rig) check(dt DataType, c collective, count int, inPlace bool) {
	r.t.Helper()
	n := len(r.comms)
	g := NewGroup()
	bufs := make([]*cuda.Buffer, 0, 2*n)
	recvs := make([]cuda.Span, n)
	for rank, comm := range r.comms {
		sendLen, recvLen := uint64(c.sendCount*count*dt.Size()), uint64(c.recvCount*count*dt.Size())
		send := r.alloc(rank, make([]byte, sendLen))
		bufs = append(bufs, send)
		sendSpan := send.Span()
		var recvSpan cuda.Span
		if inPlace {
			// One buffer, of the greater length; the smaller is this rank's block.
			whole := r.alloc(rank, make([]byte, max(sendLen, recvLen)))
			bufs = append(bufs, whole)
			block := uint64(rank) * min(sendLen, recvLen)
			sendSpan, recvSpan = whole.Span(), whole.Span()
			if sendLen < recvLen {
				sendSpan = cuda.Span{Addr: whole.Span().Addr + block, Len: sendLen}
			} else if recvLen < sendLen {
				recvSpan = cuda.Span{Addr: whole.Span().Addr + block, Len: recvLen}
			}
		} else {
			recv := r.alloc(rank, make([]byte, recvLen))
			bufs = append(bufs, recv)
			recvSpan = recv.Span()
		}
		if f := c.send(rank); f != nil {
			r.write(rank, sendSpan, elements(r.t, dt, c.sendCount*count, f))
		}
		recvs[rank] = recvSpan
		require.NoError(r.t, c.record(g, comm, sendSpan, recvSpan, count, r.streams[rank]))
	}
	require.NoError(r.t, g.Run(r.ctx))
	r.wait()
	for rank := range r.comms {
		if f := c.want(rank); f != nil {
			want := elements(r.t, dt, c.recvCount*count, f)
			require.Equal(r.t, want, r.read(rank, recvs[rank]), "%s of %v, count %d, in place %v, rank %d", c.name, dt, count, inPlace, rank)
		}
	}
	for _, b := range bufs {
		require.NoError(r.t, b.Close())
	}
	require.NoError(r.t, g.Close())
}

func TestCollectivesAreExact(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		t.Run(blockingName(blocking), func(t *testing.T) {
			r := newRig(t, 2, Config{Blocking: blocking})
			for _, dt := range DataTypes() {
				if !known(t, dt) {
					continue
				}
				for _, op := range RedOps() {
					for _, count := range []int{1, 37} {
						for _, c := range collectives(len(r.comms), count, 1, dt, op) {
							r.check(dt, c, count, false)
							if c.name != "AllToAll" {
								r.check(dt, c, count, true)
							}
						}
					}
				}
			}
		})
	}
}

func TestSendAndReceiveInARing(t *testing.T) {
	for _, blocking := range []bool{false, true} {
		r := newRig(t, 2, Config{Blocking: blocking})
		n := len(r.comms)
		const count = 1000
		g := NewGroup()
		recvs := make([]*cuda.Buffer, n)
		for rank, c := range r.comms {
			send := r.alloc(rank, elements(t, Int32, count, func(i int) float64 { return float64(1000*rank + i) }))
			recvs[rank] = r.alloc(rank, make([]byte, count*4))
			require.NoError(t, g.Send(c, send.Span(), count, Int32, (rank+1)%n, r.streams[rank]))
			require.NoError(t, g.Recv(c, recvs[rank].Span(), count, Int32, (rank+n-1)%n, r.streams[rank]))
		}
		require.Equal(t, 2*n, g.Len())
		// A group runs as often as one likes.
		for range 3 {
			require.NoError(t, g.Run(r.ctx))
		}
		r.wait()
		for rank := range r.comms {
			from := (rank + n - 1) % n
			want := elements(t, Int32, count, func(i int) float64 { return float64(1000*from + i) })
			assert.Equal(t, want, r.read(rank, recvs[rank].Span()))
		}
		require.NoError(t, g.Close())
	}
}

// Each rank has a goroutine of its own and no group.
func TestSingleOperationsFromOneGoroutineEach(t *testing.T) {
	r := newRig(t, 2, Config{})
	const count, rounds = 64, 50
	bufs := make([]*cuda.Buffer, len(r.comms))
	for i := range bufs {
		bufs[i] = r.alloc(i, elements(t, Int64, count, func(int) float64 { return 1 }))
	}
	require.NoError(t, each(r.comms, func(c *Comm) error {
		b, s := bufs[c.Rank()].Span(), r.streams[c.Rank()]
		for range rounds {
			if err := c.AllReduce(r.ctx, b, b, count, Int64, Sum, s); err != nil {
				return err
			}
			if err := c.AllReduce(r.ctx, b, b, count, Int64, Min, s); err != nil {
				return err
			}
		}
		return c.Wait(r.ctx, s)
	}))
	want := elements(t, Int64, count, func(int) float64 {
		v := 1.0
		for range rounds {
			v *= float64(len(r.comms))
		}
		return v
	})
	for i, b := range bufs {
		assert.Equal(t, want, r.read(i, b.Span()), fmt.Sprint("rank ", i))
	}
}

func TestPreMulSum(t *testing.T) {
	r := newRig(t, 2, Config{})
	for _, dt := range []DataType{Float32, Float16, BFloat16, Float64, Int32, Uint8} {
		g := NewGroup()
		recvs := make([]*cuda.Buffer, len(r.comms))
		ops := make([]*CustomOp, len(r.comms))
		for rank, c := range r.comms {
			op, err := c.CreatePreMulSum(r.ctx, dt, 3)
			require.NoError(t, err)
			ops[rank] = op
			recvs[rank] = r.alloc(rank, elements(t, dt, 10, func(i int) float64 { return sample(rank, i) }))
			require.NoError(t, g.AllReduce(c, recvs[rank].Span(), recvs[rank].Span(), 10, dt, op.RedOp(), r.streams[rank]))
		}
		require.NoError(t, g.Run(r.ctx))
		r.wait()
		for rank := range r.comms {
			want := elements(t, dt, 10, func(i int) float64 { return 3 * reduced(Sum, len(r.comms), i) })
			assert.Equal(t, want, r.read(rank, recvs[rank].Span()), "%v", dt)
			require.NoError(t, ops[rank].Close())
			require.NoError(t, ops[rank].Close())
		}
		err := g.Run(r.ctx)
		require.ErrorIs(t, err, ResultInvalidArgument, "the reduction is closed")
		require.NoError(t, g.Close())
	}
}

func TestPreMulSumWithAFactorInMemory(t *testing.T) {
	r := newRig(t, 2, Config{})
	g := NewGroup()
	bufs := make([]*cuda.Buffer, len(r.comms))
	for rank, c := range r.comms {
		factor := r.alloc(rank, elements(t, Float64, 1, func(int) float64 { return float64(rank + 2) }))
		op, err := c.CreatePreMulSumAt(r.ctx, Float64, factor.Span())
		require.NoError(t, err)
		bufs[rank] = r.alloc(rank, elements(t, Float64, 10, func(i int) float64 { return float64(i) }))
		require.NoError(t, g.AllReduce(c, bufs[rank].Span(), bufs[rank].Span(), 10, Float64, op.RedOp(), r.streams[rank]))
	}
	require.NoError(t, g.Run(r.ctx))
	r.wait()
	for rank, b := range bufs {
		assert.Equal(t, elements(t, Float64, 10, func(i int) float64 { return float64(5 * i) }), r.read(rank, b.Span()))
	}
	require.NoError(t, g.Close())
}

func TestMemoryRegistrationAndWindows(t *testing.T) {
	r := newRig(t, 2, Config{})
	needs(t, 2, 19, 1)
	lib, err := Library()
	require.NoError(t, err)
	const count = 4096
	mems := make([]*Memory, len(r.comms))
	for i, dev := range r.devs {
		mems[i], err = MemAlloc(dev, count*4)
		require.NoError(t, err)
		r.write(i, mems[i].Span(), elements(t, Float32, count, func(j int) float64 { return sample(i, j) }))
	}
	regs := make([]*Registration, len(r.comms))
	for i, c := range r.comms {
		regs[i], err = c.Register(r.ctx, mems[i].Span())
		require.NoError(t, err)
		require.ErrorIs(t, c.Close(r.ctx), ErrBusy)
	}
	windows := make([]*Window, len(r.comms))
	if lib.Version >= MakeVersion(2, 27, 3) {
		require.NoError(t, each(r.comms, func(c *Comm) error {
			w, err := c.RegisterWindow(r.ctx, mems[c.Rank()].Span(), WindowSymmetric)
			windows[c.Rank()] = w
			return err
		}))
	}
	g := NewGroup()
	for i, c := range r.comms {
		require.NoError(t, g.AllReduce(c, mems[i].Span(), mems[i].Span(), count, Float32, Sum, r.streams[i]))
	}
	require.NoError(t, g.Run(r.ctx))
	r.wait()
	want := elements(t, Float32, count, func(i int) float64 { return reduced(Sum, len(r.comms), i) })
	for i := range r.comms {
		assert.Equal(t, want, r.read(i, mems[i].Span()))
	}
	require.NoError(t, g.Close())
	require.NoError(t, each(r.comms, func(c *Comm) error {
		if w := windows[c.Rank()]; w != nil {
			if err := w.Close(); err != nil {
				return err
			}
		}
		return regs[c.Rank()].Close()
	}))
	for i := range mems {
		require.NoError(t, mems[i].Close())
	}
}
