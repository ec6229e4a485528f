//go:build linux && cgo

/* Memory regions and their keys.
 *
 *   bit 31 .. 12   index of the slot, from 1
 *   bit 11 ..  1   how often the slot was used before
 *   bit  0         0 in a local key, 1 in a remote one
 *
 * so that a stale key, or one kind in the place of the other, is refused.
 *
 * Who uses a slot's memory is counted, in the order count, then look whether it
 * is live. Deregistration ends its life, then waits until nobody is counted:
 * after it nobody touches the memory. */
#define _GNU_SOURCE
#include "gf1l.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CHUNK = 256,
	CHUNKS = GF1L_MAX_OBJECTS / CHUNK,
	INDEX_SHIFT = 12,
	USES_MASK = 0x7ff,
	REMOTE_BIT = 1,
	PAGES_AT_ONCE = 4096,
	REMOTE_ACCESS = ACCESS_REMOTE_WRITE | ACCESS_REMOTE_READ | ACCESS_REMOTE_ATOMIC,
	KNOWN_ACCESS = ACCESS_LOCAL_WRITE | REMOTE_ACCESS | ACCESS_MW_BIND | ACCESS_ON_DEMAND | ACCESS_FLUSH_GLOBAL |
		       ACCESS_FLUSH_PERSISTENT,
};

struct gf1l_slot {
	uint32_t users; /* atomic */
	int live;       /* atomic: what follows holds, and is read only, while it is */
	uint32_t index, uses, key;
	int access;
	struct gf1_pd *pd;
	uint8_t *base;
	int place;
	uint64_t iova, length;
	const struct gf1l_qp *only; /* a window that this queue pair bound, or NULL */
	int nothing;                /* no memory lies behind it */
	struct gf1l_slot *of;       /* a bound window: the region's */
	uint32_t windows;           /* a region: those bound to it; the keys' lock */
	int is_window;
	uint32_t next_free;
};

struct region {
	struct gf1_mr mr;
	struct gf1l_slot *slot;
	void *mapping; /* of a dma-buf, or NULL */
	size_t mapped;
	uint32_t *users; /* of memory of the device that counts them, or NULL */
};

static struct gf1l_slot *slot_at(struct gf1l_keys *keys, uint32_t index)
{
	return &__atomic_load_n(&keys->chunks[index / CHUNK], __ATOMIC_ACQUIRE)[index % CHUNK];
}

/* Under the keys' lock: a slot that was never used, or the one that has been
 * free longest. */
static struct gf1l_slot *take_slot(struct gf1l_keys *keys)
{
	struct gf1l_slot *slot;
	uint32_t index = keys->free_first;

	if (index != 0) {
		slot = slot_at(keys, index);
		keys->free_first = slot->next_free;
		if (keys->free_first == 0)
			keys->free_last = 0;
		return slot;
	}
	if (keys->chunks == NULL) {
		keys->chunks = calloc(CHUNKS, sizeof(*keys->chunks));
		if (keys->chunks == NULL)
			return NULL;
	}
	index = keys->made == 0 ? 1 : keys->made;
	if (index == GF1L_MAX_OBJECTS)
		return NULL;
	if (keys->chunks[index / CHUNK] == NULL) {
		slot = calloc(CHUNK, sizeof(*slot));
		if (slot == NULL)
			return NULL;
		__atomic_store_n(&keys->chunks[index / CHUNK], slot, __ATOMIC_RELEASE);
	}
	slot = slot_at(keys, index);
	slot->index = index;
	__atomic_store_n(&keys->made, index + 1, __ATOMIC_RELEASE);
	return slot;
}

static void give_slot(struct gf1l_keys *keys, struct gf1l_slot *slot)
{
	pthread_mutex_lock(&keys->lock);
	slot->next_free = 0;
	if (keys->free_last != 0)
		slot_at(keys, keys->free_last)->next_free = slot->index;
	else
		keys->free_first = slot->index;
	keys->free_last = slot->index;
	pthread_mutex_unlock(&keys->lock);
}

void gf1l_keys_free(struct gf1l_keys *keys)
{
	uint32_t i;

	for (i = 0; keys->chunks != NULL && i < CHUNKS; i++)
		free(keys->chunks[i]);
	free(keys->chunks);
	pthread_mutex_destroy(&keys->lock);
}

/* Whether every page of the range is mapped. A device would pin the pages; here
 * a range that is not there must not crash whoever sends to it. */
static int is_mapped(void *addr, size_t length)
{
	uint8_t present[PAGES_AT_ONCE];
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)addr & ~(page - 1), end = (uintptr_t)addr + length;
	size_t n;

	while (at < end) {
		n = end - at < page * PAGES_AT_ONCE ? end - at : page * PAGES_AT_ONCE;
		if (mincore((void *)at, n, present) != 0)
			return 0;
		if (n < page * PAGES_AT_ONCE)
			break;
		at += n;
	}
	return 1;
}

static int access_refusal(size_t length, uint64_t iova, unsigned int access)
{
	if ((access & ~(unsigned int)(KNOWN_ACCESS | ACCESS_OPTIONAL_RANGE)) != 0)
		return EOPNOTSUPP;
	if ((access & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC)) != 0 && (access & ACCESS_LOCAL_WRITE) == 0)
		return EINVAL;
	return length == 0 || iova + length < iova ? EINVAL : 0;
}

/* Also stores where the memory is. */
static int refusal(void *addr, size_t length, uint64_t iova, unsigned int access, int *place)
{
	int rc = access_refusal(length, iova, access);

	if (rc != 0)
		return rc;
	if ((uintptr_t)addr + length < (uintptr_t)addr)
		return EINVAL;
	rc = gf1l_gpu_find((uintptr_t)addr, length, place);
	if (rc != 0)
		return rc < 0 ? -rc : 0;
	return is_mapped(addr, length) ? 0 : EFAULT;
}

/* A region over memory that was looked at. */
static struct region *new_region(struct gf1_pd *pd, void *addr, int place, size_t length, uint64_t iova,
				 unsigned int access)
{
	struct gf1l_ctx *ctx = gf1l_ctx_of(pd->context);
	struct gf1l_keys *keys = &ctx->dev->keys;
	struct gf1l_slot *slot;
	struct region *region = gf1l_make(ctx, sizeof(*region));

	if (region == NULL)
		return NULL;
	pthread_mutex_lock(&keys->lock);
	slot = take_slot(keys);
	pthread_mutex_unlock(&keys->lock);
	if (slot == NULL) {
		gf1l_unmake(ctx, region);
		errno = ENOMEM;
		return NULL;
	}
	slot->uses = (slot->uses + 1) & USES_MASK;
	slot->key = slot->index << INDEX_SHIFT | slot->uses << 1;
	slot->access = (int)access;
	slot->pd = gf1l_root(pd);
	slot->base = addr;
	slot->place = place;
	slot->iova = iova;
	slot->length = length;
	slot->nothing = slot->is_window = 0;
	slot->only = NULL;
	__atomic_store_n(&slot->live, 1, __ATOMIC_SEQ_CST);

	region->slot = slot;
	region->mr.context = pd->context;
	region->mr.pd = pd;
	region->mr.addr = addr;
	region->mr.length = length;
	region->mr.handle = slot->index;
	region->mr.lkey = slot->key;
	region->mr.rkey = slot->key | REMOTE_BIT;
	gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, pd)->refs);
	return region;
}

struct gf1_mr *gf1l_reg_mr_iova2(struct gf1_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct region *region;
	int place, rc = refusal(addr, length, iova, access, &place);

	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	region = new_region(pd, addr, place, length, iova, access);
	return region != NULL ? &region->mr : NULL;
}

/* The region of a dma-buf whose memory is a GPU's of this process. */
static struct gf1_mr *reg_gpu(struct gf1_pd *pd, uint64_t address, uint64_t size, uint64_t offset, size_t length,
			      uint64_t iova, unsigned int access)
{
	struct region *region;
	int place, rc = EINVAL;

	if (offset <= size && length <= size - offset)
		rc = gf1l_gpu_find(address + offset, length, &place);
	if (rc != 1) {
		errno = rc < 0 ? -rc : EINVAL;
		return NULL;
	}
	region = new_region(pd, (void *)(uintptr_t)(address + offset), place, length, iova, access);
	return region != NULL ? &region->mr : NULL;
}

/* Whatever file can be mapped stands for a dma-buf: the kernel's own can, where
 * their memory is the host's. The region is its mapping's owner. */
struct gf1_mr *gf1l_reg_dmabuf_mr(struct gf1_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	uint64_t in_page = offset & ((uint64_t)sysconf(_SC_PAGESIZE) - 1);
	int protection = (access & ACCESS_LOCAL_WRITE) != 0 ? PROT_READ | PROT_WRITE : PROT_READ;
	int rc = access_refusal(length, iova, (unsigned int)access);
	uint64_t address, size;
	struct region *region;
	struct stat file;
	void *mapping;

	if (rc == 0 && gf1l_gpu_find_dma_buf(fd, &address, &size))
		return reg_gpu(pd, address, size, offset, length, iova, (unsigned int)access);
	if (rc == 0 && fstat(fd, &file) != 0)
		rc = errno;
	if (rc == 0 && (offset + length < offset || offset + length > (uint64_t)file.st_size ||
			(iova & ((uint64_t)sysconf(_SC_PAGESIZE) - 1)) != in_page))
		rc = EINVAL;
	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	mapping = mmap(NULL, length + in_page, protection, MAP_SHARED, fd, (off_t)(offset - in_page));
	if (mapping == MAP_FAILED)
		return NULL;
	region = new_region(pd, (uint8_t *)mapping + in_page, GF1L_HOST, length, iova, (unsigned int)access);
	if (region == NULL) {
		munmap(mapping, length + in_page);
		return NULL;
	}
	region->mapping = mapping;
	region->mapped = length + in_page;
	return &region->mr;
}

struct gf1_mr *gf1l_reg_mr_iova(struct gf1_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return gf1l_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

struct gf1_mr *gf1l_reg_mr(struct gf1_pd *pd, void *addr, size_t length, int access)
{
	return gf1l_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

static void await_users(struct gf1l_slot *slot)
{
	const struct timespec while_copying = { .tv_nsec = 50000 };
	int yields = 0;

	while (__atomic_load_n(&slot->users, __ATOMIC_SEQ_CST) != 0) {
		if (yields++ < 100)
			sched_yield();
		else
			nanosleep(&while_copying, NULL);
	}
}

/* Ends a region's life unless windows are bound to it. */
static int end_region(struct gf1l_keys *keys, struct gf1l_slot *slot)
{
	int rc = 0;

	pthread_mutex_lock(&keys->lock);
	if (slot->windows != 0)
		rc = EBUSY;
	else
		__atomic_store_n(&slot->live, 0, __ATOMIC_SEQ_CST);
	pthread_mutex_unlock(&keys->lock);
	if (rc == 0)
		await_users(slot);
	return rc;
}

int gf1l_dereg_mr(struct gf1_mr *mr)
{
	struct region *region = GF1L_OF(struct region, mr, mr);
	struct gf1l_ctx *ctx = gf1l_ctx_of(mr->context);
	struct gf1l_slot *slot = region->slot;
	int rc = end_region(&ctx->dev->keys, slot);

	if (rc != 0)
		return rc;
	if (region->mapping != NULL)
		munmap(region->mapping, region->mapped);
	if (region->users != NULL)
		gf1l_unref(region->users);
	give_slot(&ctx->dev->keys, slot);
	gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, mr->pd)->refs);
	gf1l_unmake(ctx, region);
	return 0;
}

/* The keys stay. */
int gf1l_rereg_mr(struct gf1_mr *mr, int flags, struct gf1_pd *pd, void *addr, size_t length, int access)
{
	struct region *region = GF1L_OF(struct region, mr, mr);
	struct gf1l_slot *slot = region->slot;
	unsigned int rights = (flags & REREG_ACCESS) != 0 ? (unsigned int)access : (unsigned int)slot->access;
	int place = slot->place;
	int rc = (flags & REREG_TRANSLATION) != 0 ? refusal(addr, length, (uintptr_t)addr, rights, &place) :
						    access_refusal(slot->length, slot->iova, rights);

	if (rc == 0)
		rc = end_region(&gf1l_ctx_of(mr->context)->dev->keys, slot);
	if (rc != 0) {
		errno = rc;
		return -1; /* the region is as it was */
	}
	slot->access = (int)rights;
	if ((flags & REREG_TRANSLATION) != 0) {
		mr->addr = slot->base = addr;
		slot->place = place;
		slot->iova = (uintptr_t)addr;
		mr->length = slot->length = length;
	}
	if ((flags & REREG_PD) != 0) {
		gf1l_ref(&GF1L_OF(struct gf1l_pd, pd, pd)->refs);
		gf1l_unref(&GF1L_OF(struct gf1l_pd, pd, mr->pd)->refs);
		mr->pd = pd;
		slot->pd = gf1l_root(pd);
	}
	__atomic_store_n(&slot->live, 1, __ATOMIC_SEQ_CST);
	return 0;
}

struct gf1_mr *gf1l_alloc_null_mr(struct gf1_pd *pd)
{
	static uint8_t nothing;
	struct region *region = new_region(pd, &nothing, GF1L_HOST, SIZE_MAX, 0, ACCESS_LOCAL_WRITE);

	if (region == NULL)
		return NULL;
	region->slot->nothing = 1;
	region->mr.addr = NULL;
	return &region->mr;
}

struct gf1_mr *gf1l_reg_own(struct gf1_pd *pd, void *addr, size_t length, unsigned int access, uint32_t *users)
{
	int rc = access_refusal(length, 0, access & ~(unsigned int)ACCESS_ZERO_BASED);
	struct region *region;

	if (rc == 0 && (access & ACCESS_ZERO_BASED) == 0)
		rc = EINVAL;
	if (rc != 0) {
		errno = rc;
		return NULL;
	}
	region = new_region(pd, addr, GF1L_HOST, length, 0, access & ~(unsigned int)ACCESS_ZERO_BASED);
	if (region == NULL)
		return NULL;
	region->mr.addr = NULL;
	region->users = users;
	gf1l_ref(users);
	return &region->mr;
}

/* All memory is there already: only what is asked for is looked at. */
int gf1l_advise_mr(struct gf1_pd *pd, int advice, uint32_t flags, struct gf1_sge *sge, uint32_t num_sge)
{
	struct gf1l_slot *slot;
	uint32_t i;

	if (advice < 0 || advice > 2 || flags > 1 || num_sge == 0)
		return EINVAL;
	for (i = 0; i < num_sge; i++) {
		if (gf1l_open_mem(gf1l_ctx_of(pd->context)->dev, pd, sge[i].lkey, 0, sge[i].addr, sge[i].length,
				  advice == 1 ? ACCESS_LOCAL_WRITE : 0, &slot) == NULL)
			return EFAULT;
		gf1l_close_mem(slot);
	}
	return 0;
}

/* The owner of a window chooses the lowest byte of its key, which peers have. */
static int key_fits(const struct gf1l_slot *slot, uint32_t key, int remote)
{
	if (slot->is_window)
		return remote && key == slot->key;
	return key == (slot->key | (remote ? REMOTE_BIT : 0));
}

uint8_t *gf1l_open_mem(struct gf1l_dev *dev, struct gf1_pd *pd, uint32_t key, int remote, uint64_t addr,
		       uint64_t length, int access, struct gf1l_slot **out)
{
	struct gf1l_keys *keys = &dev->keys;
	uint32_t index = key >> INDEX_SHIFT;
	struct gf1l_slot *slot;

	if (index == 0 || index >= __atomic_load_n(&keys->made, __ATOMIC_ACQUIRE))
		return NULL;
	slot = slot_at(keys, index);
	__atomic_fetch_add(&slot->users, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&slot->live, __ATOMIC_SEQ_CST) || !key_fits(slot, key, remote) || slot->pd != gf1l_root(pd) || (access & ~slot->access) != 0 || addr < slot->iova || length > slot->length ||
	    addr - slot->iova > slot->length - length) {
		gf1l_close_mem(slot);
		return NULL;
	}
	*out = slot;
	return slot->nothing ? slot->base : slot->base + (addr - slot->iova);
}

int gf1l_is_nothing(const struct gf1l_slot *slot)
{
	return slot->nothing;
}

int gf1l_is_anothers(const struct gf1l_slot *slot, const struct gf1l_qp *qp)
{
	return slot->only != NULL && slot->only != qp;
}

int gf1l_place_of(const struct gf1l_slot *slot)
{
	return slot->place;
}

void gf1l_close_mem(struct gf1l_slot *slot)
{
	__atomic_fetch_sub(&slot->users, 1, __ATOMIC_RELEASE);
}

struct gf1l_slot *gf1l_window_new(struct gf1l_dev *dev, struct gf1_pd *pd, uint32_t *key)
{
	struct gf1l_slot *slot;

	pthread_mutex_lock(&dev->keys.lock);
	slot = take_slot(&dev->keys);
	pthread_mutex_unlock(&dev->keys.lock);
	if (slot == NULL)
		return NULL;
	slot->uses = (slot->uses + 1) & USES_MASK;
	slot->is_window = 1;
	slot->of = NULL;
	slot->nothing = 0;
	slot->pd = gf1l_root(pd);
	*key = slot->key = slot->index << INDEX_SHIFT | (slot->uses << 8 & 0xf00);
	return slot;
}

static void end_life(struct gf1l_slot *slot)
{
	__atomic_store_n(&slot->live, 0, __ATOMIC_SEQ_CST);
	await_users(slot);
}

/* Under the keys' lock. */
static void loosen(struct gf1l_slot *slot)
{
	if (slot->of == NULL)
		return;
	end_life(slot);
	slot->of->windows--;
	slot->of = NULL;
}

void gf1l_window_free(struct gf1l_dev *dev, struct gf1l_slot *slot)
{
	pthread_mutex_lock(&dev->keys.lock);
	loosen(slot);
	pthread_mutex_unlock(&dev->keys.lock);
	give_slot(&dev->keys, slot);
}

struct gf1l_slot *gf1l_slot_of(const struct gf1_mr *mr)
{
	return GF1L_OF(const struct region, mr, mr)->slot;
}

/* Under the keys' lock: whether the region is there and lets itself be bound. */
static int may_bind(const struct gf1l_slot *window, const struct gf1l_slot *of, const struct gf1l_bind *bind)
{
	if (!__atomic_load_n(&of->live, __ATOMIC_SEQ_CST) || of->key != bind->of_key || of->pd != window->pd)
		return 0;
	if ((of->access & ACCESS_MW_BIND) == 0 || (bind->access & ~(uint32_t)(REMOTE_ACCESS | ACCESS_ZERO_BASED)) != 0)
		return 0;
	if ((bind->access & (ACCESS_REMOTE_WRITE | ACCESS_REMOTE_ATOMIC)) != 0 && (of->access & ACCESS_LOCAL_WRITE) == 0)
		return 0;
	return bind->addr >= of->iova && bind->length <= of->length &&
	       bind->addr - of->iova <= of->length - bind->length;
}

int gf1l_window_bind(struct gf1l_qp *qp, const struct gf1l_bind *bind)
{
	struct gf1l_keys *keys = &qp->ctx->dev->keys;
	struct gf1l_slot *slot = bind->window, *of = bind->of;
	int rc = EINVAL;

	pthread_mutex_lock(&keys->lock);
	if (!slot->is_window || (bind->window_key ^ slot->key) >> 8 != 0 || slot->pd != gf1l_root(qp->qp.pd))
		goto out;
	/* A window of type 2 has to be free. */
	if ((bind->type == MW_TYPE_2 && slot->of != NULL) || (of != NULL && !may_bind(slot, of, bind)))
		goto out;
	rc = 0;
	loosen(slot);
	slot->key = bind->window_key;
	if (of == NULL || bind->length == 0)
		goto out;
	slot->of = of;
	of->windows++;
	slot->access = (int)bind->access;
	slot->base = of->base + (bind->addr - of->iova);
	slot->place = of->place;
	slot->iova = (bind->access & ACCESS_ZERO_BASED) != 0 ? 0 : bind->addr;
	slot->length = bind->length;
	slot->only = bind->type == MW_TYPE_2 ? qp : NULL;
	__atomic_store_n(&slot->live, 1, __ATOMIC_SEQ_CST);
out:
	pthread_mutex_unlock(&keys->lock);
	return rc;
}

/* Only windows of type 2 have a queue pair of their own. */
int gf1l_window_unbind(struct gf1l_dev *dev, struct gf1_pd *pd, uint32_t key, const struct gf1l_qp *qp)
{
	struct gf1l_keys *keys = &dev->keys;
	uint32_t index = key >> INDEX_SHIFT;
	struct gf1l_slot *slot;
	int rc = EINVAL;

	if (index == 0 || index >= __atomic_load_n(&keys->made, __ATOMIC_ACQUIRE))
		return EINVAL;
	slot = slot_at(keys, index);
	pthread_mutex_lock(&keys->lock);
	if (slot->is_window && slot->of != NULL && slot->key == key && slot->pd == gf1l_root(pd) && slot->only == qp) {
		loosen(slot);
		rc = 0;
	}
	pthread_mutex_unlock(&keys->lock);
	return rc;
}
