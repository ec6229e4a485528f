/* A libnvidia-ml of two GPUs for tests: the first is whole, on an NVSwitch board,
 * the second is partitioned. Compiled against the header that go-nvml brings, so
 * that each answer has the layout that it expects; that header wraps the handles
 * in structures, which are passed as the pointers themselves are.
 *   FAKE_NVML_INIT=N    nvmlInit answers N
 *   FAKE_NVML_LOST=1    the second GPU is lost
 *   FAKE_NVML_EVENT=N   one event of kind N of the second GPU, then none
 *   FAKE_NVML_CALLS=f   each nvmlEventSetWait adds a byte to the file f
 * With OLD_DRIVER what came after R440 is left out. */
#define NVML_NO_UNVERSIONED_FUNC_DEFS 1
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nvmlDevice_st { int index; int mig; };
struct nvmlEventSet_st { unsigned long long types[2]; };

static struct nvmlDevice_st gpus[2] = {{0, -1}, {1, -1}};
static int inits;

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text && *text ? atoi(text) : otherwise;
}

static nvmlReturn_t put(char *to, unsigned int room, const char *text)
{
	if (strlen(text) >= room)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(to, text);
	return NVML_SUCCESS;
}

#define ANSWER(pointer, value) (*(pointer) = (value), NVML_SUCCESS)

nvmlReturn_t nvmlInit_v2(void)
{
	int code = number("FAKE_NVML_INIT", 0);

	inits += code == 0;
	return (nvmlReturn_t)code;
}
nvmlReturn_t nvmlShutdown(void) { return inits-- > 0 ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED; }
const char *nvmlErrorString(nvmlReturn_t code) { return code ? "fake error" : "Success"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned int n) { return put(v, n, "580.159.04"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned int n) { return put(v, n, "13.580.159.04"); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *v) { return ANSWER(v, 13000); }
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int n)
{
	return pid == 100 ? put(name, n, "/usr/bin/train") : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *n) { return inits > 0 ? ANSWER(n, 2) : NVML_ERROR_UNINITIALIZED; }
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int i, nvmlDevice_t *d)
{
	if (i > 1)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (i == 1 && number("FAKE_NVML_LOST", 0))
		return NVML_ERROR_GPU_IS_LOST;
	return ANSWER(&d->handle, &gpus[i]);
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *uuid, unsigned int n)
{
	char text[64];

	snprintf(text, sizeof text, d.handle->mig < 0 ? "GPU-0000000%d-0000-0000-0000-000000000000" : "MIG-0000000%d-0000-0000-0000-000000000000",
		d.handle->mig < 0 ? d.handle->index : d.handle->mig);
	return put(uuid, n, text);
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned int n)
{
	return put(name, n, d.handle->mig < 0 ? "NVIDIA H200" : "NVIDIA H200 MIG 1g.18gb");
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t d, char *serial, unsigned int n)
{
	return d.handle->index == 0 ? put(serial, n, "1650000000000") : NVML_ERROR_NOT_SUPPORTED;
}
static void address(nvmlPciInfo_t *pci, unsigned int domain, unsigned int bus)
{
	memset(pci, 0, sizeof *pci);
	pci->domain = domain;
	pci->bus = bus;
	pci->pciDeviceId = 0x233510de;
	snprintf(pci->busId, sizeof pci->busId, NVML_DEVICE_PCI_BUS_ID_FMT, domain, bus, 0);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci)
{
	address(pci, d.handle->index ? 0x10000 : 0, 0x1b);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t d, unsigned int *n) { return ANSWER(n, d.handle->index); }
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor)
{
	(void)d;
	*minor = 0;
	return ANSWER(major, 9);
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m)
{
	m->total = d.handle->mig < 0 ? 150754820096 : 19327352832;
	m->free = m->total - 1000;
	m->used = 1000;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 5); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 16); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 1); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 16); }
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuTopologyLevel_t *level)
{
	return a.handle == b.handle ? NVML_ERROR_INVALID_ARGUMENT : ANSWER(level, NVML_TOPOLOGY_SYSTEM);
}
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, nvmlGpuP2PCapsIndex_t index, nvmlGpuP2PStatus_t *status)
{
	(void)a, (void)b;
	switch (index) {
	case NVML_P2P_CAPS_INDEX_READ: return ANSWER(status, NVML_P2P_STATUS_OK);
	case NVML_P2P_CAPS_INDEX_WRITE: return ANSWER(status, NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED);
	case NVML_P2P_CAPS_INDEX_ATOMICS: return NVML_ERROR_NOT_SUPPORTED;
	default: return ANSWER(status, NVML_P2P_STATUS_UNKNOWN);
	}
}
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *reasons)
{
	return ANSWER(reasons, d.handle->index ? nvmlClocksEventReasonSwPowerCap | nvmlClocksThrottleReasonHwThermalSlowdown : 0);
}
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, nvmlTemperatureSensors_t s, unsigned int *t)
{
	(void)d;
	return s == NVML_TEMPERATURE_GPU ? ANSWER(t, 31) : NVML_ERROR_INVALID_ARGUMENT;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned int *mw) { (void)d; return ANSWER(mw, 75500); }
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned int *mw) { (void)d; return ANSWER(mw, 700000); }
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, nvmlClockType_t type, unsigned int *mhz)
{
	(void)d;
	return ANSWER(mhz, type == NVML_CLOCK_SM ? 1980 : 3201);
}
nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t d, nvmlPstates_t *p)
{
	return ANSWER(p, d.handle->index ? NVML_PSTATE_UNKNOWN : NVML_PSTATE_0);
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u)
{
	if (d.handle->index)
		return NVML_ERROR_UNKNOWN;
	u->gpu = 90;
	u->memory = 40;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, nvmlEnableState_t *now, nvmlEnableState_t *later)
{
	(void)d;
	*later = NVML_FEATURE_DISABLED;
	return ANSWER(now, NVML_FEATURE_ENABLED);
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, nvmlMemoryErrorType_t kind, nvmlEccCounterType_t counter, unsigned long long *n)
{
	(void)d;
	return ANSWER(n, 10 * (counter == NVML_AGGREGATE_ECC) + (kind == NVML_MEMORY_ERROR_TYPE_UNCORRECTED));
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t d, unsigned int link, nvmlEnableState_t *state)
{
	if (link >= 18)
		return NVML_ERROR_INVALID_ARGUMENT;
	return d.handle->index == 0 ? ANSWER(state, link == 17 ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED) : NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t d, unsigned int link, unsigned int *v)
{
	(void)d, (void)link;
	return ANSWER(v, NVML_NVLINK_VERSION_4_0);
}
nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t d, unsigned int link, nvmlPciInfo_t *pci)
{
	(void)d;
	address(pci, 0, link == 0 ? 0 : 0x05);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int n, nvmlFieldValue_t *v)
{
	int i;

	(void)d;
	for (i = 0; i < n; i++) {
		v[i].nvmlReturn = NVML_SUCCESS;
		v[i].valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
		memset(&v[i].value, 0xee, sizeof v[i].value); /* what is not the value is not zero */
		switch (v[i].fieldId) {
		case NVML_FI_DEV_NVLINK_GET_SPEED:
			v[i].value.uiVal = v[i].scopeId == 1 ? 0 : 26562;
			break;
		case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
			v[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
			v[i].value.ullVal = 26562;
			break;
		case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX:
		case NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX:
			if (v[i].scopeId != ~0u) {
				v[i].nvmlReturn = NVML_ERROR_INVALID_ARGUMENT;
				break;
			}
			v[i].valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
			v[i].value.ullVal = v[i].fieldId == NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX ? 3 : 5;
			break;
		default:
			v[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
		}
	}
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	set->handle = calloc(1, sizeof *set->handle);
	return set->handle ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set) { free(set.handle); return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t d, unsigned long long *types)
{
	return d.handle->index ? ANSWER(types, nvmlEventTypeXidCriticalError | nvmlEventTypePState) : NVML_ERROR_NOT_SUPPORTED;
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, nvmlEventSet_t set)
{
	if (!types || (types & ~(unsigned long long)(nvmlEventTypeXidCriticalError | nvmlEventTypePState)))
		return NVML_ERROR_INVALID_ARGUMENT;
	set.handle->types[d.handle->index] = types;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *event, unsigned int ms)
{
	unsigned long long kind = (unsigned long long)number("FAKE_NVML_EVENT", 0);
	const char *calls = getenv("FAKE_NVML_CALLS");

	if (calls) {
		FILE *f = fopen(calls, "a");

		if (f) {
			fputc('.', f);
			fclose(f);
		}
	}
	if (!(kind & set.handle->types[1])) {
		usleep(ms * 1000);
		return NVML_ERROR_TIMEOUT;
	}
	unsetenv("FAKE_NVML_EVENT");
	event->device.handle = &gpus[1];
	event->eventType = kind;
	event->eventData = 79;
	event->gpuInstanceId = 3;
	event->computeInstanceId = 0xffffffff;
	return NVML_SUCCESS;
}

#ifndef OLD_DRIVER
static nvmlReturn_t processes(unsigned int *n, nvmlProcessInfo_t *infos, unsigned int have, const nvmlProcessInfo_t *all)
{
	unsigned int room = *n;

	*n = have;
	if (room < have)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memcpy(infos, all, have * sizeof *all);
	return NVML_SUCCESS;
}

static struct nvmlDevice_st parts[2] = {{1, 0}, {1, 2}};

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m)
{
	if (m->version != nvmlMemory_v2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	m->total = d.handle->mig < 0 ? 150754820096 : 19327352832;
	m->reserved = 600;
	m->used = 400;
	m->free = m->total - 1000;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t d, unsigned int n, unsigned long *set, nvmlAffinityScope_t scope)
{
	memset(set, 0, n * sizeof *set);
	if (scope == NVML_AFFINITY_SCOPE_NODE && d.handle->index == 0)
		set[0] = 1;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCpuAffinityWithinScope(nvmlDevice_t d, unsigned int n, unsigned long *set, nvmlAffinityScope_t scope)
{
	(void)d;
	if (n < 3 || scope != NVML_AFFINITY_SCOPE_NODE)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	memset(set, 0, n * sizeof *set);
	set[0] = 0xf;
	set[2] = 1;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t d, unsigned int *node) { (void)d, (void)node; return NVML_ERROR_NOT_SUPPORTED; }
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 5); }
nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t d, nvmlGpuFabricInfoV_t *info)
{
	if (d.handle->index)
		return NVML_ERROR_NOT_SUPPORTED;
	memset(info->clusterUuid, 0, sizeof info->clusterUuid);
	info->clusterUuid[0] = 0xab;
	info->cliqueId = 7;
	info->state = NVML_GPU_FABRIC_STATE_COMPLETED;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *now, unsigned int *later)
{
	*later = d.handle->index;
	return ANSWER(now, d.handle->index);
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 7); }
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t d, unsigned int i, nvmlDevice_t *part)
{
	return d.handle->index == 1 && i % 2 == 0 && i < 4 ? ANSWER(&part->handle, &parts[i / 2]) : NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t d, unsigned int *n) { return ANSWER(n, d.handle->mig + 9); }
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t d, unsigned int *n) { (void)d; return ANSWER(n, 0); }
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t d, unsigned int link, nvmlIntNvLinkDeviceType_t *type)
{
	(void)d;
	return ANSWER(type, link == 0 ? NVML_NVLINK_DEVICE_TYPE_UNKNOWN : NVML_NVLINK_DEVICE_TYPE_SWITCH);
}
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending, unsigned int *failed)
{
	(void)d;
	*uncorrected = 1;
	*pending = 1;
	*failed = 0;
	return ANSWER(corrected, 2);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_t *infos)
{
	static const nvmlProcessInfo_t all[] = {
		{200, 1 << 20, 0xffffffff, 0xffffffff}, {100, (unsigned long long)-1, 0xffffffff, 0xffffffff}, {300, 5, 3, 0},
	};

	return d.handle->index ? NVML_ERROR_NO_PERMISSION : processes(n, infos, 3, all);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned int *n, nvmlProcessInfo_t *infos)
{
	static const nvmlProcessInfo_t all[] = {{200, 1 << 20, 0xffffffff, 0xffffffff}};

	return d.handle->index ? NVML_ERROR_NOT_SUPPORTED : processes(n, infos, 1, all);
}
#endif
