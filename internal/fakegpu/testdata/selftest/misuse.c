// Each rule that the fakes watch is broken once.
#include "../control.h"
#include "../cuda/fakecuda.h"
#include "../nccl/fakenccl.h"
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct gf1_control *page;
static CUcontext contexts[2];
static CUdeviceptr memory;

// REPORTED wants one report, or more, that holds the text since the last check.
static void reported(int line, const char *text) {
	uint64_t n = atomic_load(&page->reports);
	bool found = false;
	for (uint64_t i = 0; i < n; i++)
		found = found || strstr(page->report[i].text, text) != NULL;
	if (!found) {
		fprintf(stderr, "line %d: no report of \"%s\"\n", line, text);
		for (uint64_t i = 0; i < n; i++)
			fprintf(stderr, "  %s\n", page->report[i].text);
		exit(1);
	}
	atomic_store(&page->reports, 0);
}
#define REPORTED(text) reported(__LINE__, text)

static void quiet(void) { IS(0, (int)atomic_load(&page->reports)); }
static void knob(enum gf1_knob k, uint64_t v) { atomic_store(&page->knobs[k], v); }
static void *ptr(CUdeviceptr p) { return (void *)(uintptr_t)p; }

static void until(int counter, int64_t value) {
	while (gf1_fake_count(counter) < value)
		usleep(1000);
}

static ncclConfig_t config(int blocking) {
	ncclConfig_t c = {.size = sizeof c, .magic = NCCL_MAGIC_CONFIG, .version = 23007};
	for (int *p = &c.blocking; p <= &c.maxCTAs; p++)
		*p = NCCL_UNDEFINED;
	c.splitShare = c.trafficClass = NCCL_UNDEFINED;
	for (int *p = &c.collnetEnable; p <= &c.graphStreamOrdering; p++)
		*p = NCCL_UNDEFINED;
	c.blocking = blocking;
	return c;
}

static ncclComm_t alone(int blocking) {
	ncclConfig_t c = config(blocking);
	ncclUniqueId id;
	ncclComm_t comm;
	ncclResult_t state = ncclInProgress;
	OK(ncclGetUniqueId(&id));
	IS(blocking ? ncclSuccess : ncclInProgress, ncclCommInitRankConfig(&comm, 1, id, 0, &c));
	while (state == ncclInProgress)
		OK(ncclCommGetAsyncError(comm, &state));
	IS(ncclSuccess, state);
	return comm;
}

static ncclResult_t reduce(ncclComm_t comm, CUstream stream) {
	return ncclAllReduce(ptr(memory), ptr(memory), 1, ncclInt32, ncclSum, comm, stream);
}

static void after_the_end(void) {
	ncclComm_t comm = alone(1);
	OK(ncclCommDestroy(comm));
	quiet();
	IS(ncclInvalidArgument, reduce(comm, NULL));
	REPORTED("destroyed, aborted or never was");
	IS(ncclInvalidArgument, ncclCommDestroy(comm));
	REPORTED("ncclCommDestroy of a communicator that was destroyed");
	IS(ncclInvalidArgument, ncclCommAbort(comm));
	REPORTED("ncclCommAbort of a communicator that was destroyed");
	comm = alone(1);
	OK(ncclCommFinalize(comm));
	IS(ncclInvalidArgument, ncclCommFinalize(comm));
	REPORTED("ncclCommFinalize twice");
	OK(ncclCommDestroy(comm));
	quiet();
}

static void *split(void *comm) {
	ncclComm_t child = NULL;
	OK(cuCtxSetCurrent(contexts[0]));
	if (ncclCommSplit(comm, 0, 0, &child, NULL) == ncclSuccess)
		OK(ncclCommDestroy(child));
	OK(cuCtxSetCurrent(NULL));
	return NULL;
}

static void two_threads(void) {
	ncclComm_t comm = alone(1);
	pthread_t thread;
	knob(GF1_KNOB_INIT_HOLD, 1);
	pthread_create(&thread, NULL, split, comm);
	until(GF1_INITS_WAITING, 1);
	reduce(comm, NULL);
	REPORTED("ncclAllReduce beside another call inside the same communicator");
	OK(ncclCommAbort(comm));
	REPORTED("ncclCommAbort beside another call inside the same communicator");
	knob(GF1_KNOB_INIT_HOLD, 0);
	pthread_join(thread, NULL);
	OK(cuCtxSynchronize());
	quiet();
}

static void *without_context(void *comm) {
	int64_t before = gf1_fake_count(GF1_CONTEXTS_CREATED);
	OK(reduce(comm, NULL));
	REPORTED("without a context");
	CHECK(gf1_fake_count(GF1_CONTEXTS_CREATED) == before); // GPU 0 had its own
	OK(cuCtxSetCurrent(NULL));
	return NULL;
}

static void call_from_stream(void *comm) { ncclAllReduce(ptr(memory), ptr(memory), 1, ncclInt32, ncclSum, comm, NULL); }

static void contexts_and_streams(void) {
	ncclComm_t comm = alone(1);
	pthread_t thread;
	OK(cuCtxSetCurrent(contexts[1]));
	reduce(comm, NULL);
	REPORTED("for a communicator on GPU 0 with the context of GPU 1");
	OK(cuCtxSetCurrent(contexts[0]));
	pthread_create(&thread, NULL, without_context, comm);
	pthread_join(thread, NULL);
	OK(cuLaunchHostFunc(NULL, call_from_stream, comm));
	OK(cuCtxSynchronize());
	REPORTED("from a host function of a stream");
	OK(ncclCommDestroy(comm));
	comm = alone(0);
	ncclResult_t state = reduce(comm, CU_STREAM_PER_THREAD);
	while (state == ncclInProgress)
		OK(ncclCommGetAsyncError(comm, &state));
	REPORTED("the per-thread stream with a non-blocking communicator");
	knob(GF1_KNOB_JOB_HOLD, 1);
	IS(ncclInProgress, reduce(comm, NULL));
	IS(ncclInvalidArgument, ncclCommUserRank(comm, &(int){0}));
	REPORTED("before the previous operation of rank 0 returned ncclSuccess");
	knob(GF1_KNOB_JOB_HOLD, 0);
	OK(ncclCommAbort(comm));
	quiet();
	knob(GF1_KNOB_CHANGE_CONTEXT, 2);
	comm = alone(1);
	CUcontext now;
	OK(cuCtxGetCurrent(&now));
	CHECK(now == contexts[1]);
	knob(GF1_KNOB_CHANGE_CONTEXT, 0);
	OK(cuCtxSetCurrent(contexts[0]));
	OK(ncclCommDestroy(comm));
}

static void *destroy(void *comm) {
	OK(cuCtxSetCurrent(contexts[0]));
	OK(ncclCommDestroy(comm));
	OK(cuCtxSetCurrent(NULL));
	return NULL;
}

static void live_graph(void) {
	ncclComm_t comm = alone(1);
	CUstream s;
	CUgraph g;
	CUgraphExec x;
	pthread_t thread;
	OK(cuStreamCreate(&s, 1));
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(reduce(comm, s));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphDestroy(g));
	int64_t live = gf1_fake_count(GF1_LIVE_COMMS);
	pthread_create(&thread, NULL, destroy, comm);
	usleep(20000);
	CHECK(gf1_fake_count(GF1_LIVE_COMMS) == live);
	OK(cuGraphExecDestroy(x));
	pthread_join(thread, NULL);
	OK(cuStreamDestroy_v2(s));
	quiet();
}

static void ids_and_configurations(void) {
	ncclUniqueId id;
	ncclComm_t comm, other;
	ncclConfig_t c = config(1);
	char name[] = "ring";
	OK(ncclGetUniqueId(&id));
	OK(ncclCommInitRank(&comm, 1, id, 0));
	CHECK(ncclCommInitRank(&other, 1, id, 0) != ncclSuccess);
	atomic_store(&page->reports, 0);
	OK(ncclCommDestroy(comm));
	OK(ncclGetUniqueId(&id));
	c.size += 8;
	OK(ncclCommInitRankConfig(&comm, 1, id, 0, &c));
	REPORTED("a configuration of 104 bytes");
	OK(ncclCommDestroy(comm));
	OK(ncclGetUniqueId(&id));
	c.size -= 8;
	c.commName = name;
	OK(ncclCommInitRankConfig(&comm, 1, id, 0, &c));
	name[0] = 'x';
	OK(ncclCommDestroy(comm));
	REPORTED("the name of rank 0 was changed");
	c.magic = 1;
	OK(ncclGetUniqueId(&id));
	IS(ncclInvalidArgument, ncclCommInitRankConfig(&comm, 1, id, 0, &c));
	quiet();
}

static void memory_and_operators(void) {
	ncclComm_t comm = alone(1);
	void *p;
	CUdeviceptr freed;
	OK(ncclMemAlloc(&p, 10));
	OK(ncclMemFree(p));
	IS(ncclInvalidArgument, ncclMemFree(p));
	REPORTED("ncclMemFree of memory");
	IS(ncclInvalidArgument, ncclRedOpDestroy(9, comm));
	REPORTED("ncclRedOpDestroy");
	IS(ncclInvalidArgument, ncclCommDeregister(comm, NULL));
	REPORTED("ncclCommDeregister");
	OK(cuMemAlloc_v2(&freed, 16));
	OK(cuMemFree_v2(freed));
	IS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(freed));
	REPORTED("cuMemFree");
	ncclAllReduce(ptr(freed), ptr(freed), 1, ncclInt32, ncclSum, comm, NULL); // may see its own fault
	IS(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
	REPORTED("not, or not all, memory of a GPU");
	OK(ncclCommAbort(comm));
}

static void allocation_beside_work(void) {
	ncclComm_t comm = alone(1);
	CUdeviceptr p;
	knob(GF1_KNOB_COLLECTIVE_HOLD, 1);
	OK(reduce(comm, NULL));
	until(GF1_COLLECTIVES_WAITING, 1);
	OK(cuMemAlloc_v2(&p, 16));
	quiet();
	knob(GF1_KNOB_ALLOC_SYNC, 2);
	OK(cuMemAlloc_v2(&p, 16));
	REPORTED("cuMemAlloc_v2 while work is under way");
	knob(GF1_KNOB_ALLOC_SYNC, 0);
	OK(ncclCommAbort(comm)); // ends what is held
	knob(GF1_KNOB_COLLECTIVE_HOLD, 0);
	OK(cuCtxSynchronize());
	quiet();
}

static void faults(void) {
	ncclComm_t comm = alone(1);
	struct gf1_fault *f = &page->faults[0];
	strcpy(f->name, "ncclAllReduce");
	atomic_store(&f->code, 99);
	atomic_store(&f->skip, 1);
	atomic_store(&f->times, 1);
	atomic_store(&page->armed, 1);
	OK(reduce(comm, NULL));
	IS(99, reduce(comm, NULL));
	OK(reduce(comm, NULL));
	CHECK(strcmp(ncclGetErrorString(99), "unknown result code") == 0);
	OK(ncclCommDestroy(comm));
	quiet();
}

int main(void) {
	page = gf1_fake_control();
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&contexts[0], 0));
	OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
	OK(cuCtxSetCurrent(contexts[0]));
	OK(cuMemAlloc_v2(&memory, 64));
	after_the_end();
	two_threads();
	contexts_and_streams();
	live_graph();
	ids_and_configurations();
	allocation_beside_work();
	faults();
	memory_and_operators();
	puts("ok");
	return 0;
}
