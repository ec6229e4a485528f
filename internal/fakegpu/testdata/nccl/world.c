// The memory that ranks share. It is a memfd of the process that made the id;
// others open it through /proc, so nothing is left behind, and an id is good
// only while its maker lives, as with NCCL.
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAGIC_WORLD 0x57524c4431u

uint64_t gf1_token(void) {
	uint64_t token = 0;
	while (token == 0 && getrandom(&token, sizeof token, 0) != (ssize_t)sizeof token)
		token = 0;
	return token;
}

static struct world *map(int fd) {
	void *p = mmap(NULL, sizeof(struct world), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

struct world *gf1_new_world(int *fd) {
	*fd = memfd_create("fake-nccl", MFD_CLOEXEC);
	if (*fd < 0)
		return NULL;
	struct world *w = ftruncate(*fd, sizeof *w) == 0 ? map(*fd) : NULL;
	if (w == NULL) {
		close(*fd);
		return NULL;
	}
	pthread_mutexattr_t shared;
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&shared, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&w->lock, &shared);
	w->token = gf1_token();
	w->magic = MAGIC_WORLD;
	return w;
}

struct world *gf1_open_world(pid_t pid, int fd, uint64_t token) {
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
	int own = open(path, O_RDWR | O_CLOEXEC);
	if (own < 0)
		return NULL;
	off_t size = lseek(own, 0, SEEK_END);
	struct world *w = size == (off_t)sizeof *w ? map(own) : NULL;
	close(own);
	if (w != NULL && (w->magic != MAGIC_WORLD || w->token != token)) {
		munmap(w, sizeof *w);
		return NULL;
	}
	return w;
}

void gf1_close_world(struct world *w) {
	if (w != NULL)
		munmap(w, sizeof *w);
}

void gf1_lock_world(struct world *w) {
	if (pthread_mutex_lock(&w->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&w->lock);
}

void gf1_unlock_world(struct world *w) { pthread_mutex_unlock(&w->lock); }

// A futex, since a condition variable does not outlive a waiter that is killed.
void gf1_changed_world(struct world *w) {
	atomic_fetch_add(&w->tick, 1);
	if (atomic_load(&w->waiters) != 0)
		syscall(SYS_futex, &w->tick, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// sleep_until_changed answers whether nothing happened. A waiter that is killed
// only leaves needless wakes behind.
static bool sleep_until_changed(struct world *w, uint32_t tick) {
	struct timespec t = {0, 10000000};
	atomic_fetch_add(&w->waiters, 1);
	bool quiet = syscall(SYS_futex, &w->tick, FUTEX_WAIT, tick, &t, NULL, 0) != 0 && errno == ETIMEDOUT;
	atomic_fetch_sub(&w->waiters, 1);
	return quiet;
}

bool gf1_dead(ncclComm_t comm, int rank) {
	struct member *m = &comm->world->member[rank];
	if (rank != comm->rank && gf1_knob(GF1_KNOB_DEAD_RANKS) >> rank & 1)
		return true;
	int state = atomic_load(&m->state);
	return (state == JOINED || state == FINALIZING) && m->pid != getpid() && kill(m->pid, 0) != 0 && errno == ESRCH;
}

// A process that died is not noticed by kill while it is a zombie: /proc tells.
static bool zombie(pid_t pid) {
	char path[64], state = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return true;
	if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	fclose(f);
	return state == 'Z' || state == 'X';
}

static bool peer_died(ncclComm_t comm) {
	for (int r = 0; r < comm->nranks; r++) {
		struct member *m = &comm->world->member[r];
		int state = atomic_load(&m->state);
		bool present = state == JOINED || state == FINALIZING;
		if (gf1_dead(comm, r) || (present && m->pid != getpid() && zombie(m->pid)))
			return true;
	}
	return false;
}

static bool aborted(ncclComm_t comm) {
	return atomic_load(&comm->abort_flag) || (comm->parent_abort != NULL && atomic_load(comm->parent_abort));
}

ncclResult_t gf1_wait(ncclComm_t comm, uint32_t tick, bool on_stream) {
	if (aborted(comm))
		return gf1_fail(ncclInternalError, "aborted");
	bool quiet = sleep_until_changed(comm->world, tick);
	if (aborted(comm))
		return gf1_fail(ncclInternalError, "aborted");
	if (quiet && peer_died(comm)) {
		int none = ncclSuccess;
		atomic_compare_exchange_strong(&comm->async, &none, ncclRemoteError);
		gf1_fail(ncclRemoteError, "a remote process exited");
		// A collective that lost a peer stays on the GPU until it is aborted.
		if (!on_stream)
			return ncclRemoteError;
	}
	return ncclSuccess;
}

static ncclResult_t until(ncclComm_t comm, _Atomic uint64_t *counter, uint64_t value, bool on_stream) {
	for (;;) {
		uint32_t tick = atomic_load(&comm->world->tick);
		if (atomic_load(counter) >= value)
			return ncclSuccess;
		ncclResult_t r = gf1_wait(comm, tick, on_stream);
		if (r != ncclSuccess)
			return r;
	}
}

ncclResult_t gf1_barrier(ncclComm_t comm, enum plane plane) {
	struct world *w = comm->world;
	uint64_t mine = atomic_fetch_add(&w->member[comm->rank].phase[plane], 1) + 1;
	gf1_changed_world(w);
	for (int r = 0; r < comm->nranks; r++) {
		ncclResult_t result = until(comm, &w->member[r].phase[plane], mine, plane == STREAM_PLANE);
		if (result != ncclSuccess)
			return result;
	}
	return ncclSuccess;
}

ncclResult_t gf1_subset_barrier(ncclComm_t comm, uint64_t mask) {
	struct world *w = comm->world;
	struct subset *s = NULL;
	gf1_lock_world(w);
	for (int i = 0; i < 8 && s == NULL; i++) {
		if (w->subset[i].mask == mask || w->subset[i].mask == 0)
			s = &w->subset[i];
	}
	if (s != NULL)
		s->mask = mask;
	gf1_unlock_world(w);
	if (s == NULL)
		return gf1_fail(ncclInternalError, "the fake has no room for another set of ranks");
	uint64_t mine = atomic_fetch_add(&s->phase[comm->rank], 1) + 1;
	gf1_changed_world(w);
	for (int r = 0; r < comm->nranks; r++) {
		if (!(mask >> r & 1))
			continue;
		for (;;) {
			uint32_t tick = atomic_load(&w->tick);
			if (atomic_load(&s->phase[r]) >= mine)
				break;
			// Members outside the set may be dead: that is why one shrinks.
			if (gf1_dead(comm, r))
				return gf1_fail(ncclRemoteError, "a rank that is to stay has died");
			if (atomic_load(&w->member[comm->rank].aborting))
				return gf1_fail(ncclInternalError, "aborted");
			sleep_until_changed(w, tick);
		}
	}
	return ncclSuccess;
}

// gf1_join enters the communicator's world and waits for the other ranks.
ncclResult_t gf1_join(ncclComm_t comm) {
	struct world *w = comm->world;
	struct member *m = &w->member[comm->rank];
	ncclResult_t result = ncclSuccess;
	char bus[32];
	unsigned number = 0;
	cuDeviceGetPCIBusId(bus, sizeof bus, comm->device);
	sscanf(bus, "%*x:%x", &number);
	gf1_lock_world(w);
	if (atomic_load(&w->nranks) == 0)
		atomic_store(&w->nranks, comm->nranks);
	if (atomic_load(&w->nranks) != comm->nranks) {
		gf1_fake_report("ranks of one id disagree about their number: %d and %d", comm->nranks, (int)w->nranks);
		result = gf1_fail(ncclInvalidArgument, "the ranks disagree about their number");
	} else if (atomic_load(&m->state) != ABSENT) {
		gf1_fake_report("rank %d has come twice with one unique id", comm->rank);
		result = gf1_fail(ncclInvalidUsage, "rank %d has come already", comm->rank);
	} else {
		m->pid = getpid();
		m->device = comm->device;
		m->bus = (int)number;
		m->version = gf1_fake_nccl_version;
		atomic_store(&m->state, JOINED);
		atomic_fetch_add(&w->joined, 1);
	}
	gf1_unlock_world(w);
	if (result != ncclSuccess)
		return result;
	gf1_changed_world(w);
	gf1_count(GF1_INITS_WAITING, 1);
	for (;;) {
		uint32_t tick = atomic_load(&w->tick);
		if (atomic_load(&w->joined) >= comm->nranks && gf1_knob(GF1_KNOB_INIT_HOLD) == 0)
			break;
		if (gf1_knob(GF1_KNOB_EINTR) != 0 && HAS(2, 19, 1) && !HAS(2, 26, 2))
			result = gf1_fail(ncclSystemError, "Call to poll failed : Interrupted system call");
		if (result == ncclSuccess)
			result = gf1_wait(comm, tick, false);
		if (result != ncclSuccess)
			break;
	}
	gf1_count(GF1_INITS_WAITING, -1);
	for (int r = 0; result == ncclSuccess && r < comm->nranks; r++) {
		struct member *other = &w->member[r];
		if (other->version != gf1_fake_nccl_version)
			result = gf1_fail(ncclInvalidUsage, "Mismatched NCCL version detected : rank %d version %d rank %d version %d", r,
				other->version, comm->rank, gf1_fake_nccl_version);
		else if (r != comm->rank && other->bus == (int)number && getenv("NCCL_MULTI_RANK_GPU_ENABLE") == NULL)
			result = gf1_fail(ncclInvalidUsage, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %s", comm->rank,
				r, bus);
	}
	return result;
}
