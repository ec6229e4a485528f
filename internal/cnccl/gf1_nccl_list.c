//go:build linux && cgo

#include "gf1_nccl_list.h"

int gf1_nccl_run_list(struct gf1_nccl_batch *const *batches, int from, int count, int mode, int spins)
{
	void *previous = NULL, *context = NULL;
	bool entered = false;
	int i;

	/* Entered once for all: each batch finds its first context current. */
	if (from < count && batches[from]->op_count > 0)
		context = (void *)(uintptr_t)batches[from]->ops[0].context;
	if (context != NULL)
		entered = batches[from]->lib->enter(context, &previous) == 0;
	for (i = from; i < count; i++) {
		struct gf1_nccl_batch *batch = batches[i];

		batch->mode = mode;
		batch->spins = spins;
		gf1_nccl_run(batch);
		if (batch->code != GF1_NCCL_SUCCESS || batch->failed != 0)
			break;
	}
	if (entered)
		batches[from]->lib->leave(previous);
	return i;
}
