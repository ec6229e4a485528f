package verbs

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// WCFields names fields of completions (enum ibv_create_cq_wc_flags).
type WCFields uint32

// Fields of completions. The queue pair's number is always there.
const (
	FieldByteLen       WCFields = cverbs.IBV_WC_EX_WITH_BYTE_LEN
	FieldImm           WCFields = cverbs.IBV_WC_EX_WITH_IMM // and the key that the sender invalidated
	FieldQPNum         WCFields = cverbs.IBV_WC_EX_WITH_QP_NUM
	FieldSrcQP         WCFields = cverbs.IBV_WC_EX_WITH_SRC_QP
	FieldSLID          WCFields = cverbs.IBV_WC_EX_WITH_SLID
	FieldServiceLevel  WCFields = cverbs.IBV_WC_EX_WITH_SL
	FieldDLIDPathBits  WCFields = cverbs.IBV_WC_EX_WITH_DLID_PATH_BITS
	FieldTimestamp     WCFields = cverbs.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP
	FieldCVLAN         WCFields = cverbs.IBV_WC_EX_WITH_CVLAN
	FieldFlowTag       WCFields = cverbs.IBV_WC_EX_WITH_FLOW_TAG
	FieldTag           WCFields = cverbs.IBV_WC_EX_WITH_TM_INFO
	FieldWallclockTime WCFields = cverbs.IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK

	// FieldsStandard are those that a plain completion has.
	FieldsStandard = FieldByteLen | FieldImm | FieldQPNum | FieldSrcQP | FieldSLID | FieldServiceLevel | FieldDLIDPathBits
)

// CQExOptions are the options of an extended completion queue.
type CQExOptions struct {
	CQOptions
	// Fields are what completions can be asked for; zero is FieldsStandard. A
	// device reads only what it was asked for.
	Fields WCFields
	// SingleThreaded says that no two calls touch the queue at once: the device
	// need not lock. It holds for polling as it is; queue pairs must then not
	// close while another goroutine polls.
	SingleThreaded bool
	// IgnoreOverrun lets completions be lost without an error when the queue
	// overflows, for those who do not look at them.
	IgnoreOverrun bool
	// ParentDomain gives the queue the domain's allocators and threads; nil is
	// none.
	ParentDomain *PD
}

// CQEx is an extended completion queue: its completions have more fields, and
// can be read field by field (Poller).
//
// Poll, Wait and the poller belong to one goroutine at a time, as CQ.Poll does:
// they are the same side.
type CQEx struct{ cq *CQ }

// extension is what an extended queue has more than a plain one. What follows
// raw belongs to whoever is inside the CQ's guard.
type extension struct {
	raw     cverbs.CQEx
	fields  WCFields
	detours uint32
	scratch []CompletionEx
	poller  Poller
}

// scratchLen is how many completions one crossing brings to a plain poll of an
// extended queue.
const scratchLen = 32

// CreateCQEx makes an extended completion queue. It fails with ErrNotSupported
// where the device has none, or not these fields or flags.
//
// Implements: ibv_create_cq_ex.
func (d *Device) CreateCQEx(opts CQExOptions) (*CQEx, error) {
	const op = "create CQ"
	if opts.Fields == 0 {
		opts.Fields = FieldsStandard
	}
	opts.Fields |= FieldQPNum
	init := cverbs.CQInit{Fields: uint64(opts.Fields)}
	if opts.SingleThreaded {
		init.Flags |= cverbs.IBV_CREATE_CQ_ATTR_SINGLE_THREADED
	}
	if opts.IgnoreOverrun {
		init.Flags |= cverbs.IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN
	}
	var parents []*life.Object
	if pd := opts.ParentDomain; pd != nil {
		if pd.dev != d {
			return nil, d.err(op, fmt.Errorf("the parent domain is of another device"))
		}
		if err := pd.obj.Use(); err != nil {
			return nil, d.err(op, err)
		}
		defer pd.obj.Done()
		init.ParentDomain = pd.pd
		parents = append(parents, &pd.obj)
	}
	cq, err := d.createCQ(opts.CQOptions, func(o CQOptions, events cverbs.Channel) (cverbs.CQ, *extension, error) {
		init.CQE, init.Channel, init.Vector = o.Depth, events, o.Vector
		raw, err := d.ctx.CreateCQEx(init)
		if err != nil {
			return cverbs.CQ{}, nil, err
		}
		return raw.CQ(), &extension{
			raw: raw, fields: opts.Fields, detours: d.detours(), scratch: make([]CompletionEx, scratchLen),
		}, nil
	}, parents...)
	if err != nil {
		return nil, err
	}
	cq.ex.poller.cq = cq
	return &CQEx{cq: cq}, nil
}

// CQ is the queue for everything that does not know extended ones: queue pairs
// are made with it, and its Poll gives plain completions.
//
// Implements: ibv_cq_ex_to_cq.
func (c *CQEx) CQ() *CQ { return c.cq }

// Fields returns the fields that completions can be asked for.
func (c *CQEx) Fields() WCFields {
	if c.cq == nil {
		return 0
	}
	return c.cq.ex.fields
}

// queue is the queue, or a closed one if it was never made.
func (c *CQEx) queue() *CQ {
	if c.cq == nil {
		return &CQ{}
	}
	return c.cq
}

// Poll moves completions to dst and returns how many; none is no error. It
// crosses into C once and reads every field that the queue was made for.
//
// Implements: ibv_start_poll, ibv_next_poll, ibv_end_poll.
func (c *CQEx) Poll(dst []CompletionEx) (int, error) {
	if err := c.queue().side.enter(); err != nil {
		return 0, c.cq.err("poll CQ", err)
	}
	n, err := c.cq.ex.poll(c.cq, dst)
	c.cq.side.exit()
	return n, err
}

// Wait sleeps until there is a completion, and moves what there is to dst, as
// CQ.Wait does.
//
// Implements: ibv_req_notify_cq, ibv_get_cq_event, ibv_ack_cq_events.
func (c *CQEx) Wait(ctx context.Context, dst []CompletionEx) (int, error) {
	if len(dst) == 0 {
		return c.queue().wait(ctx, nil)
	}
	return c.queue().wait(ctx, func() (int, error) { return c.cq.ex.poll(c.cq, dst) })
}

// Close is CQ.Close.
//
// Implements: ibv_destroy_cq.
func (c *CQEx) Close() error { return c.queue().Close() }

// CloseAll is CQ.CloseAll.
func (c *CQEx) CloseAll() error { return c.queue().CloseAll() }

// poll is Poll for whoever is inside the guard.
func (x *extension) poll(cq *CQ, dst []CompletionEx) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	if cq.stash.attention.Load() {
		var plain [scratchLen]Completion
		if n := cq.stash.take(plain[:min(len(dst), scratchLen)]); n > 0 {
			for i := range n {
				dst[i] = CompletionEx{Completion: plain[i]}
			}
			cq.counts.polled(n)
			return n, nil
		}
	}
	n, err := x.ask(dst)
	cq.counts.polled(n)
	if err != nil {
		return 0, cq.err("poll CQ", err)
	}
	return n, nil
}

func (x *extension) ask(dst []CompletionEx) (int, error) {
	return x.raw.Poll((*cverbs.WCEx)(unsafe.Pointer(&dst[0])), len(dst), uint32(x.fields), x.detours)
}

// strip asks up to polls times, in one crossing, for completions of which only the
// plain fields count.
func (x *extension) strip(dst []Completion, polls int) (int, error) {
	n, err := x.raw.Spin((*cverbs.WCEx)(unsafe.Pointer(&x.scratch[0])), min(len(dst), len(x.scratch)), uint32(x.fields), x.detours, polls)
	for i := range n {
		dst[i] = x.scratch[i].Completion
	}
	return n, err
}
