package topo

import (
	"strconv"
	"strings"
)

// host reads what the machine says about its processors, its hypervisor and its
// container. None of it needs to be there.
func (r *reading) host() {
	h := &r.sys.Host
	info := r.cpuInfo()
	h.CPU = info.CPUInfo
	h.Virtual = r.hypervisor(info.hypervisor)
	h.Container = r.container()
}

type cpuinfo struct {
	CPUInfo
	hypervisor bool
}

// cpuInfo reads the first processor of /proc/cpuinfo.
func (r *reading) cpuInfo() cpuinfo {
	var c cpuinfo
	for line := range strings.Lines(r.text("proc/cpuinfo")) {
		key, value, ok := strings.Cut(line, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok {
			break // an empty line ends the first processor
		}
		switch key {
		case "vendor_id":
			c.Arch, c.Vendor = "x86_64", value
		case "CPU implementer":
			c.Arch, c.Vendor = "arm64", value
		case "cpu family":
			c.Family, _ = strconv.Atoi(value)
		case "model":
			c.Model, _ = strconv.Atoi(value)
		case "cpu":
			if strings.HasPrefix(value, "POWER") {
				c.Arch, c.Vendor = "ppc64", value
			}
		case "flags":
			c.hypervisor = strings.Contains(" "+value+" ", " hypervisor ")
		}
	}
	return c
}

// hypervisor names the kind of virtual machine. The firmware's tables tell it on
// every architecture; the processor's flag tells only that there is one.
func (r *reading) hypervisor(flag bool) string {
	if kind := r.text("sys/hypervisor/type"); kind != "" {
		return kind
	}
	vendor := r.text("sys/class/dmi/id/sys_vendor")
	product := r.text("sys/class/dmi/id/product_name")
	for _, known := range []struct{ in, contains, is string }{
		{vendor, "QEMU", "KVM"},
		{product, "KVM", "KVM"},
		{product, "VMware", "VMware"},
		{product, "VirtualBox", "VirtualBox"},
	} {
		if strings.Contains(known.in, known.contains) {
			return known.is
		}
	}
	switch {
	case vendor == "Microsoft Corporation" && product == "Virtual Machine":
		return "Microsoft Hyper-V"
	case product == "Google Compute Engine":
		return product
	case vendor == "Amazon EC2" && !strings.Contains(product, "metal"):
		return vendor // a bare one is called p5.metal
	}
	if !flag {
		return ""
	}
	if vendor != "" {
		return "hypervisor (" + vendor + ")"
	}
	return "hypervisor"
}

func (r *reading) container() string {
	if r.there(".dockerenv") {
		return "docker"
	}
	if r.there("run/.containerenv") {
		return "podman"
	}
	if r.there("var/run/secrets/kubernetes.io") || r.there("run/secrets/kubernetes.io") {
		return "kubernetes"
	}
	groups, _, _ := r.String("proc/1/cgroup")
	for _, known := range containerGroups {
		if strings.Contains(groups, known[0]) {
			return known[1]
		}
	}
	return ""
}

// containerGroups are parts of the control groups' names, and what they tell.
var containerGroups = [][2]string{{"kubepods", "kubernetes"}, {"docker", "docker"}, {"lxc", "lxc"}, {"libpod", "podman"}}
