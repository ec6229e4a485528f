//go:build linux && cgo

package cuda_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/gofabric/gofabric/cuda"
)

func Example() {
	dev, err := cuda.Open(0)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.CloseAll()
	stream, err := dev.CreateStream(cuda.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	buf, err := dev.Alloc(1 << 20)
	if err != nil {
		log.Fatal(err)
	}
	if err := stream.Fill8(buf.Span(), 42); err != nil {
		log.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	got := make([]byte, buf.Size())
	if err := stream.CopyToHost(ctx, got, buf.Span()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(got[0], got[len(got)-1])
	// Output: 42 42
}

// gpu opens a GPU for the examples, with a stream and a buffer.
func gpu() (*cuda.Device, *cuda.Stream, *cuda.Buffer) {
	dev, err := cuda.Open(0)
	if err != nil {
		log.Fatal(err)
	}
	stream, err := dev.CreateStream(cuda.StreamOptions{})
	if err != nil {
		log.Fatal(err)
	}
	buf, err := dev.Alloc(4096)
	if err != nil {
		log.Fatal(err)
	}
	return dev, stream, buf
}

func ExampleDevice() {
	n, err := cuda.DeviceCount()
	if err != nil {
		log.Fatal(err)
	}
	for i := range n {
		info, err := cuda.Info(i)
		if err != nil {
			log.Fatal(err)
		}
		_ = fmt.Sprintf("GPU %d is %s at %s with %d MiB", i, info.Name, info.PCIAddress, info.Memory>>20)
	}
	fmt.Println(n > 0)
	// Output: true
}

func ExampleEvent() {
	dev, stream, buf := gpu()
	defer dev.CloseAll()
	begin, err := dev.CreateEvent(cuda.EventOptions{})
	if err != nil {
		log.Fatal(err)
	}
	end, err := dev.CreateEvent(cuda.EventOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if err := errors.Join(begin.Record(stream), stream.Fill8(buf.Span(), 1), end.Record(stream)); err != nil {
		log.Fatal(err)
	}
	if err := end.Synchronize(context.Background()); err != nil {
		log.Fatal(err)
	}
	took, err := end.Elapsed(begin)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(took >= 0)
	// Output: true
}

func ExampleHostBuffer() {
	dev, stream, buf := gpu()
	defer dev.CloseAll()
	host, err := dev.AllocHost(buf.Size())
	if err != nil {
		log.Fatal(err)
	}
	copy(host.Bytes(), "to the GPU")
	if err := stream.Copy(buf.Span(), host.Span()); err != nil {
		log.Fatal(err)
	}
	back, err := dev.AllocHost(buf.Size())
	if err != nil {
		log.Fatal(err)
	}
	if err := stream.Copy(back.Span(), buf.Span()); err != nil {
		log.Fatal(err)
	}
	if err := stream.Synchronize(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", back.Bytes()[:10])
	// Output: to the GPU
}

func ExampleGraph() {
	dev, stream, buf := gpu()
	defer dev.CloseAll()
	if err := stream.BeginCapture(cuda.CaptureRelaxed); err != nil {
		log.Fatal(err)
	}
	if err := stream.Fill32(buf.Span(), 7); err != nil {
		log.Fatal(err)
	}
	graph, err := stream.EndCapture()
	if err != nil {
		log.Fatal(err)
	}
	exec, err := graph.Instantiate()
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		if err := exec.Launch(stream); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(stream.Synchronize(context.Background()))
	// Output: <nil>
}

func ExampleFunction() {
	dev, stream, buf := gpu()
	defer dev.CloseAll()
	module, err := dev.LoadModule([]byte(kernels)) // PTX
	if err != nil {
		log.Fatal(err)
	}
	fill, err := module.Function("gf1_fill_u32")
	if err != nil {
		log.Fatal(err)
	}
	var args cuda.Args
	args.Pointer(buf.Span()).Uint64(buf.Size() / 4).Uint32(0x61616161)
	grid := cuda.Grid{Blocks: cuda.Dim{X: 8}, Threads: cuda.Dim{X: 128}}
	if err := fill.Launch(stream, grid, &args); err != nil {
		log.Fatal(err)
	}
	got := make([]byte, buf.Size())
	if err := stream.CopyToHost(context.Background(), got, buf.Span()); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", got[len(got)-4:])
	// Output: aaaa
}

func ExampleCode() {
	dev, _, _ := gpu()
	defer dev.CloseAll()
	_, err := dev.Alloc(1 << 46)
	var e *cuda.Error
	if errors.Is(err, cuda.ErrorOutOfMemory) && errors.As(err, &e) {
		fmt.Println(e.Name)
	}
	// Output: CUDA_ERROR_OUT_OF_MEMORY
}

func ExampleSpan_At() {
	whole := cuda.Span{Addr: 0x7f0000000000, Len: 4096}
	half, err := whole.At(2048, 2048)
	fmt.Printf("%#x %d %v\n", half.Addr, half.Len, err)
	_, err = whole.At(4000, 100)
	fmt.Println(err)
	// Output:
	// 0x7f0000000800 2048 <nil>
	// cuda: out of range: 100 bytes from 4000 of 4096
}
