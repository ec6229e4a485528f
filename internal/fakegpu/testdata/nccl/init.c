// Set-up: unique ids and communicators made from them.
#include "state.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void gf1_pause(void) {
	struct timespec t = {0, 1000000};
	nanosleep(&t, NULL);
}

struct id {
	char tag[8];
	uint64_t pid, fd, token;
};

// The worlds of ids that this process has made stay open until all ranks have
// come, like NCCL's listening thread.
static struct made {
	struct made *next;
	struct world *world;
	int fd;
	ino_t inode;
} *made;
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;

// ours answers whether the descriptor is still the file: a test may have closed
// it, since NCCL has no call to take an id back.
static bool ours(const struct made *m) {
	struct stat st;
	return fstat(m->fd, &st) == 0 && st.st_ino == m->inode;
}

void gf1_sweep_ids(void) {
	pthread_mutex_lock(&made_lock);
	for (struct made **at = &made; *at != NULL;) {
		struct made *m = *at;
		int n = atomic_load(&m->world->nranks);
		if (n == 0 || atomic_load(&m->world->joined) < n) {
			at = &m->next;
			continue;
		}
		*at = m->next;
		gf1_close_world(m->world);
		if (ours(m))
			close(m->fd);
		free(m);
	}
	pthread_mutex_unlock(&made_lock);
}

ncclResult_t gf1_make_id(ncclUniqueId *out) {
	struct made *m = calloc(1, sizeof *m);
	gf1_sweep_ids();
	m->world = gf1_new_world(&m->fd);
	if (m->world == NULL) {
		free(m);
		return gf1_fail(ncclSystemError, "no memory for a communicator");
	}
	struct stat st;
	m->inode = fstat(m->fd, &st) == 0 ? st.st_ino : 0;
	struct id id = {.tag = "fakenid", .pid = (uint64_t)getpid(), .fd = (uint64_t)m->fd, .token = m->world->token};
	memset(out, 0, sizeof *out);
	memcpy(out, &id, sizeof id);
	pthread_mutex_lock(&made_lock);
	m->next = made;
	made = m;
	pthread_mutex_unlock(&made_lock);
	return ncclSuccess;
}

ncclResult_t gf1_parse_id(const ncclUniqueId *from, uint64_t *pid, uint64_t *fd, uint64_t *token) {
	struct id id;
	memcpy(&id, from, sizeof id);
	if (memcmp(id.tag, "fakenid", 8) != 0)
		return gf1_fail(ncclInvalidArgument, "this is no unique id");
	*pid = id.pid;
	*fd = id.fd;
	*token = id.token;
	return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
	FAULT();
	return id == NULL ? gf1_fail(ncclInvalidArgument, "GetUniqueId : out argument is NULL") : gf1_make_id(id);
}

// gf1_new_comm makes a communicator on a device, whose primary context it holds.
ncclComm_t gf1_new_comm(int device) {
	ncclComm_t comm = calloc(1, sizeof *comm);
	comm->magic = MAGIC_COMM;
	comm->device = device;
	pthread_mutex_init(&comm->lock, NULL);
	if (cuDevicePrimaryCtxRetain(&comm->context, device) != CUDA_SUCCESS) {
		free(comm);
		return NULL;
	}
	gf1_count(GF1_LIVE_COMMS, 1);
	return comm;
}

// gf1_free_comm gives up what a communicator holds. The structure stays, so
// that a later use is seen.
void gf1_free_comm(ncclComm_t comm) {
	if (comm->ready && comm->config.commName != NULL &&
		strncmp(comm->config.commName, comm->name_copy, sizeof comm->name_copy - 1) != 0)
		gf1_fake_report("the name of rank %d was changed or freed before its communicator", comm->rank);
	if (comm->event != NULL)
		cuEventDestroy_v2(comm->event);
	cuDevicePrimaryCtxRelease_v2(comm->device);
	gf1_close_world(comm->world);
	comm->world = NULL;
	gf1_count(GF1_LIVE_COMMS, -1);
	gf1_count(GF1_LIVE_OPERATORS, -comm->live_operators);
	gf1_count(GF1_LIVE_REGISTRATIONS, -comm->live_registrations);
	for (int i = 0; i < comm->windows_len; i++) {
		if (comm->windows[i] != NULL)
			gf1_count(GF1_LIVE_WINDOWS, -1);
	}
	comm->magic = MAGIC_GONE;
	gf1_sweep_ids();
}

static ncclResult_t run_init(struct job *job) {
	ncclComm_t comm = job->comm;
	comm->world = gf1_open_world((pid_t)job->pid, (int)job->fd, job->token);
	if (comm->world == NULL)
		return gf1_fail(ncclSystemError, "Connect to the process that made the unique id failed : Connection refused");
	ncclResult_t r = gf1_join(comm);
	if (*job->newcomm != comm)
		gf1_fake_report("the memory for a new communicator changed during set-up (rank %d)", comm->rank);
	comm->ready = r == ncclSuccess;
	gf1_sweep_ids();
	return r;
}

static void keep_name(ncclComm_t comm) {
	if (comm->config.commName != NULL)
		strncpy(comm->name_copy, comm->config.commName, sizeof comm->name_copy - 1);
}

static ncclResult_t init(ncclComm_t *newcomm, int nranks, int rank, const ncclUniqueId *id, const ncclConfig_t *config,
	int device) {
	ncclConfig_t parsed;
	struct job *job = calloc(1, sizeof *job);
	ncclResult_t r = gf1_parse_config(config, NULL, &parsed);
	if (r == ncclSuccess && (nranks < 1 || rank < 0 || rank >= nranks))
		r = gf1_fail(ncclInvalidArgument, "Invalid rank requested : %d/%d", rank, nranks);
	if (r == ncclSuccess && nranks > MAX_RANKS)
		r = gf1_fail(ncclInternalError, "the fake has room for %d ranks", MAX_RANKS);
	if (r == ncclSuccess)
		r = gf1_parse_id(id, &job->pid, &job->fd, &job->token);
	ncclComm_t comm = r == ncclSuccess ? gf1_new_comm(device) : NULL;
	if (r == ncclSuccess && comm == NULL)
		r = gf1_fail(ncclUnhandledCudaError, "no context on device %d", device);
	if (r != ncclSuccess) {
		free(job);
		return r;
	}
	comm->rank = rank;
	comm->nranks = nranks;
	comm->config = parsed;
	keep_name(comm);
	*newcomm = comm;
	job->comm = comm;
	job->newcomm = newcomm;
	job->run = run_init;
	r = gf1_group_job(job);
	if (r != ncclSuccess)
		free(job);
	return r;
}

static ncclResult_t init_here(const char *name, ncclComm_t *newcomm, int nranks, int rank, const ncclUniqueId *id,
	const ncclConfig_t *config) {
	int device = 0;
	if (newcomm == NULL || id == NULL)
		return gf1_group_fail(gf1_fail(ncclInvalidArgument, "%s : newcomm or commId argument is NULL", name));
	ncclResult_t r = gf1_current_device(name, &device);
	gf1_group_open();
	if (r == ncclSuccess)
		r = init(newcomm, nranks, rank, id, config, device);
	gf1_group_fail(r);
	ncclResult_t closed = gf1_group_close();
	if (r == ncclSuccess)
		r = closed;
	gf1_disturb_context();
	return r;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank) {
	FAULT();
	return init_here(__func__, comm, nranks, rank, &id, NULL);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int nranks, ncclUniqueId id, int rank, ncclConfig_t *config) {
	FAULT();
	return init_here(__func__, comm, nranks, rank, &id, config);
}

// All ids must be good; the first one does the work.
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int nranks, int rank, int count, ncclUniqueId *ids,
	ncclConfig_t *config) {
	FAULT();
	uint64_t a, b, c;
	ncclResult_t r = ids == NULL || count < 1 || count > nranks ? ncclInvalidArgument : ncclSuccess;
	for (int i = 0; r == ncclSuccess && i < count; i++)
		r = gf1_parse_id(&ids[i], &a, &b, &c);
	if (r != ncclSuccess)
		return gf1_group_fail(gf1_fail(r, "improper usage of ncclCommInitRank: nId = %d, nranks=%d", count, nranks));
	return init_here(__func__, comm, nranks, rank, ids, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices) {
	FAULT();
	int total = 0;
	ncclUniqueId id;
	cuInit(0);
	if (comms == NULL || count < 1 || cuDeviceGetCount(&total) != CUDA_SUCCESS)
		return gf1_fail(ncclInvalidArgument, "Invalid device count requested : %d", count);
	for (int i = 0; i < count; i++) {
		int device = devices == NULL ? i : devices[i];
		if (device < 0 || device >= total)
			return gf1_fail(ncclInvalidArgument, "Invalid device %d (totalnDev=%d)", device, total);
		for (int j = 0; devices != NULL && j < i; j++) {
			if (devices[j] == device)
				return gf1_fail(ncclInvalidUsage, "device %d appears twice", device);
		}
	}
	ncclResult_t r = gf1_make_id(&id);
	gf1_group_open();
	for (int i = 0; r == ncclSuccess && i < count; i++)
		r = init(&comms[i], count, i, &id, NULL, devices == NULL ? i : devices[i]);
	gf1_group_fail(r);
	ncclResult_t closed = gf1_group_close();
	gf1_disturb_context();
	return r != ncclSuccess ? r : closed;
}
