/* Proves gf1_nccl_abi.h and gf1_nccl_table.h against NVIDIA's own nccl.h, of
 * whatever release. Compiled, never linked, on LP64:
 *   cc -std=gnu11 -Wall -Wextra -Werror -fsyntax-only -I<nccl.h> -Icuda -I.. check_nccl.c
 * -Icuda stands in for CUDA's headers; leave it out where they are. */
#include <nccl.h>

#include "gf1_nccl_table.h"

#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, our_field, theirs, their_field) \
	_Static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #theirs "." #their_field); \
	_Static_assert(sizeof(((ours *)0)->our_field) == sizeof(((theirs *)0)->their_field), #theirs "." #their_field)
#define SAME_VALUE(ours, theirs) _Static_assert((long long)(ours) == (long long)(theirs), #theirs)

#define KNOWS(x, y, z) (NCCL_VERSION_CODE >= NCCL_VERSION(x, y, z))

SAME_VALUE(GF1_NCCL_VERSION(2, 30, 7), NCCL_VERSION(2, 30, 7));
SAME_VALUE(GF1_NCCL_VERSION(2, 8, 4), NCCL_VERSION(2, 8, 4));

SAME_SIZE(gf1_nccl_id, ncclUniqueId);
SAME_SIZE(int, ncclResult_t);
SAME_SIZE(int, ncclDataType_t);
SAME_SIZE(int, ncclRedOp_t);
SAME_SIZE(gf1_comm, ncclComm_t);

SAME_VALUE(GF1_NCCL_SUCCESS, ncclSuccess);
SAME_VALUE(GF1_NCCL_CUDA_ERROR, ncclUnhandledCudaError);
SAME_VALUE(2, ncclSystemError);
SAME_VALUE(3, ncclInternalError);
SAME_VALUE(4, ncclInvalidArgument);
SAME_VALUE(5, ncclInvalidUsage);
SAME_VALUE(6, ncclRemoteError);
#if KNOWS(2, 14, 3)
SAME_VALUE(GF1_NCCL_IN_PROGRESS, ncclInProgress);
#endif
#if KNOWS(2, 30, 3)
SAME_VALUE(8, ncclTimeout);
#endif

SAME_VALUE(0, ncclSum);
SAME_VALUE(1, ncclProd);
SAME_VALUE(2, ncclMax);
SAME_VALUE(3, ncclMin);
SAME_VALUE(4, ncclAvg);
SAME_VALUE(0, ncclScalarDevice);
SAME_VALUE(1, ncclScalarHostImmediate);

SAME_VALUE(0, ncclInt8);
SAME_VALUE(1, ncclUint8);
SAME_VALUE(2, ncclInt32);
SAME_VALUE(3, ncclUint32);
SAME_VALUE(4, ncclInt64);
SAME_VALUE(5, ncclUint64);
SAME_VALUE(6, ncclFloat16);
SAME_VALUE(7, ncclFloat32);
SAME_VALUE(8, ncclFloat64);
#if KNOWS(2, 24, 3)
SAME_VALUE(9, ncclBfloat16);
SAME_VALUE(10, ncclFloat8e4m3);
SAME_VALUE(11, ncclFloat8e5m2);
#endif

#define CONFIG(ours, theirs) SAME_PLACE(struct gf1_nccl_config, ours, ncclConfig_t, theirs)
#if KNOWS(2, 14, 3)
#ifdef NCCL_CONFIG_UNDEF_INT
SAME_VALUE(GF1_NCCL_UNDEFINED, NCCL_CONFIG_UNDEF_INT);
#endif
CONFIG(size, size);
CONFIG(magic, magic);
CONFIG(version, version);
CONFIG(blocking, blocking);
/* The initialiser's first fields: size, magic, version. */
static const ncclConfig_t initialized = NCCL_CONFIG_INITIALIZER;
static inline unsigned int magic_of(void) { return initialized.magic; }
#endif
#if KNOWS(2, 17, 1)
CONFIG(cga_cluster, cgaClusterSize);
CONFIG(min_ctas, minCTAs);
CONFIG(max_ctas, maxCTAs);
CONFIG(net_name, netName);
#endif
#if KNOWS(2, 18, 1)
CONFIG(split_share, splitShare);
SAME_VALUE(-1, NCCL_SPLIT_NOCOLOR);
#endif
#if KNOWS(2, 26, 2)
CONFIG(traffic_class, trafficClass);
#endif
#if KNOWS(2, 27, 3)
CONFIG(comm_name, commName);
CONFIG(collnet, collnetEnable);
CONFIG(cta_policy, CTAPolicy);
CONFIG(shrink_share, shrinkShare);
CONFIG(nvls_ctas, nvlsCTAs);
SAME_VALUE(1, NCCL_SHRINK_ABORT);
SAME_VALUE(1, NCCL_WIN_COLL_SYMMETRIC);
SAME_VALUE(1, NCCL_CTA_POLICY_EFFICIENCY);
SAME_SIZE(gf1_window, ncclWindow_t);
#endif
#if KNOWS(2, 28, 3)
CONFIG(net_channels, nChannelsPerNetPeer);
CONFIG(nvlink_central, nvlinkCentricSched);
SAME_VALUE(4096, NCCL_WIN_REQUIRED_ALIGNMENT);
SAME_VALUE(2, NCCL_CTA_POLICY_ZERO);
#endif
#if KNOWS(2, 29, 2)
CONFIG(graph_usage, graphUsageMode);
CONFIG(rma_contexts, numRmaCtx);
SAME_SIZE(struct gf1_nccl_wait, ncclWaitSignalDesc_t);
SAME_PLACE(struct gf1_nccl_wait, count, ncclWaitSignalDesc_t, opCnt);
SAME_PLACE(struct gf1_nccl_wait, peer, ncclWaitSignalDesc_t, peer);
SAME_PLACE(struct gf1_nccl_wait, signal, ncclWaitSignalDesc_t, sigIdx);
SAME_PLACE(struct gf1_nccl_wait, context, ncclWaitSignalDesc_t, ctx);
#endif
#if KNOWS(2, 29, 7)
SAME_VALUE(1, NCCL_SUSPEND_MEM);
SAME_VALUE(0, ncclStatGpuMemSuspend);
SAME_VALUE(1, ncclStatGpuMemSuspended);
SAME_VALUE(2, ncclStatGpuMemPersist);
SAME_VALUE(3, ncclStatGpuMemTotal);
SAME_VALUE(2, NCCL_WIN_STRICT_ORDERING);
#endif
#if KNOWS(2, 30, 3)
CONFIG(max_p2p_peers, maxP2pPeers);
#endif
#if KNOWS(2, 30, 7)
CONFIG(graph_ordering, graphStreamOrdering);
SAME_SIZE(struct gf1_nccl_config, ncclConfig_t);
#endif

#if KNOWS(2, 22, 3)
#define SIMULATED(ours, theirs) SAME_PLACE(struct gf1_nccl_sim_info, ours, ncclSimInfo_t, theirs)
SAME_SIZE(struct gf1_nccl_sim_info, ncclSimInfo_t);
SIMULATED(size, size);
SIMULATED(magic, magic);
SIMULATED(version, version);
SIMULATED(microseconds, estimatedTime);
#endif

/* Arguments and results: a call through the header's own prototype takes what
 * our table's does, in the same order and classes. */
static inline void fit(ncclComm_t comm, cudaStream_t stream, void *p, ncclUniqueId id)
{
	ncclComm_t other;
	int n;

	(void)sizeof(ncclAllReduce(p, p, (size_t)1, ncclInt8, ncclSum, comm, stream));
	(void)sizeof(ncclReduce(p, p, (size_t)1, ncclInt8, ncclSum, 0, comm, stream));
	(void)sizeof(ncclBroadcast(p, p, (size_t)1, ncclInt8, 0, comm, stream));
	(void)sizeof(ncclAllGather(p, p, (size_t)1, ncclInt8, comm, stream));
	(void)sizeof(ncclReduceScatter(p, p, (size_t)1, ncclInt8, ncclSum, comm, stream));
	(void)sizeof(ncclSend(p, (size_t)1, ncclInt8, 0, comm, stream));
	(void)sizeof(ncclRecv(p, (size_t)1, ncclInt8, 0, comm, stream));
	(void)sizeof(ncclCommInitRank(&other, 1, id, 0));
	(void)sizeof(ncclCommCount(comm, &n));
#if KNOWS(2, 14, 3)
	(void)sizeof(ncclCommInitRankConfig(&other, 1, id, 0, (ncclConfig_t *)p));
#endif
#if KNOWS(2, 18, 1)
	(void)sizeof(ncclCommSplit(comm, 0, 0, &other, (ncclConfig_t *)p));
#endif
#if KNOWS(2, 23, 4)
	(void)sizeof(ncclCommInitRankScalable(&other, 1, 0, 1, &id, (ncclConfig_t *)p));
#endif
#if KNOWS(2, 27, 3)
	(void)sizeof(ncclCommShrink(comm, &n, 1, &other, (ncclConfig_t *)p, 0));
	(void)sizeof(ncclCommWindowRegister(comm, p, (size_t)1, (ncclWindow_t *)p, 0));
#endif
#if KNOWS(2, 28, 3)
	(void)sizeof(ncclAlltoAll(p, p, (size_t)1, ncclInt8, comm, stream));
	(void)sizeof(ncclGather(p, p, (size_t)1, ncclInt8, 0, comm, stream));
	(void)sizeof(ncclScatter(p, p, (size_t)1, ncclInt8, 0, comm, stream));
#endif
#if KNOWS(2, 28, 7)
	(void)sizeof(ncclCommRevoke(comm, 0));
#endif
#if KNOWS(2, 29, 2)
	(void)sizeof(ncclCommGrow(comm, 2, &id, -1, &other, (ncclConfig_t *)p));
	(void)sizeof(ncclPutSignal(p, (size_t)1, ncclInt8, 0, (ncclWindow_t)p, (size_t)0, 0, 0, 0u, comm, stream));
	(void)sizeof(ncclSignal(0, 0, 0, 0u, comm, stream));
	(void)sizeof(ncclWaitSignal(1, (ncclWaitSignalDesc_t *)p, comm, stream));
#endif
}

int main(void)
{
	fit(NULL, NULL, NULL, (ncclUniqueId){{0}});
#if KNOWS(2, 14, 3)
	return magic_of() == GF1_NCCL_MAGIC ? 0 : 1;
#else
	return 0;
#endif
}
