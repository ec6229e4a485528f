/* Drives the device from many threads, for the thread sanitizer, which does not
 * see C in a Go program: go test -tags tsan builds and runs it. It exits with a
 * message and 1 when something is wrong. */
#include "gf1l.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAIRS = 4, MESSAGES = 400, DEPTH = 64, LOOPS = 200 };

#define MUST(what) \
	do { \
		if (!(what)) { \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what); \
			exit(1); \
		} \
	} while (0)

struct end {
	struct gf1_context *ctx;
	struct gf1_pd *pd;
	struct gf1_comp_channel *channel;
	struct gf1_cq *send, *recv;
	struct gf1_qp *qp;
	struct gf1_mr *mr;
	uint64_t mem[64];
	uint8_t ip;
	struct end *peer;
};

static const struct gf1_verbs *v = &gf1l_verbs;
static int stop;

static void make_end(struct end *e, const char *device, uint8_t number)
{
	struct gf1_qp_init_attr init = { .cap = { DEPTH, DEPTH, 2, 2, 0 }, .qp_type = QPT_RC };

	e->ip = number;
	MUST(gf1l_open_device(device, &e->ctx) == 0);
	MUST((e->pd = v->alloc_pd(e->ctx)) != NULL);
	MUST((e->channel = v->create_comp_channel(e->ctx)) != NULL);
	MUST((e->send = v->create_cq(e->ctx, 1024, NULL, e->channel, 0)) != NULL);
	MUST((e->recv = v->create_cq(e->ctx, 1024, NULL, e->channel, 0)) != NULL);
	MUST((e->mr = v->reg_mr(e->pd, e->mem, sizeof(e->mem), 15)) != NULL);
	init.send_cq = e->send;
	init.recv_cq = e->recv;
	MUST((e->qp = v->create_qp(e->pd, &init)) != NULL);
}

static void to_rts(struct end *e)
{
	const struct end *p = e->peer;
	struct gf1_qp_attr a = {
		.qp_state = QPS_INIT, .port_num = 1, .qp_access_flags = 15, .path_mtu = 3,
		.dest_qp_num = p->qp->qp_num, .max_rd_atomic = 1, .max_dest_rd_atomic = 1, .min_rnr_timer = 1,
		.timeout = 8, .retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 3 } },
	};
	const uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 198, [13] = 18, [14] = p->ip, [15] = 1 };

	memcpy(a.ah_attr.grh.dgid.raw, gid, sizeof(gid));
	MUST(v->modify_qp(e->qp, &a, QP_STATE | QP_PKEY_INDEX | QP_PORT | QP_ACCESS_FLAGS) == 0);
	a.qp_state = QPS_RTR;
	MUST(v->modify_qp(e->qp, &a, QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN | QP_RQ_PSN |
					     QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER) == 0);
	a.qp_state = QPS_RTS;
	MUST(v->modify_qp(e->qp, &a, QP_STATE | QP_SQ_PSN | QP_TIMEOUT | QP_RETRY_CNT | QP_RNR_RETRY |
					     QP_MAX_QP_RD_ATOMIC) == 0);
}

static void free_end(struct end *e)
{
	MUST(v->destroy_qp(e->qp) == 0);
	MUST(v->dereg_mr(e->mr) == 0);
	MUST(v->destroy_cq(e->send) == 0);
	MUST(v->destroy_cq(e->recv) == 0);
	MUST(v->destroy_comp_channel(e->channel) == 0);
	MUST(v->dealloc_pd(e->pd) == 0);
	MUST(v->close_device(e->ctx) == 0);
}

static int post(struct end *e, int opcode)
{
	struct gf1_sge sge = { .addr = (uintptr_t)&e->mem[32], .length = 8, .lkey = e->mr->lkey };
	struct gf1_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = SEND_SIGNALED }, *bad;

	if (opcode == WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)&e->peer->mem[0];
		wr.wr.atomic.rkey = e->peer->mr->rkey;
		wr.wr.atomic.compare_add = 1;
	}
	return e->ctx->ops.post_send(e->qp, &wr, &bad);
}

static int receive(struct end *e)
{
	struct gf1_sge sge = { .addr = (uintptr_t)&e->mem[48], .length = 8, .lkey = e->mr->lkey };
	struct gf1_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	return e->ctx->ops.post_recv(e->qp, &wr, &bad);
}

static int wait_for(struct end *e, struct gf1_cq *cq)
{
	struct gf1_wc wc;
	int n;

	while ((n = e->ctx->ops.poll_cq(cq, 1, &wc)) == 0) {
		if (e->ctx->ops.req_notify_cq(cq, 0) != 0)
			return -1;
		usleep(10);
	}
	return n < 0 ? -1 : wc.status;
}

static void *sender(void *arg)
{
	struct end *e = arg;
	int i;

	for (i = 0; i < MESSAGES; i++) {
		MUST(post(e, i % 2 == 0 ? WR_SEND : WR_ATOMIC_FETCH_AND_ADD) == 0);
		MUST(wait_for(e, e->send) == WC_SUCCESS);
	}
	return NULL;
}

static void *receiver(void *arg)
{
	struct end *e = arg;
	int i;

	for (i = 0; i < MESSAGES / 2; i++) {
		MUST(receive(e) == 0);
		MUST(wait_for(e, e->recv) == WC_SUCCESS);
	}
	return NULL;
}

/* Registers, asks and resizes all the while. */
static void *churn(void *arg)
{
	struct end *e = arg;
	static uint64_t memory[512];
	struct gf1_qp_init_attr init;
	struct gf1_qp_attr attr;
	struct gf1_port_attr port;
	struct gf1_mr *mr;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		MUST((mr = v->reg_mr(e->pd, memory, sizeof(memory), 15)) != NULL);
		MUST(v->query_qp(e->qp, &attr, 0, &init) == 0);
		MUST(v->query_port(e->ctx, 1, &port, sizeof(port)) == 0);
		MUST(v->resize_cq(e->send, 1024) == 0);
		MUST(gf1l_inject("loop1", e->qp->qp_num, GF1L_FAULT_RNR, 1) != EINVAL);
		MUST(v->dereg_mr(mr) == 0);
		usleep(50);
	}
	return NULL;
}

static void both_ways(void)
{
	static struct end a[PAIRS], b[PAIRS];
	pthread_t threads[PAIRS * 4], churner;
	int i, n = 0;

	for (i = 0; i < PAIRS; i++) {
		make_end(&a[i], "loop1", 1);
		make_end(&b[i], "loop2", 2);
		a[i].peer = &b[i];
		b[i].peer = &a[i];
		to_rts(&a[i]);
		to_rts(&b[i]);
	}
	pthread_create(&churner, NULL, churn, &a[0]);
	for (i = 0; i < PAIRS; i++) {
		pthread_create(&threads[n++], NULL, sender, &a[i]);
		pthread_create(&threads[n++], NULL, sender, &b[i]);
		pthread_create(&threads[n++], NULL, receiver, &a[i]);
		pthread_create(&threads[n++], NULL, receiver, &b[i]);
	}
	while (n > 0)
		pthread_join(threads[--n], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(churner, NULL);
	for (i = 0; i < PAIRS; i++) {
		MUST(a[i].mem[0] == MESSAGES / 2 && b[i].mem[0] == MESSAGES / 2);
		free_end(&a[i]);
		free_end(&b[i]);
	}
}

static void *hammer(void *arg)
{
	struct end *e = arg;
	struct gf1_wc wc[8];

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		receive(e);
		post(e, WR_SEND);
		e->ctx->ops.poll_cq(e->send, 8, wc);
		e->ctx->ops.poll_cq(e->recv, 8, wc);
	}
	return NULL;
}

/* Changes states, and in the end destroys and removes, under traffic. */
static void upheaval(void)
{
	struct gf1_qp_attr err = { .qp_state = QPS_ERR }, reset = { .qp_state = QPS_RESET };
	static struct end a, b;
	pthread_t threads[2];
	int i;

	__atomic_store_n(&stop, 0, __ATOMIC_RELEASE);
	make_end(&a, "loop1", 1);
	make_end(&b, "loop2", 2);
	a.peer = &b;
	b.peer = &a;
	to_rts(&a);
	to_rts(&b);
	pthread_create(&threads[0], NULL, hammer, &a);
	pthread_create(&threads[1], NULL, hammer, &b);
	for (i = 0; i < LOOPS; i++) {
		struct end *e = i % 2 == 0 ? &a : &b;

		usleep(100);
		MUST(v->modify_qp(e->qp, &err, QP_STATE) == 0);
		MUST(v->modify_qp(e->qp, &reset, QP_STATE) == 0);
		to_rts(e);
		gf1l_set_port("loop2", 1, i % 3 != 0);
	}
	MUST(gf1l_remove_device("loop2") == 0);
	usleep(1000);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	free_end(&b);
	free_end(&a);
}

int main(void)
{
	MUST(gf1l_add_device("loop1", 1, 1, LINK_ETHERNET) == 0);
	MUST(gf1l_add_device("loop2", 2, 1, LINK_ETHERNET) == 0);
	both_ways();
	upheaval();
	MUST(gf1l_remove_device("loop1") == 0);
	puts("ok");
	return 0;
}
