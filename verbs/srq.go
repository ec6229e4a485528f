package verbs

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// SRQOptions are the options of a shared receive queue.
type SRQOptions struct {
	// MaxRecv is how many receives the queue holds; zero is 128.
	MaxRecv int
	// MaxSGE is how many pieces a receive may have; zero is 1.
	MaxSGE int
}

func (o SRQOptions) withDefaults() SRQOptions {
	if o.MaxRecv == 0 {
		o.MaxRecv = 128
	}
	if o.MaxSGE == 0 {
		o.MaxSGE = 1
	}
	return o
}

// SRQ is a shared receive queue: many queue pairs (QPOptions.SRQ) take their
// receives from it, whichever gets a message next. A receive completes on the
// RecvCQ of the queue pair that took it; Completion.QPN says which that is.
//
// The batch (RecvBatch and its methods, and Resize) belongs to one goroutine at
// a time: a second one gets ErrConcurrentUse. The other methods are safe for
// concurrent use.
//
// Closing a queue pair leaves the queue alone. What the queue pair had taken
// completes, as StatusFlushed if its message had not arrived; what it had not
// taken stays for the others.
type SRQ struct {
	obj  life.Object
	pd   *PD
	srq  cverbs.SRQ
	opts SRQOptions
	recv SRQRecvBatch
	tags *tagList // nil without tag matching

	mu  sync.Mutex
	cqs []*CQ // those that its receives ever completed on
}

// CreateSRQ makes a shared receive queue.
//
// It fails with ErrNotSupported where the device has none.
//
// Implements: ibv_create_srq.
func (pd *PD) CreateSRQ(opts SRQOptions) (*SRQ, error) {
	return pd.createSRQ(opts, func(attr *cverbs.SRQAttr) (cverbs.SRQ, error) { return pd.pd.CreateSRQ(attr) })
}

func (pd *PD) createSRQ(opts SRQOptions, create func(*cverbs.SRQAttr) (cverbs.SRQ, error), parents ...*life.Object) (*SRQ, error) {
	const op = "create SRQ"
	d := pd.dev
	if d == nil {
		return nil, d.err(op, ErrClosed)
	}
	opts = opts.withDefaults()
	if err := opts.check(&d.attr); err != nil {
		return nil, d.err(op, err)
	}
	parents = append(parents, &pd.obj)
	for _, p := range parents {
		if err := p.Use(); err != nil {
			return nil, d.err(op, err)
		}
		defer p.Done()
	}
	srq := &SRQ{pd: pd, opts: opts}
	granted := cverbs.SRQAttr{MaxWR: uint32(opts.MaxRecv), MaxSGE: uint32(opts.MaxSGE)}
	var err error
	if srq.srq, err = create(&granted); err != nil {
		return nil, d.err(op, err)
	}
	if err := srq.recv.init(srq); err != nil {
		srq.recv.discard()
		return nil, d.err(op, errors.Join(err, srq.srq.Destroy()))
	}
	d.async.srqs.add(srq.srq, srq)
	life.Enter(&srq.obj, srq, fmt.Sprintf("SRQ of %d", opts.MaxRecv), parents...)
	logDebug("SRQ created", "device", d.name, "depth", opts.MaxRecv)
	return srq, nil
}

func (o SRQOptions) check(attr *DeviceAttr) error {
	if attr.MaxSRQ == 0 {
		return fmt.Errorf("the device has no shared receive queues: %w", ErrNotSupported)
	}
	if o.MaxRecv < 1 || o.MaxRecv > attr.MaxSRQWR {
		return fmt.Errorf("MaxRecv %d: the device allows 1 to %d", o.MaxRecv, attr.MaxSRQWR)
	}
	if o.MaxSGE < 1 || o.MaxSGE > attr.MaxSRQSGE {
		return fmt.Errorf("MaxSGE %d: the device allows 1 to %d", o.MaxSGE, attr.MaxSRQSGE)
	}
	return nil
}

// completesOn notes a CQ whose poller may know the queue's record.
func (srq *SRQ) completesOn(cq *CQ) {
	srq.mu.Lock()
	defer srq.mu.Unlock()
	if !slices.Contains(srq.cqs, cq) {
		srq.cqs = append(srq.cqs, cq)
	}
}

// SRQAttr is the state of a shared receive queue (struct ibv_srq_attr,
// ibv_query_srq(3)).
type SRQAttr struct {
	MaxRecv int
	MaxSGE  int
	Limit   int // as armed; 0 once its event has come
}

// Query asks the device for the queue's state.
//
// Implements: ibv_query_srq.
func (srq *SRQ) Query() (SRQAttr, error) {
	if err := srq.obj.Use(); err != nil {
		return SRQAttr{}, srq.err("query SRQ", err)
	}
	defer srq.obj.Done()
	raw, err := srq.srq.Query()
	if err != nil {
		return SRQAttr{}, srq.err("query SRQ", err)
	}
	return SRQAttr{MaxRecv: int(raw.MaxWR), MaxSGE: int(raw.MaxSGE), Limit: int(raw.Limit)}, nil
}

// ArmLimit asks for one EventSRQLimit (Device.Events) when fewer than n receives
// are left. It comes at once if that is so already. Zero takes the request back.
//
// Implements: ibv_modify_srq.
func (srq *SRQ) ArmLimit(n int) error {
	const op = "arm SRQ limit"
	if err := srq.obj.Use(); err != nil {
		return srq.err(op, err)
	}
	defer srq.obj.Done()
	if depth := int(srq.recv.depth.Load()); n < 0 || n > depth {
		return srq.err(op, fmt.Errorf("limit %d: the queue holds %d", n, depth))
	}
	if err := srq.srq.Modify(&cverbs.SRQAttr{Limit: uint32(n)}, cverbs.IBV_SRQ_LIMIT); err != nil {
		return srq.err(op, err)
	}
	return nil
}

// Resize changes how many receives the queue holds. There must not be more than
// n in it. It fails with ErrNotSupported where the device cannot.
//
// Implements: ibv_modify_srq.
func (srq *SRQ) Resize(n int) error {
	const op = "resize SRQ"
	if srq.pd == nil {
		return srq.err(op, ErrClosed)
	}
	attr := &srq.pd.dev.attr
	if n < 1 || n > attr.MaxSRQWR {
		return srq.err(op, fmt.Errorf("%d receives: the device allows 1 to %d", n, attr.MaxSRQWR))
	}
	if attr.Capabilities&cverbs.IBV_DEVICE_SRQ_RESIZE == 0 {
		return srq.err(op, ErrNotSupported)
	}
	if err := srq.obj.Use(); err != nil {
		return srq.err(op, err)
	}
	defer srq.obj.Done()
	if err := srq.recv.side.enter(); err != nil {
		return srq.err(op, err)
	}
	defer srq.recv.side.exit()
	if err := srq.recv.resize(n); err != nil {
		return srq.err(op, err)
	}
	return nil
}

// Stats returns what was posted to the queue and what completed, on all CQs.
func (srq *SRQ) Stats() QueueStats {
	if srq.obj.Use() != nil {
		return QueueStats{}
	}
	defer srq.obj.Done()
	return srq.recv.stats()
}

func (srq *SRQ) err(op string, err error) error {
	if srq == nil || srq.pd == nil {
		return &OpError{Op: op, Err: err} // it was never made
	}
	return srq.pd.dev.err(op, err)
}

// Close destroys the queue; receives still in it are dropped. It fails with
// ErrBusy while queue pairs use it.
//
// Implements: ibv_destroy_srq.
func (srq *SRQ) Close() error {
	err := srq.obj.Close(func() error {
		srq.recv.side.shut()
		if err := srq.srq.Destroy(); err != nil {
			return err
		}
		srq.pd.dev.async.srqs.remove(srq.srq, srq)
		srq.recv.abandon(srq.cqs)
		if srq.tags != nil {
			srq.tags.rec.Leave()
			afterPolls(srq.cqs, srq.tags.rec.Free)
		}
		logDebug("SRQ destroyed", "device", srq.pd.dev.name)
		return nil
	})
	if err != nil {
		return srq.err("destroy SRQ", err)
	}
	return nil
}

// CloseAll closes the queue pairs on the queue, the newest first, and the queue.
func (srq *SRQ) CloseAll() error {
	return errors.Join(srq.obj.CloseChildren(), srq.Close())
}

// afterPolls calls free once the poller of each CQ cannot be at work on what it
// frees.
func afterPolls(cqs []*CQ, free func()) {
	left := new(atomic.Int32)
	left.Store(int32(len(cqs)))
	if len(cqs) == 0 {
		free()
	}
	for _, cq := range cqs {
		cq.bury(func() {
			if left.Add(-1) == 0 {
				free()
			}
		})
	}
}
