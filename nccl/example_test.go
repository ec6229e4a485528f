//go:build linux && cgo

package nccl_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// devices opens all GPUs, each with a stream.
func devices() (devs []*cuda.Device, streams []*cuda.Stream, err error) {
	count, err := cuda.DeviceCount()
	if err != nil {
		return nil, nil, err
	}
	for i := range count {
		dev, err := cuda.Open(i)
		if err != nil {
			return nil, nil, err
		}
		s, err := dev.CreateStream(cuda.StreamOptions{})
		if err != nil {
			return nil, nil, errors.Join(err, dev.Close())
		}
		devs, streams = append(devs, dev), append(streams, s)
	}
	return devs, streams, nil
}

// The GPUs of one process: each contributes ones, and all have the sum.
func ExampleGroup() {
	ctx := context.Background()
	devs, streams, err := devices()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	comms, err := nccl.InitAll(ctx, devs, nccl.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	const count = 1024
	g := nccl.NewGroup()
	defer g.Close()
	for i, c := range comms {
		b, err := devs[i].Alloc(count * 4)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return
		}
		_ = streams[i].Fill32(b.Span(), 1)
		_ = g.AllReduce(c, b.Span(), b.Span(), count, nccl.Int32, nccl.Sum, streams[i])
	}
	// What was refused while recording is refused here.
	if err := g.Run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	for i, c := range comms {
		if err := c.Wait(ctx, streams[i]); err != nil {
			_ = nccl.AbortAll(ctx, comms...)
			fmt.Fprintln(os.Stderr, err)
			return
		}
	}
	fmt.Println("reduced on every GPU")
	done := make(chan error)
	for _, c := range comms {
		go func() { done <- c.Close(ctx) }() // every rank closes, and waits for the others
	}
	for range comms {
		if err := <-done; err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	for _, dev := range devs {
		_ = dev.CloseAll()
	}
	// Output: reduced on every GPU
}

// One rank of a communicator that other processes join with the same id.
func ExampleInitRank() {
	dev, err := cuda.Open(0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	defer dev.Close()
	id, err := nccl.NewUniqueID()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	// With size 1 this is everybody; other ranks would get the id from here.
	comm, err := nccl.InitRank(context.Background(), dev, id, 0, 1, nccl.Config{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	fmt.Println("rank", comm.Rank(), "of", comm.Size())
	fmt.Println(comm.Close(context.Background()))
	// Output:
	// rank 0 of 1
	// <nil>
}
