/* NCCL's ABI on LP64 in our own words, up to 2.30.7. abi/check_nccl.c proves it
 * against NVIDIA's header where one is at hand. */
#ifndef GF1_NCCL_ABI_H
#define GF1_NCCL_ABI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number that ncclGetVersion answers for a release: the scheme changed
 * with 2.9. */
#define GF1_NCCL_VERSION(x, y, z) \
	((x) <= 2 && (y) <= 8 ? (x) * 1000 + (y) * 100 + (z) : (x) * 10000 + (y) * 100 + (z))

/* The newest release whose layouts stand here. */
#define GF1_NCCL_NEWEST GF1_NCCL_VERSION(2, 30, 7)

#define GF1_NCCL_UNDEFINED INT_MIN
#define GF1_NCCL_MAGIC 0xcafebeefu
#define GF1_NCCL_SIM_MAGIC 0x74685283u

enum {
	GF1_NCCL_SUCCESS = 0,
	GF1_NCCL_CUDA_ERROR = 1,
	GF1_NCCL_IN_PROGRESS = 7,
};

/* An id goes by value: as a pointer it would be right on some ABIs by luck. */
typedef struct {
	char bytes[128];
} gf1_nccl_id;

/* Each release appended fields. `size` and `version` say which are there. */
struct gf1_nccl_config {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking;        /* 2.14.3 */
	int cga_cluster;     /* 2.17.1 */
	int min_ctas;
	int max_ctas;
	const char *net_name;
	int split_share;     /* 2.18.1 */
	int traffic_class;   /* 2.26.2 */
	const char *comm_name; /* 2.27.3; kept by pointer */
	int collnet;
	int cta_policy;
	int shrink_share;
	int nvls_ctas;
	int net_channels;    /* 2.28.3 */
	int nvlink_central;
	int graph_usage;     /* 2.29.2 */
	int rma_contexts;
	int max_p2p_peers;   /* 2.30.3 */
	int graph_ordering;  /* 2.30.7 */
};

struct gf1_nccl_sim_info {
	size_t size;
	unsigned int magic;
	unsigned int version;
	float microseconds;
};

/* How many signals to wait for, and whose. */
struct gf1_nccl_wait {
	int count;
	int peer;
	int signal;
	int context;
};

struct gf1_nccl_properties {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int rank;
	int ranks;
	int cuda_device;
	int nvml_device;
	bool device_api;
	bool multimem;
	int gin;
	int lsa_teams;       /* 2.29.7 from here on */
	bool host_rma;
	int railed_gin;
};

#endif
