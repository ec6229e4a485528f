//go:build linux && cgo

package main

import (
	"fmt"
	"testing"

	"github.com/gofabric/gofabric/internal/cbench"
	"github.com/gofabric/gofabric/verbs"
)

// exRig is a queue pair with builders and an extended completion queue on the
// null device.
type exRig struct {
	rig
	cq  *verbs.CQEx
	wcs []verbs.CompletionEx
}

func newExRig() (*exRig, error) {
	dev, err := verbs.Open(cbench.Device)
	if err != nil {
		return nil, err
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return nil, err
	}
	mr, err := pd.AllocMR(4096, verbs.MROptions{})
	if err != nil {
		return nil, err
	}
	cq, err := dev.CreateCQEx(verbs.CQExOptions{})
	if err != nil {
		return nil, err
	}
	qp, err := pd.CreateQPEx(verbs.QPExOptions{
		QPOptions: verbs.QPOptions{SendCQ: cq.CQ(), RecvCQ: cq.CQ()}, SendOps: verbs.OpWrite,
	})
	if err != nil {
		return nil, err
	}
	r := &exRig{rig: rig{dev: dev, batch: qp.SendBatch()}, cq: cq, wcs: make([]verbs.CompletionEx, 64)}
	for i := range pieces {
		r.local[i] = mr.SGE(size*i, size)
		r.remote[i] = mr.Remote().At(uint64(size*i), size)
	}
	return r, connectToItself(qp)
}

func (r *exRig) post(batch int) error {
	for i := range batch {
		r.batch.Write(uint64(i), r.remote[i%pieces], r.local[i%pieces])
	}
	_, err := r.batch.Post()
	return err
}

// round posts a batch of writes and polls until all have completed.
func (r *exRig) round(batch int) error {
	if err := r.post(batch); err != nil {
		return err
	}
	for left := batch; left > 0; {
		n, err := r.cq.Poll(r.wcs[:min(left, len(r.wcs))])
		if err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// fieldByField is round with a crossing for each field: the opcode, the length
// and the flags.
func (r *exRig) fieldByField(batch int) error {
	if err := r.post(batch); err != nil {
		return err
	}
	p := r.cq.Poller()
	for left := batch; left > 0; {
		ok, err := p.Start()
		for ; ok; ok, err = p.Next() {
			p.Opcode()
			p.Len()
			p.Flags()
			left--
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// extended prints what the builders and extended polls cost beside C's, and
// beside the classic interface.
func extended(classic map[int]float64) error {
	r, err := newExRig()
	if err != nil {
		return err
	}
	defer r.dev.CloseAll()
	fmt.Println("\nthe same by builders and extended polls, all standard fields read, ns:")
	fmt.Printf("%-14s %8s %8s %8s %14s %8s\n", "batch", "Go", "C", "Go/C", "Go/classic Go", "allocs")
	for _, batch := range batches {
		var goNS, cNS []float64
		for range turns {
			g, err := turn(perTurn/batch, batch, func() error { return r.round(batch) })
			if err != nil {
				return err
			}
			goNS = append(goNS, g)
			cNS = append(cNS, float64(cbench.CLoopEx(batch, perTurn/batch))/float64(perTurn/batch*batch))
		}
		allocs := testing.AllocsPerRun(100, func() { _ = r.round(batch) })
		g, c := median(goNS), median(cNS)
		fmt.Printf("%-14d %8.1f %8.1f %8.2f %14.2f %8.0f\n", batch, g, c, g/c, g/classic[batch], allocs)
		if err := assertNone(allocs); err != nil {
			return err
		}
	}
	const batch = 16
	var goNS []float64
	for range turns {
		g, err := turn(perTurn/8/batch, batch, func() error { return r.fieldByField(batch) })
		if err != nil {
			return err
		}
		goNS = append(goNS, g)
	}
	allocs := testing.AllocsPerRun(100, func() { _ = r.fieldByField(batch) })
	fmt.Printf("%-14s %8.1f %8s %8s %14.2f %8.0f\n", "16, by field", median(goNS), "", "", median(goNS)/classic[batch], allocs)
	return assertNone(allocs)
}
