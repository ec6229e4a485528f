package cverbs

// DeviceAttrEx is struct ibv_device_attr_ex.
type DeviceAttrEx struct {
	Orig     DeviceAttr
	CompMask uint32

	ODPGeneral uint64
	ODPRC      uint32
	ODPUC      uint32
	ODPUD      uint32
	_          uint32

	TimestampMask uint64
	CoreClockKHz  uint64
	CapFlagsEx    uint64

	MaxTSO uint32
	TSOQPs uint32

	RSSQPs       uint32
	RSSTables    uint32
	RSSTableSize uint32
	_            uint32
	RSSFields    uint64
	RSSFunctions uint8
	_            [7]uint8

	MaxWQ         uint32
	PacingMinKbps uint32
	PacingMaxKbps uint32
	PacingQPs     uint32
	RawPacketCaps uint32

	TMMaxHeader uint32
	TMMaxTags   uint32
	TMFlags     uint32
	TMMaxOps    uint32
	TMMaxSGE    uint32

	ModerationCount  uint16
	ModerationPeriod uint16
	_                uint32

	MaxDMSize      uint64
	PCIFetchAdd    uint16
	PCISwap        uint16
	PCICompareSwap uint16
	_              uint16
	XRCODP         uint32
	PortsEx        uint32
}
