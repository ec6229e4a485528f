/* One C function for each of the driver's that needs a context or more than its
 * arguments. The result is a CUresult, or a missing function below zero. The
 * context is entered and left inside. */
#ifndef GF1_CUDA_SHIM_H
#define GF1_CUDA_SHIM_H

#include "gf1_cuda_table.h"

int gf1_cuda_context_sync(gf1_cuda_handle context);
int gf1_cuda_priorities(gf1_cuda_handle context, int *least, int *greatest);
int gf1_cuda_peer_enable(gf1_cuda_handle context, gf1_cuda_handle peer);
int gf1_cuda_peer_disable(gf1_cuda_handle context, gf1_cuda_handle peer);
int gf1_cuda_mem_info(gf1_cuda_handle context, size_t *free, size_t *total);

int gf1_cuda_stream_create(gf1_cuda_handle context, unsigned int flags, int priority, gf1_cuda_handle *out);
int gf1_cuda_stream_destroy(gf1_cuda_handle context, gf1_cuda_handle stream);
int gf1_cuda_stream_query(gf1_cuda_handle context, gf1_cuda_handle stream);
/* Compares the stream's context with the given one. */
int gf1_cuda_stream_belongs(gf1_cuda_handle context, gf1_cuda_handle stream, int *same);
int gf1_cuda_stream_wait(gf1_cuda_handle context, gf1_cuda_handle stream, gf1_cuda_handle event);
int gf1_cuda_capture_begin(gf1_cuda_handle context, gf1_cuda_handle stream, int mode);
int gf1_cuda_capture_end(gf1_cuda_handle context, gf1_cuda_handle stream, gf1_cuda_handle *graph);
int gf1_cuda_capture_status(gf1_cuda_handle context, gf1_cuda_handle stream, int *status);

int gf1_cuda_event_create(gf1_cuda_handle context, unsigned int flags, gf1_cuda_handle *out);
int gf1_cuda_event_destroy(gf1_cuda_handle context, gf1_cuda_handle event);
int gf1_cuda_event_record(gf1_cuda_handle context, gf1_cuda_handle event, gf1_cuda_handle stream);
int gf1_cuda_event_query(gf1_cuda_handle context, gf1_cuda_handle event);
int gf1_cuda_event_elapsed(gf1_cuda_handle context, gf1_cuda_handle start, gf1_cuda_handle end, float *milliseconds);

int gf1_cuda_alloc(gf1_cuda_handle context, size_t size, uint64_t *out);
int gf1_cuda_free(gf1_cuda_handle context, uint64_t address);
int gf1_cuda_host_alloc(gf1_cuda_handle context, size_t size, unsigned int flags, void **out);
int gf1_cuda_host_free(gf1_cuda_handle context, void *memory);
int gf1_cuda_copy(gf1_cuda_handle context, uint64_t to, uint64_t from, size_t size, gf1_cuda_handle stream);
/* Fills count elements of 1, 2 or 4 bytes. */
int gf1_cuda_fill(gf1_cuda_handle context, uint64_t to, uint32_t value, int width, size_t count, gf1_cuda_handle stream);

/* What cuPointerGetAttributes says of an address. */
struct gf1_cuda_pointer {
	uint64_t device_pointer;
	uint64_t host_pointer;
	uint64_t buffer;
	uint64_t start;
	uint64_t size;
	uint32_t memory_type; /* 0 if CUDA does not know the address */
	int32_t ordinal;
	int32_t managed;
	int32_t rdma_capable;
};
int gf1_cuda_pointer(gf1_cuda_handle context, uint64_t address, struct gf1_cuda_pointer *out);
int gf1_cuda_range(gf1_cuda_handle context, uint64_t address, uint64_t *base, size_t *size);
int gf1_cuda_dma_buf(gf1_cuda_handle context, uint64_t address, size_t size, int *fd);

/* Memory of GPUs for devices of this process that stand in for a network
 * adapter. They are given the addresses of find, find_dma_buf and move. A place
 * is 0 for memory of the host and the device's number + 1 for memory of a GPU.
 *
 * find answers 1 and the place if the bytes lie within one allocation of a GPU
 * that is open, 0 if they are not a GPU's, and an errno below zero otherwise. */
void gf1_cuda_open_place(int device, gf1_cuda_handle context);
void gf1_cuda_close_place(int device);
int gf1_cuda_has_place(void);
int gf1_cuda_find(uint64_t address, uint64_t size, int *place);
/* Answers 1 if the descriptor is a dma-buf that was exported here. */
int gf1_cuda_find_dma_buf(int fd, uint64_t *address, uint64_t *size);
/* Copies and waits: 0, or an errno below zero. */
int gf1_cuda_move(void *to, int to_place, const void *from, int from_place, size_t size);
void gf1_cuda_exported(int fd, uint64_t address, size_t size);
void gf1_cuda_forget_exports(uint64_t address, uint64_t size);

int gf1_cuda_sync_memops(gf1_cuda_handle context, uint64_t address);
int gf1_cuda_flush_writes(gf1_cuda_handle context);

/* Maps size bytes, rounded up to what the device needs, and stores how many
 * those are. devices are the ordinals that may read and write, the owner first. */
int gf1_cuda_map(gf1_cuda_handle context, size_t size, int gpu_direct_rdma, int shareable, const int32_t *devices,
		 int count, uint64_t *address, size_t *mapped);
int gf1_cuda_unmap(gf1_cuda_handle context, uint64_t address, size_t mapped);

int gf1_cuda_ipc_memory(gf1_cuda_handle context, uint64_t address, struct gf1_cuda_ipc *out);
int gf1_cuda_ipc_open_memory(gf1_cuda_handle context, const struct gf1_cuda_ipc *handle, uint64_t *address);
int gf1_cuda_ipc_close_memory(gf1_cuda_handle context, uint64_t address);
int gf1_cuda_ipc_event(gf1_cuda_handle context, gf1_cuda_handle event, struct gf1_cuda_ipc *out);
int gf1_cuda_ipc_open_event(gf1_cuda_handle context, const struct gf1_cuda_ipc *handle, gf1_cuda_handle *event);

int gf1_cuda_graph_nodes(gf1_cuda_handle context, gf1_cuda_handle graph, size_t *count);
int gf1_cuda_graph_destroy(gf1_cuda_handle context, gf1_cuda_handle graph);
int gf1_cuda_graph_instantiate(gf1_cuda_handle context, gf1_cuda_handle graph, gf1_cuda_handle *exec);
int gf1_cuda_graph_launch(gf1_cuda_handle context, gf1_cuda_handle exec, gf1_cuda_handle stream);
int gf1_cuda_exec_destroy(gf1_cuda_handle context, gf1_cuda_handle exec);

/* Loads an image; the compiler's messages go to log, which is always ended. */
int gf1_cuda_module_load(gf1_cuda_handle context, const void *image, char *log, size_t len, gf1_cuda_handle *out);
int gf1_cuda_module_unload(gf1_cuda_handle context, gf1_cuda_handle module);
int gf1_cuda_module_function(gf1_cuda_handle context, gf1_cuda_handle module, const char *name, gf1_cuda_handle *out);
int gf1_cuda_param(gf1_cuda_handle context, gf1_cuda_handle function, size_t index, size_t *offset, size_t *size);
int gf1_cuda_function_get(gf1_cuda_handle context, gf1_cuda_handle function, int attribute, int *value);
int gf1_cuda_function_set(gf1_cuda_handle context, gf1_cuda_handle function, int attribute, int value);

struct gf1_cuda_grid {
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t shared; /* bytes */
};
/* Launches with size bytes of packed arguments. */
int gf1_cuda_launch(gf1_cuda_handle context, gf1_cuda_handle function, const struct gf1_cuda_grid *grid,
		    gf1_cuda_handle stream, void *args, size_t size);

#endif
