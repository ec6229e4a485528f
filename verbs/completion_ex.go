package verbs

import (
	"time"
	"unsafe"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// CompletionEx is a completion of an extended queue, a value of its own as
// Completion is. A field answers false if the queue was not made for it, if the
// request failed, and if the completion is of a queue pair that was closed.
type CompletionEx struct {
	Completion
	more cverbs.WCMore
}

// CompletionEx is written in C.
var _ [unsafe.Sizeof(CompletionEx{})]byte = [unsafe.Sizeof(cverbs.WCEx{})]byte{}

func (c *CompletionEx) has(f WCFields) bool { return c.more.Fields&uint32(f) != 0 }

// Timestamp returns when the request completed, in ticks of the device's clock.
func (c *CompletionEx) Timestamp() (ticks uint64, ok bool) {
	return c.more.CompletionTS, c.has(FieldTimestamp)
}

// WallclockTime returns when the request completed, as the device knows the time.
func (c *CompletionEx) WallclockTime() (t time.Time, ok bool) {
	if !c.has(FieldWallclockTime) {
		return time.Time{}, false
	}
	return time.Unix(0, int64(c.more.WallclockNS)), true
}

// CVLAN returns the VLAN tag of a received packet.
func (c *CompletionEx) CVLAN() (tag uint16, ok bool) { return c.more.CVLAN, c.has(FieldCVLAN) }

// FlowTag returns the tag of the steering rule that a received packet met.
func (c *CompletionEx) FlowTag() (tag uint32, ok bool) { return c.more.FlowTag, c.has(FieldFlowTag) }

// Tag returns the tag of a received message that has one.
func (c *CompletionEx) Tag() (tag TagInfo, ok bool) {
	return TagInfo{Tag: c.more.Tag, AppContext: c.more.TagPriv}, c.has(FieldTag)
}

// SLID returns the LID that a received packet came from.
func (c *CompletionEx) SLID() (lid uint32, ok bool) { return c.more.WideSLID, c.has(FieldSLID) }

// ServiceLevel returns the service level of a received packet.
func (c *CompletionEx) ServiceLevel() (sl uint8, ok bool) { return c.wc.SL, c.has(FieldServiceLevel) }

// DLIDPathBits returns the path bits of the LID that a received packet went to.
func (c *CompletionEx) DLIDPathBits() (bits uint8, ok bool) {
	return c.wc.DLIDPathBits, c.has(FieldDLIDPathBits)
}

// TagInfo is what the header of a tagged message says (struct ibv_wc_tm_info).
type TagInfo struct {
	Tag        uint64
	AppContext uint32 // the sender's own
}

// WCFlags tells more of a completion (enum ibv_wc_flags).
type WCFlags uint32

// Flags of completions.
const (
	WCGRH              WCFlags = cverbs.IBV_WC_GRH
	WCWithImm          WCFlags = cverbs.IBV_WC_WITH_IMM
	WCIPChecksumOK     WCFlags = cverbs.IBV_WC_IP_CSUM_OK
	WCWithInvalidation WCFlags = cverbs.IBV_WC_WITH_INV
	WCTagSyncRequest   WCFlags = cverbs.IBV_WC_TM_SYNC_REQ
	WCTagMatch         WCFlags = cverbs.IBV_WC_TM_MATCH
	WCTagDataValid     WCFlags = cverbs.IBV_WC_TM_DATA_VALID
)

// Flags tells more of a request that succeeded; ok is false if it failed.
func (c *Completion) Flags() (flags WCFlags, ok bool) {
	if !c.ok() {
		return 0, false
	}
	return WCFlags(c.wc.Flags), true
}
