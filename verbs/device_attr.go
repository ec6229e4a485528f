package verbs

import (
	"bytes"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// DeviceAttr is what a device can do (struct ibv_device_attr, ibv_query_device(3)).
type DeviceAttr struct {
	Firmware     string
	NodeGUID     GUID
	SysImageGUID GUID
	VendorID     uint32
	VendorPartID uint32
	HWVersion    uint32
	Ports        int

	MaxMRSize    uint64 // bytes of one memory region
	PageSizes    uint64 // bit n: pages of 2^n bytes
	Capabilities uint32 // enum ibv_device_cap_flags
	AtomicCap    AtomicCap

	MaxPD      int
	MaxMR      int
	MaxMW      int
	MaxCQ      int
	MaxCQE     int // completions of one CQ
	MaxQP      int
	MaxQPWR    int // requests of one queue
	MaxSGE     int // pieces of one request
	MaxSGERead int // pieces of one RDMA read
	MaxSRQ     int
	MaxSRQWR   int
	MaxSRQSGE  int
	MaxAH      int

	MaxQPReads     int // RDMA reads and atomics that a QP serves at once
	MaxQPInitReads int // those that a QP may have under way
	MaxReads       int // those that the device serves at once

	MaxMulticastGroups int
	MaxMulticastQPs    int // of one group
	MaxMulticastTotal  int // over all groups

	MaxPKeys        int
	LocalCAAckDelay int // 4.096 µs times 2^n; 0 is no delay

	MaxRawEthernetQPs int
	CompVectors       int // interrupts that CQs can be spread over

	// Of services that no device of today has; tools still print them.
	MaxEE          int // end-to-end contexts
	MaxRDD         int // reliable datagram domains
	MaxEEReads     int
	MaxEEInitReads int
	MaxRawIPv6QPs  int
	MaxFMR         int // fast memory regions
}

// AtomicCap says how far atomics are atomic (enum ibv_atomic_cap).
type AtomicCap int32

// How far atomics are atomic.
const (
	AtomicNone   AtomicCap = cverbs.IBV_ATOMIC_NONE
	AtomicHCA    AtomicCap = cverbs.IBV_ATOMIC_HCA  // among the queue pairs of this device
	AtomicGlobal AtomicCap = cverbs.IBV_ATOMIC_GLOB // with the processor too
)

// String names the capability as ibv_devinfo does.
func (c AtomicCap) String() string {
	switch c {
	case AtomicNone:
		return "ATOMIC_NONE"
	case AtomicHCA:
		return "ATOMIC_HCA"
	case AtomicGlobal:
		return "ATOMIC_GLOB"
	}
	return "invalid atomic capability"
}

func deviceAttr(a *cverbs.DeviceAttr) DeviceAttr {
	firmware, _, _ := bytes.Cut(a.FWVer[:], []byte{0})
	return DeviceAttr{
		Firmware:           string(firmware),
		NodeGUID:           a.NodeGUID,
		SysImageGUID:       a.SysImageGUID,
		VendorID:           a.VendorID,
		VendorPartID:       a.VendorPartID,
		HWVersion:          a.HWVer,
		Ports:              int(a.PhysPortCnt),
		MaxMRSize:          a.MaxMRSize,
		PageSizes:          a.PageSizeCap,
		Capabilities:       a.DeviceCapFlags,
		AtomicCap:          AtomicCap(a.AtomicCap),
		MaxPD:              int(a.MaxPD),
		MaxMR:              int(a.MaxMR),
		MaxMW:              int(a.MaxMW),
		MaxCQ:              int(a.MaxCQ),
		MaxCQE:             int(a.MaxCQE),
		MaxQP:              int(a.MaxQP),
		MaxQPWR:            int(a.MaxQPWR),
		MaxSGE:             int(a.MaxSGE),
		MaxSGERead:         int(a.MaxSGERead),
		MaxSRQ:             int(a.MaxSRQ),
		MaxSRQWR:           int(a.MaxSRQWR),
		MaxSRQSGE:          int(a.MaxSRQSGE),
		MaxAH:              int(a.MaxAH),
		MaxQPReads:         int(a.MaxQPRdAtom),
		MaxQPInitReads:     int(a.MaxQPInitRdAtom),
		MaxReads:           int(a.MaxResRdAtom),
		MaxMulticastGroups: int(a.MaxMcastGrp),
		MaxMulticastQPs:    int(a.MaxMcastQPAttach),
		MaxMulticastTotal:  int(a.MaxTotalMcastQPAttach),
		MaxPKeys:           int(a.MaxPKeys),
		LocalCAAckDelay:    int(a.LocalCAAckDelay),
		MaxRawEthernetQPs:  int(a.MaxRawEthyQP),
		MaxEE:              int(a.MaxEE),
		MaxRDD:             int(a.MaxRDD),
		MaxEEReads:         int(a.MaxEERdAtom),
		MaxEEInitReads:     int(a.MaxEEInitRdAtom),
		MaxRawIPv6QPs:      int(a.MaxRawIPv6QP),
		MaxFMR:             int(a.MaxFMR),
	}
}

// PortAttr is the state of a port (struct ibv_port_attr, ibv_query_port(3)).
type PortAttr struct {
	State       PortState
	PhysState   PhysState
	LinkLayer   LinkLayer
	MaxMTU      MTU
	ActiveMTU   MTU
	GIDTableLen int
	PKeyTable   int    // entries
	MaxMsgSize  uint32 // bytes of one message
	CapMask     uint32
	CapMask2    uint16
	LID         uint16
	SMLID       uint16
	LMC         uint8
	MaxVL       uint8
	SMSL        uint8
	Rate        Rate // zero where the device gives none
	BadPKeys    uint32
	BadQKeys    uint32

	SubnetTimeout uint8 // 4.096 µs times 2^n, of the subnet manager's answers
	InitTypeReply uint8
}

func portAttr(a *cverbs.PortAttr) PortAttr {
	return PortAttr{
		State:       PortState(a.State),
		PhysState:   PhysState(a.PhysState),
		LinkLayer:   LinkLayer(a.LinkLayer),
		MaxMTU:      MTU(a.MaxMTU),
		ActiveMTU:   MTU(a.ActiveMTU),
		GIDTableLen: int(a.GIDTblLen),
		PKeyTable:   int(a.PKeyTblLen),
		MaxMsgSize:  a.MaxMsgSz,
		CapMask:     a.PortCapFlags,
		CapMask2:    a.PortCapFlags2,
		LID:         a.LID,
		SMLID:       a.SMLID,
		LMC:         a.LMC,
		MaxVL:       a.MaxVLNum,
		SMSL:        a.SMSL,
		Rate:        activeRate(a.ActiveWidth, a.ActiveSpeed),
		BadPKeys:    a.BadPKeyCntr,
		BadQKeys:    a.QKeyViolCntr,

		SubnetTimeout: a.SubnetTimeout,
		InitTypeReply: a.InitTypeReply,
	}
}

// activeRate decodes the codes of the InfiniBand specification's PortInfo:
// LinkWidthActive, and the active speeds that libibverbs folds into one.
func activeRate(width, speed uint8) Rate {
	lanes := map[uint8]struct {
		name string
		n    float64
	}{1: {"1X", 1}, 2: {"4X", 4}, 4: {"8X", 8}, 8: {"12X", 12}, 16: {"2X", 2}}
	speeds := map[uint8]struct {
		name string
		gbps float64
	}{
		1: {"SDR", 2.5}, 2: {"DDR", 5}, 4: {"QDR", 10}, 8: {"FDR10", 10},
		16: {"FDR", 14}, 32: {"EDR", 25}, 64: {"HDR", 50}, 128: {"NDR", 100},
	}
	w, okW := lanes[width]
	s, okS := speeds[speed]
	if !okW || !okS {
		return Rate{}
	}
	return Rate{Gbps: w.n * s.gbps, Width: w.name, Speed: s.name}
}
