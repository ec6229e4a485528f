//go:build linux && cgo

package nvmllib

// The one file that imports go-nvml: the rest of the package sees it through
// these names.
import gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

type (
	driver        = gonvml.Interface
	device        = gonvml.Device
	answer        = gonvml.Return
	eventSet      = gonvml.EventSet
	pciInfo       = gonvml.PciInfo
	processInfo   = gonvml.ProcessInfo
	fieldValue    = gonvml.FieldValue
	valueType     = gonvml.ValueType
	topologyLevel = gonvml.GpuTopologyLevel
	p2pIndex      = gonvml.GpuP2PCapsIndex
	p2pStatus     = gonvml.GpuP2PStatus
	linkPeerType  = gonvml.IntNvLinkDeviceType
	eccKind       = gonvml.MemoryErrorType
	eccCounter    = gonvml.EccCounterType
)

const (
	success     = gonvml.SUCCESS
	enabled     = gonvml.FEATURE_ENABLED
	migEnabled  = gonvml.DEVICE_MIG_ENABLE
	scopeNode   = gonvml.AFFINITY_SCOPE_NODE
	maxLinks    = gonvml.NVLINK_MAX_LINKS
	sensorGPU   = gonvml.TEMPERATURE_GPU
	clockSM     = gonvml.CLOCK_SM
	clockMemory = gonvml.CLOCK_MEM

	fieldLinkCount   = gonvml.FI_DEV_NVLINK_LINK_COUNT
	fieldLinkSpeed   = gonvml.FI_DEV_NVLINK_GET_SPEED
	fieldCommonSpeed = gonvml.FI_DEV_NVLINK_SPEED_MBPS_COMMON
	fieldC2CLinks    = gonvml.FI_DEV_C2C_LINK_COUNT

	fieldNVLinkSent     = gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX
	fieldNVLinkReceived = gonvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX

	valueInt       = gonvml.VALUE_TYPE_SIGNED_INT
	valueUint      = gonvml.VALUE_TYPE_UNSIGNED_INT
	valueUlong     = gonvml.VALUE_TYPE_UNSIGNED_LONG
	valueUlongLong = gonvml.VALUE_TYPE_UNSIGNED_LONG_LONG
	valueLongLong  = gonvml.VALUE_TYPE_SIGNED_LONG_LONG

	fabricNotStarted = gonvml.GPU_FABRIC_STATE_NOT_STARTED
	fabricInProgress = gonvml.GPU_FABRIC_STATE_IN_PROGRESS
	fabricCompleted  = gonvml.GPU_FABRIC_STATE_COMPLETED

	peerGPU    = gonvml.NVLINK_DEVICE_TYPE_GPU
	peerSwitch = gonvml.NVLINK_DEVICE_TYPE_SWITCH
	peerNPU    = gonvml.NVLINK_DEVICE_TYPE_IBMNPU

	p2pRead    = gonvml.P2P_CAPS_INDEX_READ
	p2pWrite   = gonvml.P2P_CAPS_INDEX_WRITE
	p2pNVLink  = gonvml.P2P_CAPS_INDEX_NVLINK
	p2pAtomics = gonvml.P2P_CAPS_INDEX_ATOMICS
	p2pPCI     = gonvml.P2P_CAPS_INDEX_PCI

	eccCorrected   = gonvml.MEMORY_ERROR_TYPE_CORRECTED
	eccUncorrected = gonvml.MEMORY_ERROR_TYPE_UNCORRECTED
	eccSinceLoad   = gonvml.VOLATILE_ECC
	eccOverLife    = gonvml.AGGREGATE_ECC
)

// newDriver is go-nvml over one file. It opens the file at Init.
func newDriver(path string) driver { return gonvml.New(gonvml.WithLibraryPath(path)) }
