/* Batches that run one after another in one call from Go. */
#ifndef GF1_NCCL_LIST_H
#define GF1_NCCL_LIST_H

#include "gf1_nccl_run.h"

/* Runs batches[from] to batches[count - 1] and stops behind the first that does
 * not succeed, or is in progress. Returns its index, or count. */
int gf1_nccl_run_list(struct gf1_nccl_batch *const *batches, int from, int count, int mode, int spins);

#endif
