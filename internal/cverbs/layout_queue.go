package cverbs

import "unsafe"

// WCEx is struct gf1_wc_ex: a completion of an extended CQ.
type WCEx struct {
	WC
	WCMore
}

// WCMore is what an extended completion has more than WC. Fields says which
// were read, bits of IBV_WC_EX_WITH_*.
type WCMore struct {
	CompletionTS uint64
	WallclockNS  uint64
	Tag          uint64
	TagPriv      uint32
	FlowTag      uint32
	WideSLID     uint32
	Fields       uint32
	CVLAN        uint16
	_            [3]uint16
}

// What of a provider has to be gone round (GF1_NEVER_NEXT_POLL and others).
const (
	NeverNextPoll  = 1 << 0
	ClassicSGEList = 1 << 1
	OneInlinePiece = 1 << 2
)

// WCField is enum gf1_wc_field: a field that is read by itself.
type WCField int32

// Fields of the completion that a poll stands at.
const (
	FieldOpcode WCField = iota
	FieldVendorErr
	FieldByteLen
	FieldImmData
	FieldInvalidatedRKey
	FieldQPNum
	FieldSrcQP
	FieldFlags
	FieldSLID
	FieldSL
	FieldDLIDPathBits
	FieldCompletionTS
	FieldCVLAN
	FieldFlowTag
	FieldWallclockNS
)

// Current is struct gf1_current: the completion that a poll stands at. RC is 0
// or an errno, ENOENT if there is none.
type Current struct {
	RC     int32
	Status int32
	WRID   uint64
}

// TMInfo is struct ibv_wc_tm_info.
type TMInfo struct {
	Tag  uint64
	Priv uint32
	_    uint32
}

// CQInit are the options of an extended CQ (struct ibv_cq_init_attr_ex).
type CQInit struct {
	CQE          int
	Channel      Channel
	Vector       int
	Fields       uint64
	Flags        uint32
	ParentDomain PD
}

// QPInit are the options of a queue pair (struct ibv_qp_init_attr_ex). Mask says
// which of those after Type count.
type QPInit struct {
	Send, Recv   CQ
	SRQ          SRQ
	Cap          QPCap
	Type         int32
	Mask         uint32
	PD           PD
	XRCD         XRCD
	CreateFlags  uint32
	MaxTSOHeader uint16
	IndTable     IndTable
	HashFunction uint8
	HashKey      []byte
	HashFields   uint64
	SourceQPN    uint32
	SendOps      uint64
}

// SRQInit are the options of an extended shared receive queue (struct
// ibv_srq_init_attr_ex). Mask says which of those after Attr count.
type SRQInit struct {
	Attr    SRQAttr
	Mask    uint32
	Type    int32
	PD      PD
	XRCD    XRCD
	CQ      CQ
	MaxTags uint32
	MaxOps  uint32
}

// TagOp is a request to the tag matching list (struct ibv_ops_wr).
type TagOp struct {
	WRID       uint64
	Opcode     int32
	Flags      int32
	Unexpected uint32
	Handle     uint32 // written by adding
	RecvWRID   uint64
	SGEs       []SGE
	Tag, Mask  uint64
}

// WQInit are the options of a work queue (struct ibv_wq_init_attr).
type WQInit struct {
	MaxWR, MaxSGE uint32
	PD            PD
	CQ            CQ
	Flags         uint32
}

// WQAttr is struct ibv_wq_attr.
type WQAttr struct {
	Mask      uint32
	State     int32
	CurState  int32
	Flags     uint32
	FlagsMask uint32
}

// ECE is struct ibv_ece.
type ECE struct {
	VendorID uint32
	Options  uint32
	CompMask uint32
}

// RateLimit is struct ibv_qp_rate_limit_attr.
type RateLimit struct {
	RateLimit    uint32
	MaxBurst     uint32
	TypicalBytes uint16
	CompMask     uint32
}

// FlowAttr is the head of struct ibv_flow_attr; specifications follow it.
type FlowAttr struct {
	CompMask uint32
	Type     int32
	Size     uint16
	Priority uint16
	NumSpecs uint8
	Port     uint8
	Flags    uint32
}

// FlowAttrLen is the length of FlowAttr in C.
const FlowAttrLen = unsafe.Sizeof(FlowAttr{})

// tsoWR is what a segmented message has from SendWR.Bind on.
type tsoWR struct {
	hdr   unsafe.Pointer
	hdrSz uint16
	mss   uint16
}

// SetFlush makes the target of a flush. Length, type and level lie where an atomic
// request has its operands.
func (wr *SendWR) SetFlush(remoteAddr uint64, rkey uint32, length uint64, kind, level uint8) {
	wr.SetAtomic(remoteAddr, rkey, length, uint64(kind)|uint64(level)<<8)
}

// SetRemoteSRQN names the shared receive queue of an XRC request.
func (wr *SendWR) SetRemoteSRQN(number uint32) { wr.RemoteSRQN = number }

// SetTSO makes the header and the segment size of a segmented message. The
// header is C memory.
func (wr *SendWR) SetTSO(header unsafe.Pointer, length, mss uint16) {
	*(*tsoWR)(unsafe.Pointer(&wr.Bind)) = tsoWR{hdr: header, hdrSz: length, mss: mss}
}
