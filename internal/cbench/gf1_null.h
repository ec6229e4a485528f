#ifndef GF1_NULL_H
#define GF1_NULL_H

#include "gf1_verbs.h"

/* A device without hardware: what is posted completes at once, in order, and
 * nothing is moved. One thread at a time. */
struct gf1_context *gf1_null_open(void);
const struct gf1_verbs *gf1_null_table(void);

/* The loop of a C program: fills the changed fields of a ring of batch
 * requests, posts them, polls their completions; rounds times. Returns the
 * nanoseconds that the thread spent on a processor. */
int64_t gf1_null_loop(struct gf1_context *context, int batch, int rounds);

/* The same by builders and extended polls. */
int64_t gf1_null_loop_ex(struct gf1_context *context, int batch, int rounds);

/* Does nothing. */
void gf1_null_call(void);

#endif
