/* Calls into libnccl. A batch is recorded in C memory and runs in one call, on
 * one thread: NCCL keeps a group's state per thread, CUDA the current context,
 * and a goroutine may move between two calls. */
#ifndef GF1_NCCL_RUN_H
#define GF1_NCCL_RUN_H

#include "gf1_nccl_table.h"

#define GF1_NCCL_LAST 512
#define GF1_NCCL_STATS 4

/* Answered in place of a result: the library lacks the function. */
#define GF1_NCCL_MISSING (-1)
/* Not called, since the context could not be entered. */
#define GF1_NCCL_NOT_CALLED (-2)

/* What an operation gives NCCL to keep or fill. NCCL fills some of it after the
 * call has returned, so it lives in C memory until the communicator is gone. */
struct gf1_nccl_slot {
	gf1_comm comm;
	gf1_window window;
	void *handle;
	int reduction;
	int excluded_count;
	int id_count;
	int *excluded;
	gf1_nccl_id *ids;
	struct gf1_nccl_config config;
	struct gf1_nccl_properties properties;
	uint64_t stats[GF1_NCCL_STATS];
	unsigned char scalar[8];
};

/* One operation. `function` is its place in the table; what the other fields
 * mean is the function's business. Mirrored by Op in layout.go. */
struct gf1_nccl_op {
	uint64_t send;
	uint64_t recv;
	uint64_t count;
	uint64_t offset;     /* in the peer's window, in bytes */
	uint64_t comm;
	uint64_t context;    /* CUcontext of the communicator's device */
	uint64_t stream;
	uint64_t handle;     /* a window, or a registration */
	uint64_t slot;
	int32_t function;
	int32_t type;
	int32_t reduction;
	int32_t peer;        /* or root, rank, color */
	int32_t signal;      /* or key, or the number of ranks */
	int32_t rma_context;
	uint32_t flags;
	int32_t waits;       /* first of the op's waits in the batch */
	int32_t wait_count;
	int32_t code;        /* answered */
};

/* A communicator that takes part in a batch. Mirrored by Member. */
struct gf1_nccl_member {
	uint64_t comm;
	uint64_t slot;       /* where the communicator will appear, if comm is 0 */
	uint64_t context;
	int32_t code;        /* its state when last asked */
	int32_t pad;
};

enum gf1_nccl_mode {
	GF1_NCCL_ALONE,      /* the operations one by one, until one fails */
	GF1_NCCL_GROUP,
	GF1_NCCL_SIMULATE,
};

/* Mirrored by Batch. */
struct gf1_nccl_batch {
	const struct gf1_nccl *lib;
	struct gf1_nccl_op *ops;
	struct gf1_nccl_member *members;
	struct gf1_nccl_wait *waits;
	int32_t op_count;
	int32_t member_count;
	int32_t mode;
	int32_t spins;       /* how often to ask before giving the thread back */
	/* answered */
	int32_t code;        /* of the batch: GroupEnd's, or the last call's */
	int32_t entered;     /* CUresult of entering a context */
	int32_t failed;      /* operations that answered an error */
	int32_t missing;     /* function that the library lacks */
	float microseconds;  /* simulated */
	char last[GF1_NCCL_LAST];
};

/* Runs the batch and asks its members' state until none is in progress, at most
 * `spins` times and for about a millisecond. */
void gf1_nccl_run(struct gf1_nccl_batch *batch);

/* Asks again. */
void gf1_nccl_poll(struct gf1_nccl_batch *batch);

/* What a communicator is: its rank, its size and its CUDA device. */
int gf1_nccl_identity(const struct gf1_nccl *lib, uint64_t comm, int32_t identity[3]);

/* Calls that concern no communicator. They answer NCCL's result, and leave the
 * text of ncclGetLastError in last. */
int gf1_nccl_version(const struct gf1_nccl *lib, int *version);
int gf1_nccl_unique_id(const struct gf1_nccl *lib, gf1_nccl_id *id, char *last);
int gf1_nccl_mem_alloc(const struct gf1_nccl *lib, void *context, size_t size, uint64_t *memory, char *last);
int gf1_nccl_mem_free(const struct gf1_nccl *lib, void *context, uint64_t memory, char *last);
int gf1_nccl_param_text(const struct gf1_nccl *lib, const char *key, char *text, int most, int *length, char *last);
int gf1_nccl_param_int(const struct gf1_nccl *lib, const char *key, int64_t *value, char *last);
/* Keys one after the other, each ended by a zero byte. */
int gf1_nccl_param_keys(const struct gf1_nccl *lib, char *text, size_t most, size_t *length, int *count, char *last);
void gf1_nccl_param_dump(const struct gf1_nccl *lib);
const char *gf1_nccl_result_text(const struct gf1_nccl *lib, int result);

extern const char *const gf1_nccl_names[GF1_NCCL_FUNCTION_COUNT];
extern const int gf1_nccl_since[GF1_NCCL_FUNCTION_COUNT];

#endif
