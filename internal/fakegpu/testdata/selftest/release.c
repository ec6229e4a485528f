// What depends on the release that the fake NCCL is. Only functions of 2.14.3
// are used, so that it links with all.
#include "../control.h"
#include "../cuda/fakecuda.h"
#include "../nccl/fakenccl.h"
#include "check.h"

#include <string.h>

static struct gf1_control *page;
static int version;
static CUdeviceptr memory;

static void knob(enum gf1_knob k, uint64_t v) { atomic_store(&page->knobs[k], v); }

// A configuration as a caller would make it who knows size bytes of it.
static ncclConfig_t config(size_t size, unsigned at) {
	ncclConfig_t c = {.size = size, .magic = NCCL_MAGIC_CONFIG, .version = at, .blocking = 1};
	c.minCTAs = 4; // nonsense where they are not known
	c.maxCTAs = 2;
	return c;
}

static ncclResult_t init(ncclComm_t *comm, ncclConfig_t *c) {
	ncclUniqueId id;
	OK(ncclGetUniqueId(&id));
	return c == NULL ? ncclCommInitRank(comm, 1, id, 0) : ncclCommInitRankConfig(comm, 1, id, 0, c);
}

static ncclResult_t reduce(ncclComm_t comm, ncclDataType_t type) {
	void *p = (void *)(uintptr_t)memory;
	return ncclAllReduce(p, p, 1, type, ncclSum, comm, NULL);
}

int main(void) {
	CUcontext context;
	ncclComm_t comm;
	ncclResult_t state;
	page = gf1_fake_control();
	OK(ncclGetVersion(&version));
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&memory, 64));
	// A signal during set-up.
	knob(GF1_KNOB_EINTR, 1);
	knob(GF1_KNOB_INIT_HOLD, version < 21901 || version >= 22602 ? 0 : 1);
	ncclResult_t r = init(&comm, NULL);
	IS(version >= 21901 && version < 22602 ? ncclSystemError : ncclSuccess, r);
	OK(ncclCommAbort(comm));
	knob(GF1_KNOB_EINTR, 0);
	knob(GF1_KNOB_INIT_HOLD, 0);
	// Small floats since 2.24.3.
	OK(init(&comm, NULL));
	OK(reduce(comm, ncclBfloat16));
	IS(version >= 22403 ? ncclSuccess : ncclInvalidArgument, reduce(comm, ncclFloat8e4m3));
	OK(cuCtxSynchronize());
	// The error of one rank, and the code that no release knows.
	knob(GF1_KNOB_ASYNC_ERROR, ncclRemoteError);
	knob(GF1_KNOB_ASYNC_RANKS, 2);
	OK(ncclCommGetAsyncError(comm, &state));
	IS(ncclSuccess, state);
	knob(GF1_KNOB_ASYNC_RANKS, 1);
	OK(ncclCommGetAsyncError(comm, &state));
	IS(ncclRemoteError, state);
	knob(GF1_KNOB_ASYNC_ERROR, 0);
	CHECK((strcmp(ncclGetErrorString(ncclTimeout), "timeout") == 0) == (version >= 23003));
	OK(ncclCommDestroy(comm));
	// Configurations: fields that the caller's version does not have are reset.
	ncclConfig_t old = config(24, 21403);
	OK(init(&comm, &old));
	OK(ncclCommDestroy(comm));
	IS(0, (int)atomic_load(&page->reports));
	ncclConfig_t newest = config(96, 23007);
	r = init(&comm, &newest);
	IS(version >= 21700 ? ncclInvalidArgument : ncclSuccess, r);
	if (r == ncclSuccess)
		OK(ncclCommDestroy(comm));
	CHECK((atomic_load(&page->reports) != 0) == (version < 23007)); // not clamped to the library
	puts("ok");
	return 0;
}
