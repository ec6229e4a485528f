//go:build linux && cgo

package nvmllib

import (
	"fmt"

	"github.com/gofabric/gofabric/nvml"
)

// Links lists a GPU's NVLinks.
//
// Implements: nvmlDeviceGetNvLinkState, nvmlDeviceGetNvLinkVersion,
// nvmlDeviceGetNvLinkRemotePciInfo_v2, nvmlDeviceGetNvLinkRemoteDeviceType,
// nvmlDeviceGetFieldValues.
func (l *Library) Links(gpu string) ([]nvml.Link, error) {
	r, d, err := l.begin("read the NVLinks", gpu)
	if err != nil {
		return nil, err
	}
	defer l.life.Done()
	if !l.function("nvmlDeviceGetNvLinkState") {
		return nil, nil
	}
	most := maxLinks
	if count, ok := r.field(d, fieldLinkCount, 0); ok {
		most = min(most, int(count))
	}
	var links []nvml.Link
	for number := range most {
		state, ret := d.GetNvLinkState(number)
		if nvml.Code(ret) == nvml.CodeInvalidArgument || nvml.Code(ret) == nvml.CodeNotSupported {
			break // past the last link, or no NVLink at all
		}
		link := nvml.Link{Number: number}
		if ret == success {
			active := state == enabled
			link.Active = &active
		} else if !absent(ret) {
			r.fail(fmt.Sprintf("read NVLink %d", number), ret)
		}
		if link.Up() {
			r.linkEnds(d, &link)
		}
		links = append(links, link)
	}
	return links, r.err()
}

func (r *reading) linkEnds(d device, link *nvml.Link) {
	what := func(part string) string { return fmt.Sprintf("NVLink %d's %s", link.Number, part) }
	if version := askInt(r, what("version"), "nvmlDeviceGetNvLinkVersion", func() (uint32, answer) { return d.GetNvLinkVersion(link.Number) }); version != nil {
		v := nvml.LinkVersion(*version)
		link.Version = &v
	}
	if pci := ask(r, what("peer"), "nvmlDeviceGetNvLinkRemotePciInfo_v2", func() (pciInfo, answer) { return d.GetNvLinkRemotePciInfo(link.Number) }); pci != nil {
		link.Peer = address(*pci)
	}
	if kind := ask(r, what("peer's type"), "nvmlDeviceGetNvLinkRemoteDeviceType", func() (linkPeerType, answer) {
		return d.GetNvLinkRemoteDeviceType(link.Number)
	}); kind != nil {
		link.PeerType = map[linkPeerType]nvml.PeerType{
			peerGPU: nvml.PeerGPU, peerSwitch: nvml.PeerSwitch,
			peerNPU: nvml.PeerNPU,
		}[*kind]
	}
	speed, ok := r.field(d, fieldLinkSpeed, uint32(link.Number))
	if !ok || speed == 0 {
		speed, ok = r.field(d, fieldCommonSpeed, 0)
	}
	if ok && speed > 0 {
		raw := float64(speed) / 1000
		link.Raw = &raw
	}
}

// Pair tells what lies between two GPUs.
//
// Implements: nvmlDeviceGetTopologyCommonAncestor, nvmlDeviceGetP2PStatus.
func (l *Library) Pair(a, b string) (nvml.Pair, error) {
	const op = "compare two GPUs"
	r, first, err := l.begin(op, a)
	if err != nil {
		return nvml.Pair{}, err
	}
	defer l.life.Done()
	second, err := l.device(op, b)
	if err != nil {
		return nvml.Pair{}, err
	}
	r.gpu = a + " and " + b
	var pair nvml.Pair
	if level := ask(r, "the common ancestor", "nvmlDeviceGetTopologyCommonAncestor", func() (topologyLevel, answer) {
		return first.GetTopologyCommonAncestor(second)
	}); level != nil {
		ancestor := nvml.Ancestor(*level)
		pair.Ancestor = &ancestor
	}
	for _, q := range []struct {
		index p2pIndex
		into  **nvml.P2PStatus
	}{
		{p2pRead, &pair.Read},
		{p2pWrite, &pair.Write},
		{p2pNVLink, &pair.NVLink},
		{p2pAtomics, &pair.Atomics},
		{p2pPCI, &pair.PCI},
	} {
		if status := ask(r, "the P2P status", "nvmlDeviceGetP2PStatus", func() (p2pStatus, answer) {
			return first.GetP2PStatus(second, q.index)
		}); status != nil {
			s := nvml.P2PStatus(*status)
			*q.into = &s
		}
	}
	return pair, r.err()
}
