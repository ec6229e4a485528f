//go:build linux && cgo

package verbs_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

// A datagram goes to any queue pair of type UD whose Q_Key is known; the
// receiver learns from whom it came and answers.
func ExampleSendBatch_SendTo() {
	dev := must(verbs.Open("loop0"))
	defer dev.CloseAll()
	pd := must(dev.AllocPD())
	cq := must(dev.CreateCQ(verbs.CQOptions{Events: true}))
	mr := must(pd.AllocMR(4096, verbs.MROptions{}))
	a := must(pd.CreateQP(verbs.QPOptions{Type: verbs.UD, SendCQ: cq, RecvCQ: cq}))
	b := must(pd.CreateQP(verbs.QPOptions{Type: verbs.UD, SendCQ: cq, RecvCQ: cq}))
	check(a.Activate())
	check(b.Activate())

	// The first GRHLen bytes of a receive are for the header.
	b.RecvBatch().Recv(1, mr.SGE(1024, 1024))
	must(b.RecvBatch().Post())
	to := must(a.CreateAH(must(b.Endpoint()), verbs.RouteOptions{}))
	n := copy(mr.Bytes(), "hello")
	a.SendBatch().SendTo(2, to, b.Num(), b.QKey(), mr.SGE(0, n))
	must(a.SendBatch().Post())

	done := make([]verbs.Completion, 1)
	for {
		must(cq.Wait(context.Background(), done))
		check(done[0].Err())
		if from, ok := done[0].SrcQP(); ok {
			header := mr.Bytes()[1024:][:verbs.GRHLen]
			back := must(pd.CreateAHFromCompletion(&done[0], header, 1))
			fmt.Printf("%s\n", mr.Bytes()[1024+verbs.GRHLen:1024+done[0].Len()])
			b.SendBatch().SendTo(3, back, from, verbs.DefaultQKey, mr.SGE(0, n))
			break
		}
	}
	// Output:
	// hello
}

// Two queue pairs take their receives from one queue. When few are left, an
// event says so.
func ExampleSRQ() {
	dev := must(verbs.Open("loop0"))
	defer dev.CloseAll()
	pd := must(dev.AllocPD())
	cq := must(dev.CreateCQ(verbs.CQOptions{Events: true}))
	mr := must(pd.AllocMR(4096, verbs.MROptions{}))
	events := must(dev.Events(verbs.EventOptions{}))
	srq := must(pd.CreateSRQ(verbs.SRQOptions{MaxRecv: 16}))
	for i := range 4 {
		srq.RecvBatch().Recv(uint64(i), mr.SGE(64*i, 64))
	}
	must(srq.RecvBatch().Post())
	check(srq.ArmLimit(3))

	ctx := context.Background()
	for i := range 2 {
		sent := must(dev.CreateCQ(verbs.CQOptions{}))
		from := must(pd.CreateQP(verbs.QPOptions{SendCQ: sent, RecvCQ: sent}))
		to := must(pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, SRQ: srq}))
		check(from.Connect(ctx, must(to.Endpoint()), verbs.ConnectOptions{}))
		check(to.Connect(ctx, must(from.Endpoint()), verbs.ConnectOptions{}))
		n := copy(mr.Bytes()[1024:], fmt.Sprintf("from peer %d", i))
		from.SendBatch().Send(9, mr.SGE(1024, n))
		must(from.SendBatch().Post())
		done := make([]verbs.Completion, 1)
		must(cq.Wait(ctx, done))
		check(done[0].Err())
		at := 64 * int(done[0].ID())
		fmt.Printf("receive %d: %s\n", done[0].ID(), mr.Bytes()[at:at+done[0].Len()])
	}
	for {
		ev := must(events.Next(ctx))
		if ev.SRQ == srq {
			fmt.Println(ev)
			break
		}
	}
	// Output:
	// receive 0: from peer 0
	// receive 1: from peer 1
	// SRQ: SRQ limit reached
}

// A counter in the peer's memory that many may add to.
func ExampleSendBatch_FetchAdd() {
	r := connected()
	defer r.dev.CloseAll()
	shared := must(r.a.PD().AllocMR(8, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteAtomic}))
	binary.NativeEndian.PutUint64(shared.Bytes(), 40)
	r.a.SendBatch().FetchAdd(1, shared.Remote(), 2, r.mr.SGE(0, 8))
	must(r.a.SendBatch().Post())
	done := make([]verbs.Completion, 1)
	must(r.sent.Wait(context.Background(), done))
	check(done[0].Err())
	fmt.Println(binary.NativeEndian.Uint64(r.mr.Bytes()), "then", binary.NativeEndian.Uint64(shared.Bytes()))
	// Output: 40 then 42
}

// Events are read and acknowledged whether or not anybody waits for them.
func ExampleDevice_Events() {
	dev := must(verbs.Open("loop0"))
	events := must(dev.Events(verbs.EventOptions{}))
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := events.Next(ctx)
	fmt.Println("nothing happened:", errors.Is(err, context.DeadlineExceeded))
	check(dev.Close())
	_, err = events.Next(context.Background())
	fmt.Println("closed:", errors.Is(err, verbs.ErrClosed))
	// Output:
	// nothing happened: true
	// closed: true
}
