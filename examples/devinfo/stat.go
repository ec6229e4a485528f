package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gofabric/gofabric/verbs"
)

// stat prints a device as ibstat does, from /sys alone.
func (o options) stat(w io.Writer, d verbs.DeviceInfo) {
	fmt.Fprintf(w, "CA '%s'\n\tCA type: %s\n\tNumber of ports: %d\n\tFirmware version: %s\n\tHardware version: %s\n\tNode GUID: %s\n\tSystem image GUID: %s\n",
		d.Name, d.HCAType, len(d.Ports), d.Firmware, d.HardwareRev, hexGUID(d.NodeGUID), hexGUID(d.SysImageGUID))
	for _, p := range d.Ports {
		if o.port != 0 && p.Number != o.port {
			continue
		}
		rate := fmt.Sprintf("%d", int(p.Rate.Gbps))
		switch {
		case int(p.Rate.Gbps) == 2:
			rate = "2.5"
		case p.Rate.Speed == "FDR10":
			rate += " (FDR10)"
		}
		mask := uint32(0)
		if p.CapMask != nil {
			mask = *p.CapMask
		}
		fmt.Fprintf(w, "\tPort %d:\n\t\tState: %s\n\t\tPhysical state: %s\n\t\tRate: %s\n\t\tBase lid: %d\n\t\tLMC: %d\n\t\tSM lid: %d\n\t\tCapability mask: 0x%08x\n\t\tPort GUID: %s\n\t\tLink layer: %s\n",
			p.Number, title(p.State.Description()), statPhys[p.PhysState], rate, p.LID, 0, p.SMLID, mask, hexGUID(portGUID(p)), linkLayer(p.LinkLayer))
	}
}

// portGUID is the lower half of GID 0, which ibstat prints whatever it is.
func portGUID(p verbs.PortInfo) verbs.GUID {
	if g, ok := p.GID(0); ok {
		return g.GID.InterfaceID()
	}
	return verbs.GUID{}
}

func hexGUID(g verbs.GUID) string { return "0x" + strings.ReplaceAll(g.String(), ":", "") }

// title is ibstat's spelling of a state: Active, Down, Initializing, Armed.
func title(word string) string {
	switch word {
	case "init":
		return "Initializing"
	case "":
		return "?"
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

var statPhys = map[verbs.PhysState]string{
	verbs.PhysUnknown: "No state change", verbs.PhysSleep: "Sleep", verbs.PhysPolling: "Polling", verbs.PhysDisabled: "Disabled",
	verbs.PhysTraining: "PortConfigurationTraining", verbs.PhysLinkUp: "LinkUp", verbs.PhysLinkErrorRecovery: "LinkErrorRecovery", verbs.PhysTest: "PhyTest",
}
