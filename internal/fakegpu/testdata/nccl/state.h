// What the files of the fake NCCL share.
#ifndef GF1_FAKE_NCCL_STATE_H
#define GF1_FAKE_NCCL_STATE_H

#include "../control.h"
#include "../cuda/fakecuda.h"
#include "fakenccl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define MAX_RANKS 32
#define SLOT_SIZE (256ul << 10)
#define BOX_SIZE (64ul << 10)
#define SIGNALS 8
#define MAX_WINDOWS 64

extern const int gf1_fake_nccl_version;
#define HAS(x, y, z) (gf1_fake_nccl_version >= (x) * 10000 + (y) * 100 + (z))

// From the fake driver.
void *gf1_fake_shadow(CUdeviceptr ptr, size_t size);
bool gf1_fake_backing(CUdeviceptr ptr, size_t size, int *fd, uint64_t *offset);
void gf1_fake_fail_context(CUcontext context, CUresult error);

// What a collective is; all ranks must agree on the first part.
enum kind {
	ALL_REDUCE = 1, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, // exchanged through slots
	SEND, RECV,                                                   // through boxes; the composed ones are made of them
	ALL_TO_ALL, GATHER, SCATTER,
	PUT, SIGNAL, WAIT,
};

struct op {
	enum kind kind;
	ncclDataType_t type;
	ncclRedOp_t op;
	int peer; // or root
	size_t count;
	const void *send;
	void *recv;
	double scalar; // premultiplied sums
	bool premultiply;
	const void *device_scalar;
	cudaStream_t stream;
	// One-sided.
	int window;
	size_t offset;
	int signal;
	int descs_len;
	ncclWaitSignalDesc_t descs[MAX_RANKS];
};

// A world is the memory that the ranks of a communicator share.
enum { ABSENT = 0, JOINED, FINALIZING, GONE, ABORTED };

struct backing {
	uint64_t fd, offset, size, user;
};

struct member {
	_Atomic int state;
	pid_t pid;
	int device, bus, version;
	_Atomic int running;         // batches under way
	_Atomic int aborting;
	_Atomic uint64_t phase[2];   // barriers passed: host calls, collectives
	struct { int kind, type, op, root; uint64_t count; } agreed;
	int color, key;
	uint64_t child_pid, child_fd, child_token;
	struct backing window;
};

struct box {
	_Atomic uint64_t sent, taken; // messages' pieces
	uint64_t size;                // of the piece in the box
	uint64_t total;               // of its message
};

struct subset {
	uint64_t mask;
	_Atomic uint64_t phase[MAX_RANKS];
};

enum plane { HOST_PLANE = 0, STREAM_PLANE = 1 };

struct world {
	uint64_t magic, token;
	pthread_mutex_t lock;
	_Atomic uint32_t tick; // a futex: changes whenever something does
	_Atomic uint32_t waiters;
	_Atomic int nranks, joined;
	struct member member[MAX_RANKS];
	struct box box[MAX_RANKS][MAX_RANKS];                 // from, to
	_Atomic uint64_t signal[MAX_RANKS][MAX_RANKS][SIGNALS]; // to, from
	struct subset subset[8];
	_Atomic uint64_t grow_pid, grow_fd, grow_token, grow_generation;
	char slots[MAX_RANKS][SLOT_SIZE];
	char boxes[MAX_RANKS][MAX_RANKS][BOX_SIZE];
};

struct mapped {
	void *base;
	size_t length;
	char *at;
};

struct ncclWindow_vidmem {
	uint32_t magic;
	ncclComm_t comm;
	int index;
	void *user;
	size_t size;
	struct mapped peer[MAX_RANKS];
	uint64_t peer_size[MAX_RANKS], peer_user[MAX_RANKS];
};

struct operator {
	bool used;
	ncclDataType_t type;
	double scalar;
	const void *device;
};

#define MAGIC_COMM 0x4e434331u
#define MAGIC_GONE 0xdeadu
#define MAGIC_WINDOW 0x57494e31u

struct ncclComm {
	uint32_t magic;
	struct world *world;
	int rank, nranks, device;
	CUcontext context;
	ncclConfig_t config;
	char name_copy[64];
	_Atomic int async;
	_Atomic uint32_t inside; // callers: exclusive ones in the low half, readers above
	_Atomic int abort_flag;
	_Atomic int batches; // issued and not ended
	_Atomic int graphs;  // captured batches that live
	_Atomic bool ready;
	bool finalized, revoked, suspended, destroying;
	uint64_t grown;
	uint64_t waited[MAX_RANKS][SIGNALS];
	struct operator operators[32];
	struct ncclWindow_vidmem *windows[MAX_WINDOWS];
	int windows_len;
	pthread_mutex_t lock; // batches of one communicator run one at a time
	_Atomic int jobs;   // of non-blocking groups, not ended
	const void *group;  // the thread whose open group has work for it
	_Atomic int *parent_abort;
	CUevent event;      // after the last batch
	bool recorded;
	int live_operators, live_registrations;
};

// world.c
uint64_t gf1_token(void);
struct world *gf1_new_world(int *fd);
struct world *gf1_open_world(pid_t pid, int fd, uint64_t token);
void gf1_close_world(struct world *world);
void gf1_lock_world(struct world *world);
void gf1_unlock_world(struct world *world);
void gf1_changed_world(struct world *world);
// gf1_wait lets a moment or a change pass; it answers an error where the
// communicator is being aborted or, after noting it, a member has died.
ncclResult_t gf1_wait(ncclComm_t comm, uint32_t tick, bool on_stream);
ncclResult_t gf1_barrier(ncclComm_t comm, enum plane plane);
ncclResult_t gf1_subset_barrier(ncclComm_t comm, uint64_t mask);
ncclResult_t gf1_join(ncclComm_t comm);
bool gf1_dead(ncclComm_t comm, int rank);

// library.c
ncclResult_t gf1_fail(ncclResult_t result, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define FAULT()                                                            \
	do {                                                                   \
		int code_;                                                         \
		if (gf1_fake_fault(__func__, &code_))                              \
			return gf1_fail(code_, "%s: a fault that was asked for", __func__); \
	} while (0)

// guard.c
enum access { READER, EXCLUSIVE, ENDING };
ncclResult_t gf1_enter(ncclComm_t comm, const char *name, enum access access);
void gf1_leave(ncclComm_t comm, enum access access);
ncclResult_t gf1_ready(ncclComm_t comm, const char *name);
ncclResult_t gf1_current_device(const char *name, int *device);
void gf1_check_context(ncclComm_t comm, const char *name);
CUcontext gf1_enter_context(CUcontext context);
void gf1_leave_context(CUcontext before);

void gf1_disturb_context(void); // GF1_KNOB_CHANGE_CONTEXT

// config.c
ncclResult_t gf1_parse_config(const ncclConfig_t *given, const ncclConfig_t *inherited, ncclConfig_t *out);

// init.c
ncclComm_t gf1_new_comm(int device);
void gf1_free_comm(ncclComm_t comm);
ncclResult_t gf1_parse_id(const ncclUniqueId *id, uint64_t *pid, uint64_t *fd, uint64_t *token);
ncclResult_t gf1_make_id(ncclUniqueId *id);
void gf1_sweep_ids(void);
void gf1_pause(void);

// group.c
struct job {
	struct job *next;
	ncclComm_t comm; // whose state says how the job goes
	ncclResult_t (*run)(struct job *);
	ncclResult_t result;
	bool ending; // destroy and abort
	// Arguments, by kind.
	ncclComm_t child, *newcomm;
	int color, key;
	uint64_t mask;
	uint64_t pid, fd, token;
	int flags;
	void *buffer;
	size_t size;
	ncclWindow_t *window;
	pthread_t thread;
};
void gf1_group_open(void);
ncclResult_t gf1_group_close(void);
ncclResult_t gf1_group_fail(ncclResult_t result); // sticky in the calling thread's group
ncclResult_t gf1_group_op(ncclComm_t comm, const struct op *op);
ncclResult_t gf1_group_job(struct job *job);

// launch.c
ncclResult_t gf1_launch(ncclComm_t comm, const struct op *ops, size_t len);

// exchange.c, p2p.c, rma.c: run ops on a stream's thread
ncclResult_t gf1_run_exchange(ncclComm_t comm, const struct op *op);
ncclResult_t gf1_run_p2p(ncclComm_t comm, const struct op *ops, size_t len);
ncclResult_t gf1_run_one_sided(ncclComm_t comm, const struct op *op);
void *gf1_reach(ncclComm_t comm, const void *ptr, size_t size, const char *what);

// reduce.c
size_t gf1_type_size(ncclDataType_t type);
double gf1_load(ncclDataType_t type, const void *from);
void gf1_multiply(ncclDataType_t type, void *to, const void *from, size_t count, double scalar);
void gf1_reduce(ncclDataType_t type, ncclRedOp_t op, void *to, const void *const *from, int ranks, size_t count);

// windows.c
ncclResult_t gf1_register_window(struct job *job);

#endif
