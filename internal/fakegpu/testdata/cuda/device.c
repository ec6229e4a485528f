#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int gf1_devices = -1;
static int ordinals[GF1_MAX_DEVICES]; // visible device -> physical
static int driver_version = 13000;

static int number_in(const char *variable, int otherwise) {
	const char *text = getenv(variable);
	return text == NULL || *text == 0 ? otherwise : atoi(text);
}

// Like the driver, CUDA_VISIBLE_DEVICES is read once, and its list ends at the
// first entry that names no device.
static void read_devices(void) {
	int all = number_in("GF1_FAKE_GPUS", 2);
	if (all > GF1_MAX_DEVICES)
		all = GF1_MAX_DEVICES;
	driver_version = number_in("GF1_FAKE_DRIVER", 13000);
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int n = 0;
	if (visible == NULL) {
		for (n = 0; n < all; n++)
			ordinals[n] = n;
	} else {
		for (const char *at = visible; *at != 0 && n < all; n++) {
			char *end;
			long d = strtol(at, &end, 10);
			if (end == at || d < 0 || d >= all)
				break;
			ordinals[n] = (int)d;
			at = *end == ',' ? end + 1 : end;
		}
	}
	gf1_devices = n;
}

CUresult cuInit(unsigned int flags) {
	int code;
	if (gf1_fake_fault(__func__, &code))
		return code;
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	if (gf1_devices < 0)
		read_devices();
	int n = gf1_devices;
	if (n == 0)
		gf1_devices = -1;
	pthread_mutex_unlock(&gf1_lock);
	return n == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
	int code;
	if (gf1_fake_fault(__func__, &code))
		return code;
	if (version == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*version = number_in("GF1_FAKE_DRIVER", driver_version);
	return CUDA_SUCCESS;
}

bool gf1_device_ok(CUdevice device) { return device >= 0 && device < gf1_devices; }

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
	ENTER(NULL);
	if (device == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
	ENTER(NULL);
	if (count == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*count = gf1_devices;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int len, CUdevice device) {
	ENTER(NULL);
	if (name == NULL || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(name, (size_t)len, "Fake GPU");
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
	ENTER(NULL);
	if (uuid == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid->bytes, 0xfa, sizeof uuid->bytes);
	uuid->bytes[15] = (char)ordinals[device];
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

static size_t memory_size(void) { return (size_t)number_in("GF1_FAKE_GPU_MEMORY", 8192) << 20; }

static int64_t used[GF1_MAX_DEVICES];

bool gf1_charge(int device, int64_t bytes) {
	if (bytes > 0 && used[device] + bytes > (int64_t)memory_size())
		return false;
	used[device] += bytes;
	return true;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
	ENTER(NULL);
	if (bytes == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = memory_size();
	return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
	CUcontext context;
	ENTER(&context);
	if (available == NULL || total == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&gf1_lock);
	*total = memory_size();
	*available = *total - (size_t)used[context->device];
	pthread_mutex_unlock(&gf1_lock);
	return CUDA_SUCCESS;
}

static int bus(CUdevice device) { return 0x1b + 0x10 * ordinals[device]; }

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
	ENTER(NULL);
	if (value == NULL || attribute <= 0 || attribute > 150)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	static const struct {
		int attribute, value;
	} fixed[] = {
		{1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536},
		{10, 32}, {11, 2147483647}, {12, 65536}, {13, 1980000}, {14, 512}, {15, 1}, {16, 132}, {19, 1}, {31, 1},
		{32, 1}, {36, 3201000}, {37, 6144}, {38, 62914560}, {39, 2048}, {40, 3}, {41, 1}, {75, 9}, {76, 0}, {78, 1},
		{81, 233472}, {82, 65536}, {83, 1}, {86, 0}, {89, 1}, {91, 1}, {95, 1}, {97, 232448}, {98, 1}, {99, 1},
		{102, 1}, {103, 1}, {110, 1}, {115, 1}, {116, 1}, {117, 1}, {118, 100}, {119, 1}, {120, 1}, {124, 1}, {125, 1},
	};
	*value = 0;
	for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
		if (fixed[i].attribute == attribute)
			*value = fixed[i].value;
	}
	if (attribute == 33)
		*value = bus(device);
	if (attribute == 134)
		*value = ordinals[device] % 2;
	// GF1_FAKE_ATTRIBUTES=124=0,116=0 changes some for all devices.
	const char *at = getenv("GF1_FAKE_ATTRIBUTES");
	while (at != NULL && *at != 0) {
		int a, v, len = 0;
		if (sscanf(at, "%d=%d%n", &a, &v, &len) != 2)
			break;
		if (a == attribute)
			*value = v;
		at += len;
		if (*at == ',')
			at++;
	}
	return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device) {
	CUresult r = cuDeviceGetAttribute(major, 75, device);
	return r != CUDA_SUCCESS ? r : cuDeviceGetAttribute(minor, 76, device);
}

CUresult cuDeviceGetPCIBusId(char *text, int len, CUdevice device) {
	ENTER(NULL);
	if (text == NULL || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(text, (size_t)len, "0000:%02X:00.0", bus(device));
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text) {
	ENTER(NULL);
	unsigned domain = 0, b, slot, function;
	if (device == NULL || text == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(text, "%x:%x:%x.%x", &domain, &b, &slot, &function) != 4 &&
		sscanf(text, "%x:%x.%x", &b, &slot, &function) != 3)
		return CUDA_ERROR_INVALID_VALUE;
	for (int d = 0; d < gf1_devices; d++) {
		if ((unsigned)bus(d) == b && domain == 0 && slot == 0 && function == 0) {
			*device = d;
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_INVALID_DEVICE;
}

static bool peers_off(void) { return number_in("GF1_FAKE_NO_PEERS", 0) != 0; }

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
	ENTER(NULL);
	if (can == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(device) || !gf1_device_ok(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*can = device != peer && !peers_off();
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, int attribute, CUdevice source, CUdevice target) {
	ENTER(NULL);
	if (value == NULL || attribute < 1 || attribute > 5)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gf1_device_ok(source) || !gf1_device_ok(target) || source == target)
		return CUDA_ERROR_INVALID_DEVICE;
	*value = attribute == 2 || attribute == 3 ? !peers_off() : 0;
	return CUDA_SUCCESS;
}

CUresult cuFlushGPUDirectRDMAWrites(int target, int scope) {
	CUcontext context;
	ENTER(&context);
	return target == 0 && (scope == 100 || scope == 200) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
