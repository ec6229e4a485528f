package verbs

import (
	"errors"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// Poller reads completions of an extended queue one by one, and of each only the
// fields that are asked for; every field is a crossing into C. Poll reads all
// fields of a batch in one, which is faster unless few are wanted.
//
//	p := cq.Poller()
//	ok, err := p.Start()
//	for ; ok; ok, err = p.Next() {
//		use(p.ID(), p.Status())
//	}
//
// From a Start that finds something until the poll ends, the queue's polling
// side belongs to the poller: other polls get ErrConcurrentUse, and closing the
// queue, or a queue pair on it, waits. A poll ends when Next finds nothing more,
// or by End.
type Poller struct {
	cq     *CQ
	open   bool
	device bool // the device stands at the completion
	at     Completion
}

var errNoPoll = errors.New("no poll is open: Start found nothing, or the poll has ended")

// Poller returns the queue's poller. There is one.
func (c *CQEx) Poller() *Poller {
	if c.cq == nil {
		return &Poller{}
	}
	return &c.cq.ex.poller
}

// Start begins a poll and goes to the first completion; false says that there is
// none, and that no poll is open.
//
// Implements: ibv_start_poll.
func (p *Poller) Start() (bool, error) {
	if p.cq == nil {
		return false, p.cq.err("start poll", ErrClosed)
	}
	if err := p.cq.side.enter(); err != nil {
		return false, p.cq.err("start poll", err)
	}
	p.open = true
	return p.first()
}

// first goes to the first completion: one of the stash, or the device's.
func (p *Poller) first() (bool, error) {
	var one [1]Completion
	if p.cq.stash.take(one[:]) == 1 {
		p.at, p.device = one[0], false
		p.cq.counts.polled(1)
		return true, nil
	}
	return p.stand("start poll", p.cq.ex.raw.Start(p.cq.ex.detours))
}

// stand takes over where the device stands, or ends the poll if it stands
// nowhere.
func (p *Poller) stand(op string, now cverbs.Current) (bool, error) {
	if now.RC == 0 {
		p.device = true
		p.at = Completion{wc: cverbs.WC{WRID: now.WRID, Status: now.Status}}
		p.cq.counts.polled(1)
		return true, nil
	}
	p.cq.counts.polled(0)
	p.leave()
	if err := syscall.Errno(now.RC); err != syscall.ENOENT {
		return false, p.cq.err(op, err)
	}
	return false, nil
}

func (p *Poller) leave() {
	p.open, p.device, p.at = false, false, Completion{}
	p.cq.side.exit()
}

// Next goes to the next completion; false says that there is none, and that the
// poll has ended.
//
// Implements: ibv_next_poll.
func (p *Poller) Next() (bool, error) {
	if !p.open {
		return false, p.cq.err("go on polling", errNoPoll)
	}
	if !p.device {
		return p.first()
	}
	return p.stand("go on polling", p.cq.ex.raw.Next(p.cq.ex.detours))
}

// End ends the poll before there is nothing more. Without an open poll it does
// nothing: the device must not be told to end what it has not begun.
//
// Implements: ibv_end_poll.
func (p *Poller) End() {
	if !p.open {
		return
	}
	if p.device {
		p.cq.ex.raw.End()
	}
	p.leave()
}

// ID returns what the request was posted with, and zero without an open poll.
func (p *Poller) ID() uint64 { return p.at.ID() }

// Status returns how the request ended, and StatusGeneral without an open poll.
func (p *Poller) Status() Status {
	if !p.open {
		return StatusGeneral
	}
	return p.at.Status()
}

// Err returns nil for a request that succeeded and a *CompletionError otherwise.
// Without an open poll it is an error too.
func (p *Poller) Err() error {
	if !p.open {
		return p.cq.err("read completion", errNoPoll)
	}
	if p.at.ok() {
		return nil
	}
	return &CompletionError{ID: p.ID(), Status: p.Status(), VendorErr: p.VendorErr(), QPN: p.QPN()}
}

// read reads a field of the device's completion.
func (p *Poller) read(field cverbs.WCField) uint64 { return p.cq.ex.raw.Read(field) }

// can reports whether the device has a field to be read: of a failed completion
// it has none of those below.
func (p *Poller) can(f WCFields) bool {
	return p.device && p.at.ok() && p.cq.ex.fields&f == f
}

// QPN returns the number of the queue pair that the request was posted to.
//
// Implements: ibv_wc_read_qp_num.
func (p *Poller) QPN() uint32 {
	if !p.device {
		return p.at.QPN()
	}
	return uint32(p.read(cverbs.FieldQPNum))
}

// VendorErr returns the device's own code for a failure.
//
// Implements: ibv_wc_read_vendor_err.
func (p *Poller) VendorErr() uint32 {
	if !p.device {
		return p.at.VendorErr()
	}
	return uint32(p.read(cverbs.FieldVendorErr))
}

// Opcode returns which kind of request succeeded; ok is false if it failed.
//
// Implements: ibv_wc_read_opcode.
func (p *Poller) Opcode() (op WCOpcode, ok bool) {
	if !p.can(0) {
		return p.stashed().Opcode()
	}
	return WCOpcode(p.read(cverbs.FieldOpcode)), true
}

// stashed is the completion if it is not the device's, and else a failed one.
func (p *Poller) stashed() *Completion {
	if !p.open || p.device {
		return &Completion{wc: cverbs.WC{Status: cverbs.IBV_WC_GENERAL_ERR}}
	}
	return &p.at
}

// Flags tells more of a request that succeeded.
//
// Implements: ibv_wc_read_wc_flags.
func (p *Poller) Flags() (flags WCFlags, ok bool) {
	if !p.can(0) {
		return p.stashed().Flags()
	}
	return WCFlags(p.read(cverbs.FieldFlags)), true
}

// Len returns the bytes that arrived: of receives, reads and atomics.
//
// Implements: ibv_wc_read_byte_len.
func (p *Poller) Len() (n int, ok bool) {
	if !p.can(FieldByteLen) {
		c := p.stashed()
		return c.Len(), c.ok()
	}
	return int(p.read(cverbs.FieldByteLen)), true
}

// Imm returns the immediate data of a receive, as the sender gave it; ok is
// false if there was none.
//
// Implements: ibv_wc_read_imm_data.
func (p *Poller) Imm() (imm uint32, ok bool) {
	if !p.can(FieldImm) {
		return p.stashed().Imm()
	}
	if flags, _ := p.Flags(); flags&WCWithImm == 0 {
		return 0, false
	}
	return swap32(uint32(p.read(cverbs.FieldImmData))), true
}

// InvalidatedRKey returns the key that the sender of a received message
// invalidated with it; ok is false if it did not.
//
// Implements: ibv_wc_read_invalidated_rkey.
func (p *Poller) InvalidatedRKey() (rkey uint32, ok bool) {
	if !p.can(FieldImm) {
		return p.stashed().InvalidatedRKey()
	}
	if flags, _ := p.Flags(); flags&WCWithInvalidation == 0 {
		return 0, false
	}
	return uint32(p.read(cverbs.FieldInvalidatedRKey)), true
}

// SrcQP returns the number of the queue pair that sent a received datagram.
//
// Implements: ibv_wc_read_src_qp.
func (p *Poller) SrcQP() (qpn uint32, ok bool) {
	if !p.can(FieldSrcQP) {
		return p.stashed().SrcQP()
	}
	if op, _ := p.Opcode(); op < WCRecv {
		return 0, false
	}
	return uint32(p.read(cverbs.FieldSrcQP)), true
}

func (p *Poller) number(f WCFields, field cverbs.WCField) (uint64, bool) {
	if !p.can(f) {
		return 0, false
	}
	return p.read(field), true
}

// SLID returns the LID that a received packet came from.
//
// Implements: ibv_wc_read_slid.
func (p *Poller) SLID() (lid uint32, ok bool) {
	v, ok := p.number(FieldSLID, cverbs.FieldSLID)
	return uint32(v), ok
}

// ServiceLevel returns the service level of a received packet.
//
// Implements: ibv_wc_read_sl.
func (p *Poller) ServiceLevel() (sl uint8, ok bool) {
	v, ok := p.number(FieldServiceLevel, cverbs.FieldSL)
	return uint8(v), ok
}

// DLIDPathBits returns the path bits of the LID that a received packet went to.
//
// Implements: ibv_wc_read_dlid_path_bits.
func (p *Poller) DLIDPathBits() (bits uint8, ok bool) {
	v, ok := p.number(FieldDLIDPathBits, cverbs.FieldDLIDPathBits)
	return uint8(v), ok
}

// Timestamp returns when the request completed, in ticks of the device's clock.
//
// Implements: ibv_wc_read_completion_ts.
func (p *Poller) Timestamp() (ticks uint64, ok bool) {
	return p.number(FieldTimestamp, cverbs.FieldCompletionTS)
}

// WallclockTime returns when the request completed, as the device knows the time.
//
// Implements: ibv_wc_read_completion_wallclock_ns.
func (p *Poller) WallclockTime() (t time.Time, ok bool) {
	v, ok := p.number(FieldWallclockTime, cverbs.FieldWallclockNS)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(0, int64(v)), true
}

// CVLAN returns the VLAN tag of a received packet.
//
// Implements: ibv_wc_read_cvlan.
func (p *Poller) CVLAN() (tag uint16, ok bool) {
	v, ok := p.number(FieldCVLAN, cverbs.FieldCVLAN)
	return uint16(v), ok
}

// FlowTag returns the tag of the steering rule that a received packet met.
//
// Implements: ibv_wc_read_flow_tag.
func (p *Poller) FlowTag() (tag uint32, ok bool) {
	v, ok := p.number(FieldFlowTag, cverbs.FieldFlowTag)
	return uint32(v), ok
}

// Tag returns the tag of a received message that has one.
//
// Implements: ibv_wc_read_tm_info.
func (p *Poller) Tag() (tag TagInfo, ok bool) {
	if !p.can(FieldTag) {
		return TagInfo{}, false
	}
	if flags, _ := p.Flags(); flags&(WCTagMatch|WCTagDataValid) == 0 {
		return TagInfo{}, false
	}
	info := p.cq.ex.raw.ReadTMInfo()
	return TagInfo{Tag: info.Tag, AppContext: info.Priv}, true
}
