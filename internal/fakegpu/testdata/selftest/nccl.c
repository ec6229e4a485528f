// What the fake NCCL does, told by a program that links it: ranks in threads of
// one process, and in two processes.
#include "../control.h"
#include "../nccl/fakenccl.h"
#include "../cuda/fakecuda.h"
#include "check.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gf1_control *page;
static ncclUniqueId id;

struct rank {
	int rank, size;
	CUcontext context;
	CUstream stream;
	ncclComm_t comm;
	CUdeviceptr a, b;
};

enum { N = 100000 };

static void set_up(struct rank *r) {
	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&r->context, r->rank));
	OK(cuCtxSetCurrent(r->context));
	OK(cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&r->a, N * 8));
	OK(cuMemAlloc_v2(&r->b, N * 8));
}

static void tear_down(struct rank *r) {
	OK(cuMemFree_v2(r->a));
	OK(cuMemFree_v2(r->b));
	OK(cuStreamDestroy_v2(r->stream));
	OK(cuCtxSetCurrent(NULL));
	OK(cuDevicePrimaryCtxRelease_v2(r->rank));
}

static void *ptr(CUdeviceptr p) { return (void *)(uintptr_t)p; }

static void put(struct rank *r, const void *from, size_t size) { OK(cuMemcpyHtoD_v2(r->a, from, size)); }

static void get(struct rank *r, void *to, size_t size) {
	OK(cuStreamSynchronize(r->stream));
	OK(cuMemcpyDtoH_v2(to, r->b, size));
}

static void reductions(struct rank *r) {
	static __thread float in[N], out[N];
	for (int i = 0; i < N; i++)
		in[i] = (float)(i % 100 + r->rank);
	put(r, in, sizeof in);
	OK(ncclAllReduce(ptr(r->a), ptr(r->b), N, ncclFloat32, ncclSum, r->comm, r->stream));
	get(r, out, sizeof out);
	for (int i = 0; i < N; i++)
		CHECK(out[i] == 2.0f * (float)(i % 100) + 1);
	OK(ncclReduceScatter(ptr(r->a), ptr(r->b), N / 2, ncclFloat32, ncclMax, r->comm, r->stream));
	get(r, out, sizeof out / 2);
	for (int i = 0; i < N / 2; i++)
		CHECK(out[i] == (float)((i + r->rank * N / 2) % 100 + 1));
	OK(ncclAllGather(ptr(r->a), ptr(r->b), 1000, ncclFloat32, r->comm, r->stream));
	get(r, out, 8000);
	CHECK(out[5] == 5 && out[1005] == 6);
	OK(ncclBroadcast(ptr(r->a), ptr(r->b), N, ncclFloat32, 1, r->comm, r->stream));
	get(r, out, sizeof out);
	CHECK(out[7] == 8 && out[N - 1] == 100);
	float half = 0.5f;
	ncclRedOp_t op;
	OK(ncclRedOpCreatePreMulSum(&op, &half, ncclFloat32, ncclScalarHostImmediate, r->comm));
	OK(ncclAllReduce(ptr(r->a), ptr(r->b), 10, ncclFloat32, op, r->comm, r->stream));
	OK(ncclRedOpDestroy(op, r->comm));
	get(r, out, 40);
	CHECK(out[4] == 4.5f);
}

// Each type: 1, 2, 3, ... from rank 0 and twice that from rank 1, as bits.
static void types(struct rank *r) {
	static const struct {
		ncclDataType_t type;
		size_t width;
		unsigned long long one, two, three;
	} cases[] = {
		{ncclInt8, 1, 1, 2, 3}, {ncclUint8, 1, 1, 2, 3}, {ncclInt32, 4, 1, 2, 3}, {ncclUint32, 4, 1, 2, 3},
		{ncclInt64, 8, 1, 2, 3}, {ncclUint64, 8, 1, 2, 3}, {ncclFloat16, 2, 0x3c00, 0x4000, 0x4200},
		{ncclFloat32, 4, 0x3f800000, 0x40000000, 0x40400000},
		{ncclFloat64, 8, 0x3ff0000000000000, 0x4000000000000000, 0x4008000000000000},
		{ncclBfloat16, 2, 0x3f80, 0x4000, 0x4040}, {ncclFloat8e4m3, 1, 0x38, 0x40, 0x44}, {ncclFloat8e5m2, 1, 0x3c, 0x40, 0x42},
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		unsigned long long out = 0;
		put(r, r->rank == 0 ? &cases[i].one : &cases[i].two, 8);
		OK(ncclAllReduce(ptr(r->a), ptr(r->b), 1, cases[i].type, ncclSum, r->comm, r->stream));
		get(r, &out, cases[i].width);
		CHECK(out == cases[i].three);
		out = 0;
		OK(ncclAllReduce(ptr(r->a), ptr(r->b), 1, cases[i].type, ncclMin, r->comm, r->stream));
		get(r, &out, cases[i].width);
		CHECK(out == cases[i].one);
	}
	IS(ncclInvalidArgument, ncclAllReduce(ptr(r->a), ptr(r->b), 1, 12, ncclSum, r->comm, r->stream));
}

static void point_to_point(struct rank *r) {
	static __thread int in[N], out[N];
	int peer = 1 - r->rank;
	for (int i = 0; i < N; i++)
		in[i] = i * 2 + r->rank;
	put(r, in, sizeof in);
	OK(ncclGroupStart());
	OK(ncclSend(ptr(r->a), N, ncclInt32, peer, r->comm, r->stream));
	OK(ncclRecv(ptr(r->b), N, ncclInt32, peer, r->comm, r->stream));
	OK(ncclGroupEnd());
	get(r, out, sizeof out);
	CHECK(out[0] == peer && out[N - 1] == (N - 1) * 2 + peer);
	OK(ncclAlltoAll(ptr(r->a), ptr(r->b), 10, ncclInt32, r->comm, r->stream));
	get(r, out, 80);
	CHECK(out[0] == r->rank * 20 && out[10] == r->rank * 20 + 1);
	OK(ncclGather(ptr(r->a), ptr(r->b), 10, ncclInt32, 1, r->comm, r->stream));
	get(r, out, 80);
	CHECK(r->rank == 0 || out[11] == 3);
	OK(ncclScatter(ptr(r->a), ptr(r->b), 10, ncclInt32, 0, r->comm, r->stream));
	get(r, out, 40);
	CHECK(out[0] == r->rank * 20);
}

static void one_sided(struct rank *r) {
	void *memory;
	ncclWindow_t window;
	int value = 40 + r->rank, peer = 1 - r->rank, out = 0;
	ncclWaitSignalDesc_t desc = {1, peer, 0, 0};
	OK(ncclMemAlloc(&memory, 4096));
	OK(ncclCommWindowRegister(r->comm, memory, 4096, &window, 1));
	put(r, &value, 4);
	OK(ncclPutSignal(ptr(r->a), 1, ncclInt32, peer, window, 8, 0, 0, 0, r->comm, r->stream));
	OK(ncclWaitSignal(1, &desc, r->comm, r->stream));
	OK(cuStreamSynchronize(r->stream));
	OK(cuMemcpyDtoH_v2(&out, (CUdeviceptr)(uintptr_t)memory + 8, 4));
	IS(40 + peer, out);
	OK(ncclCommWindowDeregister(r->comm, window));
	OK(ncclMemFree(memory));
}

static void graphs(struct rank *r) {
	CUgraph g;
	CUgraphExec x;
	int one = 1, out = 0;
	put(r, &one, 4);
	OK(cuStreamBeginCapture_v2(r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(ncclAllReduce(ptr(r->a), ptr(r->b), 1, ncclInt32, ncclSum, r->comm, r->stream));
	OK(ncclAllReduce(ptr(r->b), ptr(r->b), 1, ncclInt32, ncclSum, r->comm, r->stream));
	OK(cuStreamEndCapture(r->stream, &g));
	OK(cuGraphInstantiateWithFlags(&x, g, 0));
	OK(cuGraphDestroy(g));
	OK(cuGraphLaunch(x, r->stream));
	OK(cuGraphLaunch(x, r->stream));
	get(r, &out, 4);
	IS(4, out);
	OK(cuGraphExecDestroy(x));
}

static void children(struct rank *r) {
	ncclComm_t child = NULL;
	int size = 0, rank = -1;
	OK(ncclCommSplit(r->comm, 7, -r->rank, &child, NULL));
	OK(ncclCommCount(child, &size));
	OK(ncclCommUserRank(child, &rank));
	CHECK(size == 2 && rank == 1 - r->rank);
	OK(ncclCommDestroy(child));
	OK(ncclCommSplit(r->comm, r->rank == 0 ? -1 : 0, 0, &child, NULL));
	CHECK((child == NULL) == (r->rank == 0));
	if (child != NULL)
		OK(ncclCommDestroy(child));
}

static void group_errors(struct rank *r) {
	OK(ncclGroupStart());
	IS(ncclInvalidArgument, ncclBroadcast(ptr(r->a), ptr(r->b), 1, ncclInt32, 9, r->comm, r->stream));
	OK(ncclAllReduce(ptr(r->a), ptr(r->b), 1, ncclInt32, ncclSum, r->comm, r->stream));
	IS(ncclInvalidArgument, ncclGroupEnd());
	IS(ncclInvalidUsage, ncclGroupEnd());
	OK(cuStreamSynchronize(r->stream));
}

static void everything(struct rank *r) {
	set_up(r);
	OK(ncclCommInitRank(&r->comm, 2, id, r->rank));
	reductions(r);
	types(r);
	point_to_point(r);
	one_sided(r);
	graphs(r);
	children(r);
	group_errors(r);
	OK(ncclCommFinalize(r->comm));
	OK(ncclCommDestroy(r->comm));
	tear_down(r);
}

// A group of non-blocking communicators may have ended when the call returns.
#define ISSUED(call)                                        \
	do {                                                    \
		int result_ = (call);                               \
		CHECK(result_ == ncclSuccess || result_ == ncclInProgress); \
	} while (0)

static void settle(ncclComm_t comm, ncclResult_t expected) {
	ncclResult_t state = ncclInProgress;
	while (state == ncclInProgress) {
		usleep(1000);
		OK(ncclCommGetAsyncError(comm, &state));
	}
	IS(expected, state);
}

static ncclConfig_t non_blocking(void) {
	ncclConfig_t c;
	memset(&c, 0xff, sizeof c);
	for (int *p = &c.blocking; p < (int *)(&c + 1); p++)
		*p = NCCL_UNDEFINED;
	c.netName = c.commName = NULL;
	c.size = sizeof c;
	c.magic = NCCL_MAGIC_CONFIG;
	c.version = 23007;
	c.blocking = 0;
	return c;
}

// A non-blocking communicator, and a collective whose peer never comes: abort.
static void aborted(struct rank *r) {
	ncclConfig_t config = non_blocking();
	set_up(r);
	IS(ncclInProgress, ncclCommInitRankConfig(&r->comm, 2, id, r->rank, &config));
	settle(r->comm, ncclSuccess);
	ISSUED(ncclAllReduce(ptr(r->a), ptr(r->b), 1, ncclInt32, ncclSum, r->comm, r->stream));
	settle(r->comm, ncclSuccess);
	OK(cuStreamSynchronize(r->stream));
	if (r->rank == 0) {
		ISSUED(ncclAllReduce(ptr(r->a), ptr(r->b), 1, ncclInt32, ncclSum, r->comm, r->stream));
		settle(r->comm, ncclSuccess);
		IS(CUDA_ERROR_NOT_READY, cuStreamQuery(r->stream));
	}
	OK(ncclCommAbort(r->comm));
	OK(cuStreamSynchronize(r->stream));
	tear_down(r);
}

static void *thread(void *argument) {
	everything(argument);
	return NULL;
}

static void *abort_thread(void *argument) {
	aborted(argument);
	return NULL;
}

static void two_threads(void *(*body)(void *)) {
	struct rank ranks[2] = {{.rank = 0, .size = 2}, {.rank = 1, .size = 2}};
	pthread_t threads[2];
	OK(ncclGetUniqueId(&id));
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, body, &ranks[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

// One thread for two GPUs needs groups.
static void one_thread(void) {
	struct rank ranks[2] = {{.rank = 0}, {.rank = 1}};
	ncclComm_t comms[2];
	int out = 0, one = 1;
	for (int i = 0; i < 2; i++)
		set_up(&ranks[i]);
	OK(ncclCommInitAll(comms, 2, NULL));
	OK(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(ranks[i].context));
		put(&ranks[i], &one, 4);
		OK(ncclAllReduce(ptr(ranks[i].a), ptr(ranks[i].b), 1, ncclInt32, ncclSum, comms[i], ranks[i].stream));
	}
	OK(ncclGroupEnd());
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(ranks[i].context));
		get(&ranks[i], &out, 4);
		IS(2, out);
	}
	for (int i = 0; i < 2; i++) // in a row, without a group
		OK(ncclCommDestroy(comms[i]));
	for (int i = 0; i < 2; i++) {
		OK(cuCtxSetCurrent(ranks[i].context));
		tear_down(&ranks[i]);
	}
}

static void peer_dies(int out, pid_t pid) {
	struct rank r = {.rank = 0};
	ncclResult_t state = ncclSuccess;
	ncclConfig_t config = non_blocking();
	int status;
	OK(ncclGetUniqueId(&id));
	CHECK(write(out, &id, sizeof id) == sizeof id);
	set_up(&r);
	IS(ncclInProgress, ncclCommInitRankConfig(&r.comm, 2, id, 0, &config));
	settle(r.comm, ncclSuccess);
	CHECK(waitpid(pid, &status, 0) == pid);
	IS(0, status);
	ncclAllReduce(ptr(r.a), ptr(r.b), 1, ncclInt32, ncclSum, r.comm, r.stream);
	while (state == ncclSuccess || state == ncclInProgress) {
		usleep(1000);
		OK(ncclCommGetAsyncError(r.comm, &state));
	}
	IS(ncclRemoteError, state);
	OK(ncclCommAbort(r.comm));
	tear_down(&r);
}

static int child(int in) {
	struct rank r = {.rank = 1};
	CHECK(read(in, &id, sizeof id) == sizeof id);
	everything(&r);
	return 0;
}

// leaves joins and exits without a word.
static int leaves(int in) {
	struct rank r = {.rank = 1};
	CHECK(read(in, &id, sizeof id) == sizeof id);
	set_up(&r);
	OK(ncclCommInitRank(&r.comm, 2, id, 1));
	return 0;
}

static int64_t counter(int i) { return gf1_fake_count(i); }

int main(void) {
	int pipes[2], more[2], status;
	CHECK(pipe(pipes) == 0 && pipe(more) == 0);
	pid_t other = fork(); // before the first call: the fakes do not follow a fork
	if (other == 0) {
		close(pipes[1]); // so that a parent that fails ends the wait
		close(more[1]);
		_exit(child(pipes[0]));
	}
	pid_t dying = fork();
	if (dying == 0) {
		close(pipes[1]);
		close(more[1]);
		_exit(leaves(more[0]));
	}
	page = gf1_fake_control();
	// Two processes.
	OK(ncclGetUniqueId(&id));
	CHECK(write(pipes[1], &id, sizeof id) == sizeof id);
	struct rank r = {.rank = 0};
	everything(&r);
	CHECK(waitpid(other, &status, 0) == other);
	IS(0, status);
	// Two threads, several times.
	for (int i = 0; i < 3; i++)
		two_threads(thread);
	two_threads(abort_thread);
	one_thread();
	IS(0, counter(GF1_LIVE_COMMS));
	for (int i = GF1_LIVE_COMMS; i <= GF1_LIVE_OPERATORS; i++)
		IS(0, counter(i));
	for (int i = GF1_LIVE_STREAMS; i <= GF1_LIVE_USER_OBJECTS; i++)
		IS(0, counter(i));
	peer_dies(more[1], dying);
	for (uint64_t i = 0; i < atomic_load(&page->reports); i++)
		fprintf(stderr, "report: %s\n", page->report[i].text);
	IS(0, (int)atomic_load(&page->reports));
	puts("ok");
	return 0;
}
