package verbs

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/life"
)

// owners are the objects that another one is made below.
type owners = []*life.Object

// XRCD is an XRC domain: what arrives at its receiving queue pairs may go to any
// of its shared receive queues. It is safe for concurrent use.
type XRCD struct {
	obj  life.Object
	dev  *Device
	xrcd cverbs.XRCD
}

// XRCDOptions are the options of an XRC domain.
type XRCDOptions struct {
	// File ties the domain to a file: whoever opens it by the same file, in this
	// process or another, has the same domain. Nil makes a domain of its own.
	File *os.File
	// Exclusive fails if the file's domain exists already.
	Exclusive bool
}

// OpenXRCD opens an XRC domain. It fails with ErrNotSupported where the device
// has no XRC.
//
// Implements: ibv_open_xrcd.
func (d *Device) OpenXRCD(opts XRCDOptions) (*XRCD, error) {
	const op = "open XRC domain"
	if err := d.obj.Use(); err != nil {
		return nil, d.err(op, err)
	}
	defer d.obj.Done()
	flags := syscall.O_CREAT
	if opts.Exclusive {
		flags |= syscall.O_EXCL
	}
	if opts.File != nil {
		raw, err := opts.File.SyscallConn()
		if err != nil {
			return nil, d.err(op, err)
		}
		var x *XRCD
		var oerr error
		if err := raw.Control(func(f uintptr) { x, oerr = d.openXRCD(int(f), flags) }); err != nil {
			return nil, d.err(op, err)
		}
		return x, oerr
	}
	return d.openXRCD(-1, flags)
}

func (d *Device) openXRCD(fd, flags int) (*XRCD, error) {
	raw, err := d.ctx.OpenXRCD(fd, flags)
	if err != nil {
		return nil, d.err("open XRC domain", err)
	}
	x := &XRCD{dev: d, xrcd: raw}
	life.Enter(&x.obj, x, "XRC domain", &d.obj)
	logDebug("XRC domain opened", "device", d.name)
	return x, nil
}

// CreateQP makes a receiving XRC queue pair (XRCRecv) in the RESET state. Type and
// queue sizes of the options have no meaning: it posts nothing. CQs and an SRQ are
// an error: its receives come from the domain's XRC SRQs, and complete on theirs.
//
// Implements: ibv_create_qp_ex.
func (x *XRCD) CreateQP(opts QPOptions) (*QP, error) {
	opts.Type = XRCRecv
	if x.dev == nil {
		return nil, x.dev.err("create QP", ErrClosed)
	}
	qp := &QP{pd: &PD{dev: x.dev}, opts: opts, ex: &exInit{
		QPExOptions: QPExOptions{QPOptions: opts}, mask: cverbs.IBV_QP_INIT_ATTR_XRCD, xrcd: x,
	}}
	return qp.make(x.dev, &x.obj)
}

// OpenQP opens the receiving queue pair of the domain that has this number, made
// in this process or another. Closing it leaves the queue pair to the others that
// have it open. It fails with syscall.EINVAL if the domain has no such queue pair.
//
// Implements: ibv_open_qp.
func (x *XRCD) OpenQP(number uint32, opts QPOptions) (*QP, error) {
	opts.Type = XRCRecv
	if x.dev == nil {
		return nil, x.dev.err("open QP", ErrClosed)
	}
	qp := &QP{pd: &PD{dev: x.dev}, opts: opts, ex: &exInit{xrcd: x, opens: true, number: number}}
	return qp.make(x.dev, &x.obj)
}

// Close closes the domain. It fails with ErrBusy while queue pairs or shared
// receive queues of it are open.
//
// Implements: ibv_close_xrcd.
func (x *XRCD) Close() error {
	if err := x.obj.Close(x.xrcd.Close); err != nil {
		return x.dev.err("close XRC domain", err)
	}
	return nil
}

// CloseAll closes everything of the domain, the newest first, and the domain.
func (x *XRCD) CloseAll() error { return errors.Join(x.obj.CloseChildren(), x.Close()) }

// SRQExOptions are the options of an extended shared receive queue. It is one of
// XRC or one with tag matching.
type SRQExOptions struct {
	SRQOptions
	// XRCD makes the queue one of XRC: its receives are taken by the domain's
	// queue pairs, for requests that name its number.
	XRCD *XRCD
	// CQ gets the completions of its receives; it is needed.
	CQ *CQ
	// MaxTags makes the queue match tags: it is how many tagged receives the
	// queue may hold.
	MaxTags int
	// MaxTagOps is how many changes of the list of tags may be under way; zero
	// is MaxTags.
	MaxTagOps int
}

// CreateSRQEx makes an extended shared receive queue. It fails with
// ErrNotSupported where the device has none.
//
// Implements: ibv_create_srq_ex.
func (pd *PD) CreateSRQEx(opts SRQExOptions) (*SRQ, error) {
	const op = "create SRQ"
	d := pd.dev
	init := cverbs.SRQInit{Mask: cverbs.IBV_SRQ_INIT_ATTR_TYPE | cverbs.IBV_SRQ_INIT_ATTR_PD | cverbs.IBV_SRQ_INIT_ATTR_CQ}
	switch {
	case opts.CQ == nil:
		return nil, d.err(op, errors.New("an extended SRQ needs a CQ"))
	case opts.CQ.dev != d || opts.XRCD != nil && opts.XRCD.dev != d:
		return nil, d.err(op, errors.New("the CQ or the XRC domain is of another device"))
	case (opts.XRCD != nil) == (opts.MaxTags != 0):
		return nil, d.err(op, errors.New("an extended SRQ has an XRCD or MaxTags, one of the two"))
	case opts.MaxTags < 0 || opts.MaxTags > math.MaxInt32 || opts.MaxTagOps < 0 || opts.MaxTagOps > math.MaxInt32:
		return nil, d.err(op, fmt.Errorf("MaxTags %d and MaxTagOps %d: they must be 0 to %d", opts.MaxTags, opts.MaxTagOps, math.MaxInt32))
	}
	parents := owners{&opts.CQ.obj}
	if opts.XRCD != nil {
		init.Type, init.XRCD = cverbs.IBV_SRQT_XRC, opts.XRCD.xrcd
		init.Mask |= cverbs.IBV_SRQ_INIT_ATTR_XRCD
		parents = append(parents, &opts.XRCD.obj)
	} else {
		if opts.MaxTagOps == 0 {
			opts.MaxTagOps = opts.MaxTags
		}
		init.Type, init.MaxTags, init.MaxOps = cverbs.IBV_SRQT_TM, uint32(opts.MaxTags), uint32(opts.MaxTagOps)
		init.Mask |= cverbs.IBV_SRQ_INIT_ATTR_TM
	}
	init.CQ = opts.CQ.cq
	srq, err := pd.createSRQ(opts.SRQOptions, func(attr *cverbs.SRQAttr) (cverbs.SRQ, error) {
		init.PD, init.Attr = pd.pd, *attr
		raw, err := d.ctx.CreateSRQEx(&init)
		*attr = init.Attr
		return raw, err
	}, parents...)
	if err != nil {
		return nil, err
	}
	srq.completesOn(opts.CQ)
	if opts.MaxTags > 0 {
		if srq.tags, err = newTagList(); err != nil {
			return nil, errors.Join(d.err(op, err), srq.Close())
		}
	}
	return srq, nil
}

// Number returns the number that requests of XRC queue pairs name the queue by
// (Request.ToSRQ). Only a queue of XRC has one.
//
// Implements: ibv_get_srq_num.
func (srq *SRQ) Number() (uint32, error) {
	const op = "read SRQ's number"
	if err := srq.obj.Use(); err != nil {
		return 0, srq.err(op, err)
	}
	defer srq.obj.Done()
	n, err := srq.srq.Number()
	if err != nil {
		return 0, srq.err(op, err)
	}
	return n, nil
}
