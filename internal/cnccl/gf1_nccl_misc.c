//go:build linux && cgo

#include "gf1_nccl_run.h"

#include <stdio.h>
#include <string.h>

/* Calls that concern no communicator. Go asks whether the library has the
 * function before it calls. */

static int checked(const struct gf1_nccl *lib, int code, char *last)
{
	const char *text;

	last[0] = '\0';
	if (code != GF1_NCCL_SUCCESS && lib->GetLastError != NULL) {
		text = lib->GetLastError(NULL);
		if (text != NULL)
			snprintf(last, GF1_NCCL_LAST, "%s", text);
	}
	return code;
}

int gf1_nccl_version(const struct gf1_nccl *lib, int *version)
{
	return lib->GetVersion(version);
}

int gf1_nccl_unique_id(const struct gf1_nccl *lib, gf1_nccl_id *id, char *last)
{
	return checked(lib, lib->GetUniqueId(id), last);
}

int gf1_nccl_identity(const struct gf1_nccl *lib, uint64_t comm, int32_t identity[3])
{
	gf1_comm c = (void *)(uintptr_t)comm;
	int code = lib->CommUserRank(c, &identity[0]);

	if (code == GF1_NCCL_SUCCESS)
		code = lib->CommCount(c, &identity[1]);
	if (code == GF1_NCCL_SUCCESS)
		code = lib->CommCuDevice(c, &identity[2]);
	return code;
}

/* The device comes from the thread's context. */
int gf1_nccl_mem_alloc(const struct gf1_nccl *lib, void *context, size_t size, uint64_t *memory, char *last)
{
	void *previous;
	void *p = NULL;
	int code;

	last[0] = '\0';
	if (lib->enter(context, &previous) != 0)
		return GF1_NCCL_NOT_CALLED;
	code = checked(lib, lib->MemAlloc(&p, size), last);
	*memory = (uintptr_t)p;
	lib->leave(previous);
	return code;
}

int gf1_nccl_mem_free(const struct gf1_nccl *lib, void *context, uint64_t memory, char *last)
{
	void *previous;
	int code;

	last[0] = '\0';
	if (lib->enter(context, &previous) != 0)
		return GF1_NCCL_NOT_CALLED;
	code = checked(lib, lib->MemFree((void *)(uintptr_t)memory), last);
	lib->leave(previous);
	return code;
}

/* The text belongs to NCCL and to this thread: copy it before returning. */
int gf1_nccl_param_text(const struct gf1_nccl *lib, const char *key, char *text, int most, int *length, char *last)
{
	const char *value = NULL;
	int code = checked(lib, lib->ParamGetParameter(key, &value, length), last);

	text[0] = '\0';
	if (code == GF1_NCCL_SUCCESS && value != NULL)
		snprintf(text, (size_t)most, "%s", value);
	return code;
}

int gf1_nccl_param_int(const struct gf1_nccl *lib, const char *key, int64_t *value, char *last)
{
	void *handle = NULL;
	int code = checked(lib, lib->ParamBind(&handle, key), last);

	if (code != GF1_NCCL_SUCCESS)
		return code;
	return checked(lib, lib->ParamGetI64(handle, value), last);
}

int gf1_nccl_param_keys(const struct gf1_nccl *lib, char *text, size_t most, size_t *length, int *count, char *last)
{
	const char **keys = NULL;
	int code = checked(lib, lib->ParamGetAllParameterKeys(&keys, count), last);

	*length = 0;
	if (code != GF1_NCCL_SUCCESS)
		return code;
	for (int i = 0; i < *count; i++) {
		size_t size = strlen(keys[i]) + 1;

		if (*length + size <= most)
			memcpy(text + *length, keys[i], size);
		*length += size;
	}
	return code;
}

void gf1_nccl_param_dump(const struct gf1_nccl *lib)
{
	lib->ParamDumpAll();
}

const char *gf1_nccl_result_text(const struct gf1_nccl *lib, int result)
{
	return lib->GetErrorString(result);
}
