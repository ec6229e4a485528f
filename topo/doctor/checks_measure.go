package doctor

import (
	"fmt"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
)

var measureChecks = []Check{
	{37, "bandwidth", "what was measured is what the path gives healthy machines", "--measured, with the port's rate or the NVLinks", Warning, examineBandwidth},
}

// Measurement is a bandwidth that was measured with large messages.
type Measurement struct {
	// Path is the name of an RDMA device for a transfer through it, or "nvlink" for
	// an all-reduce over two GPUs (its busbw).
	Path string  `json:"path"`
	GBps float64 `json:"GBps"` // 10^9 bytes a second
}

// What healthy paths give: of a port's rate, as practitioners expect it (21 GB/s on
// HDR's 25), and of the NVLinks' payload in an all-reduce of two (346 of 450 GB/s on
// two H200). tolerance is how much less is still taken for it.
const (
	shareOfPort   = 0.85
	shareOfNVLink = 0.77
	tolerance     = 0.9
)

func examineBandwidth(x *exam) {
	if len(x.Measured) == 0 {
		if len(x.hcas()) == 0 && len(x.gpus()) == 0 {
			x.notApplicable("there is nothing to measure")
			return
		}
		x.unknown("", "nothing was measured: give --measured mlx5_0=21.3 (GB/s of write_bw), --measured nvlink=346 (busbw of all_reduce_perf over two GPUs)")
		return
	}
	for _, m := range x.Measured {
		expected, limit, why := x.expectation(m)
		evidence := Evidence{"--measured " + m.Path, fmt.Sprintf("%s GB/s", number(m.GBps))}
		switch {
		case expected == 0:
			x.unknown(m.Path, why, evidence)
		case m.GBps < tolerance*expected:
			x.fail(Warning, m.Path, fault{
				fmt.Sprintf("%s GB/s, and %.1f are to be expected (%s)", number(m.GBps), expected, limit), "see the other checks of this path",
				"first the link and its slot, then the CPUs that the process runs on, then counters under load (--watch)",
			}, evidence, Evidence{"expected", fmt.Sprintf("%.1f GB/s", expected)})
		default:
			x.pass(m.Path, fmt.Sprintf("%s GB/s of %.1f to be expected (%s)", number(m.GBps), expected, limit), evidence)
		}
	}
}

// expectation is in GB/s, 0 where it is not known, which why explains.
func (x *exam) expectation(m Measurement) (expected float64, limit, why string) {
	if m.Path == "nvlink" {
		if x.NVML == nil || len(x.NVML.Inventory) < 2 {
			return 0, "", "NVML does not tell the NVLinks of two GPUs"
		}
		sum := nvml.SumLinks(x.NVML.NVLinks[x.NVML.Inventory[0].UUID])
		if sum.Active == 0 || sum.Rate == nil {
			return 0, "", "the rate of the NVLinks is not known"
		}
		return *sum.Rate * shareOfNVLink, fmt.Sprintf("77 %% of %s of %s", number(*sum.Rate)+" GB/s", plural(sum.Active, "NVLink")), ""
	}
	for _, p := range portsOf(x.hcas()) {
		if p.HCA.Name != m.Path || p.State != topo.PortActive {
			continue
		}
		if p.Kind == topo.KindSoftware {
			return 0, "", "a software device has no expected bandwidth"
		}
		rate := p.RateGbps / 8
		limit = fmt.Sprintf("85 %% of the port's %s GB/s", number(rate))
		if pcie, at, ok := x.narrowest(p.PCI); ok && pcie < rate {
			rate = pcie
			limit = fmt.Sprintf("85 %% of the %.1f GB/s of its PCIe link %s", pcie, at.Address)
		}
		if rate == 0 {
			return 0, "", "the port's rate is not told"
		}
		return rate * shareOfPort, limit, ""
	}
	return 0, "", "there is no active port of that name"
}
