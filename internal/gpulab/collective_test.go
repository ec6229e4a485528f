//go:build linux && cgo

package gpulab

import (
	"context"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// call is one operation on one rank.
type call struct {
	send, recv cuda.Span
	count      int
	dt         nccl.DataType
	op         nccl.RedOp
	root       int
	stream     *cuda.Stream
}

// collective describes an operation: how it is called, which memory it needs, and
// what it does.
type collective struct {
	name    string
	reduces bool
	rooted  bool
	// sendAll and recvAll: the buffer has a block for every rank.
	sendAll, recvAll bool
	inPlace          bool
	record           func(*nccl.Group, *nccl.Comm, *call) error
	issue            func(context.Context, *nccl.Comm, *call) error
	// expect lists what a rank gets. Blocks have b bytes.
	expect func(t *table, c *call, rank, b int) []segment
}

var collectives = []collective{
	{
		name: "AllReduce", reduces: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.AllReduce(m, c.send, c.recv, c.count, c.dt, c.op, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.AllReduce(ctx, c.send, c.recv, c.count, c.dt, c.op, c.stream)
		},
		expect: func(t *table, c *call, _, b int) []segment { return []segment{{0, t.reduced(c.op)[:b]}} },
	},
	{
		name: "Reduce", reduces: true, rooted: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.Reduce(m, c.send, c.recv, c.count, c.dt, c.op, c.root, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.Reduce(ctx, c.send, c.recv, c.count, c.dt, c.op, c.root, c.stream)
		},
		expect: func(t *table, c *call, rank, b int) []segment {
			return atRoot(c, rank, segment{0, t.reduced(c.op)[:b]})
		},
	},
	{
		name: "ReduceScatter", reduces: true, sendAll: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.ReduceScatter(m, c.send, c.recv, c.count, c.dt, c.op, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.ReduceScatter(ctx, c.send, c.recv, c.count, c.dt, c.op, c.stream)
		},
		expect: func(t *table, c *call, rank, b int) []segment {
			return []segment{{0, t.reduced(c.op)[rank*b : (rank+1)*b]}}
		},
	},
	{
		name: "Broadcast", rooted: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.Broadcast(m, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.Broadcast(ctx, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		},
		expect: func(t *table, c *call, _, b int) []segment { return []segment{{0, t.input(c.root)[:b]}} },
	},
	{
		name: "AllGather", recvAll: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.AllGather(m, c.send, c.recv, c.count, c.dt, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.AllGather(ctx, c.send, c.recv, c.count, c.dt, c.stream)
		},
		expect: func(t *table, _ *call, _, b int) []segment { return t.gathered(b) },
	},
	{
		name: "AllToAll", sendAll: true, recvAll: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.AllToAll(m, c.send, c.recv, c.count, c.dt, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.AllToAll(ctx, c.send, c.recv, c.count, c.dt, c.stream)
		},
		expect: func(t *table, _ *call, rank, b int) (list []segment) {
			for from := range t.devs {
				list = append(list, segment{from * b, t.input(from)[rank*b : (rank+1)*b]})
			}
			return list
		},
	},
	{
		name: "Gather", rooted: true, recvAll: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.Gather(m, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.Gather(ctx, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		},
		expect: func(t *table, c *call, rank, b int) []segment { return atRoot(c, rank, t.gathered(b)...) },
	},
	{
		name: "Scatter", rooted: true, sendAll: true, inPlace: true,
		record: func(g *nccl.Group, m *nccl.Comm, c *call) error {
			return g.Scatter(m, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		},
		issue: func(ctx context.Context, m *nccl.Comm, c *call) error {
			return m.Scatter(ctx, c.send, c.recv, c.count, c.dt, c.root, c.stream)
		},
		expect: func(t *table, c *call, rank, b int) []segment {
			return []segment{{0, t.input(c.root)[rank*b : (rank+1)*b]}}
		},
	},
}

func atRoot(c *call, rank int, list ...segment) []segment {
	if rank != c.root {
		return nil
	}
	return list
}

// gathered is a block of every rank.
func (t *table) gathered(b int) (list []segment) {
	for from := range t.devs {
		list = append(list, segment{from * b, t.input(from)[:b]})
	}
	return list
}

// blocks is how many blocks the larger of a rank's buffers has.
func (o *collective) blocks(n int) int {
	if o.sendAll || o.recvAll {
		return n
	}
	return 1
}

// setting is how one collective is tried.
type setting struct {
	count   int
	op      nccl.RedOp
	root    int
	inPlace bool
	grouped bool // by one group for all ranks, or by a goroutine for each
}

// try does a collective on all ranks and checks the result.
func (t *table) try(o *collective, s setting) error {
	b := s.count * t.dt.Size()
	size := b * o.blocks(len(t.devs))
	calls := make([]*call, len(t.devs))
	shifts := make([]int, len(t.devs)) // where the result lies in the memory
	for rank := range t.devs {
		c := &call{count: s.count, dt: t.dt, op: s.op, root: s.root, stream: t.streams[rank]}
		calls[rank] = c
		if err := t.clear(rank, size); err != nil {
			return err
		}
		sendSize, recvSize := b, b
		if o.sendAll {
			sendSize = size
		}
		if o.recvAll {
			recvSize = size
		}
		c.send, c.recv = part(t.orig[rank], 0, sendSize), part(t.work[rank], 0, recvSize)
		if !s.inPlace {
			continue
		}
		sendAt := 0
		switch {
		case o.recvAll:
			sendAt = rank * b
		case o.sendAll && (!o.rooted || rank == s.root):
			shifts[rank] = rank * b
		}
		c.send = part(t.work[rank], sendAt, sendSize)
		c.recv = part(t.work[rank], shifts[rank], recvSize)
		// On other ranks a scatter would find its result in what it sends.
		if o.rooted && o.sendAll && rank != s.root {
			continue
		}
		if err := t.streams[rank].Copy(c.send, part(t.orig[rank], 0, sendSize)); err != nil {
			return err
		}
	}
	if err := t.perform(o, calls, s.grouped); err != nil {
		return err
	}
	return t.verify(size, func(rank int) []segment {
		list := o.expect(t, calls[rank], rank, b)
		for i := range list {
			list[i].at += shifts[rank]
		}
		if len(list) == 0 && !s.inPlace {
			// Nothing was to come.
			return []segment{{0, untouchedGuard[:min(size, guard)]}}
		}
		return list
	})
}

func (t *table) perform(o *collective, calls []*call, grouped bool) error {
	if !grouped {
		return each(t.comms, func(i int, m *nccl.Comm) error {
			if err := o.issue(t.ctx, m, calls[i]); err != nil {
				return err
			}
			return m.Wait(t.ctx, t.streams[i])
		})
	}
	g := nccl.NewGroup()
	defer g.Close()
	for i, m := range t.comms {
		if err := o.record(g, m, calls[i]); err != nil {
			return err
		}
	}
	if err := g.Run(t.ctx); err != nil {
		return err
	}
	return t.wait()
}
