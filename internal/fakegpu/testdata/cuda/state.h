// memfd_create needs _GNU_SOURCE, which the build gives.
// What the files of the fake driver share. One lock guards all state; work runs
// outside it, on one thread a stream.
#ifndef GF1_FAKE_CUDA_STATE_H
#define GF1_FAKE_CUDA_STATE_H

#include "../control.h"
#include "fakecuda.h"

#include <pthread.h>
#include <stdbool.h>

#define GF1_MAX_DEVICES 16

typedef uint64_t u64;

// Handles are never freed, only marked: a use after destroy is seen.
#define MAGIC_CONTEXT 0x43545831u
#define MAGIC_STREAM 0x53545231u
#define MAGIC_EVENT 0x45565431u
#define MAGIC_MODULE 0x4d4f4431u
#define MAGIC_FUNCTION 0x46554e31u
#define MAGIC_GRAPH 0x47525031u
#define MAGIC_EXEC 0x47585831u
#define MAGIC_OBJECT 0x4f424a31u
#define MAGIC_DEAD 0xdeadu

struct CUctx_st {
	uint32_t magic;
	int device;
	bool primary, alive;
	int refs;
	u64 id;
	unsigned flags;
	CUresult sticky;
	unsigned peers; // bit d: access to device d is on
	CUstream null_stream;
	CUstream streams;
};

struct dep {
	CUstream stream;
	u64 seq;
};

// A piece of work. run answers an error that makes the context sticky; it may
// be called more than once where the work is a graph's node. drop frees what
// the work holds besides itself.
struct work {
	struct work *next;
	u64 seq;
	CUcontext context;
	struct dep *deps;
	size_t deps_len, deps_cap;
	CUresult (*run)(struct work *);
	void (*drop)(struct work *);
	bool always; // runs in a failed context too
	// Arguments, by kind.
	void *a, *b;
	u64 n, value;
	unsigned width;
	CUhostFn fn;
	CUstreamCallback callback;
	CUstream stream;
};

#define STREAM_OWNED 0x100u // made by cuStreamCreate

struct CUstream_st {
	uint32_t magic;
	CUcontext context;
	CUstream next;
	unsigned flags;
	int priority;
	u64 id;
	bool legacy, threaded, closing;
	u64 queued, done;
	struct work *head, *tail;
	pthread_cond_t wake;
	// Capture.
	struct capture *capture;
	int lane;
	int *frontier; // indices of the nodes that the next one depends on
	size_t frontier_len;
};

struct CUevent_st {
	uint32_t magic;
	CUcontext context;
	unsigned flags;
	CUstream stream; // of the last record
	u64 seq;
	u64 recorded, done; // versions
	int64_t nanoseconds;
	struct shared_event *shared; // an event of several processes
	bool imported;
	struct capture *capture;
	int *frontier;
	size_t frontier_len;
};

struct CUgraph_st {
	uint32_t magic;
	struct node {
		struct work *work;
		int lane;
		int *deps;
		size_t deps_len;
	} *nodes;
	size_t len, cap;
	int lanes;
	struct object_ref {
		CUuserObject object;
		unsigned count;
	} *objects;
	size_t objects_len;
	int refs; // the graph itself and its execs
	bool capturing;
};

struct CUgraphExec_st {
	uint32_t magic;
	CUgraph graph;
	struct object_ref *objects;
	size_t objects_len;
	CUstream stream; // of the last launch
	u64 seq;
	int refs; // the handle and its launches
};

struct capture {
	CUgraph graph;
	CUstream origin;
	int mode;
	bool invalid;
	u64 id;
	pthread_t thread;
	struct capture *next; // all active captures
	CUstream *streams;
	size_t streams_len;
};

extern pthread_mutex_t gf1_lock;
extern pthread_cond_t gf1_changed; // some work has ended
extern int gf1_devices;            // -1 before cuInit
extern bool gf1_in_callback(void);
extern void gf1_set_in_callback(bool);

// gf1_enter begins a call: faults asked for, cuInit, host functions. With
// context not NULL the calling thread's current one is required, alive and
// without a sticky error.
CUresult gf1_enter(const char *name, CUcontext *context);
#define ENTER(context)                                        \
	do {                                                      \
		CUresult enter_ = gf1_enter(__func__, (context));     \
		if (enter_ != CUDA_SUCCESS)                           \
			return enter_;                                    \
	} while (0)

// Context.
CUcontext gf1_current(void);
CUcontext gf1_primary(int device);
bool gf1_device_ok(CUdevice device);
CUresult gf1_wait_context(CUcontext context); // lock held
void gf1_wait_all(void);                      // lock held
bool gf1_idle(void);                          // lock held
CUresult gf1_unsafe_call(void);   // refused while a capture forbids it; lock held
u64 gf1_next_id(void);

// Streams.
CUstream gf1_new_stream(CUcontext context, unsigned flags, int priority);
CUresult gf1_resolve(CUcontext context, CUstream handle, CUstream *stream);
struct work *gf1_new_work(CUcontext context, CUresult (*run)(struct work *));
void gf1_free_work(struct work *work);
void gf1_depend(struct work *work, CUstream stream, u64 seq);
CUresult gf1_submit(CUstream stream, struct work *work); // lock held; owns work, also on failure
CUresult gf1_wait_stream(CUstream stream, u64 seq);      // lock held
CUresult gf1_stream_check(CUstream stream); // before a query of, or a wait for, a stream; lock held
void gf1_close_streams(CUcontext context);               // lock held

// Capture.
CUresult gf1_capture_add(CUstream stream, struct work *work);
CUresult gf1_capture_wait(CUstream stream, CUevent event);
void gf1_capture_record(CUstream stream, CUevent event);
CUresult gf1_invalidate(CUstream stream, CUresult why);
void gf1_graph_release(CUgraph graph);
extern struct capture *gf1_captures;

// Memory. A range is device-visible memory: its user addresses and the shadow
// addresses at which the fake reaches the bytes. Device memory cannot be read
// at its user addresses, as on a GPU.
enum range_kind { RANGE_DEVICE, RANGE_VMM, RANGE_HOST, RANGE_REGISTERED, RANGE_MANAGED, RANGE_IPC };
struct range {
	struct range *next;
	enum range_kind kind;
	char *user, *shadow;
	size_t size;         // what was asked for
	size_t head;         // user - start of the mapping
	size_t mapping_size;
	int fd;              // the bytes, -1 where there is no file
	int device;
	CUcontext context;
	unsigned flags;
	u64 id;
	int opens;           // IPC: how often opened
	u64 peer_pid, peer_fd;
	struct mapping *mappings; // VMM
	bool sync_memops, rdma;
};
struct range *gf1_find_range(const void *ptr); // lock held
struct range *gf1_map_range(enum range_kind kind, int fd, size_t head, size_t size, bool readable);
void gf1_unmap_range(struct range *range);
// gf1_shadow answers where size bytes at ptr can be reached, NULL where ptr is
// no device-visible memory or the bytes leave it. Lock held.
void *gf1_shadow(CUdeviceptr ptr, size_t size);
void gf1_release_memory(CUcontext context);  // lock held, let go at times
void gf1_release_modules(CUcontext context); // lock held
void *gf1_fake_shadow(CUdeviceptr ptr, size_t size);
bool gf1_fake_backing(CUdeviceptr ptr, size_t size, int *fd, u64 *offset);
void gf1_fake_fail_context(CUcontext context, CUresult error);
bool gf1_charge(int device, int64_t bytes); // lock held

// VMM.
struct mapping {
	struct mapping *next;
	size_t offset, size, handle_offset;
	struct handle *handle;
	unsigned access[GF1_MAX_DEVICES];
};
bool gf1_vmm_reachable(struct range *range, size_t offset, size_t size);
int gf1_vmm_fd(struct range *range, size_t offset, size_t size, size_t *file_offset);
struct mapping *gf1_vmm_mapping(struct range *range, size_t offset);

// Kernels.
struct launch {
	unsigned grid[3], block[3];
	u64 threads;
	void **args;
};
struct kernel {
	const char *name;
	int params;
	unsigned sizes[12];
	CUresult (*run)(const struct launch *launch);
};
const struct kernel *gf1_find_kernel(const char *name);

#endif
