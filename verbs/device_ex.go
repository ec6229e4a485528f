package verbs

import (
	"time"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// DeviceAttrEx is everything that a device tells of itself (struct
// ibv_device_attr_ex, ibv_query_device_ex(3)). What a device does not have is
// zero.
type DeviceAttrEx struct {
	DeviceAttr
	CapabilitiesEx uint64 // enum ibv_device_cap_flags, and the bits beyond its 32

	ODP ODPCaps

	TimestampMask uint64 // the bits of a completion's timestamp that count
	CoreClockKHz  uint64 // ticks of the device's clock

	TSO         TSOCaps
	RSS         RSSCaps
	Pacing      PacingCaps
	TagMatching TagMatchingCaps
	Moderation  ModerationCaps
	PCIAtomics  PCIAtomicCaps
	RawPacket   uint32 // enum ibv_raw_packet_caps
	MaxWQ       int    // receive work queues
	MaxDM       uint64 // bytes of device memory
	PortsEx     int    // the number of ports where it does not fit Ports
}

// QPTypes is a set of transport services.
type QPTypes uint32

// Has reports whether a service is in the set.
//
// Implements: ibv_is_qpt_supported.
func (s QPTypes) Has(t QPType) bool { return t >= 0 && t < 32 && s>>uint(t)&1 != 0 }

// ODPCaps says what on-demand paging can do.
type ODPCaps struct {
	Supported bool
	Implicit  bool // the whole address space at once: PD.RegisterEverything
	RC        ODPOps
	UC        ODPOps
	UD        ODPOps
	XRC       ODPOps
}

// ODPOps is a set of operations on memory with on-demand paging (enum
// ibv_odp_transport_cap_bits).
type ODPOps uint32

// Operations on memory with on-demand paging.
const (
	ODPSend    ODPOps = cverbs.IBV_ODP_SUPPORT_SEND
	ODPRecv    ODPOps = cverbs.IBV_ODP_SUPPORT_RECV
	ODPWrite   ODPOps = cverbs.IBV_ODP_SUPPORT_WRITE
	ODPRead    ODPOps = cverbs.IBV_ODP_SUPPORT_READ
	ODPAtomic  ODPOps = cverbs.IBV_ODP_SUPPORT_ATOMIC
	ODPSRQRecv ODPOps = cverbs.IBV_ODP_SUPPORT_SRQ_RECV
)

// TSOCaps says what the device can cut into frames.
type TSOCaps struct {
	MaxBytes uint32 // of one request
	QPs      QPTypes
}

// RSSCaps says how receives can be spread over work queues.
type RSSCaps struct {
	QPs          QPTypes
	MaxTables    uint32
	MaxTableSize uint32
	Fields       uint64 // enum ibv_rx_hash_fields
	Functions    uint8  // enum ibv_rx_hash_function_flags
}

// PacingCaps says how far a queue pair's rate can be limited.
type PacingCaps struct {
	MinKbps uint32
	MaxKbps uint32
	QPs     QPTypes
}

// TagMatchingCaps says what tag matching can do.
type TagMatchingCaps struct {
	MaxRendezvousHeader uint32 // bytes
	MaxTags             uint32
	RC                  bool
	MaxOps              uint32 // under way on one list
	MaxSGE              uint32
}

// ModerationCaps says how far CQ.Moderate goes.
type ModerationCaps struct {
	MaxCount  int
	MaxPeriod time.Duration
}

// PCIAtomicCaps says which sizes of atomics the device can do over PCI (enum
// ibv_pci_atomic_op_size).
type PCIAtomicCaps struct{ FetchAdd, Swap, CompareSwap uint16 }

// AttributesEx asks the device for everything that it tells of itself. A device
// or a kernel without the call answers what Attributes does.
//
// Implements: ibv_query_device_ex.
func (d *Device) AttributesEx() (DeviceAttrEx, error) {
	if err := d.obj.Use(); err != nil {
		return DeviceAttrEx{}, d.err("query device", err)
	}
	defer d.obj.Done()
	a, err := d.ctx.QueryDeviceEx()
	if err != nil {
		return DeviceAttrEx{}, d.err("query device", err)
	}
	attr := deviceAttrEx(&a)
	attr.CompVectors = d.attr.CompVectors // of the context, in no answer of the device
	return attr, nil
}

func deviceAttrEx(a *cverbs.DeviceAttrEx) DeviceAttrEx {
	return DeviceAttrEx{
		DeviceAttr:     deviceAttr(&a.Orig),
		CapabilitiesEx: a.CapFlagsEx,
		ODP: ODPCaps{
			Supported: a.ODPGeneral&cverbs.IBV_ODP_SUPPORT != 0,
			Implicit:  a.ODPGeneral&cverbs.IBV_ODP_SUPPORT_IMPLICIT != 0,
			RC:        ODPOps(a.ODPRC), UC: ODPOps(a.ODPUC), UD: ODPOps(a.ODPUD), XRC: ODPOps(a.XRCODP),
		},
		TimestampMask: a.TimestampMask,
		CoreClockKHz:  a.CoreClockKHz,
		TSO:           TSOCaps{MaxBytes: a.MaxTSO, QPs: QPTypes(a.TSOQPs)},
		RSS: RSSCaps{
			QPs: QPTypes(a.RSSQPs), MaxTables: a.RSSTables, MaxTableSize: a.RSSTableSize,
			Fields: a.RSSFields, Functions: a.RSSFunctions,
		},
		Pacing: PacingCaps{MinKbps: a.PacingMinKbps, MaxKbps: a.PacingMaxKbps, QPs: QPTypes(a.PacingQPs)},
		TagMatching: TagMatchingCaps{
			MaxRendezvousHeader: a.TMMaxHeader, MaxTags: a.TMMaxTags, RC: a.TMFlags&1 != 0, MaxOps: a.TMMaxOps, MaxSGE: a.TMMaxSGE,
		},
		Moderation: ModerationCaps{MaxCount: int(a.ModerationCount), MaxPeriod: time.Duration(a.ModerationPeriod) * time.Microsecond},
		PCIAtomics: PCIAtomicCaps{FetchAdd: a.PCIFetchAdd, Swap: a.PCISwap, CompareSwap: a.PCICompareSwap},
		RawPacket:  a.RawPacketCaps,
		MaxWQ:      int(a.MaxWQ),
		MaxDM:      a.MaxDMSize,
		PortsEx:    int(a.PortsEx),
	}
}
