//go:build linux && cgo

/* Memory of GPUs as the target of RDMA: for real adapters, and for devices of
 * this process, which move its bytes by the driver's copies. */
#include "gf1_cuda_shim.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { MOST_DEVICES = 64, INVALID_VALUE = 1, NOT_READY = 600, STREAM_NON_BLOCKING = 1, MEMORY_DEVICE = 2, YIELDS = 2000, PIECE = 1 << 20 };

/* The GPUs that the process has open. Copies hold the lock for reading, so that
 * no context goes while one runs. */
static struct place {
	gf1_cuda_handle context;
	gf1_cuda_handle stream; /* 0 before the first copy */
	unsigned int users;
} places[MOST_DEVICES];
static pthread_rwlock_t places_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static int make_stream(gf1_cuda_handle context, gf1_cuda_handle *stream)
{
	GF1_CUDA_IN(context, gf1_cuda.cuStreamCreateWithPriority(stream, STREAM_NON_BLOCKING, 0));
}

/* A device beyond the table's end is one whose memory is not found. */
void gf1_cuda_open_place(int device, gf1_cuda_handle context)
{
	if (device < 0 || device >= MOST_DEVICES)
		return;
	pthread_rwlock_wrlock(&places_lock);
	places[device].users++;
	places[device].context = context;
	pthread_rwlock_unlock(&places_lock);
}

void gf1_cuda_close_place(int device)
{
	struct place *place;

	if (device < 0 || device >= MOST_DEVICES)
		return;
	place = &places[device];
	pthread_rwlock_wrlock(&places_lock);
	if (--place->users == 0 && place->stream != 0) {
		gf1_cuda_stream_destroy(place->context, place->stream);
		place->stream = 0;
	}
	pthread_rwlock_unlock(&places_lock);
}

/* Under the lock: a context to ask the driver in. */
static const struct place *any_place(void)
{
	int i;

	for (i = 0; i < MOST_DEVICES; i++)
		if (places[i].users != 0)
			return &places[i];
	return NULL;
}

int gf1_cuda_has_place(void)
{
	int has;

	pthread_rwlock_rdlock(&places_lock);
	has = any_place() != NULL;
	pthread_rwlock_unlock(&places_lock);
	return has;
}

static int find(uint64_t address, uint64_t size, int *place)
{
	const struct place *any = any_place();
	struct gf1_cuda_pointer known;
	int rc;

	/* Without an open GPU nobody here can have memory of one. */
	if (any == NULL)
		return 0;
	rc = gf1_cuda_pointer(any->context, address, &known);
	if (rc != 0)
		return rc == INVALID_VALUE ? 0 : -EIO;
	/* Managed memory can be reached like the host's. */
	if (known.memory_type != MEMORY_DEVICE || known.managed)
		return 0;
	if (known.ordinal < 0 || known.ordinal >= MOST_DEVICES || places[known.ordinal].users == 0)
		return -ENODEV;
	if (size > known.size || address - known.start > known.size - size)
		return -EFAULT;
	*place = known.ordinal + 1;
	return 1;
}

int gf1_cuda_find(uint64_t address, uint64_t size, int *place)
{
	int rc;

	pthread_rwlock_rdlock(&places_lock);
	rc = find(address, size, place);
	pthread_rwlock_unlock(&places_lock);
	return rc;
}

/* The forms that name the direction: the driver refuses an address that is no
 * longer a GPU's, and does not take it for the host's. */
static int start(gf1_cuda_handle stream, void *to, int to_place, const void *from, int from_place, size_t size)
{
	if (to_place != 0 && from_place != 0)
		return gf1_cuda.cuMemcpyDtoDAsync_v2((uintptr_t)to, (uintptr_t)from, size, stream);
	if (to_place != 0)
		return gf1_cuda.cuMemcpyHtoDAsync_v2((uintptr_t)to, from, size, stream);
	return gf1_cuda.cuMemcpyDtoHAsync_v2(to, (uintptr_t)from, size, stream);
}

static int copy(gf1_cuda_handle stream, void *to, int to_place, const void *from, int from_place, size_t size)
{
	const struct timespec while_copying = {.tv_nsec = 50000};
	int rc = start(stream, to, to_place, from, from_place, size);
	int yields;

	for (yields = 0; rc == 0; yields++) {
		rc = gf1_cuda.cuStreamQuery(stream);
		if (rc != NOT_READY)
			return rc;
		rc = 0;
		if (yields < YIELDS)
			sched_yield();
		else
			nanosleep(&while_copying, NULL);
	}
	return rc;
}

static int need_stream(struct place *place)
{
	int rc = 0;

	pthread_mutex_lock(&streams_lock);
	if (place->stream == 0)
		rc = make_stream(place->context, &place->stream);
	pthread_mutex_unlock(&streams_lock);
	return rc;
}

static int copy_at(struct place *place, void *to, int to_place, const void *from, int from_place, size_t size)
{
	int rc = need_stream(place);

	if (rc != 0)
		return rc;
	GF1_CUDA_IN(place->context, copy(place->stream, to, to_place, from, from_place, size));
}

/* Under the lock for reading. */
static int move_at(int which, void *to, int to_place, const void *from, int from_place, size_t size)
{
	int device = which - 1;

	if (device < 0 || device >= MOST_DEVICES || places[device].users == 0)
		return -ENODEV;
	return copy_at(&places[device], to, to_place, from, from_place, size) == 0 ? 0 : -EFAULT;
}

/* From one GPU to another by way of the host: what lets a GPU at the memory of
 * another depends on how that was made. */
static int move_across(char *to, int to_place, const char *from, int from_place, size_t size)
{
	size_t piece = size < PIECE ? size : PIECE, n;
	char *between = malloc(piece);
	int rc = between != NULL ? 0 : -ENOMEM;

	for (; rc == 0 && size > 0; size -= n) {
		n = size < piece ? size : piece;
		rc = move_at(from_place, between, 0, from, from_place, n);
		if (rc == 0)
			rc = move_at(to_place, to, to_place, between, 0, n);
		to += n;
		from += n;
	}
	free(between);
	return rc;
}

int gf1_cuda_move(void *to, int to_place, const void *from, int from_place, size_t size)
{
	int rc;

	pthread_rwlock_rdlock(&places_lock);
	if (to_place != 0 && from_place != 0 && to_place != from_place)
		rc = move_across(to, to_place, from, from_place, size);
	else
		rc = move_at(to_place != 0 ? to_place : from_place, to, to_place, from, from_place, size);
	pthread_rwlock_unlock(&places_lock);
	return rc;
}

/* The dma-bufs that were exported, by the descriptor that they got. A number that
 * is given out again replaces what had it, so that there are never more than the
 * process could have open. */
static struct export {
	int fd;
	dev_t dev;
	ino_t inode;
	uint64_t address, size;
} *exports;
static size_t export_count, export_room;
static pthread_mutex_t exports_lock = PTHREAD_MUTEX_INITIALIZER;

static struct export *slot_for(int fd)
{
	struct export *more;
	size_t i, room = export_room == 0 ? 16 : 2 * export_room;

	for (i = 0; i < export_count; i++)
		if (exports[i].fd == fd)
			return &exports[i];
	if (export_count == export_room) {
		more = realloc(exports, room * sizeof(*exports));
		if (more == NULL)
			return NULL;
		exports = more;
		export_room = room;
	}
	return &exports[export_count++];
}

/* Without memory for it the dma-buf is good for every device but our own. */
void gf1_cuda_exported(int fd, uint64_t address, size_t size)
{
	struct export *slot;
	struct stat file;

	if (fstat(fd, &file) != 0)
		return;
	pthread_mutex_lock(&exports_lock);
	slot = slot_for(fd);
	if (slot != NULL)
		*slot = (struct export){fd, file.st_dev, file.st_ino, address, size};
	pthread_mutex_unlock(&exports_lock);
}

int gf1_cuda_find_dma_buf(int fd, uint64_t *address, uint64_t *size)
{
	struct stat file;
	int found = 0;
	size_t i;

	if (fstat(fd, &file) != 0)
		return 0;
	pthread_mutex_lock(&exports_lock);
	for (i = 0; i < export_count && !found; i++) {
		found = exports[i].dev == file.st_dev && exports[i].inode == file.st_ino;
		if (found) {
			*address = exports[i].address;
			*size = exports[i].size;
		}
	}
	pthread_mutex_unlock(&exports_lock);
	return found;
}

void gf1_cuda_forget_exports(uint64_t address, uint64_t size)
{
	size_t i = 0;

	pthread_mutex_lock(&exports_lock);
	while (i < export_count) {
		if (exports[i].address - address < size)
			exports[i] = exports[--export_count];
		else
			i++;
	}
	if (export_count == 0) {
		free(exports);
		exports = NULL;
		export_room = 0;
	}
	pthread_mutex_unlock(&exports_lock);
}

static int set_sync_memops(uint64_t address)
{
	const unsigned int on = 1;

	return gf1_cuda.cuPointerSetAttribute(&on, GF1_CUDA_POINTER_SYNC_MEMOPS, address);
}

int gf1_cuda_sync_memops(gf1_cuda_handle context, uint64_t address)
{
	GF1_CUDA_IN(context, set_sync_memops(address));
}

int gf1_cuda_flush_writes(gf1_cuda_handle context)
{
	GF1_CUDA_NEED(cuFlushGPUDirectRDMAWrites);
	GF1_CUDA_IN(context, gf1_cuda.cuFlushGPUDirectRDMAWrites(GF1_CUDA_FLUSH_CURRENT_CONTEXT, GF1_CUDA_FLUSH_TO_OWNER));
}
