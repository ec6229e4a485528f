package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/verbs"
)

// end is one side of the transfer: a GPU's memory, registered, and a queue pair.
type end struct {
	gpu *cuda.Device
	mem *cuda.Buffer
	mr  *verbs.MR
	qp  *verbs.QP
	cq  *verbs.CQ
}

// transfer does it all: allocate, register, connect, write, look.
func transfer(ctx context.Context, c config, out io.Writer) (err error) {
	dev, err := verbs.Open(c.device)
	if err != nil {
		return err
	}
	var ends []*end
	defer func() {
		// First what may still use the memory, then the memory.
		err = errors.Join(err, dev.CloseAll())
		for _, e := range ends {
			err = errors.Join(err, e.gpu.CloseAll())
		}
	}()
	pd, err := dev.AllocPD()
	if err != nil {
		return err
	}
	// The target is for the peer to write to.
	c.gpu.Access = verbs.AccessLocalWrite | verbs.AccessRemoteWrite
	for _, ordinal := range []int{c.from, c.to} {
		e, err := c.open(pd, ordinal)
		if err != nil {
			return err
		}
		ends = append(ends, e)
	}
	src, dst := ends[0], ends[1]
	// Two programs would exchange this over a socket, with dst.mr.Remote().
	for _, pair := range [][2]*end{{src, dst}, {dst, src}} {
		peer, err := pair[1].qp.Endpoint()
		if err != nil {
			return err
		}
		if err := pair[0].qp.Connect(ctx, peer, verbs.ConnectOptions{}); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s to %s, %d bytes over %s\n", describe(src.gpu), describe(dst.gpu), c.bytes, c.device)
	report(out, "source", src.mr)
	report(out, "target", dst.mr)
	want := make([]byte, c.bytes)
	_, _ = rand.NewChaCha8([32]byte{}).Read(want) // it never fails
	if err := src.gpu.CopyToDevice(ctx, whole(src.mem, c.bytes), want); err != nil {
		return err
	}
	// A kernel that fills the memory would have to be waited for in the same way.
	if err := write(ctx, c, src, dst.mr.Remote()); err != nil {
		return err
	}
	if err := dst.mr.SyncForGPU(ctx, 0, c.bytes); err != nil {
		return err
	}
	got := make([]byte, c.bytes)
	if err := dst.gpu.CopyToHost(ctx, got, whole(dst.mem, c.bytes)); err != nil {
		return err
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("byte %d of GPU %d's memory is 0x%02x, and 0x%02x was sent", i, c.to, got[i], want[i])
		}
	}
	fmt.Fprintln(out, "every byte is right")
	return nil
}

// write writes the source to the target, a piece at a time. Where the adapter
// reaches the memory itself it is one piece; otherwise a piece leaves while the
// next ones are copied.
func write(ctx context.Context, c config, src *end, target verbs.RemoteBuffer) error {
	done := make([]verbs.Completion, 1)
	return src.mr.SyncForAdapterPieces(ctx, 0, c.bytes, c.piece, func(off, n int) error {
		for ; n > 0; off, n = off+min(n, c.piece), n-min(n, c.piece) {
			size := min(n, c.piece)
			batch := src.qp.SendBatch()
			batch.Write(uint64(off), target.At(uint64(off), uint64(size)), src.mr.SGE(off, size))
			if _, err := batch.Post(); err != nil {
				return err
			}
			if _, err := src.cq.Wait(ctx, done); err != nil {
				return err
			}
			if err := done[0].Err(); err != nil {
				return err
			}
		}
		return nil
	})
}

// open makes an end on a GPU.
func (c config) open(pd *verbs.PD, ordinal int) (*end, error) {
	gpu, err := cuda.Open(ordinal)
	if err != nil {
		return nil, err
	}
	e := &end{gpu: gpu}
	if err := e.fill(c, pd); err != nil {
		return nil, errors.Join(err, gpu.CloseAll())
	}
	return e, nil
}

func (e *end) fill(c config, pd *verbs.PD) (err error) {
	if e.mem, err = c.alloc(e.gpu); err != nil {
		return err
	}
	opts := c.gpu
	opts.Length = uint64(c.bytes)
	if e.mr, err = pd.RegisterGPU(e.mem, opts); err != nil {
		return err
	}
	if e.cq, err = pd.Device().CreateCQ(verbs.CQOptions{Events: true}); err != nil {
		return err
	}
	e.qp, err = pd.CreateQP(verbs.QPOptions{SendCQ: e.cq, RecvCQ: e.cq})
	return err
}

// alloc takes whole pages of the GPU: cuMemAlloc packs what is smaller, and memory
// that shares a page is not registered.
func (c config) alloc(gpu *cuda.Device) (*cuda.Buffer, error) {
	if c.vmm {
		return gpu.AllocVMM(uint64(c.bytes), cuda.VMMOptions{})
	}
	const page = 2 << 20
	return gpu.Alloc((uint64(c.bytes) + page - 1) / page * page)
}

func whole(b *cuda.Buffer, n int) cuda.Span { return cuda.Span{Addr: b.Span().Addr, Len: uint64(n)} }

func describe(gpu *cuda.Device) string {
	info := gpu.Info()
	return fmt.Sprintf("GPU %d (%s, %s)", info.Ordinal, info.Name, info.PCIAddress)
}

// report says how memory was registered, and what a better way lacked.
func report(out io.Writer, which string, mr *verbs.MR) {
	how, _ := mr.GPUMethod()
	var why bytes.Buffer
	if declined := mr.GPUDeclined(); declined != nil {
		fmt.Fprintf(&why, ": %v", declined)
	}
	fmt.Fprintf(out, "%s registered by %v%s\n", which, how, &why)
}
