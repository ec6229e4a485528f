package cuda

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/ccuda"
)

// Code is an error code of the driver (CUresult). It is an error so that
// errors.Is can look for it: errors.Is(err, cuda.ErrorOutOfMemory). Codes that
// have no name here can be compared as numbers, Code(209).
type Code int

// Codes that a program may want to tell apart.
const (
	ErrorInvalidValue             Code = ccuda.CUDA_ERROR_INVALID_VALUE
	ErrorOutOfMemory              Code = ccuda.CUDA_ERROR_OUT_OF_MEMORY
	ErrorNotInitialized           Code = ccuda.CUDA_ERROR_NOT_INITIALIZED
	ErrorDeinitialized            Code = ccuda.CUDA_ERROR_DEINITIALIZED
	ErrorStubLibrary              Code = ccuda.CUDA_ERROR_STUB_LIBRARY
	ErrorDeviceUnavailable        Code = ccuda.CUDA_ERROR_DEVICE_UNAVAILABLE
	ErrorNoDevice                 Code = ccuda.CUDA_ERROR_NO_DEVICE
	ErrorInvalidDevice            Code = ccuda.CUDA_ERROR_INVALID_DEVICE
	ErrorInvalidImage             Code = ccuda.CUDA_ERROR_INVALID_IMAGE
	ErrorInvalidContext           Code = ccuda.CUDA_ERROR_INVALID_CONTEXT
	ErrorMapFailed                Code = ccuda.CUDA_ERROR_MAP_FAILED
	ErrorNoBinaryForGPU           Code = ccuda.CUDA_ERROR_NO_BINARY_FOR_GPU
	ErrorECCUncorrectable         Code = ccuda.CUDA_ERROR_ECC_UNCORRECTABLE
	ErrorPeerAccessUnsupported    Code = ccuda.CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
	ErrorInvalidPTX               Code = ccuda.CUDA_ERROR_INVALID_PTX
	ErrorNVLinkUncorrectable      Code = ccuda.CUDA_ERROR_NVLINK_UNCORRECTABLE
	ErrorJITCompilerNotFound      Code = ccuda.CUDA_ERROR_JIT_COMPILER_NOT_FOUND
	ErrorUnsupportedPTXVersion    Code = ccuda.CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	ErrorOperatingSystem          Code = ccuda.CUDA_ERROR_OPERATING_SYSTEM
	ErrorInvalidHandle            Code = ccuda.CUDA_ERROR_INVALID_HANDLE
	ErrorIllegalState             Code = ccuda.CUDA_ERROR_ILLEGAL_STATE
	ErrorNotFound                 Code = ccuda.CUDA_ERROR_NOT_FOUND
	ErrorNotReady                 Code = ccuda.CUDA_ERROR_NOT_READY
	ErrorIllegalAddress           Code = ccuda.CUDA_ERROR_ILLEGAL_ADDRESS
	ErrorLaunchOutOfResources     Code = ccuda.CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
	ErrorLaunchTimeout            Code = ccuda.CUDA_ERROR_LAUNCH_TIMEOUT
	ErrorPeerAccessAlreadyEnabled Code = ccuda.CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED
	ErrorPeerAccessNotEnabled     Code = ccuda.CUDA_ERROR_PEER_ACCESS_NOT_ENABLED
	ErrorContextIsDestroyed       Code = ccuda.CUDA_ERROR_CONTEXT_IS_DESTROYED
	ErrorAssert                   Code = ccuda.CUDA_ERROR_ASSERT
	ErrorHardwareStackError       Code = ccuda.CUDA_ERROR_HARDWARE_STACK_ERROR
	ErrorIllegalInstruction       Code = ccuda.CUDA_ERROR_ILLEGAL_INSTRUCTION
	ErrorMisalignedAddress        Code = ccuda.CUDA_ERROR_MISALIGNED_ADDRESS
	ErrorInvalidAddressSpace      Code = ccuda.CUDA_ERROR_INVALID_ADDRESS_SPACE
	ErrorInvalidPC                Code = ccuda.CUDA_ERROR_INVALID_PC
	ErrorLaunchFailed             Code = ccuda.CUDA_ERROR_LAUNCH_FAILED
	ErrorNotPermitted             Code = ccuda.CUDA_ERROR_NOT_PERMITTED
	ErrorNotSupported             Code = ccuda.CUDA_ERROR_NOT_SUPPORTED
	ErrorSystemNotReady           Code = ccuda.CUDA_ERROR_SYSTEM_NOT_READY
	ErrorSystemDriverMismatch     Code = ccuda.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
	ErrorStreamCaptureUnsupported Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
	ErrorStreamCaptureInvalidated Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
	ErrorStreamCaptureMerge       Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_MERGE
	ErrorStreamCaptureUnmatched   Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED
	ErrorStreamCaptureUnjoined    Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_UNJOINED
	ErrorStreamCaptureIsolation   Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_ISOLATION
	ErrorStreamCaptureImplicit    Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
	ErrorCapturedEvent            Code = ccuda.CUDA_ERROR_CAPTURED_EVENT
	ErrorStreamCaptureWrongThread Code = ccuda.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
	ErrorUnknown                  Code = ccuda.CUDA_ERROR_UNKNOWN
)

// Error implements error. An *Error, which is what calls answer, says more.
func (c Code) Error() string { return fmt.Sprintf("CUDA error %d", int(c)) }

// Sticky reports whether the code says that the GPU's context is lost: every
// later call of the process on that GPU fails, and only a new process recovers.
func (c Code) Sticky() bool {
	switch c {
	case ErrorIllegalAddress, ErrorLaunchTimeout, ErrorAssert, ErrorHardwareStackError,
		ErrorIllegalInstruction, ErrorMisalignedAddress, ErrorInvalidAddressSpace, ErrorInvalidPC,
		ErrorLaunchFailed, ErrorECCUncorrectable, ErrorNVLinkUncorrectable:
		return true
	}
	return false
}

// gone reports whether nothing of the context is left to be destroyed.
func (c Code) gone() bool {
	return c.Sticky() || c == ErrorContextIsDestroyed || c == ErrorDeinitialized
}
