/* How the shims call a verb: one error convention out of the library's three,
 * and the way to the operations that a context carries itself. For this
 * package's C files only. */
#ifndef GF1_CALL_H
#define GF1_CALL_H

#include "gf1_verbs.h"
#include "../dl/gf1_seen.h"

#include <errno.h>
#include <string.h>

/* Access bits from here on are optional: an older kernel may ignore them, and
 * the plain verbs refuse them. */
#define GF1_ACCESS_OPTIONAL_FIRST (1u << 20)

/* A verb that failed without setting errno still failed. */
static inline int errno_or_io(void)
{
	return errno != 0 ? errno : EIO;
}

/* Verbs that make something return NULL and set errno. */
static inline int made_or_errno(void *object, void *out)
{
	if (object == NULL)
		return errno_or_io();
	memcpy(out, &object, sizeof(object));
	return 0;
}

/* Other verbs return 0, a positive errno, or -1 with errno set. */
static inline int done_or_errno(int rc)
{
	if (rc == 0)
		return 0;
	return rc > 0 ? rc : errno_or_io();
}

/* A shim begins with one of these, and ends with done or made, which note how
 * the verb answered. */
#define CALLS(function) static struct gf1_seen seen_ = { .name = function }
#define NEED_AS(v, entry, function) \
	CALLS(function); \
	do { \
		if ((v)->entry == NULL) \
			return gf1_saw(&seen_, EOPNOTSUPP); \
		errno = 0; \
	} while (0)
#define NEED(v, name) NEED_AS(v, name, "ibv_" #name)
#define done(rc) gf1_saw(&seen_, done_or_errno(rc))
#define made(object, out) gf1_saw(&seen_, made_or_errno(object, out))

/* The extended context of a library's context if it reaches down to an
 * operation that lies so many bytes in front of its end, or NULL. */
static inline struct gf1_verbs_context *extended(struct gf1_context *context, size_t reach)
{
	struct gf1_verbs_context *ext;

	if (context->abi_compat != GF1_ABI_IS_EXTENDED)
		return NULL;
	ext = (struct gf1_verbs_context *)((char *)context - offsetof(struct gf1_verbs_context, context));
	return ext->sz >= reach ? ext : NULL;
}

/* The place of an operation, counted from the end. */
#define REACH(op) (sizeof(struct gf1_verbs_context) - offsetof(struct gf1_verbs_context, op))

/* Declares ext, the extended context that carries an operation, or answers that
 * there is none. */
#define NEED_OPERATION(ctx, op, function) \
	CALLS(function); \
	struct gf1_verbs_context *ext = extended(ctx, REACH(op)); \
	do { \
		if (ext == NULL || ext->op == NULL) \
			return gf1_saw(&seen_, EOPNOTSUPP); \
		errno = 0; \
	} while (0)

#endif
