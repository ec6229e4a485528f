package doctor

import (
	"fmt"
	"path"
	"slices"

	"github.com/gofabric/gofabric/topo"
)

var configChecks = []Check{
	{12, "max-read-request", "every card may read 4096 bytes at once", "PCI configuration space, as root", Info, examineReadRequest},
	{13, "acs", "no bridge between a GPU and an RDMA device sends peer traffic to the root", "PCI configuration space of the bridges, as root", Critical, examineACS},
	{14, "acs-virtual", "the same in a virtual machine", "PCI configuration space of the bridges, as root", Info, examineVirtualACS},
}

const needsRoot = "the configuration space beyond 64 bytes is for root: run it as root"

func examineReadRequest(x *exam) {
	for _, h := range x.cards() {
		if h.Kind == topo.KindVF || len(h.PCI) == 0 {
			continue // the physical function's setting holds
		}
		for _, a := range h.PCI {
			bytes := x.Facts.Config[a].MaxReadRequest
			evidence := Evidence{path.Join(functionDir(a), "config"), fmt.Sprintf("MaxReadReq %d bytes", bytes)}
			switch {
			case bytes == 0:
				x.unknown(h.Name, needsRoot)
			case bytes < 4096:
				x.fail(Info, h.Name, fault{
					fmt.Sprintf("its read requests are of %d bytes at most", bytes), "firmware or BIOS set it so",
					fmt.Sprintf("setpci -s %s CAP_EXP+08.w=5000:7000, or MAX_READ_REQ in the card's or the BIOS's settings", a),
				}, evidence)
			default:
				x.pass(h.Name, fmt.Sprintf("%d bytes", bytes), evidence)
			}
		}
	}
	x.otherwise("there is no physical function of RDMA hardware")
}

// peerBridges are the bridges that traffic between GPUs and RDMA devices below
// common switches passes.
func (x *exam) peerBridges() []*topo.PCIDevice {
	var list []*topo.PCIDevice
	for _, g := range x.gpus() {
		for _, h := range x.cards() {
			p, _ := x.System.PCIPath(g, h)
			if p != topo.PIX && p != topo.PXB {
				continue
			}
			for _, a := range append(slices.Clone(h.PCI), g.PCI) {
				d, ok := x.System.Device(a)
				for ok && d.Parent != "" {
					d, ok = x.System.Device(d.Parent)
					if ok && d.Bridge == topo.SwitchDownstream && !slices.Contains(list, d) {
						list = append(list, d)
					}
				}
			}
		}
	}
	return list
}

func examineACS(x *exam) {
	if x.virtual() {
		x.notApplicable("this is a virtual machine: see acs-virtual")
		return
	}
	x.acs(Critical, fault{
		"", "Access Control Services are on: what a GPU and an RDMA device send each other goes up to the root and back",
		"switch ACS off in the BIOS, or for each bridge: setpci -s ADDRESS ECAP_ACS+06.w=0000",
	})
}

func examineVirtualACS(x *exam) {
	if !x.virtual() {
		x.notApplicable("this is no virtual machine")
		return
	}
	x.acs(Info, fault{
		"", "the host passes devices through with ACS, which keeps guests apart",
		"peer traffic needs address translation services (ATS) in the card and the bits of ACS that allow direct translated requests; that is set on the host",
	})
}

func (x *exam) acs(s Severity, f fault) {
	for _, d := range x.peerBridges() {
		control := x.Facts.Config[d.Address].ACS
		if control == nil {
			x.unknown(string(d.Address), needsRoot)
			continue
		}
		evidence := Evidence{path.Join(functionDir(d.Address), "config"), fmt.Sprintf("ACSCtl 0x%04x", *control)}
		switch {
		case *control&acsRedirect != 0:
			f.text = "the bridge redirects peer traffic"
			x.fail(s, string(d.Address), f, evidence)
		default:
			x.pass(string(d.Address), "the bridge redirects nothing", evidence)
		}
	}
	x.otherwise("no GPU shares a PCIe switch with an RDMA device, as far as can be seen")
}
