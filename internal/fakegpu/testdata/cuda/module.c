// Modules: PTX is read for its entries and their parameters; the kernels
// themselves are C functions of kernels.c, found by name.
#include "state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 64

struct CUfunc_st {
	uint32_t magic;
	CUmodule module;
	char name[128];
	int params;
	unsigned sizes[16], offsets[16];
	const struct kernel *kernel;
};

struct CUmod_st {
	uint32_t magic;
	CUcontext context;
	CUmodule next;
	struct CUfunc_st functions[MAX_FUNCTIONS];
	int len;
};

static CUmodule modules;

static void unload(CUmodule m) {
	m->magic = MAGIC_DEAD;
	for (int i = 0; i < m->len; i++)
		m->functions[i].magic = MAGIC_DEAD;
	gf1_count(GF1_LIVE_MODULES, -1);
}

void gf1_release_modules(CUcontext context) {
	for (CUmodule m = modules; m != NULL; m = m->next) {
		if (m->context == context && m->magic == MAGIC_MODULE)
			unload(m);
	}
}

// JIT options that carry a log.
enum { JIT_INFO = 3, JIT_INFO_SIZE = 4, JIT_ERROR = 5, JIT_ERROR_SIZE = 6 };

struct log {
	char *error, *info;
	size_t error_size, info_size;
};

static unsigned type_size(const char *type) {
	static const struct {
		const char *name;
		unsigned size;
	} types[] = {{".u8", 1}, {".s8", 1}, {".b8", 1}, {".u16", 2}, {".s16", 2}, {".b16", 2}, {".f16", 2}, {".u32", 4},
		{".s32", 4}, {".b32", 4}, {".f32", 4}, {".u64", 8}, {".s64", 8}, {".b64", 8}, {".f64", 8}};
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		size_t n = strlen(types[i].name);
		if (strncmp(type, types[i].name, n) == 0 && !isalnum((unsigned char)type[n]))
			return types[i].size;
	}
	return 0;
}

static const char *skip_space(const char *p) {
	while (isspace((unsigned char)*p))
		p++;
	return p;
}

// read_entry takes "name( .param .u64 a, ... )" after ".entry".
static const char *read_entry(const char *p, struct CUfunc_st *f) {
	p = skip_space(p);
	size_t n = 0;
	while ((isalnum((unsigned char)p[n]) || p[n] == '_' || p[n] == '$') && n < sizeof f->name - 1)
		n++;
	if (n == 0)
		return NULL;
	memcpy(f->name, p, n);
	p = skip_space(p + n);
	f->magic = MAGIC_FUNCTION;
	f->kernel = gf1_find_kernel(f->name);
	if (*p != '(')
		return p;
	const char *end = strchr(p, ')');
	if (end == NULL)
		return NULL;
	unsigned offset = 0;
	for (const char *at = strstr(p, ".param"); at != NULL && at < end; at = strstr(at + 1, ".param")) {
		unsigned size = type_size(skip_space(at + 6));
		if (size == 0 || f->params == 16)
			return NULL;
		offset = (offset + size - 1) / size * size;
		f->offsets[f->params] = offset;
		f->sizes[f->params++] = size;
		offset += size;
	}
	return end;
}

static CUresult refuse(const struct log *log, const char *text) {
	if (log->error != NULL && log->error_size > 0)
		snprintf(log->error, log->error_size, "ptxas fatal   : %s\n", text);
	return CUDA_ERROR_INVALID_PTX;
}

static CUresult parse(CUmodule m, const char *ptx, const struct log *log) {
	if (strstr(ptx, ".version") == NULL)
		return refuse(log, "Missing .version directive at start of file");
	if (strstr(ptx, ".target") == NULL)
		return refuse(log, "Missing .target directive");
	for (const char *p = strstr(ptx, ".entry"); p != NULL; p = strstr(p, ".entry")) {
		if (m->len == MAX_FUNCTIONS)
			return refuse(log, "more entries than the fake has room for");
		struct CUfunc_st *f = &m->functions[m->len++];
		f->module = m;
		p = read_entry(p + strlen(".entry"), f);
		if (p == NULL)
			return refuse(log, "syntax error in an .entry");
		if (f->kernel != NULL && f->kernel->params != f->params)
			return refuse(log, "the fake's kernel of this name has other parameters");
	}
	if (m->len == 0)
		return refuse(log, "no .entry in the module");
	if (log->info != NULL && log->info_size > 0)
		snprintf(log->info, log->info_size, "ptxas info    : %d entries\n", m->len);
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, int *options, void **values) {
	CUcontext context;
	ENTER(&context);
	if (module == NULL || image == NULL || (count > 0 && (options == NULL || values == NULL)))
		return CUDA_ERROR_INVALID_VALUE;
	struct log log = {0};
	for (unsigned i = 0; i < count; i++) {
		switch (options[i]) {
		case JIT_INFO: log.info = values[i]; break;
		case JIT_INFO_SIZE: log.info_size = (size_t)(uintptr_t)values[i]; break;
		case JIT_ERROR: log.error = values[i]; break;
		case JIT_ERROR_SIZE: log.error_size = (size_t)(uintptr_t)values[i]; break;
		default: break;
		}
	}
	pthread_mutex_lock(&gf1_lock);
	CUresult r = gf1_unsafe_call();
	pthread_mutex_unlock(&gf1_lock);
	if (r != CUDA_SUCCESS)
		return r;
	if (memcmp(image, "\177ELF", 4) == 0)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	CUmodule m = calloc(1, sizeof *m);
	m->magic = MAGIC_MODULE;
	m->context = context;
	r = parse(m, image, &log);
	if (r != CUDA_SUCCESS) {
		free(m);
		return r;
	}
	pthread_mutex_lock(&gf1_lock);
	m->next = modules;
	modules = m;
	pthread_mutex_unlock(&gf1_lock);
	*module = m;
	gf1_count(GF1_LIVE_MODULES, 1);
	return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
	return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleUnload(CUmodule module) {
	CUcontext context;
	ENTER(&context);
	if (module == NULL || module->magic != MAGIC_MODULE) {
		gf1_fake_report("cuModuleUnload of a module that is not loaded");
		return CUDA_ERROR_INVALID_HANDLE;
	}
	pthread_mutex_lock(&gf1_lock);
	gf1_wait_context(module->context);
	unload(module);
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
	CUcontext context;
	ENTER(&context);
	if (function == NULL || name == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (module == NULL || module->magic != MAGIC_MODULE)
		return CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < module->len; i++) {
		if (strcmp(module->functions[i].name, name) == 0) {
			*function = &module->functions[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

static CUresult check(CUfunction f) {
	return f != NULL && f->magic == MAGIC_FUNCTION ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function) {
	ENTER(NULL);
	CUresult r = check(function);
	if (r != CUDA_SUCCESS)
		return r;
	if (value == NULL || attribute < 0 || attribute > 15)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute == 0 ? 1024 : attribute == 4 ? 16 : 0;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
	ENTER(NULL);
	(void)value;
	CUresult r = check(function);
	return r == CUDA_SUCCESS && (attribute < 0 || attribute > 15) ? CUDA_ERROR_INVALID_VALUE : r;
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
	ENTER(NULL);
	CUresult r = check(function);
	if (r != CUDA_SUCCESS)
		return r;
	if (index >= (size_t)function->params)
		return CUDA_ERROR_INVALID_VALUE;
	if (offset != NULL)
		*offset = function->offsets[index];
	if (size != NULL)
		*size = function->sizes[index];
	return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int size, size_t shared) {
	CUcontext context;
	ENTER(&context);
	(void)shared;
	CUresult r = check(function);
	if (r != CUDA_SUCCESS)
		return r;
	if (blocks == NULL || size <= 0 || size > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	*blocks = 2048 / size;
	return CUDA_SUCCESS;
}

struct launched {
	struct launch launch;
	const struct kernel *kernel;
	void *args[16];
	char bytes[16][8];
};

static CUresult run_kernel(struct work *w) {
	struct launched *l = w->a;
	return l->kernel->run(&l->launch);
}

static void drop_kernel(struct work *w) { free(w->a); }

// The arguments are copied at the launch, as the driver does.
static CUresult copy_arguments(CUfunction f, struct launched *l, void **params, void **extra) {
	const char *buffer = NULL;
	size_t size = 0;
	for (int i = 0; extra != NULL && extra[i] != NULL; i += 2) {
		if (extra[i] == (void *)1)
			buffer = extra[i + 1];
		else if (extra[i] == (void *)2)
			size = *(size_t *)extra[i + 1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if ((params != NULL) == (buffer != NULL) && f->params > 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < f->params; i++) {
		if (buffer != NULL && f->offsets[i] + f->sizes[i] > size)
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(l->bytes[i], buffer != NULL ? buffer + f->offsets[i] : params[i], f->sizes[i]);
		l->args[i] = l->bytes[i];
	}
	l->launch.args = l->args;
	return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ,
	unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int shared, CUstream stream, void **params,
	void **extra) {
	CUcontext context;
	ENTER(&context);
	CUresult r = check(function);
	if (r == CUDA_SUCCESS)
		r = gf1_resolve(context, stream, &stream);
	if (r != CUDA_SUCCESS)
		return r;
	u64 block = (u64)blockX * blockY * blockZ, grid = (u64)gridX * gridY * gridZ;
	if (grid == 0 || block == 0 || block > 1024 || gridY > 65535 || gridZ > 65535 || blockZ > 64 || shared > 232448)
		return CUDA_ERROR_INVALID_VALUE;
	if (function->module->context != stream->context)
		return CUDA_ERROR_INVALID_HANDLE;
	if (function->kernel == NULL) {
		gf1_fake_report("the fake has no kernel named %s", function->name);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	struct launched *l = calloc(1, sizeof *l);
	l->kernel = function->kernel;
	l->launch.threads = grid * block;
	memcpy(l->launch.grid, (unsigned[]){gridX, gridY, gridZ}, sizeof l->launch.grid);
	memcpy(l->launch.block, (unsigned[]){blockX, blockY, blockZ}, sizeof l->launch.block);
	r = copy_arguments(function, l, params, extra);
	if (r != CUDA_SUCCESS) {
		free(l);
		return r;
	}
	pthread_mutex_lock(&gf1_lock);
	struct work *w = gf1_new_work(stream->context, run_kernel);
	w->a = l;
	w->drop = drop_kernel;
	r = gf1_submit(stream, w);
	pthread_mutex_unlock(&gf1_lock);
	return r;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **params, void **extra) {
	if (c == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	return cuLaunchKernel(function, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ,
		c->sharedMemBytes, c->hStream, params, extra);
}
