//go:build linux && cgo

package gpulab

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// sizes are the bytes of the larger buffer of an operation, from one to most.
func sizes(most, factor int) []int {
	var list []int
	for size := 1; size < most; size *= factor {
		list = append(list, size)
	}
	return append(list, most)
}

// oddCounts are numbers of elements that fill no vector and no cache line.
var oddCounts = []int{3, 1021, 100003}

func largest() int {
	if realGPU {
		return 64 << 20
	}
	return 16 << 10
}

// Every collective with every type and every reduction, in place and not, from 1
// byte to 64 MiB, checked byte by byte.
func TestEveryCollective(t *testing.T) {
	n := begin(t, 1, 4*time.Minute)
	everySize := sizes(largest(), 8)
	few := []int{8, 1 << 10, min(1<<20, largest())}
	for _, way := range []struct {
		name  string
		gpus  int
		cfg   nccl.Config
		sizes []int
	}{
		{"all GPUs", n, nccl.Config{}, everySize},
		{"all GPUs, blocking", n, nccl.Config{Blocking: true}, few},
		{"one GPU", 1, nccl.Config{}, few},
	} {
		if way.gpus == 1 && n == 1 && way.name != "all GPUs" && !way.cfg.Blocking {
			continue // that was all of them
		}
		t.Run(way.name, func(t *testing.T) {
			r := newBench(t, way.gpus)
			ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
			defer cancel()
			r.ctx = ctx
			r.init(way.cfg)
			s := &sweep{table: newTable(r, way.sizes[len(way.sizes)-1]), t: t, cfg: way.cfg, sizes: way.sizes}
			start := time.Now()
			for _, dt := range nccl.DataTypes() {
				s.types(dt)
			}
			figure("collectives on %s (%d): %d cases of %d collectives, %d types, %d to %d bytes checked byte by byte, %d wrong, %.1f s",
				way.name, way.gpus, s.cases, len(collectives), len(nccl.DataTypes()), way.sizes[0], s.most, s.wrong, time.Since(start).Seconds())
		})
	}
}

// sweep goes through the cases.
type sweep struct {
	*table
	t            *testing.T
	cfg          nccl.Config
	sizes        []int
	cases, wrong int
}

// mostWrong is after how many failures the rest is left out.
const mostWrong = 10

// types tries every operation on one type, with the values that suit it.
func (s *sweep) types(dt nccl.DataType) {
	for _, k := range []kind{forSums, forProducts, forAverages} {
		require.NoError(s.t, s.load(dt, k))
		for i := range collectives {
			o := &collectives[i]
			if !o.reduces {
				if k == forSums {
					s.counts(o, nccl.Sum)
				}
				continue
			}
			for _, op := range nccl.RedOps() {
				if kindOf(op) == k {
					s.counts(o, op)
				}
			}
		}
		require.NoError(s.t, s.intact(), "%v", dt)
	}
}

func (s *sweep) counts(o *collective, op nccl.RedOp) {
	block := s.dt.Size() * o.blocks(len(s.devs))
	var counts []int
	for _, size := range s.sizes {
		if size >= block {
			counts = append(counts, size/block)
		}
	}
	for _, count := range oddCounts {
		if count*block <= s.most {
			counts = append(counts, count)
		}
	}
	if len(s.devs) == 1 && op == nccl.Avg {
		counts = averageable(s.dt, counts)
	}
	for i, count := range counts {
		for _, inPlace := range []bool{false, true} {
			if inPlace && !o.inPlace {
				continue
			}
			s.one(o, setting{count: count, op: op, root: i % len(s.devs), inPlace: inPlace, grouped: i%2 == 0})
		}
	}
}

// averageable leaves out what NCCL 2.28.3 gets wrong when it averages over one
// rank, which it does by a kernel of its own: there is none for 8 bits, and the
// end of an odd count may stay unwritten.
func averageable(dt nccl.DataType, counts []int) (list []int) {
	if dt == nccl.Float8E4M3 || dt == nccl.Float8E5M2 {
		return nil
	}
	for _, count := range counts {
		if count&(count-1) == 0 {
			list = append(list, count)
		}
	}
	return list
}

func (s *sweep) one(o *collective, with setting) {
	s.cases++
	err := s.try(o, with)
	if err == nil {
		return
	}
	s.wrong++
	s.t.Errorf("%s of %d %v, %v, root %d, in place %v, grouped %v: %v",
		o.name, with.count, s.dt, with.op, with.root, with.inPlace, with.grouped, err)
	if s.wrong >= mostWrong {
		s.t.Fatalf("%d cases are wrong: the rest is left out", s.wrong)
	}
	// A communicator that broke would hide what comes next.
	for _, c := range s.comms {
		if c.AsyncError() != nil {
			require.NoError(s.t, nccl.AbortAll(s.ctx, s.comms...))
			s.init(s.cfg)
			return
		}
	}
}

// The check itself: one wrong byte, and one behind the result, are found.
func TestCheckNoticesAWrongByte(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{})
	tab := newTable(r, 4096)
	require.NoError(t, tab.load(nccl.Float32, forSums))
	const size = 1000
	expect := func(int) []segment { return []segment{{0, tab.input(0)[:size]}} }
	for _, at := range []int{-1, 0, size - 1, size, size + guard - 1} {
		for i := range n {
			require.NoError(t, tab.clear(i, size))
			require.NoError(t, r.streams[i].CopyToDevice(r.ctx, part(tab.work[i], 0, size), tab.input(0)[:size]))
		}
		if at >= 0 {
			require.NoError(t, r.streams[n-1].Fill8(part(tab.work[n-1], at, 1), 0x77))
		}
		err := tab.verify(size, expect)
		if at < 0 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, fmt.Sprintf("byte %d ", at))
		}
	}
}

// Each rank sends to the next and receives from the one before.
func TestRingOfSendAndReceive(t *testing.T) {
	n := begin(t, 1, testLimit)
	for _, blocking := range []bool{false, true} {
		t.Run(fmt.Sprintf("blocking %v", blocking), func(t *testing.T) {
			tab := newTable(newRig(t, n, nccl.Config{Blocking: blocking}), largest())
			cases := 0
			for _, dt := range []nccl.DataType{nccl.Int8, nccl.Float32, nccl.Float64} {
				require.NoError(t, tab.load(dt, forSums))
				for _, size := range sizes(largest(), 8) {
					if size < dt.Size() {
						continue
					}
					require.NoError(t, tab.ring(size/dt.Size()), "%d bytes of %v", size, dt)
					cases++
				}
			}
			require.NoError(t, tab.intact())
			figure("ring of send and receive on %d GPUs, blocking %v: %d cases to %d bytes right", n, blocking, cases, largest())
		})
	}
}

// ring is one exchange. One of the ranks' groups is for both, or each rank has its
// own.
func (t *table) ring(count int) error {
	n, b := len(t.devs), count*t.dt.Size()
	add := func(g *nccl.Group, i int) error {
		if err := t.clear(i, b); err != nil {
			return err
		}
		if err := g.Send(t.comms[i], part(t.orig[i], 0, b), count, t.dt, (i+1)%n, t.streams[i]); err != nil {
			return err
		}
		return g.Recv(t.comms[i], part(t.work[i], 0, b), count, t.dt, (i+n-1)%n, t.streams[i])
	}
	check := func() error {
		if err := t.wait(); err != nil {
			return err
		}
		return t.verify(b, func(i int) []segment { return []segment{{0, t.input((i + n - 1) % n)[:b]}} })
	}
	g := nccl.NewGroup()
	defer g.Close()
	for i := range n {
		if err := add(g, i); err != nil {
			return err
		}
	}
	if err := g.Run(t.ctx); err != nil {
		return err
	}
	if err := check(); err != nil {
		return err
	}
	err := each(t.devs, func(i int, _ *cuda.Device) error {
		g := nccl.NewGroup()
		defer g.Close()
		if err := add(g, i); err != nil {
			return err
		}
		return g.Run(t.ctx)
	})
	if err != nil {
		return err
	}
	return check()
}

// A reduction that multiplies by a factor first, of every type, with the factor in
// the host and on the GPU.
func TestPreMultipliedSum(t *testing.T) {
	n := begin(t, 1, testLimit)
	r := newRig(t, n, nccl.Config{})
	tab := newTable(r, 64<<10)
	for _, dt := range nccl.DataTypes() {
		require.NoError(t, tab.load(dt, forDoubles))
		for _, onGPU := range []bool{false, true} {
			ops := make([]*nccl.CustomOp, n)
			for i, c := range r.comms {
				var err error
				if onGPU {
					factor := r.alloc(i, 8)
					require.NoError(t, r.streams[i].CopyToDevice(r.ctx, part(factor, 0, dt.Size()), encode(dt, 2)))
					ops[i], err = c.CreatePreMulSumAt(r.ctx, dt, factor)
				} else {
					ops[i], err = c.CreatePreMulSum(r.ctx, dt, 2)
				}
				require.NoError(t, err, "%v", dt)
			}
			count := 5000
			b := count * dt.Size()
			g := nccl.NewGroup()
			for i, c := range r.comms {
				require.NoError(t, tab.clear(i, b))
				require.NoError(t, g.AllReduce(c, part(tab.orig[i], 0, b), part(tab.work[i], 0, b), count, dt, ops[i].RedOp(), r.streams[i]))
			}
			require.NoError(t, g.Run(r.ctx), "%v", dt)
			require.NoError(t, r.wait())
			require.NoError(t, tab.verify(b, func(int) []segment { return []segment{{0, tab.reduced(nccl.Sum)[:b]}} }), "%v on the GPU %v", dt, onGPU)
			require.NoError(t, g.Close())
			for _, op := range ops {
				require.NoError(t, op.Close())
			}
		}
	}
	figure("premultiplied sums on %d GPUs: %d types right, factor in the host and on the GPU", n, len(nccl.DataTypes()))
}
