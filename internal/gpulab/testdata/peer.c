/*
 * The same small all-reduces as the Go peer's, from C: two threads, each with a
 * GPU and a blocking communicator.
 *
 *	cc -O2 -pthread peer.c -o peer -ldl
 *	peer SECONDS LIBCUDA LIBNCCL GPUS
 *
 * Commands come as lines, "wait N", "batch N", "enqueue N" and "alone N"; each is
 * answered by a line "ns X", the mean of the ranks in nanoseconds per operation.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { most_gpus = 8, batch = 20, burst = 100, floats = 2 };

typedef struct {
	char bytes[128];
} unique_id;

static int (*cu_init)(unsigned);
static int (*cu_retain)(void **, int);
static int (*cu_current)(void *);
static int (*cu_alloc)(uint64_t *, size_t);
static int (*cu_stream)(void **, unsigned);
static int (*cu_query)(void *);
static int (*nccl_id)(unique_id *);
static int (*nccl_init)(void **, int, unique_id, int);
static int (*nccl_all_reduce)(const void *, void *, size_t, int, int, void *, void *);
static int (*nccl_destroy)(void *);
static int (*nccl_version)(int *);

static void must(int result, const char *what)
{
	if (result != 0) {
		fprintf(stderr, "%s: result %d\n", what, result);
		exit(1);
	}
}

static void find(void *library, const char *name, void *slot)
{
	void *address = dlsym(library, name);

	if (!address) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	memcpy(slot, &address, sizeof address);
}

static void load(const char *cuda_path, const char *nccl_path)
{
	void *cuda = dlopen(cuda_path, RTLD_NOW);
	void *nccl = dlopen(nccl_path, RTLD_NOW);

	if (!cuda || !nccl) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	find(cuda, "cuInit", &cu_init);
	find(cuda, "cuDevicePrimaryCtxRetain", &cu_retain);
	find(cuda, "cuCtxSetCurrent", &cu_current);
	find(cuda, "cuMemAlloc_v2", &cu_alloc);
	find(cuda, "cuStreamCreate", &cu_stream);
	find(cuda, "cuStreamQuery", &cu_query);
	find(nccl, "ncclGetUniqueId", &nccl_id);
	find(nccl, "ncclCommInitRank", &nccl_init);
	find(nccl, "ncclAllReduce", &nccl_all_reduce);
	find(nccl, "ncclCommDestroy", &nccl_destroy);
	find(nccl, "ncclGetVersion", &nccl_version);
}

struct rank {
	pthread_t thread;
	int number;
	uint64_t send, receive;
	void *comm, *alone, *stream;
	double ns;
};

static struct rank ranks[most_gpus];
static int gpus;
static unique_id id, alone_id;
static pthread_barrier_t barrier;
static char command[32];
static long count;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void enqueue(struct rank *r)
{
	must(nccl_all_reduce((void *)r->send, (void *)r->receive, floats, 7, 0, r->comm, r->stream), "ncclAllReduce");
}

static void wait_for(struct rank *r)
{
	enum { not_ready = 600 };
	int result;

	while ((result = cu_query(r->stream)) == not_ready)
		;
	must(result, "cuStreamQuery");
}

static double measure(struct rank *r)
{
	double start, spent = 0;
	long i, done;

	if (strcmp(command, "wait") == 0) {
		start = now();
		for (i = 0; i < count; i++) {
			enqueue(r);
			wait_for(r);
		}
		return (now() - start) / count;
	}
	if (strcmp(command, "batch") == 0) {
		start = now();
		for (done = 0; done < count; done += batch) {
			for (i = 0; i < batch; i++)
				enqueue(r);
			wait_for(r);
		}
		return (now() - start) / done;
	}
	for (done = 0; done < count; done += burst) {
		start = now();
		if (strcmp(command, "enqueue") == 0) {
			for (i = 0; i < burst; i++)
				enqueue(r);
		} else if (r->number == 0) {
			for (i = 0; i < burst; i++)
				must(nccl_all_reduce((void *)r->send, (void *)r->send, floats, 7, 0, r->alone, r->stream), "ncclAllReduce");
		}
		spent += now() - start;
		wait_for(r);
	}
	return spent / done;
}

static void *run(void *argument)
{
	struct rank *r = argument;
	void *context;

	must(cu_retain(&context, r->number), "cuDevicePrimaryCtxRetain");
	must(cu_current(context), "cuCtxSetCurrent");
	must(cu_alloc(&r->send, floats * 4), "cuMemAlloc");
	must(cu_alloc(&r->receive, floats * 4), "cuMemAlloc");
	must(cu_stream(&r->stream, 1), "cuStreamCreate");
	must(nccl_init(&r->comm, gpus, id, r->number), "ncclCommInitRank");
	if (r->number == 0)
		must(nccl_init(&r->alone, 1, alone_id, 0), "ncclCommInitRank");
	for (;;) {
		pthread_barrier_wait(&barrier); /* a command has come */
		if (command[0] == '\0')
			break;
		r->ns = measure(r);
		pthread_barrier_wait(&barrier); /* it is done */
	}
	must(nccl_destroy(r->comm), "ncclCommDestroy");
	if (r->alone)
		must(nccl_destroy(r->alone), "ncclCommDestroy");
	return NULL;
}

int main(int argc, char **argv)
{
	int i, version;
	double sum;
	char line[64];

	if (argc != 5)
		return 2;
	alarm(atoi(argv[1]));
	load(argv[2], argv[3]);
	gpus = atoi(argv[4]);
	must(cu_init(0), "cuInit");
	must(nccl_id(&id), "ncclGetUniqueId");
	must(nccl_id(&alone_id), "ncclGetUniqueId");
	must(nccl_version(&version), "ncclGetVersion");
	pthread_barrier_init(&barrier, NULL, gpus + 1);
	for (i = 0; i < gpus; i++) {
		ranks[i].number = i;
		pthread_create(&ranks[i].thread, NULL, run, &ranks[i]);
	}
	printf("ready NCCL %d\n", version);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%31s %ld", command, &count) == 2) {
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		sum = 0;
		for (i = 0; i < gpus; i++)
			sum += ranks[i].ns;
		/* Only one rank works alone. */
		printf("ns %.1f\n", sum / (strcmp(command, "alone") == 0 ? 1 : gpus));
		fflush(stdout);
	}
	command[0] = '\0';
	pthread_barrier_wait(&barrier);
	for (i = 0; i < gpus; i++)
		pthread_join(ranks[i].thread, NULL);
	return 0;
}
