// The rules of use that the original leaves to chance: broken ones are reported.
#include "state.h"

#define READER_ONE 0x10000u
#define ENDING_BIT 0x8000u

ncclResult_t gf1_enter(ncclComm_t comm, const char *name, enum access access) {
	if (comm == NULL)
		return gf1_fail(ncclInvalidArgument, "%s : comm argument is NULL", name);
	if (comm->magic != MAGIC_COMM) {
		gf1_fake_report("%s of a communicator that was destroyed, aborted or never was", name);
		return gf1_fail(ncclInvalidArgument, "comm has already been destroyed");
	}
	uint32_t add = access == READER ? READER_ONE : access == EXCLUSIVE ? 1 : ENDING_BIT | 1;
	uint32_t before = atomic_fetch_add(&comm->inside, add);
	bool exclusive = (before & 0x7fff) != 0, readers = before >> 16 != 0, ending = (before & ENDING_BIT) != 0;
	if (ending || (access != READER && exclusive) || (access == ENDING && readers))
		gf1_fake_report("%s beside another call inside the same communicator (rank %d)", name, comm->rank);
	return ncclSuccess;
}

void gf1_leave(ncclComm_t comm, enum access access) {
	atomic_fetch_sub(&comm->inside, access == READER ? READER_ONE : access == EXCLUSIVE ? 1 : ENDING_BIT | 1);
}

// gf1_ready is NCCL's check before most calls.
ncclResult_t gf1_ready(ncclComm_t comm, const char *name) {
	int async = atomic_load(&comm->async);
	if (atomic_load(&comm->abort_flag) && !comm->revoked)
		return ncclSuccess;
	if (async == ncclInProgress) {
		gf1_fake_report("%s before the previous operation of rank %d returned ncclSuccess", name, comm->rank);
		return gf1_fail(ncclInvalidArgument, "Attempt to use communicator before the previous operation returned ncclSuccess");
	}
	return async;
}

// gf1_current_device answers the device of the calling thread. A thread without
// a context gets one on GPU 0, as from the CUDA runtime.
ncclResult_t gf1_current_device(const char *name, int *device) {
	CUcontext context = NULL;
	CUresult r = cuInit(0);
	if (r == CUDA_SUCCESS)
		r = cuCtxGetCurrent(&context);
	if (r == CUDA_ERROR_NOT_PERMITTED)
		gf1_fake_report("%s from a host function of a stream", name);
	if (r != CUDA_SUCCESS)
		return gf1_fail(ncclUnhandledCudaError, "Cuda failure %d", r);
	if (context == NULL) {
		gf1_fake_report("%s on a thread without a context: one is made on GPU 0", name);
		r = cuDevicePrimaryCtxRetain(&context, 0);
		if (r == CUDA_SUCCESS)
			r = cuCtxSetCurrent(context);
	}
	if (r == CUDA_SUCCESS)
		r = cuCtxGetDevice(device);
	return r == CUDA_SUCCESS ? ncclSuccess : gf1_fail(ncclUnhandledCudaError, "Cuda failure %d", r);
}

// gf1_check_context reports a call that is made with the context of another
// device, or with none.
void gf1_check_context(ncclComm_t comm, const char *name) {
	int device = -1;
	if (gf1_current_device(name, &device) == ncclSuccess && device != comm->device)
		gf1_fake_report("%s for a communicator on GPU %d with the context of GPU %d", name, comm->device, device);
}

CUcontext gf1_enter_context(CUcontext context) {
	CUcontext before = NULL;
	cuCtxGetCurrent(&before);
	cuCtxSetCurrent(context);
	return before;
}

void gf1_leave_context(CUcontext before) { cuCtxSetCurrent(before); }

void gf1_disturb_context(void) {
	uint64_t knob = gf1_knob(GF1_KNOB_CHANGE_CONTEXT);
	CUcontext context;
	unsigned flags;
	int active = 0;
	if (knob == 0 || cuDevicePrimaryCtxGetState((int)knob - 1, &flags, &active) != CUDA_SUCCESS || !active)
		return;
	if (cuDevicePrimaryCtxRetain(&context, (int)knob - 1) == CUDA_SUCCESS) {
		cuCtxSetCurrent(context);
		cuDevicePrimaryCtxRelease_v2((int)knob - 1);
	}
}
