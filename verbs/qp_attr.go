package verbs

import (
	"github.com/gofabric/gofabric/internal/cverbs"
)

// QPAttr are the attributes of a queue pair (struct ibv_qp_attr,
// ibv_modify_qp(3)). A mask says which of them count.
type QPAttr struct {
	State            QPState
	CurState         QPState
	PathMTU          MTU
	PathMigState     int32
	QKey             uint32
	RQPSN            uint32 // 24 bits: of the first packet to be received
	SQPSN            uint32 // 24 bits: of the first packet to be sent
	DestQPN          uint32
	Access           Access
	AV               AddressVector
	AltAV            AddressVector
	PKeyIndex        uint16
	AltPKeyIndex     uint16
	EnSQDAsyncNotify bool
	SQDraining       bool  // only read
	MaxReads         uint8 // RDMA reads and atomics under way at once
	MaxDestReads     uint8 // those of the peer served at once
	MinRNRTimer      uint8 // code of the specification: 12 is 0.64 ms
	Port             uint8
	Timeout          uint8 // 4.096 µs times 2^n; 0 waits for ever
	RetryCount       uint8
	RNRRetry         uint8 // 7 retries for ever
	AltPort          uint8
	AltTimeout       uint8
	RateLimit        uint32 // kbit/s
	MaxSend          int    // requests, and the rest of struct ibv_qp_cap
	MaxRecv          int
	MaxSendSGE       int
	MaxRecvSGE       int
	MaxInline        int // bytes
}

// AddressVector is the way to a peer (struct ibv_ah_attr, ibv_create_ah(3)).
type AddressVector struct {
	DLID         uint16 // InfiniBand
	ServiceLevel uint8  // 0 to 15
	SrcPathBits  uint8
	StaticRate   uint8
	Port         uint8
	Global       bool // the fields below count; RoCE always needs them
	DGID         GID
	FlowLabel    uint32 // 20 bits
	SGIDIndex    uint8
	HopLimit     uint8
	TrafficClass uint8
}

func (av *AddressVector) raw() cverbs.AHAttr {
	a := cverbs.AHAttr{
		DGID:         av.DGID,
		FlowLabel:    av.FlowLabel,
		SGIDIndex:    av.SGIDIndex,
		HopLimit:     av.HopLimit,
		TrafficClass: av.TrafficClass,
		DLID:         av.DLID,
		SL:           av.ServiceLevel,
		SrcPathBits:  av.SrcPathBits,
		StaticRate:   av.StaticRate,
		PortNum:      av.Port,
	}
	if av.Global {
		a.IsGlobal = 1
	}
	return a
}

func addressVector(a *cverbs.AHAttr) AddressVector {
	return AddressVector{
		DLID:         a.DLID,
		ServiceLevel: a.SL,
		SrcPathBits:  a.SrcPathBits,
		StaticRate:   a.StaticRate,
		Port:         a.PortNum,
		Global:       a.IsGlobal != 0,
		DGID:         a.DGID,
		FlowLabel:    a.FlowLabel,
		SGIDIndex:    a.SGIDIndex,
		HopLimit:     a.HopLimit,
		TrafficClass: a.TrafficClass,
	}
}

func (q *QPAttr) raw() cverbs.QPAttr {
	a := cverbs.QPAttr{
		State:           int32(q.State),
		CurState:        int32(q.CurState),
		PathMTU:         int32(q.PathMTU),
		PathMigState:    q.PathMigState,
		QKey:            q.QKey,
		RQPSN:           q.RQPSN,
		SQPSN:           q.SQPSN,
		DestQPNum:       q.DestQPN,
		AccessFlags:     uint32(q.Access),
		AH:              q.AV.raw(),
		AltAH:           q.AltAV.raw(),
		PKeyIndex:       q.PKeyIndex,
		AltPKeyIndex:    q.AltPKeyIndex,
		MaxRdAtomic:     q.MaxReads,
		MaxDestRdAtomic: q.MaxDestReads,
		MinRNRTimer:     q.MinRNRTimer,
		PortNum:         q.Port,
		Timeout:         q.Timeout,
		RetryCnt:        q.RetryCount,
		RNRRetry:        q.RNRRetry,
		AltPortNum:      q.AltPort,
		AltTimeout:      q.AltTimeout,
		RateLimit:       q.RateLimit,
		Cap: cverbs.QPCap{
			MaxSendWR:     uint32(q.MaxSend),
			MaxRecvWR:     uint32(q.MaxRecv),
			MaxSendSGE:    uint32(q.MaxSendSGE),
			MaxRecvSGE:    uint32(q.MaxRecvSGE),
			MaxInlineData: uint32(q.MaxInline),
		},
	}
	if q.EnSQDAsyncNotify {
		a.EnSQDAsyncNotify = 1
	}
	return a
}

func qpAttr(a *cverbs.QPAttr) QPAttr {
	return QPAttr{
		State:            QPState(a.State),
		CurState:         QPState(a.CurState),
		PathMTU:          MTU(a.PathMTU),
		PathMigState:     a.PathMigState,
		QKey:             a.QKey,
		RQPSN:            a.RQPSN,
		SQPSN:            a.SQPSN,
		DestQPN:          a.DestQPNum,
		Access:           Access(a.AccessFlags),
		AV:               addressVector(&a.AH),
		AltAV:            addressVector(&a.AltAH),
		PKeyIndex:        a.PKeyIndex,
		AltPKeyIndex:     a.AltPKeyIndex,
		EnSQDAsyncNotify: a.EnSQDAsyncNotify != 0,
		SQDraining:       a.SQDraining != 0,
		MaxReads:         a.MaxRdAtomic,
		MaxDestReads:     a.MaxDestRdAtomic,
		MinRNRTimer:      a.MinRNRTimer,
		Port:             a.PortNum,
		Timeout:          a.Timeout,
		RetryCount:       a.RetryCnt,
		RNRRetry:         a.RNRRetry,
		AltPort:          a.AltPortNum,
		AltTimeout:       a.AltTimeout,
		RateLimit:        a.RateLimit,
		MaxSend:          int(a.Cap.MaxSendWR),
		MaxRecv:          int(a.Cap.MaxRecvWR),
		MaxSendSGE:       int(a.Cap.MaxSendSGE),
		MaxRecvSGE:       int(a.Cap.MaxRecvSGE),
		MaxInline:        int(a.Cap.MaxInlineData),
	}
}
