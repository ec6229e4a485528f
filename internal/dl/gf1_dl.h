/* Opening libraries: each call keeps dlerror's per-thread text with the call
 * that caused it, because a goroutine may move to another thread between two. */
#ifndef GF1_DL_H
#define GF1_DL_H

#include <stddef.h>

void *gf1_dl_open(const char *name, char *reason, size_t len);
void *gf1_dl_sym(void *handle, const char *name);
const char *gf1_dl_path(void *handle);

#endif
