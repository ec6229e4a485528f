//go:build linux && cgo

package verbs_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/gofabric/gofabric/verbs"
	_ "github.com/gofabric/gofabric/verbs/verbstest" // loop0, a device in this process
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func must[T any](v T, err error) T { check(err); return v }

// A first program: two queue pairs of one device, and one RDMA write from the
// first to the second.
func Example() {
	dev := must(verbs.Open("loop0")) // on hardware: mlx5_0 or the like; Devices lists them
	defer dev.CloseAll()
	pd := must(dev.AllocPD())
	cq := must(dev.CreateCQ(verbs.CQOptions{Events: true}))
	src := must(pd.AllocMR(4096, verbs.MROptions{}))
	dst := must(pd.AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite}))
	a := must(pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq}))
	b := must(pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq}))

	// Two programs would exchange their endpoints and dst.Remote() over a socket.
	ctx := context.Background()
	check(a.Connect(ctx, must(b.Endpoint()), verbs.ConnectOptions{}))
	check(b.Connect(ctx, must(a.Endpoint()), verbs.ConnectOptions{}))

	copy(src.Bytes(), "hello, remote memory")
	batch := a.SendBatch()
	batch.Write(1, dst.Remote(), src.SGE(0, 20))
	must(batch.Post())

	done := make([]verbs.Completion, 1)
	must(cq.Wait(ctx, done))
	check(done[0].Err())
	fmt.Printf("%s\n", dst.Bytes()[:20])
	// Output: hello, remote memory
}

// rig is what the following examples begin with: two connected queue pairs, a
// and b, and memory for both.
type rig struct {
	dev      *verbs.Device
	sent     *verbs.CQ // of a
	received *verbs.CQ // of b
	a, b     *verbs.QP
	mr       *verbs.MR
}

func connected() rig {
	r := rig{dev: must(verbs.Open("loop0"))}
	pd := must(r.dev.AllocPD())
	r.sent = must(r.dev.CreateCQ(verbs.CQOptions{Events: true}))
	r.received = must(r.dev.CreateCQ(verbs.CQOptions{Events: true}))
	r.mr = must(pd.AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite}))
	r.a = must(pd.CreateQP(verbs.QPOptions{SendCQ: r.sent, RecvCQ: r.sent}))
	r.b = must(pd.CreateQP(verbs.QPOptions{SendCQ: r.received, RecvCQ: r.received}))
	ctx := context.Background()
	check(r.a.Connect(ctx, must(r.b.Endpoint()), verbs.ConnectOptions{}))
	check(r.b.Connect(ctx, must(r.a.Endpoint()), verbs.ConnectOptions{}))
	return r
}

// A batch of eight writes goes to the device in one call. Only the last makes a
// completion, which says that all before it are done as well.
func ExampleSendBatch() {
	r := connected()
	defer r.dev.CloseAll()
	copy(r.mr.Bytes(), "in order")

	batch := r.a.SendBatch()
	for i := range 8 {
		request := batch.Write(uint64(i), r.mr.Remote().At(uint64(100+i), 1), r.mr.SGE(i, 1))
		if i < 7 {
			request.Unsignaled()
		}
	}
	fmt.Println("posted:", must(batch.Post()))

	done := make([]verbs.Completion, 8)
	n := must(r.sent.Wait(context.Background(), done))
	check(done[0].Err())
	fmt.Println("completions:", n, "of request", done[0].ID())
	fmt.Printf("%s\n", r.mr.Bytes()[100:108])
	// Output:
	// posted: 8
	// completions: 1 of request 7
	// in order
}

// A message needs a receive that the peer posted before. It may carry 32 bits of
// immediate data.
func ExampleRecvBatch() {
	r := connected()
	defer r.dev.CloseAll()

	receives := r.b.RecvBatch()
	receives.Recv(7, r.mr.SGE(100, 64))
	must(receives.Post())

	n := copy(r.mr.Bytes(), "a message")
	sends := r.a.SendBatch()
	sends.SendImm(1, 42, r.mr.SGE(0, n))
	must(sends.Post())

	done := make([]verbs.Completion, 1)
	must(r.received.Wait(context.Background(), done))
	c := &done[0]
	check(c.Err())
	imm, _ := c.Imm()
	fmt.Printf("receive %d: %q, immediate %d\n", c.ID(), r.mr.Bytes()[100:100+c.Len()], imm)
	// Output: receive 7: "a message", immediate 42
}

// Waiting ends with its context. What was posted goes on.
func ExampleCQ_Wait() {
	r := connected()
	defer r.dev.CloseAll()

	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := r.received.Wait(ctx, make([]verbs.Completion, 16))
	fmt.Println(errors.Is(err, context.DeadlineExceeded))
	fmt.Println(err)
	// Output:
	// true
	// verbs: wait on CQ on loop0: context deadline exceeded
}

// A request that the device could not carry out says so in its completion. A
// write to memory that the peer did not open ends the connection: everything
// posted later is flushed.
func ExampleCompletion_Err() {
	r := connected()
	defer r.dev.CloseAll()

	target := r.mr.Remote()
	target.RKey++ // not the peer's key
	batch := r.a.SendBatch()
	batch.Write(1, target, r.mr.SGE(0, 8))
	batch.Write(2, r.mr.Remote(), r.mr.SGE(0, 8))
	must(batch.Post())

	done := make([]verbs.Completion, 1)
	for range 2 {
		must(r.sent.Wait(context.Background(), done))
		err := done[0].Err()
		switch {
		case errors.Is(err, verbs.StatusRemoteAccess):
			fmt.Println(done[0].ID(), "was refused by the peer")
		case errors.Is(err, verbs.StatusFlushed):
			fmt.Println(done[0].ID(), "was flushed")
		}
	}
	fmt.Println(must(r.a.State()))
	// Output:
	// 1 was refused by the peer
	// 2 was flushed
	// ERR
}

// Errors of calls say where and why, and unwrap to what errors.Is can find.
func ExampleOpError() {
	dev := must(verbs.Open("loop0"))
	defer dev.CloseAll()
	must(dev.AllocPD())

	err := dev.Close()
	fmt.Println(errors.Is(err, verbs.ErrBusy))
	fmt.Println(err)

	var op *verbs.OpError
	if errors.As(err, &op) {
		fmt.Println(op.Op, "|", op.Device)
	}
	// Output:
	// true
	// verbs: close device on loop0: device loop0 is still used by PD: close them first, or call CloseAll
	// close device | loop0
}

// An endpoint travels to the peer as text or as bytes.
func ExampleEndpoint() {
	sent := verbs.Endpoint{QPN: 0x12, PSN: 0xbbb318, LID: 7, MTU: must(verbs.MTUFromBytes(4096)), MaxReads: 16}
	text := must(sent.MarshalText())
	fmt.Println(string(text))

	var received verbs.Endpoint
	check(received.UnmarshalText(text))
	fmt.Println(received == sent)
	// Output:
	// gf1:qpn=0x000012,psn=0xbbb318,lid=7,mtu=4096,reads=16,gid=0000:0000:0000:0000:0000:0000:0000:0000
	// true
}
