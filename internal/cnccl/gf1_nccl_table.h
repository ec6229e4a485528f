/* Every function that libnccl exports for host programs, with the release that
 * brought it. The functions for kernels' communicators (ncclDevComm*) are left
 * out: their structures change from release to release. */
#ifndef GF1_NCCL_TABLE_H
#define GF1_NCCL_TABLE_H

#include "gf1_nccl_abi.h"

/* A communicator, a window and a stream are opaque pointers, and a
 * reduction, a data type and a result are ints. */
typedef void *gf1_comm;
typedef void *gf1_window;
typedef void *gf1_stream;

/* X(result, name, arguments, x, y, z): what libnccl exports under "nccl" name
 * since release x.y.z. 2.3.5 stands for that or any earlier release. */
#define GF1_NCCL_FUNCTIONS(X) \
	X(int, GetVersion, (int *version), 2, 3, 5) \
	X(int, GetUniqueId, (gf1_nccl_id * id), 2, 3, 5) \
	X(const char *, GetErrorString, (int result), 2, 3, 5) \
	X(int, CommInitRank, (gf1_comm * comm, int ranks, gf1_nccl_id id, int rank), 2, 3, 5) \
	X(int, CommInitAll, (gf1_comm * comms, int devices, const int *list), 2, 3, 5) \
	X(int, CommDestroy, (gf1_comm comm), 2, 3, 5) \
	X(int, CommCount, (gf1_comm comm, int *count), 2, 3, 5) \
	X(int, CommCuDevice, (gf1_comm comm, int *device), 2, 3, 5) \
	X(int, CommUserRank, (gf1_comm comm, int *rank), 2, 3, 5) \
	X(int, GroupStart, (void), 2, 3, 5) \
	X(int, GroupEnd, (void), 2, 3, 5) \
	X(int, AllReduce, \
	  (const void *send, void *recv, size_t count, int type, int op, gf1_comm comm, gf1_stream stream), 2, 3, 5) \
	X(int, Reduce, \
	  (const void *send, void *recv, size_t count, int type, int op, int root, gf1_comm comm, gf1_stream stream), \
	  2, 3, 5) \
	X(int, Bcast, (void *buffer, size_t count, int type, int root, gf1_comm comm, gf1_stream stream), 2, 3, 5) \
	X(int, Broadcast, \
	  (const void *send, void *recv, size_t count, int type, int root, gf1_comm comm, gf1_stream stream), 2, 3, 5) \
	X(int, AllGather, \
	  (const void *send, void *recv, size_t count, int type, gf1_comm comm, gf1_stream stream), 2, 3, 5) \
	X(int, ReduceScatter, \
	  (const void *send, void *recv, size_t count, int type, int op, gf1_comm comm, gf1_stream stream), 2, 3, 5) \
	X(int, CommAbort, (gf1_comm comm), 2, 4, 2) \
	X(int, CommGetAsyncError, (gf1_comm comm, int *result), 2, 4, 2) \
	X(int, Send, (const void *send, size_t count, int type, int peer, gf1_comm comm, gf1_stream stream), 2, 7, 3) \
	X(int, Recv, (void *recv, size_t count, int type, int peer, gf1_comm comm, gf1_stream stream), 2, 7, 3) \
	X(int, RedOpCreatePreMulSum, (int *op, void *scalar, int type, int residence, gf1_comm comm), 2, 11, 4) \
	X(int, RedOpDestroy, (int op, gf1_comm comm), 2, 11, 4) \
	X(const char *, GetLastError, (gf1_comm comm), 2, 13, 4) \
	X(int, CommInitRankConfig, \
	  (gf1_comm * comm, int ranks, gf1_nccl_id id, int rank, struct gf1_nccl_config *config), 2, 14, 3) \
	X(int, CommFinalize, (gf1_comm comm), 2, 14, 3) \
	X(int, CommSplit, \
	  (gf1_comm comm, int color, int key, gf1_comm *child, struct gf1_nccl_config *config), 2, 18, 1) \
	X(int, MemAlloc, (void **memory, size_t size), 2, 19, 1) \
	X(int, MemFree, (void *memory), 2, 19, 1) \
	X(int, CommRegister, (gf1_comm comm, void *buffer, size_t size, void **handle), 2, 19, 1) \
	X(int, CommDeregister, (gf1_comm comm, void *handle), 2, 19, 1) \
	X(int, GroupSimulateEnd, (struct gf1_nccl_sim_info * info), 2, 22, 3) \
	X(int, CommInitRankScalable, \
	  (gf1_comm * comm, int ranks, int rank, int count, gf1_nccl_id *ids, struct gf1_nccl_config *config), \
	  2, 23, 4) \
	X(int, CommShrink, \
	  (gf1_comm comm, int *exclude, int count, gf1_comm *child, struct gf1_nccl_config *config, int flags), \
	  2, 27, 3) \
	X(int, CommWindowRegister, (gf1_comm comm, void *buffer, size_t size, gf1_window *window, int flags), \
	  2, 27, 3) \
	X(int, CommWindowDeregister, (gf1_comm comm, gf1_window window), 2, 27, 3) \
	X(int, AlltoAll, \
	  (const void *send, void *recv, size_t count, int type, gf1_comm comm, gf1_stream stream), 2, 28, 3) \
	X(int, Gather, \
	  (const void *send, void *recv, size_t count, int type, int root, gf1_comm comm, gf1_stream stream), \
	  2, 28, 3) \
	X(int, Scatter, \
	  (const void *send, void *recv, size_t count, int type, int root, gf1_comm comm, gf1_stream stream), \
	  2, 28, 3) \
	X(int, CommRevoke, (gf1_comm comm, int flags), 2, 28, 7) \
	X(int, CommGetUniqueId, (gf1_comm comm, gf1_nccl_id *id), 2, 29, 2) \
	X(int, CommGrow, \
	  (gf1_comm comm, int ranks, const gf1_nccl_id *id, int rank, gf1_comm *child, \
	   struct gf1_nccl_config *config), 2, 29, 2) \
	X(int, PutSignal, \
	  (const void *send, size_t count, int type, int peer, gf1_window window, size_t offset, int signal, \
	   int context, unsigned int flags, gf1_comm comm, gf1_stream stream), 2, 29, 2) \
	X(int, Signal, \
	  (int peer, int signal, int context, unsigned int flags, gf1_comm comm, gf1_stream stream), 2, 29, 2) \
	X(int, WaitSignal, (int count, struct gf1_nccl_wait * waits, gf1_comm comm, gf1_stream stream), 2, 29, 2) \
	X(int, CommQueryProperties, (gf1_comm comm, struct gf1_nccl_properties * properties), 2, 29, 2) \
	X(int, GetLsaDevicePointer, (gf1_window window, size_t offset, int rank, void **pointer), 2, 29, 2) \
	X(int, GetLsaMultimemDevicePointer, (gf1_window window, size_t offset, void **pointer), 2, 29, 2) \
	X(int, GetPeerDevicePointer, (gf1_window window, size_t offset, int peer, void **pointer), 2, 29, 2) \
	X(int, WinGetUserPtr, (gf1_comm comm, gf1_window window, void **pointer), 2, 29, 2) \
	X(int, CommSuspend, (gf1_comm comm, int flags), 2, 29, 7) \
	X(int, CommResume, (gf1_comm comm), 2, 29, 7) \
	X(int, CommMemStats, (gf1_comm comm, int stat, uint64_t *value), 2, 29, 7) \
	X(int, ParamBind, (void **handle, const char *key), 2, 30, 4) \
	X(int, ParamGetI8, (void *handle, int8_t *value), 2, 30, 4) \
	X(int, ParamGetI16, (void *handle, int16_t *value), 2, 30, 4) \
	X(int, ParamGetI32, (void *handle, int32_t *value), 2, 30, 4) \
	X(int, ParamGetI64, (void *handle, int64_t *value), 2, 30, 4) \
	X(int, ParamGetU8, (void *handle, uint8_t *value), 2, 30, 4) \
	X(int, ParamGetU16, (void *handle, uint16_t *value), 2, 30, 4) \
	X(int, ParamGetU32, (void *handle, uint32_t *value), 2, 30, 4) \
	X(int, ParamGetU64, (void *handle, uint64_t *value), 2, 30, 4) \
	X(int, ParamGetStr, (void *handle, const char **value), 2, 30, 4) \
	X(int, ParamGet, (void *handle, void *value, int most, int *length), 2, 30, 4) \
	X(int, ParamGetParameter, (const char *key, const char **value, int *length), 2, 30, 4) \
	X(int, ParamGetAllParameterKeys, (const char ***keys, int *count), 2, 30, 4) \
	X(void, ParamDumpAll, (void), 2, 30, 4)

/* The functions' places in the table. */
enum gf1_nccl_function {
#define GF1_PLACE(result, name, ...) GF1_NCCL_##name,
	GF1_NCCL_FUNCTIONS(GF1_PLACE)
#undef GF1_PLACE
	GF1_NCCL_FUNCTION_COUNT
};

/* The library as opened. An absent function is NULL. */
struct gf1_nccl {
#define GF1_FIELD(result, name, args, ...) result(*name) args;
	GF1_NCCL_FUNCTIONS(GF1_FIELD)
#undef GF1_FIELD
	/* Of the CUDA binding: make a context the thread's current one, and give
	 * the thread back what it had. Both answer a CUresult. */
	int (*enter)(void *context, void **previous);
	int (*leave)(void *previous);
	int version;
};

#endif
