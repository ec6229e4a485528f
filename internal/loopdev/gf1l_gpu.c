//go:build linux && cgo

/* Memory of GPUs, which this process cannot reach by itself: it is found and
 * copied by functions of whoever has the GPUs, if anybody does. */
#include "gf1l.h"

#include <string.h>

static struct gf1l_gpu_functions functions;
static int provided; /* atomic; the functions hold when it is set */

void gf1l_provide_gpu(const struct gf1l_gpu_functions *given)
{
	functions = *given;
	__atomic_store_n(&provided, 1, __ATOMIC_RELEASE);
}

static int is_provided(void)
{
	return __atomic_load_n(&provided, __ATOMIC_ACQUIRE);
}

int gf1l_gpu_find(uint64_t address, uint64_t length, int *place)
{
	*place = GF1L_HOST;
	return is_provided() ? functions.find(address, length, place) : 0;
}

int gf1l_gpu_find_dma_buf(int fd, uint64_t *address, uint64_t *size)
{
	return is_provided() && functions.find_dma_buf(fd, address, size);
}

int gf1l_gpu_move(void *to, int to_place, const void *from, int from_place, uint64_t n)
{
	return functions.move(to, to_place, from, from_place, n) == 0 ? 0 : -1;
}

int gf1l_gpu_atomic(uint8_t *at, int place, int is_add, uint64_t operand, uint64_t swap, uint64_t *old)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	uint64_t now;
	int rc;

	pthread_mutex_lock(&one_at_a_time);
	rc = gf1l_gpu_move(old, GF1L_HOST, at, place, sizeof(*old));
	now = is_add ? *old + operand : swap;
	if (rc == 0 && (is_add || *old == operand))
		rc = gf1l_gpu_move(at, place, &now, GF1L_HOST, sizeof(now));
	pthread_mutex_unlock(&one_at_a_time);
	return rc;
}
