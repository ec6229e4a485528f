package doctor

import (
	"cmp"
	"slices"
)

// Symptom is what an engineer sees, with the checks that explain it most often, the
// likeliest first.
type Symptom struct {
	Name   string   `json:"name"`
	Means  string   `json:"means"`
	Checks []string `json:"checks"`
}

// Symptoms lists the known ones.
func Symptoms() []Symptom {
	return []Symptom{
		{"slow-allreduce", "collectives reach a fraction of what they should", []string{
			"fabric-used", "gpudirect", "acs", "acs-virtual", "pcie-width", "pcie-speed", "near-hca", "hca-selection", "nvlink", "topology-file", "rail-rates",
			"port-rate", "iommu", "nccl-conf", "gdr-level", "roce-congestion", "transport-errors", "cpuset", "shared-memory", "bandwidth",
		}},
		{"timeout", "jobs hang, or end with time-outs and retries exceeded", []string{
			"port-state", "transport-errors", "port-errors", "gid-index", "roce-gid", "mtu-alike", "roce-mtu", "peers-alike", "subnet-manager", "physical-state",
			"roce-congestion", "temperature", "gpu-lost", "pcie-errors", "fabric-used",
		}},
		{"port-down", "a port is not active", []string{"physical-state", "subnet-manager", "port-state", "port-errors", "temperature", "firmware", "device-files"}},
		{"low-bandwidth", "a transfer reaches a fraction of the port's rate", []string{
			"pcie-width", "pcie-speed", "slot", "port-rate", "port-width", "roce-mtu", "cpuset", "numa-known", "iommu", "max-read-request", "pcie-errors",
			"port-errors", "roce-congestion", "temperature", "gpu-link", "bandwidth",
		}},
		{"swings", "throughput or utilisation goes up and down", []string{
			"temperature", "roce-congestion", "transport-errors", "port-errors", "pcie-errors", "numa-balancing", "cpuset", "rail-rates", "mixed-fabrics", "gpu-link",
		}},
	}
}

// FindSymptom returns a symptom by name.
func FindSymptom(name string) (Symptom, bool) {
	for _, s := range Symptoms() {
		if s.Name == name {
			return s, true
		}
	}
	return Symptom{}, false
}

// Order puts the results that a symptom's checks gave first, in its order. The
// numbers stay.
func (r *Report) Order(s Symptom) {
	place := func(res Result) int {
		if i := slices.Index(s.Checks, res.Name); i >= 0 {
			return i
		}
		return len(s.Checks)
	}
	slices.SortStableFunc(r.Results, func(a, b Result) int { return cmp.Compare(place(a), place(b)) })
}
