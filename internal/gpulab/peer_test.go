//go:build linux && cgo

package gpulab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// formEnv says how the Go peer does it.
const formEnv = "GOFABRIC_GPULAB_FORM"

// Forms of the Go peer. All but the last are one process with all GPUs.
const (
	formThreads     = "goroutines"    // a goroutine with a thread and a blocking communicator for each GPU
	formNonBlocking = "non-blocking"  // the same with communicators that do not block
	formGroup       = "group"         // one goroutine, one group for all GPUs
	formProcesses   = "processes"     // a process for each GPU, as Python's peers
	batchSize       = 20              // operations before a wait, as nccl-tests
	burstSize       = 100             // enqueues before a wait, within what a stream takes
	peerFloats      = 2               // 8 bytes
	peerLimit       = 2 * time.Minute // of each peer, its start with all of PyTorch included
)

// peerRole is the Go peer. It takes the commands of testdata/peer.c.
func peerRole(p *process) {
	form := os.Getenv(formEnv)
	var r *rig
	if form == formProcesses {
		r = joinPeers(p)
	} else {
		r = newBench(p, gpus(p))
		r.ctx = context.Background()
		r.init(nccl.Config{Blocking: form != formNonBlocking})
	}
	if form == formThreads || form == formProcesses {
		r.ctx = context.Background()
	}
	alone, err := nccl.InitAll(r.ctx, r.devs[:1], nccl.Config{Blocking: form != formNonBlocking})
	require.NoError(p, err)
	r.adopt(alone)
	b := &peerBench{rig: r, lone: alone[0], form: form}
	for i := range r.comms {
		b.send = append(b.send, r.alloc(i, 4*peerFloats))
		b.recv = append(b.recv, r.alloc(i, 4*peerFloats))
	}
	lib, err := nccl.Library()
	require.NoError(p, err)
	fmt.Printf("ready NCCL %d\n", int(lib.Version))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what string
		var count int
		_, err := fmt.Sscan(lines.Text(), &what, &count)
		require.NoError(p, err)
		ns, err := b.measure(what, count)
		require.NoError(p, err)
		fmt.Printf("ns %.1f\n", ns)
	}
}

// joinPeers is a rank of two processes, with a blocking communicator.
func joinPeers(p *process) *rig {
	j := joinJob(p)
	require.NoError(p, j.comms[0].Close(j.ctx))
	var id nccl.UniqueID
	if j.session.Rank() == 0 {
		var err error
		id, err = nccl.NewUniqueID()
		require.NoError(p, err)
	}
	data, err := j.session.Broadcast(j.ctx, 0, id[:])
	require.NoError(p, err)
	require.NoError(p, id.UnmarshalBinary(data))
	c, err := nccl.InitRank(j.ctx, j.devs[0], id, j.session.Rank(), j.session.Size(), nccl.Config{Blocking: true})
	require.NoError(p, err)
	j.comms = []*nccl.Comm{c}
	j.adopt(j.comms)
	return j.rig
}

type peerBench struct {
	*rig
	lone       *nccl.Comm
	form       string
	send, recv []cuda.Span
}

// measure answers nanoseconds per operation, the mean of the ranks of this
// process.
func (b *peerBench) measure(what string, count int) (float64, error) {
	switch {
	case what == "alone":
		if b.comms[0].Rank() != 0 {
			return math.NaN(), nil
		}
		return b.aloneCost(count)
	case b.form == formGroup:
		return b.measureGroup(what, count)
	}
	var all sync.WaitGroup
	ns, errs := make([]float64, len(b.comms)), make([]error, len(b.comms))
	for i := range b.comms {
		all.Add(1)
		go func() {
			defer all.Done()
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			binding, err := b.comms[i].Device().Bind()
			if err != nil {
				errs[i] = err
				return
			}
			ns[i], err = b.rank(i, what, count)
			errs[i] = errors.Join(err, binding.Close())
		}()
	}
	all.Wait()
	sum := 0.0
	for i := range ns {
		if errs[i] != nil {
			return 0, errs[i]
		}
		sum += ns[i]
	}
	return sum / float64(len(ns)), nil
}

func (b *peerBench) rank(i int, what string, count int) (float64, error) {
	c, s := b.comms[i], b.streams[i]
	return timed(what, count,
		func() error { return c.AllReduce(b.ctx, b.send[i], b.recv[i], peerFloats, nccl.Float32, nccl.Sum, s) },
		func() error { return c.Wait(b.ctx, s) })
}

// measureGroup issues for all ranks at once: its enqueue costs one group.
func (b *peerBench) measureGroup(what string, count int) (float64, error) {
	g := nccl.NewGroup()
	defer g.Close()
	for i, c := range b.comms {
		if err := g.AllReduce(c, b.send[i], b.recv[i], peerFloats, nccl.Float32, nccl.Sum, b.streams[i]); err != nil {
			return 0, err
		}
	}
	return timed(what, count, func() error { return g.Run(b.ctx) }, b.wait)
}

// aloneCost is the cost of a call that has nothing to do: in place, of one rank.
func (b *peerBench) aloneCost(count int) (float64, error) {
	s := b.streams[0]
	return timed("enqueue", count,
		func() error {
			return b.lone.AllReduce(b.ctx, b.send[0], b.send[0], peerFloats, nccl.Float32, nccl.Sum, s)
		},
		func() error { return b.lone.Wait(b.ctx, s) })
}

// timed does count operations in one of the ways and answers nanoseconds for each.
func timed(what string, count int, enqueue, wait func() error) (float64, error) {
	step := map[string]int{"wait": 1, "batch": batchSize, "enqueue": burstSize}[what]
	if step == 0 {
		return 0, fmt.Errorf("no measurement is called %s", strconv.Quote(what))
	}
	spent, done := time.Duration(0), 0
	begin := time.Now()
	for done < count {
		start := time.Now()
		for range step {
			if err := enqueue(); err != nil {
				return 0, err
			}
		}
		if what == "enqueue" {
			spent += time.Since(start)
		}
		if err := wait(); err != nil {
			return 0, err
		}
		done += step
	}
	if what != "enqueue" {
		spent = time.Since(begin)
	}
	return float64(spent.Nanoseconds()) / float64(done), nil
}
