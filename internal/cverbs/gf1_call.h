/* How the shims call a verb: one error convention out of the library's three,
 * and the way to the operations that a context carries itself. For this
 * package's C files only. */
#ifndef GF1_CALL_H
#define GF1_CALL_H

#include "gf1_verbs.h"

#include <errno.h>
#include <string.h>

/* A verb that failed without setting errno still failed. */
static inline int errno_or_io(void)
{
	return errno != 0 ? errno : EIO;
}

/* Verbs that make something return NULL and set errno. */
static inline int made(void *object, void *out)
{
	if (object == NULL)
		return errno_or_io();
	memcpy(out, &object, sizeof(object));
	return 0;
}

/* Other verbs return 0, a positive errno, or -1 with errno set. */
static inline int done(int rc)
{
	if (rc == 0)
		return 0;
	return rc > 0 ? rc : errno_or_io();
}

#define NEED(v, name) \
	do { \
		if ((v)->name == NULL) \
			return EOPNOTSUPP; \
		errno = 0; \
	} while (0)

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

#define REACH(op) (sizeof(struct gf1_verbs_context) - offsetof(struct gf1_verbs_context, op))

#endif
