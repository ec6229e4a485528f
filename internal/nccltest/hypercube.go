package nccltest

import (
	"math/bits"

	"github.com/gofabric/gofabric/cuda"
)

// hyperCube gathers in as many stages as the cube has dimensions: in each, a rank
// exchanges all it has with its neighbour.
var hyperCube = collective{
	unlabelled: true,
	powerOfTwo: true,
	counts:     gatherCounts,
	traffic: func(t *trial) (float64, float64) {
		return t.paramBytes() * float64(t.ranks-1), 1
	},
	fill: gatherFill,
	want: gatherWant,
	// The own block's copy takes a stage where there is no exchange.
	stages: func(ranks int) int { return max(bits.Len(uint(ranks))-1, 1) },
	record: func(c *call, stage int) error {
		block := uint64(c.count) * uint64(c.dt.Size())
		if stage == 0 {
			own := cuda.Span{Addr: c.recv.Addr + uint64(c.rank)*block, Len: block}
			if own.Addr != c.send.Addr {
				c.copies = append(c.copies, copying{own, cuda.Span{Addr: c.send.Addr, Len: block}, c.stream})
			}
		}
		if c.ranks == 1 {
			return nil
		}
		width := 1 << stage
		mine := c.rank &^ (width - 1)
		peer, count := c.rank^width, c.count*width
		send, err := c.recv.At(uint64(mine)*block, uint64(width)*block)
		if err != nil {
			return err
		}
		recv, err := c.recv.At(uint64(mine^width)*block, uint64(width)*block)
		if err != nil {
			return err
		}
		if err := c.group.Send(c.comm, send, count, c.dt, peer, c.stream); err != nil {
			return err
		}
		return c.group.Recv(c.comm, recv, count, c.dt, peer, c.stream)
	},
}
