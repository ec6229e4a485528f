package cuda

import "github.com/gofabric/gofabric/internal/ccuda"

// Attribute is a property of a GPU (CUdevice_attribute). Those without a name
// here can be asked for by number, Attribute(112).
type Attribute int

// Attributes. Unless it says otherwise, an attribute's value is 1 for yes and 0
// for no.
const (
	AttributeMaxThreadsPerBlock Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK // a number
	AttributeMaxBlockX          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X       // a number
	AttributeMaxBlockY          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y       // a number
	AttributeMaxBlockZ          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z       // a number
	AttributeMaxGridX           Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X        // a number
	AttributeMaxGridY           Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y        // a number
	AttributeMaxGridZ           Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z        // a number
	AttributeWarpSize           Attribute = ccuda.CU_DEVICE_ATTRIBUTE_WARP_SIZE             // threads
	AttributeMultiprocessors    Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT  // a number
	AttributeClockRate          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_CLOCK_RATE            // kHz
	AttributeMemoryClockRate    Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE     // kHz
	AttributeMemoryBusWidth     Attribute = ccuda.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH
	AttributeL2CacheSize        Attribute = ccuda.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE // bytes
	AttributeSharedMemory       Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK
	AttributeSharedMemoryOptIn  Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
	AttributeIntegrated         Attribute = ccuda.CU_DEVICE_ATTRIBUTE_INTEGRATED
	AttributeComputeMode        Attribute = ccuda.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE // 0 default, 2 prohibited, 3 one process
	AttributeConcurrentKernels  Attribute = ccuda.CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS
	AttributeECC                Attribute = ccuda.CU_DEVICE_ATTRIBUTE_ECC_ENABLED
	AttributeCopyEngines        Attribute = ccuda.CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT // a number
	AttributeUnifiedAddressing  Attribute = ccuda.CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
	AttributePageableAccess     Attribute = ccuda.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS
	AttributePCIDomain          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID // a number
	AttributePCIBus             Attribute = ccuda.CU_DEVICE_ATTRIBUTE_PCI_BUS_ID    // a number
	AttributePCIDevice          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID // a number
	AttributeHostNUMANode       Attribute = ccuda.CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID  // a number, -1 for none; since CUDA 12.2
	AttributeVMM                Attribute = ccuda.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
	AttributeVMMPosixHandle     Attribute = ccuda.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
	AttributeVMMFabricHandle    Attribute = ccuda.CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED
	AttributeGPUDirectRDMA      Attribute = ccuda.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED
	AttributeGPUDirectRDMAOfVMM Attribute = ccuda.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
	AttributeGPUDirectRDMAFlush Attribute = ccuda.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS // bits
	AttributeGPUDirectRDMAOrder Attribute = ccuda.CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING      // 0, 100 or 200
	AttributeDMABuf             Attribute = ccuda.CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
	AttributeIPCEvents          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED
	AttributeMulticast          Attribute = ccuda.CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED
)

// Attribute reads a property of the device. It answers ErrorInvalidValue for one
// that the driver does not know.
//
// Implements: cuDeviceGetAttribute.
func (d *Device) Attribute(a Attribute) (int, error) {
	const op = "read attribute"
	if err := d.use(); err != nil {
		return 0, d.err(op, err)
	}
	defer d.obj.Done()
	v, r := d.raw.Attribute(int(a))
	return v, d.check(op, r)
}

// has reports whether the device has a capability; one that the driver does not
// know is not there. The device is in use.
func (d *Device) has(a Attribute) bool {
	v, r := d.raw.Attribute(int(a))
	return r == 0 && v != 0
}
