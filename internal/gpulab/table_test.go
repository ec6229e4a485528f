//go:build linux && cgo

package gpulab

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// guard is how many bytes behind a result must stay as they were, and untouched
// what they are.
const (
	guard     = 64
	untouched = 0xa5
)

// table is the memory of a rig for checking operations: for each rank what it
// gives, in the host and on the GPU, and room for what it gets.
type table struct {
	*rig
	most     int // bytes of the largest operation
	dt       nccl.DataType
	kind     kind
	inputs   []*cuda.HostBuffer // pinned: they are uploaded from
	results  []*cuda.HostBuffer // pinned
	orig     []cuda.Span        // what a rank gives
	work     []cuda.Span        // what it gets
	reduceds map[nccl.RedOp][]byte
}

func newTable(r *rig, most int) *table {
	t := &table{rig: r, most: most}
	for i, dev := range r.devs {
		for _, list := range []*[]*cuda.HostBuffer{&t.inputs, &t.results} {
			h, err := dev.AllocHost(uint64(most + guard))
			require.NoError(r.t, err)
			*list = append(*list, h)
		}
		t.orig = append(t.orig, r.alloc(i, uint64(most)))
		t.work = append(t.work, r.alloc(i, uint64(most+guard)))
	}
	return t
}

// over makes the same table with other memory: that of a window, say.
func (t *table) over(work []cuda.Span) *table {
	other := *t
	other.work = work
	return &other
}

// load gives every rank its values.
func (t *table) load(dt nccl.DataType, k kind) error {
	t.dt, t.kind, t.reduceds = dt, k, map[nccl.RedOp][]byte{}
	return each(t.devs, func(i int, _ *cuda.Device) error {
		fill(t.input(i), k.input(dt, len(t.devs), i))
		if err := t.streams[i].Copy(t.orig[i], part(t.inputs[i].Span(), 0, t.most)); err != nil {
			return err
		}
		return t.streams[i].Synchronize(t.ctx)
	})
}

func (t *table) input(rank int) []byte { return t.inputs[rank].Bytes()[:t.most] }

// reduced is the result of a reduction over everything.
func (t *table) reduced(op nccl.RedOp) []byte {
	if t.reduceds[op] == nil {
		data := make([]byte, t.most)
		fill(data, t.kind.reduced(t.dt, op, len(t.devs)))
		t.reduceds[op] = data
	}
	return t.reduceds[op]
}

// segment is what must stand somewhere in what a rank got.
type segment struct {
	at   int
	want []byte
}

// verify compares what every rank got with what it should have: expect lists it,
// and size is how many bytes of the memory were meant to change at most.
func (t *table) verify(size int, expect func(rank int) []segment) error {
	var expected [][]segment
	for i := range t.devs {
		expected = append(expected, append(expect(i), segment{size, untouchedGuard}))
	}
	return each(t.devs, func(i int, _ *cuda.Device) error {
		if err := t.streams[i].Copy(part(t.results[i].Span(), 0, size+guard), part(t.work[i], 0, size+guard)); err != nil {
			return err
		}
		if err := t.streams[i].Synchronize(t.ctx); err != nil {
			return err
		}
		got := t.results[i].Bytes()
		for _, s := range expected[i] {
			if at := difference(got[s.at:s.at+len(s.want)], s.want); at >= 0 {
				return fmt.Errorf("rank %d: byte %d of %d is %#x and should be %#x", i, s.at+at, size, got[s.at+at], s.want[at])
			}
		}
		return nil
	})
}

var untouchedGuard = func() []byte {
	b := make([]byte, guard)
	fill(b, []byte{untouched})
	return b
}()

// clear prepares what a rank gets.
func (t *table) clear(rank, size int) error {
	return t.streams[rank].Fill8(part(t.work[rank], 0, size+guard), untouched)
}

// intact checks that no operation has changed what the ranks give.
func (t *table) intact() error {
	return each(t.devs, func(i int, _ *cuda.Device) error {
		if err := t.streams[i].Copy(part(t.results[i].Span(), 0, t.most), t.orig[i]); err != nil {
			return err
		}
		if err := t.streams[i].Synchronize(t.ctx); err != nil {
			return err
		}
		if at := difference(t.results[i].Bytes()[:t.most], t.input(i)); at >= 0 {
			return fmt.Errorf("rank %d: an operation changed byte %d of what it sent", i, at)
		}
		return nil
	})
}
