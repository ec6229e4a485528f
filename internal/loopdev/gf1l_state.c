//go:build linux && cgo

/* The state machine of queue pairs: which transitions there are, and which
 * attributes each needs and allows, by the InfiniBand specification's table of
 * the modify verb (volume 1, 11.2.5.2). */
#include "gf1l.h"

enum { RC, UC, UD, XRC_SEND, XRC_RECV, KINDS };

struct transition {
	int from, to;
	int needs[KINDS];
	int allows[KINDS];
};

#define INIT_CONNECTED (QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS)
#define INIT_DATAGRAM (QP_PKEY_INDEX | QP_PORT | QP_QKEY)
#define RTR_UC (QP_AV | QP_PATH_MTU | QP_DEST_QPN | QP_RQ_PSN)
#define RTR_RC (RTR_UC | QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER)
#define RTR_MORE (QP_ALT_PATH | QP_ACCESS_FLAGS | QP_PKEY_INDEX)
#define RTS_RC (QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY | QP_SQ_PSN | QP_MAX_QP_RD_ATOMIC)
#define LIVE_UC (QP_CUR_STATE | QP_ALT_PATH | QP_ACCESS_FLAGS | QP_PATH_MIG_STATE)
#define LIVE_RC (LIVE_UC | QP_MIN_RNR_TIMER)
#define LIVE_UD (QP_CUR_STATE | QP_QKEY)
#define SQD_UC (QP_AV | QP_ALT_PATH | QP_ACCESS_FLAGS | QP_PKEY_INDEX | QP_PATH_MIG_STATE)
#define SQD_RC \
	(SQD_UC | QP_PORT | QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY | QP_MAX_QP_RD_ATOMIC | QP_MAX_DEST_RD_ATOMIC | \
	 QP_MIN_RNR_TIMER)

#define RTS_TARGET (QP_TIMEOUT | QP_SQ_PSN)
#define SQD_SEND \
	(SQD_UC | QP_PORT | QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY | QP_MAX_QP_RD_ATOMIC)
#define SQD_RECV (SQD_UC | QP_PORT | QP_TIMEOUT | QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER)
#define NOTIFY QP_EN_SQD_ASYNC_NOTIFY

static const struct transition transitions[] = {
	{ .from = QPS_RESET,
	  .to = QPS_INIT,
	  .needs = { INIT_CONNECTED, INIT_CONNECTED, INIT_DATAGRAM, INIT_CONNECTED, INIT_CONNECTED } },
	{ .from = QPS_INIT,
	  .to = QPS_INIT,
	  .allows = { INIT_CONNECTED, INIT_CONNECTED, INIT_DATAGRAM, INIT_CONNECTED, INIT_CONNECTED } },
	{ .from = QPS_INIT,
	  .to = QPS_RTR,
	  .needs = { RTR_RC, RTR_UC, 0, RTR_UC, RTR_RC },
	  .allows = { RTR_MORE, RTR_MORE, QP_PKEY_INDEX | QP_QKEY, RTR_MORE, RTR_MORE } },
	{ .from = QPS_RTR,
	  .to = QPS_RTS,
	  .needs = { RTS_RC, QP_SQ_PSN, QP_SQ_PSN, RTS_RC, RTS_TARGET },
	  .allows = { LIVE_RC, LIVE_UC, LIVE_UD, LIVE_UC, LIVE_RC } },
	{ .from = QPS_RTS, .to = QPS_RTS, .allows = { LIVE_RC, LIVE_UC, LIVE_UD, LIVE_UC, LIVE_RC } },
	{ .from = QPS_RTS, .to = QPS_SQD, .allows = { NOTIFY, NOTIFY, NOTIFY, NOTIFY, NOTIFY } },
	{ .from = QPS_SQD,
	  .to = QPS_SQD,
	  .allows = { SQD_RC, SQD_UC, QP_PKEY_INDEX | QP_QKEY, SQD_SEND, SQD_RECV } },
	{ .from = QPS_SQD, .to = QPS_RTS, .allows = { LIVE_RC, LIVE_UC, LIVE_UD, LIVE_UC, LIVE_RC } },
	{ .from = QPS_SQE, .to = QPS_RTS, .allows = { 0, QP_CUR_STATE | QP_ACCESS_FLAGS, LIVE_UD, 0, 0 } },
};

static int kind_of(int type)
{
	switch (type) {
	case QPT_XRC_SEND:
		return XRC_SEND;
	case QPT_XRC_RECV:
		return XRC_RECV;
	}
	return type - QPT_RC;
}

int gf1l_transition_allowed(int type, int from, int to, int mask)
{
	size_t i;
	int kind = kind_of(type);

	if (to == QPS_RESET || to == QPS_ERR)
		return (mask & ~(QP_STATE | QP_CUR_STATE)) == 0;
	if (from == QPS_SQE && type != QPT_UC && type != QPT_UD)
		return 0;
	for (i = 0; i < sizeof(transitions) / sizeof(*transitions); i++) {
		const struct transition *t = &transitions[i];

		if (t->from != from || t->to != to)
			continue;
		return (mask & t->needs[kind]) == t->needs[kind] &&
		       (mask & ~(QP_STATE | t->needs[kind] | t->allows[kind])) == 0;
	}
	return 0;
}
