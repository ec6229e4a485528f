#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// One buffer for the process, never cleared and read without a lock, like the
// original's.
static char last_error[1024];
static pthread_mutex_t last_error_lock = PTHREAD_MUTEX_INITIALIZER;

ncclResult_t gf1_fail(ncclResult_t result, const char *format, ...) {
	va_list args;
	va_start(args, format);
	pthread_mutex_lock(&last_error_lock);
	vsnprintf(last_error, sizeof last_error, format, args);
	pthread_mutex_unlock(&last_error_lock);
	va_end(args);
	return result;
}

const char *ncclGetLastError(ncclComm_t comm) {
	(void)comm;
	return last_error;
}

ncclResult_t ncclGetVersion(int *version) {
	FAULT();
	if (version == NULL)
		return ncclInvalidArgument;
	*version = gf1_fake_nccl_version;
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
	switch (result) {
	case ncclSuccess: return "no error";
	case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
	case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
	case ncclInternalError: return "internal error - please report this issue to the NCCL developers";
	case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
	case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
	case ncclRemoteError: return "remote process exited or there was a network error";
	case ncclInProgress: return "NCCL operation in progress";
	case ncclTimeout: return HAS(2, 30, 3) ? "timeout" : "unknown result code";
	default: return "unknown result code";
	}
}

// Parameters, 2.30.4: a number and a text.
struct ncclParamHandle {
	const char *key, *value;
};

static struct ncclParamHandle params[] = {{"NCCL_BUFFSIZE", "4194304"}, {"NCCL_NTHREADS", "512"}, {"NCCL_DEBUG", "VERSION"}};
#define PARAMS (int)(sizeof params / sizeof params[0])

static const char *value_of(const struct ncclParamHandle *h) {
	const char *value = getenv(h->key);
	return value != NULL ? value : h->value;
}

ncclResult_t ncclParamBind(ncclParamHandle_t *handle, const char *key) {
	FAULT();
	for (int i = 0; handle != NULL && key != NULL && i < PARAMS; i++) {
		if (strcmp(params[i].key, key) == 0) {
			*handle = &params[i];
			return ncclSuccess;
		}
	}
	return gf1_fail(ncclInvalidArgument, "no parameter of this key");
}

static ncclResult_t number(ncclParamHandle_t h, long long low, long long high, long long *value) {
	if (h == NULL || h < params || h >= params + PARAMS)
		return gf1_fail(ncclInvalidArgument, "no parameter handle");
	char *end;
	*value = strtoll(value_of(h), &end, 0);
	if (*end != 0 || *value < low || *value > high)
		return gf1_fail(ncclInvalidArgument, "%s is no number of this type", h->key);
	return ncclSuccess;
}

#define NUMBER(suffix, type, low, high)                                          \
	ncclResult_t ncclParamGet##suffix(ncclParamHandle_t handle, type *value) {   \
		FAULT();                                                                 \
		long long n = 0;                                                         \
		ncclResult_t r = value == NULL ? ncclInvalidArgument : number(handle, low, high, &n); \
		if (r == ncclSuccess)                                                    \
			*value = (type)n;                                                    \
		return r;                                                                \
	}

NUMBER(I8, int8_t, INT8_MIN, INT8_MAX)
NUMBER(I16, int16_t, INT16_MIN, INT16_MAX)
NUMBER(I32, int32_t, INT32_MIN, INT32_MAX)
NUMBER(I64, int64_t, INT64_MIN, INT64_MAX)
NUMBER(U8, uint8_t, 0, UINT8_MAX)
NUMBER(U16, uint16_t, 0, UINT16_MAX)
NUMBER(U32, uint32_t, 0, UINT32_MAX)
NUMBER(U64, uint64_t, 0, INT64_MAX)

ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char **value) {
	FAULT();
	if (handle == NULL || value == NULL)
		return ncclInvalidArgument;
	*value = value_of(handle);
	return ncclSuccess;
}

ncclResult_t ncclParamGet(ncclParamHandle_t handle, void *value, int max, int *len) {
	FAULT();
	if (handle == NULL || value == NULL || len == NULL)
		return ncclInvalidArgument;
	const char *text = value_of(handle);
	*len = (int)strlen(text);
	if (*len > max)
		return gf1_fail(ncclInvalidArgument, "%s needs %d bytes", handle->key, *len);
	memcpy(value, text, (size_t)*len);
	return ncclSuccess;
}

ncclResult_t ncclParamGetParameter(const char *key, const char **value, int *len) {
	ncclParamHandle_t h;
	ncclResult_t r = ncclParamBind(&h, key);
	if (r != ncclSuccess)
		return r;
	*value = value_of(h);
	*len = (int)strlen(*value);
	return ncclSuccess;
}

ncclResult_t ncclParamGetAllParameterKeys(const char ***table, int *len) {
	FAULT();
	static __thread const char *keys[PARAMS];
	for (int i = 0; i < PARAMS; i++)
		keys[i] = params[i].key;
	*table = keys;
	*len = PARAMS;
	return ncclSuccess;
}

void ncclParamDumpAll(void) {
	for (int i = 0; i < PARAMS; i++)
		fprintf(stderr, "%s=%s\n", params[i].key, value_of(&params[i]));
}
