#include "state.h"

#include <string.h>

// own_size is the size of the configuration in the release that the fake is.
static size_t own_size(void) {
	return HAS(2, 30, 0) ? 96 : HAS(2, 29, 0) ? 88 : HAS(2, 28, 0) ? 80 : HAS(2, 27, 0) ? 72
		 : HAS(2, 18, 0) ? 48 : HAS(2, 17, 0) ? 40 : 24;
}

static void clear(ncclConfig_t *c) {
	*c = (ncclConfig_t){0};
	for (int *field = &c->blocking; field <= &c->maxCTAs; field++)
		*field = NCCL_UNDEFINED;
	c->splitShare = c->trafficClass = NCCL_UNDEFINED;
	for (int *field = &c->collnetEnable; field <= &c->graphStreamOrdering; field++)
		*field = NCCL_UNDEFINED;
}

static bool within(int value, int low, int high) { return value == NCCL_UNDEFINED || (value >= low && value <= high); }

// gf1_parse_config follows NCCL: it copies what both sides know, resets what is
// newer than the caller's version, and checks the values.
ncclResult_t gf1_parse_config(const ncclConfig_t *given, const ncclConfig_t *inherited, ncclConfig_t *out) {
	if (given == NULL && inherited != NULL) {
		*out = *inherited;
		return ncclSuccess;
	}
	clear(out);
	ncclConfig_t c, empty = *out;
	if (given != NULL) {
		clear(&c);
		size_t size = given->size < own_size() ? given->size : own_size();
		memcpy(&c, given, size);
		if (c.magic != NCCL_MAGIC_CONFIG)
			return gf1_fail(ncclInvalidArgument, "the configuration is not initialised");
		if (given->size > own_size() || (int)c.version > gf1_fake_nccl_version)
			gf1_fake_report("a configuration of %zu bytes, version %u, for a library of %zu bytes, version %d", given->size,
				c.version, own_size(), gf1_fake_nccl_version);
		*out = c;
		if (c.version < 21700) {
			out->cgaClusterSize = out->minCTAs = out->maxCTAs = NCCL_UNDEFINED;
			out->netName = NULL;
		}
		if (c.version < 22500)
			out->trafficClass = NCCL_UNDEFINED;
		if (c.version < 22700) {
			out->collnetEnable = empty.collnetEnable;
			out->CTAPolicy = out->shrinkShare = out->nvlsCTAs = NCCL_UNDEFINED;
		}
		if (c.version < 22800)
			out->nChannelsPerNetPeer = out->nvlinkCentricSched = NCCL_UNDEFINED;
		if (c.version < 22900)
			out->graphUsageMode = out->numRmaCtx = NCCL_UNDEFINED;
		if (c.version < 23000)
			out->maxP2pPeers = NCCL_UNDEFINED;
		if (c.version < 23005)
			out->graphStreamOrdering = NCCL_UNDEFINED;
	}
	if (!within(out->blocking, 0, 1) || !within(out->cgaClusterSize, 0, 8) || !within(out->minCTAs, 1, INT_MAX) ||
		!within(out->maxCTAs, 1, INT_MAX) || !within(out->splitShare, 0, 1) || !within(out->collnetEnable, 0, 1) ||
		!within(out->CTAPolicy, 0, 3) || !within(out->shrinkShare, 0, 1) || !within(out->nvlsCTAs, 1, INT_MAX) ||
		!within(out->nChannelsPerNetPeer, 1, INT_MAX) || !within(out->nvlinkCentricSched, 0, 1) ||
		!within(out->graphUsageMode, 0, 2) || !within(out->numRmaCtx, 1, INT_MAX) || !within(out->maxP2pPeers, 1, INT_MAX) ||
		!within(out->graphStreamOrdering, 0, 1))
		return gf1_fail(ncclInvalidArgument, "a value of the configuration is out of range");
	if (out->minCTAs != NCCL_UNDEFINED && out->maxCTAs != NCCL_UNDEFINED && out->minCTAs > out->maxCTAs)
		return gf1_fail(ncclInvalidArgument, "minCTAs is above maxCTAs");
	if (out->blocking == NCCL_UNDEFINED)
		out->blocking = 1;
	return ncclSuccess;
}
