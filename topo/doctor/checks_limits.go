package doctor

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

var limitChecks = []Check{
	{18, "memlock", "the process may pin all the memory it wants", "/proc/PID/limits, /proc/PID/status", Critical, examineMemlock},
	{31, "device-files", "programs can open /dev/infiniband/uverbsN of every device", "/sys/class/infiniband_verbs, /dev/infiniband", Critical, examineDeviceFiles},
	{41, "shared-memory", "/dev/shm is large enough for NCCL", "/proc/PID/mounts", Warning, examineSharedMemory},
}

// process is a file of the process that is judged.
func (x *exam) process(file string) string {
	pid := x.Facts.Process
	if pid == "" {
		pid = "self"
	}
	return path.Join("proc", pid, file)
}

// keyed returns what stands behind "Key:" in a text.
func keyed(text, key string) (string, bool) {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && k == key {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// capIPCLock is the capability that lifts the limit.
const capIPCLock = 14

func examineMemlock(x *exam) {
	if len(x.hcas()) == 0 {
		x.notApplicable(noHCA)
		return
	}
	file := x.process("limits")
	limits, ok := x.text(file)
	var soft string
	for line := range strings.Lines(limits) {
		if rest, found := strings.CutPrefix(line, "Max locked memory"); found {
			if words := strings.Fields(rest); len(words) > 0 {
				soft = words[0]
			}
		}
	}
	evidence := Evidence{file, "Max locked memory " + soft}
	if !ok || soft == "" {
		x.unknown("", "the limits of the process are not to be seen")
		return
	}
	if soft == "unlimited" {
		x.pass("", "no limit", evidence)
		return
	}
	status, _ := x.text(x.process("status"))
	if word, found := keyed(status, "CapEff"); found {
		if caps, err := strconv.ParseUint(word, 16, 64); err == nil && caps>>capIPCLock&1 == 1 {
			x.pass("", "the limit does not hold: the process has CAP_IPC_LOCK", evidence, Evidence{x.process("status"), "CapEff " + word})
			return
		}
	}
	bytes, err := strconv.ParseUint(soft, 10, 64)
	if err != nil {
		x.unknown("", "the limit is not understood", evidence)
		return
	}
	x.fail(Critical, "", fault{
		fmt.Sprintf("the process may lock %s and no more: registering buffers fails beyond", size(bytes)), "the default of the distribution, the service or the container",
		"memlock unlimited in /etc/security/limits.conf, LimitMEMLOCK=infinity in the unit (slurmd, kubelet, containerd), --ulimit memlock=-1 for docker; check it in the job itself",
	}, evidence)
}

func size(bytes uint64) string {
	for _, u := range []struct {
		of   uint64
		name string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if bytes >= u.of {
			return strconv.FormatFloat(math.Round(float64(bytes)/float64(u.of)*10)/10, 'f', -1, 64) + " " + u.name
		}
	}
	return fmt.Sprintf("%d bytes", bytes)
}

func examineDeviceFiles(x *exam) {
	for _, h := range x.hcas() {
		file := path.Join("dev/infiniband", h.Uverbs)
		switch {
		case h.Uverbs == "" && x.files && x.read.IsDir(path.Join(classInfiniband, h.Name)) && x.read.IsDir("dev"):
			x.fail(Critical, h.Name, fault{"the kernel has no device file for it", "the module ib_uverbs is not loaded", "modprobe ib_uverbs"}, Evidence{"sys/class/infiniband_verbs", "no entry of " + h.Name})
		case h.UverbsPresent == nil:
			x.unknown(h.Name, "nobody looked into /dev")
		case !*h.UverbsPresent:
			x.fail(Critical, h.Name, fault{
				"/" + file + " is missing: programs here cannot open the device", "the container was not given the device, or udev has not made the file",
				"docker run --device=/" + file + ", or the RDMA device plugin of Kubernetes",
			}, Evidence{file, "not there"})
		case x.Facts.UverbsDenied == nil:
			x.pass(h.Name, "the file is there", Evidence{file, "there"})
		case slices.Contains(x.Facts.UverbsDenied, h.Uverbs):
			x.fail(Critical, h.Name, fault{
				"/" + file + " may not be opened", "the file's mode, or the container's device rules", "chmod 666 by a udev rule (rdma-core's has it), or allow the device in the container",
			}, Evidence{file, "permission denied"})
		default:
			x.pass(h.Name, "the file can be opened", Evidence{file, "opened"})
		}
	}
	x.otherwise(noHCA)
}

// containerShm is what docker and Kubernetes give /dev/shm unless they are told.
const containerShm = 64 << 20

func examineSharedMemory(x *exam) {
	if len(x.gpus()) == 0 {
		x.notApplicable(noGPU)
		return
	}
	if v, ok := x.conf.get("NCCL_SHM_DISABLE"); ok {
		if n, _ := ncclInt(v.value); n == 1 {
			x.notApplicable("NCCL uses no shared memory: NCCL_SHM_DISABLE=1")
			return
		}
	}
	file := x.process("mounts")
	mounts, ok := x.text(file)
	if !ok {
		x.unknown("", "the mounts of the process are not to be seen")
		return
	}
	for line := range strings.Lines(mounts) {
		words := strings.Fields(line)
		if len(words) < 4 || words[1] != "/dev/shm" {
			continue
		}
		evidence := Evidence{file, strings.Join(words[:4], " ")}
		bytes, told := mountSize(words[3])
		switch {
		case !told:
			x.pass("", "/dev/shm may take half of the memory", evidence)
		case bytes <= containerShm:
			x.fail(Warning, "", fault{
				fmt.Sprintf("/dev/shm has %s: NCCL's segments of several GPUs do not fit", size(bytes)), "the container's default",
				"docker run --shm-size=8g (or --ipc=host); in Kubernetes an emptyDir of medium Memory at /dev/shm",
			}, evidence)
		default:
			x.pass("", "/dev/shm has "+size(bytes), evidence)
		}
		return
	}
	x.fail(Warning, "", fault{"/dev/shm is not mounted", "a container or chroot without it", "mount a tmpfs there"}, Evidence{file, "no /dev/shm"})
}

// mountSize takes the size out of a tmpfs's options: "rw,nosuid,size=65536k".
func mountSize(options string) (bytes uint64, ok bool) {
	for _, o := range strings.Split(options, ",") {
		text, found := strings.CutPrefix(o, "size=")
		if !found {
			continue
		}
		shift := 0
		if i := strings.IndexAny(text, "kKmMgG"); i >= 0 && i == len(text)-1 {
			shift = map[byte]int{'k': 10, 'm': 20, 'g': 30}[text[i]|0x20]
			text = text[:i]
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n > 1<<(63-shift) {
			return 0, false
		}
		return n << shift, true
	}
	return 0, false
}
