//go:build linux && cgo

/* Moving bytes between gather and scatter lists. */
#include "gf1l.h"

#include <string.h>

/* The last byte is written last and with release order: who polls memory for
 * it, with acquire order, sees the rest. */
void gf1l_copy(void *to, const void *from, size_t n)
{
	uint8_t last;

	if (n == 0)
		return;
	last = ((const uint8_t *)from)[n - 1];
	memmove(to, from, n - 1);
	__atomic_store_n((uint8_t *)to + n - 1, last, __ATOMIC_RELEASE);
}

uint64_t gf1l_sge_total(const struct gf1_sge *sge, uint32_t n)
{
	uint64_t total = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		total += sge[i].length;
	return total;
}

/* Where a walk over a list stands: left bytes at p of the piece that is open. */
struct walk {
	const struct gf1l_list *list;
	int access;
	uint32_t next;
	uint8_t *p;
	int place;
	uint64_t left;
	struct gf1l_slot *slot;
};

static void shut(struct walk *walk)
{
	if (walk->slot != NULL)
		gf1l_close_mem(walk->slot);
	walk->slot = NULL;
}

/* Opens the next piece, of which no more than want bytes are needed. */
static int open_next(struct walk *walk, uint64_t want)
{
	const struct gf1l_list *list = walk->list;

	shut(walk);
	if (list->memory != NULL) {
		walk->p = walk->next++ == 0 ? list->memory : NULL;
		walk->place = list->place;
		walk->left = want;
		return walk->p != NULL ? 0 : -1;
	}
	while (walk->next < list->num_sge) {
		const struct gf1_sge *sge = &list->sge[walk->next++];

		if (sge->length == 0)
			continue;
		walk->left = sge->length < want ? sge->length : want;
		walk->p = gf1l_open_mem(list->dev, list->pd, sge->lkey, 0, sge->addr, walk->left, walk->access,
					&walk->slot);
		if (walk->p == NULL)
			return -1;
		walk->place = gf1l_place_of(walk->slot);
		return 0;
	}
	return -1;
}

int gf1l_list_allows(const struct gf1l_list *list, uint64_t length, int access)
{
	struct walk walk = { .list = list, .access = access };

	while (length > 0) {
		if (open_next(&walk, length) != 0)
			return 0;
		length -= walk.left;
	}
	shut(&walk);
	return 1;
}

static int copy_piece(void *to, int to_place, const void *from, int from_place, uint64_t n)
{
	if (to_place != GF1L_HOST || from_place != GF1L_HOST)
		return gf1l_gpu_move(to, to_place, from, from_place, n);
	gf1l_copy(to, from, n);
	return 0;
}

static int clear_piece(uint8_t *to, int place, uint64_t n)
{
	static const uint8_t zeros[4096];
	uint64_t piece;
	int rc = 0;

	for (; n > 0 && rc == 0; to += piece, n -= piece) {
		piece = n < sizeof(zeros) ? n : sizeof(zeros);
		rc = copy_piece(to, place, zeros, GF1L_HOST, piece);
	}
	return rc;
}

/* Nothing is written to what has no memory, and what is read from it is zero. 0,
 * or -1 when a GPU failed. */
static int move_piece(const struct walk *target, const struct walk *source, uint64_t n)
{
	if (target->slot != NULL && gf1l_is_nothing(target->slot))
		return 0;
	if (source->slot != NULL && gf1l_is_nothing(source->slot))
		return clear_piece(target->p, target->place, n);
	return copy_piece(target->p, target->place, source->p, source->place, n);
}

int gf1l_move(const struct gf1l_list *to, uint64_t skip, const struct gf1l_list *from, uint64_t length)
{
	struct walk source = { .list = from };
	struct walk target = { .list = to, .access = ACCESS_LOCAL_WRITE };
	uint64_t n;
	int rc = 0;

	while (length > 0 && rc == 0) {
		if (target.left == 0) {
			rc = open_next(&target, skip + length);
			if (rc != 0)
				break;
			n = skip < target.left ? skip : target.left;
			target.p += n;
			target.left -= n;
			skip -= n;
			continue;
		}
		if (source.left == 0) {
			rc = open_next(&source, length);
			continue;
		}
		n = source.left < target.left ? source.left : target.left;
		n = n < length ? n : length;
		rc = move_piece(&target, &source, n);
		target.p += n;
		target.left -= n;
		source.p += n;
		source.left -= n;
		length -= n;
	}
	shut(&source);
	shut(&target);
	return rc;
}
