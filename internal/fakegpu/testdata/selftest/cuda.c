// What the fake driver does, told by a program that links it.
#include "../control.h"
#include "../cuda/fakecuda.h"
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gf1_control *page;

static int64_t counter(int i) { return gf1_fake_count(i); }

static void contexts(CUcontext *out) {
	CUcontext context, other, current;
	CUdeviceptr p;
	IS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet(&(int){0}, 0));
	OK(cuInit(0));
	IS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&p, 16));
	int created = (int)counter(GF1_CONTEXTS_CREATED);
	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuDevicePrimaryCtxRetain(&other, 0));
	CHECK(context == other);
	IS(created + 1, counter(GF1_CONTEXTS_CREATED));
	IS(0, counter(GF1_CONTEXTS_CREATED + 1));
	OK(cuCtxPushCurrent_v2(context));
	OK(cuCtxGetCurrent(&current));
	CHECK(current == context);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuMemAlloc_v2(&p, 16));
	OK(cuMemFree_v2(p));
	*out = context;
}

static void order_and_queries(void) {
	CUstream s;
	CUevent before, after;
	CUdeviceptr p;
	unsigned host[256], *pinned;
	float ms = -1;
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -1));
	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
	OK(cuMemAlloc_v2(&p, sizeof host));
	OK(cuMemAllocHost_v2((void **)&pinned, sizeof host));
	OK(cuStreamQuery(s));
	OK(cuEventQuery(before));
	atomic_store(&page->knobs[GF1_KNOB_STREAM_HOLD], 1);
	OK(cuEventRecord(before, s));
	OK(cuMemsetD32Async(p, 7, 256, s));
	OK(cuMemsetD8Async(p, 1, 4, s));
	OK(cuMemcpyDtoHAsync_v2(pinned, p, sizeof host, s));
	OK(cuEventRecord(after, s));
	IS(CUDA_ERROR_NOT_READY, cuStreamQuery(s));
	IS(CUDA_ERROR_NOT_READY, cuEventQuery(after));
	IS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&ms, before, after));
	atomic_store(&page->knobs[GF1_KNOB_STREAM_HOLD], 0);
	OK(cuStreamSynchronize(s));
	OK(cuEventQuery(after));
	OK(cuEventElapsedTime(&ms, before, after));
	CHECK(ms >= 0);
	CHECK(pinned[0] == 0x01010101 && pinned[255] == 7);
	// Pageable memory has been read when the call returns.
	atomic_store(&page->knobs[GF1_KNOB_STREAM_HOLD], 1);
	memset(host, 3, sizeof host);
	OK(cuMemcpyHtoDAsync_v2(p, host, sizeof host, s));
	memset(host, 9, sizeof host);
	atomic_store(&page->knobs[GF1_KNOB_STREAM_HOLD], 0);
	OK(cuMemcpyDtoHAsync_v2(host, p, sizeof host, s));
	CHECK(host[5] == 0x03030303);
	IS(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host, p, sizeof host + 1));
	OK(cuMemFreeHost(pinned));
	OK(cuMemFree_v2(p));
	OK(cuEventDestroy_v2(before));
	OK(cuEventDestroy_v2(after));
	OK(cuStreamDestroy_v2(s));
}

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
						  ".visible .entry gf1_fill_u32(.param .u64 to, .param .u64 n, .param .u32 value) { ret; }\n"
						  ".visible .entry gf1_trap() { ret; }\n";

static void kernels(void) {
	char log[128] = "";
	int options[] = {5, 6};
	void *values[] = {log, (void *)sizeof log};
	CUmodule m;
	CUfunction f;
	CUdeviceptr p;
	unsigned host[8];
	IS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&m, "not ptx", 2, options, values));
	CHECK(strstr(log, ".version") != NULL);
	OK(cuModuleLoadData(&m, ptx));
	IS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&f, m, "nothing"));
	OK(cuModuleGetFunction(&f, m, "gf1_fill_u32"));
	OK(cuMemAlloc_v2(&p, sizeof host));
	OK(cuMemsetD8_v2(p, 0, sizeof host));
	unsigned long long n = 6;
	unsigned value = 42;
	void *params[] = {&p, &n, &value};
	OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(host, p, sizeof host));
	CHECK(host[5] == 42 && host[6] == 0);
	OK(cuMemFree_v2(p));
	OK(cuModuleUnload(m));
}

static void sticky(void) {
	CUcontext c;
	CUmodule m;
	CUfunction f;
	OK(cuCtxCreate_v2(&c, 0, 0));
	OK(cuModuleLoadData(&m, ptx));
	OK(cuModuleGetFunction(&f, m, "gf1_trap"));
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	IS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
	IS(CUDA_ERROR_LAUNCH_FAILED, cuStreamQuery(NULL));
	IS(CUDA_ERROR_LAUNCH_FAILED, cuMemAlloc_v2(&(CUdeviceptr){0}, 4));
	OK(cuCtxDestroy_v2(c));
}

static void increment(void *data) { atomic_fetch_add((_Atomic int *)data, 1); }

static void capture(void) {
	CUstream s, side;
	CUevent fork, join, fresh;
	CUgraph g;
	CUgraphExec x;
	CUdeviceptr p;
	int status;
	_Atomic int runs = 0;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
	OK(cuEventCreate(&fresh, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuStreamIsCapturing(s, &status));
	IS(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
	OK(cuLaunchHostFunc(s, increment, &runs));
	OK(cuEventRecord(fork, s));
	OK(cuStreamWaitEvent(side, fork, 0));
	OK(cuLaunchHostFunc(side, increment, &runs));
	OK(cuEventRecord(join, side));
	OK(cuStreamWaitEvent(s, join, 0));
	OK(cuStreamEndCapture(s, &g));
	IS(0, runs);
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(x, s));
	OK(cuGraphLaunch(x, side));
	OK(cuStreamSynchronize(s));
	OK(cuStreamSynchronize(side));
	IS(4, runs);
	// A launch cannot be captured.
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch(x, s));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	OK(cuGraphExecDestroy(x));
	// What a capture forbids ends it.
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemAlloc_v2(&p, 4));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(s));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuLaunchHostFunc(s, increment, &runs));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	OK(cuMemFree_v2(p));
	// A query of anything on any thread ends a global capture.
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuEventQuery(fresh));
	IS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(s, &g));
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuStreamQuery(side));
	OK(cuStreamEndCapture(s, &g));
	OK(cuGraphDestroy(g));
	// Work that is not joined.
	OK(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuEventRecord(fork, s));
	OK(cuStreamWaitEvent(side, fork, 0));
	OK(cuLaunchHostFunc(side, increment, &runs));
	IS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(s, &g));
	OK(cuEventDestroy_v2(fork));
	OK(cuEventDestroy_v2(join));
	OK(cuEventDestroy_v2(fresh));
	OK(cuStreamDestroy_v2(s));
	OK(cuStreamDestroy_v2(side));
}

static void virtual_memory(void) {
	CUmemAllocationProp prop = {.type = 1, .requestedHandleTypes = 1, .location = {1, 0}};
	CUmemAccessDesc access = {.location = {1, 0}, .flags = 3};
	CUmemGenericAllocationHandle h;
	CUdeviceptr p;
	size_t size;
	int fd;
	prop.allocFlags.gpuDirectRDMACapable = 1;
	OK(cuMemGetAllocationGranularity(&size, &prop, 0));
	OK(cuMemAddressReserve(&p, 2 * size, 0, 0, 0));
	OK(cuMemCreate(&h, size, &prop, 0));
	OK(cuMemMap(p, size, 0, h, 0));
	IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(p, 5, size));
	OK(cuMemSetAccess(p, size, &access, 1));
	OK(cuMemsetD8_v2(p, 5, size));
	IS(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2(p, 5, size + 1));
	OK(cuCtxSynchronize()); // a fill is asynchronous for the host
	OK(cuMemGetHandleForAddressRange(&fd, p, size, 1, 0));
	unsigned char *view = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(view != MAP_FAILED && view[size - 1] == 5);
	close(fd);
	OK(cuMemRelease(h));
	OK(cuMemUnmap(p, size));
	OK(cuMemAddressFree(p, 2 * size));
	munmap(view, size);
}

static void *no_context(void *unused) {
	(void)unused;
	IS(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(NULL));
	return NULL;
}

// The other process: it opens what arrives on the pipe and writes there.
static int child(int in) {
	CUipcMemHandle h;
	CUcontext c;
	CUdeviceptr p;
	CHECK(read(in, &h, sizeof h) == sizeof h);
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	OK(cuCtxSetCurrent(c));
	OK(cuIpcOpenMemHandle_v2(&p, h, 1));
	OK(cuMemsetD8_v2(p, 77, 4096));
	OK(cuIpcCloseMemHandle(p));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return 0;
}

int main(void) {
	int pipes[2], status;
	CHECK(pipe(pipes) == 0);
	pid_t pid = fork(); // before the first call: the fake does not follow a fork
	if (pid == 0) {
		close(pipes[1]);
		_exit(child(pipes[0]));
	}
	page = gf1_fake_control();
	CUcontext context;
	contexts(&context);
	CUdeviceptr shared;
	CUipcMemHandle h;
	unsigned char host[4096];
	OK(cuMemAlloc_v2(&shared, 4096));
	OK(cuIpcGetMemHandle(&h, shared));
	CHECK(write(pipes[1], &h, sizeof h) == sizeof h);
	CHECK(waitpid(pid, &status, 0) == pid);
	IS(0, status);
	OK(cuMemcpyDtoH_v2(host, shared, 4096));
	CHECK(host[4095] == 77);
	OK(cuMemFree_v2(shared));
	order_and_queries();
	kernels();
	sticky();
	capture();
	virtual_memory();
	pthread_t thread;
	pthread_create(&thread, NULL, no_context, NULL);
	pthread_join(thread, NULL);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	IS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&shared, 4));
	for (int i = GF1_LIVE_STREAMS; i <= GF1_LIVE_USER_OBJECTS; i++)
		IS(0, counter(i));
	IS(0, counter(GF1_CONTEXTS_LIVE));
	IS(0, (int)atomic_load(&page->reports));
	puts("ok");
	return 0;
}
