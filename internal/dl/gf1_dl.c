//go:build linux && cgo

#define _GNU_SOURCE
#include "gf1_dl.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

void *gf1_dl_open(const char *name, char *reason, size_t len)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (handle == NULL) {
		const char *text = dlerror();

		snprintf(reason, len, "%s", text != NULL ? text : "no reason given");
	}
	return handle;
}

void *gf1_dl_sym(void *handle, const char *name)
{
	return dlsym(handle, name);
}

const char *gf1_dl_path(void *handle)
{
	struct link_map *map = NULL;

	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == NULL)
		return NULL;
	return map->l_name;
}
