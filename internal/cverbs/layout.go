package cverbs

import "unsafe"

// The types below mirror gf1_abi.h and gf1_data.h field by field, so that Go
// reads and writes C memory in place. layout_check.go proves sizes and offsets.

// SGE is struct ibv_sge: a piece of registered memory.
type SGE struct {
	Addr   uint64
	Length uint32
	LKey   uint32
}

// SendWR is struct ibv_send_wr as far as one-sided and two-sided requests use
// it; SetAtomic and SetUD write what atomic requests and datagrams have in the
// place of RemoteAddr and RKey. Imm is big-endian.
type SendWR struct {
	WRID       uint64
	Next       *SendWR
	SGList     *SGE
	NumSGE     int32
	Opcode     int32
	Flags      uint32
	Imm        uint32
	RemoteAddr uint64
	RKey       uint32 // of one-sided requests
	_          uint32
	_          [2]uint64
	RemoteSRQN uint32
	_          uint32
	Bind       [6]uint64 // of bindings: see SetBind; of segmented messages: see SetTSO
}

// atomicWR is what an atomic request has from SendWR.RemoteAddr on.
type atomicWR struct {
	remoteAddr uint64
	compareAdd uint64
	swap       uint64
	rkey       uint32
	_          uint32
}

// udWR is what a datagram has from SendWR.RemoteAddr on.
type udWR struct {
	ah         unsafe.Pointer
	remoteQPN  uint32
	remoteQKey uint32
	_          [2]uint64
}

// SetAtomic makes the target of an atomic request: the value to compare with or
// to add, the value to swap in, and where.
func (wr *SendWR) SetAtomic(remoteAddr uint64, rkey uint32, compareAdd, swap uint64) {
	a := (*atomicWR)(unsafe.Pointer(&wr.RemoteAddr))
	a.remoteAddr, a.compareAdd, a.swap, a.rkey = remoteAddr, compareAdd, swap, rkey
}

// RecvWR is struct ibv_recv_wr.
type RecvWR struct {
	WRID   uint64
	Next   *RecvWR
	SGList *SGE
	NumSGE int32
	_      uint32
}

// WC is struct ibv_wc. Imm is big-endian.
type WC struct {
	WRID         uint64
	Status       int32
	Opcode       int32
	VendorErr    uint32
	ByteLen      uint32
	Imm          uint32
	QPNum        uint32
	SrcQP        uint32
	Flags        uint32
	PKeyIndex    uint16
	SLID         uint16
	SL           uint8
	DLIDPathBits uint8
	_            uint16
}

// Queue is struct gf1_queue: one direction of a queue pair, or a shared receive
// queue (see queue_shared.go). Head, Completed, Failed and Returned are written
// by polling and read atomically.
type Queue struct {
	IDs       unsafe.Pointer
	Base      uint64
	Mask      uint32
	Head      uint32
	Beacon    uint32
	HasBeacon uint32
	Completed uint64
	Failed    uint64
	Next      unsafe.Pointer
	Returned  uint32
	Own       uint32
}

// Posted is struct gf1_posted: what one crossing achieved. RC and PollRC are 0
// or an errno.
type Posted struct {
	RC     int32
	Posted int32
	Polled int32
	PollRC int32
}

// DeviceAttr is struct ibv_device_attr. GUIDs are big-endian.
type DeviceAttr struct {
	FWVer                 [64]byte
	NodeGUID              [8]byte
	SysImageGUID          [8]byte
	MaxMRSize             uint64
	PageSizeCap           uint64
	VendorID              uint32
	VendorPartID          uint32
	HWVer                 uint32
	MaxQP                 int32
	MaxQPWR               int32
	DeviceCapFlags        uint32
	MaxSGE                int32
	MaxSGERead            int32
	MaxCQ                 int32
	MaxCQE                int32
	MaxMR                 int32
	MaxPD                 int32
	MaxQPRdAtom           int32
	MaxEERdAtom           int32
	MaxResRdAtom          int32
	MaxQPInitRdAtom       int32
	MaxEEInitRdAtom       int32
	AtomicCap             int32
	MaxEE                 int32
	MaxRDD                int32
	MaxMW                 int32
	MaxRawIPv6QP          int32
	MaxRawEthyQP          int32
	MaxMcastGrp           int32
	MaxMcastQPAttach      int32
	MaxTotalMcastQPAttach int32
	MaxAH                 int32
	MaxFMR                int32
	MaxMapPerFMR          int32
	MaxSRQ                int32
	MaxSRQWR              int32
	MaxSRQSGE             int32
	MaxPKeys              uint16
	LocalCAAckDelay       uint8
	PhysPortCnt           uint8
}

// GIDEntry is struct ibv_gid_entry.
type GIDEntry struct {
	_       [0]uint64 // aligned as in C
	GID     [16]byte
	Index   uint32
	Port    uint32
	Type    uint32
	IfIndex uint32
}

// PortAttr is struct ibv_port_attr of rdma-core 44.
type PortAttr struct {
	State         int32
	MaxMTU        int32
	ActiveMTU     int32
	GIDTblLen     int32
	PortCapFlags  uint32
	MaxMsgSz      uint32
	BadPKeyCntr   uint32
	QKeyViolCntr  uint32
	PKeyTblLen    uint16
	LID           uint16
	SMLID         uint16
	LMC           uint8
	MaxVLNum      uint8
	SMSL          uint8
	SubnetTimeout uint8
	InitTypeReply uint8
	ActiveWidth   uint8
	ActiveSpeed   uint8
	PhysState     uint8
	LinkLayer     uint8
	Flags         uint8
	PortCapFlags2 uint16
}

// SRQAttr is struct ibv_srq_attr.
type SRQAttr struct {
	MaxWR  uint32
	MaxSGE uint32
	Limit  uint32
}

// GRH is struct ibv_grh: the 40 bytes in front of a received datagram, in
// network order.
type GRH [40]byte

// QPCap is struct ibv_qp_cap.
type QPCap struct {
	MaxSendWR     uint32
	MaxRecvWR     uint32
	MaxSendSGE    uint32
	MaxRecvSGE    uint32
	MaxInlineData uint32
}

// AHAttr is struct ibv_ah_attr with its struct ibv_global_route.
type AHAttr struct {
	_            [0]uint64 // aligned as in C
	DGID         [16]byte  // in network order
	FlowLabel    uint32
	SGIDIndex    uint8
	HopLimit     uint8
	TrafficClass uint8
	_            uint8
	DLID         uint16
	SL           uint8
	SrcPathBits  uint8
	StaticRate   uint8
	IsGlobal     uint8
	PortNum      uint8
	_            uint8
}

// QPAttr is struct ibv_qp_attr.
type QPAttr struct {
	State            int32
	CurState         int32
	PathMTU          int32
	PathMigState     int32
	QKey             uint32
	RQPSN            uint32
	SQPSN            uint32
	DestQPNum        uint32
	AccessFlags      uint32
	Cap              QPCap
	AH               AHAttr
	AltAH            AHAttr
	PKeyIndex        uint16
	AltPKeyIndex     uint16
	EnSQDAsyncNotify uint8
	SQDraining       uint8
	MaxRdAtomic      uint8
	MaxDestRdAtomic  uint8
	MinRNRTimer      uint8
	PortNum          uint8
	Timeout          uint8
	RetryCnt         uint8
	RNRRetry         uint8
	AltPortNum       uint8
	AltTimeout       uint8
	_                uint8
	RateLimit        uint32
	_                uint32
}
