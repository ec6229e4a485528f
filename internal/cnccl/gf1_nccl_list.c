//go:build linux && cgo

#include "gf1_nccl_list.h"

int gf1_nccl_run_list(struct gf1_nccl_batch *const *batches, int from, int count, int mode, int spins)
{
	int i;

	for (i = from; i < count; i++) {
		struct gf1_nccl_batch *batch = batches[i];

		batch->mode = mode;
		batch->spins = spins;
		gf1_nccl_run(batch);
		if (batch->code != GF1_NCCL_SUCCESS || batch->failed != 0)
			break;
	}
	return i;
}
