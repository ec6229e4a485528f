package doctor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

var roceChecks = []Check{
	{19, "roce-mtu", "RoCE moves 4096 bytes a packet", "/sys/class/net/*/mtu, or the opened device (--probe)", Warning, examineMTU},
	{20, "mtu-alike", "ports that work together, and those of the peers, have one MTU", "/sys/class/net/*/mtu, --peer", Warning, examineMTUAlike},
	{21, "roce-gid", "every RoCE port has a version 2 GID that is not link-local", "/sys/class/infiniband/*/ports/*/gids, gid_attrs/types", Warning, examineGID},
	{34, "roce-congestion", "RoCE is neither paused nor throttled", "hw_counters, ethtool, /sys/class/net/*/qos/trust; --watch", Warning, examineCongestion},
}

func (x *exam) rocePorts() []port {
	return slices.DeleteFunc(active(portsOf(x.hcas())), func(p port) bool { return !p.roce() })
}

const noRoCE = "there is no active RoCE port"

// mtu is a port's: what the opened device said, else its interface's. packet is
// true for the first, which is the payload of a packet.
func (x *exam) mtu(p port) (bytes int, packet bool, evidence Evidence, ok bool) {
	if n, known := x.Facts.ActiveMTU[p.key()]; known {
		return n, true, Evidence{"ibv_query_port of " + p.name(), fmt.Sprintf("active_mtu %d", n)}, true
	}
	for _, name := range p.Netdevs {
		file := path.Join(classNet, name, "mtu")
		if n, known := x.number(file); known && n > 0 {
			return n, false, Evidence{file, fmt.Sprint(n)}, true
		}
	}
	return 0, false, Evidence{}, false
}

// Packets of 4096 bytes need this much of the interface: headers and checksum
// come on top of the payload.
const (
	wholePacket  = 4096
	wholeMTU     = 4192
	mtuElsewhere = "its interface is not seen here (another network namespace?); --probe asks the device"
)

func examineMTU(x *exam) {
	for _, p := range x.rocePorts() {
		bytes, packet, evidence, ok := x.mtu(p)
		switch {
		case !ok:
			x.unknown(p.name(), mtuElsewhere)
		case packet && bytes >= wholePacket, !packet && bytes >= wholeMTU:
			x.pass(p.name(), fmt.Sprintf("MTU %d", bytes), evidence)
		default:
			what := fmt.Sprintf("the interface's MTU is %d, so packets carry %d bytes", bytes, packetOf(bytes))
			if packet {
				what = fmt.Sprintf("packets carry %d bytes", bytes)
			}
			x.fail(Warning, p.name(), fault{
				what, "the interface has a small MTU", "MTU 9000 (at least 4200) on the interface, on every switch between, and on every peer: ip link set dev NAME mtu 9000",
			}, evidence)
		}
	}
	x.otherwise(noRoCE)
}

// packetOf is the payload that an interface's MTU leaves.
func packetOf(mtu int) int {
	for _, n := range []int{4096, 2048, 1024, 512, 256} {
		if mtu >= n+wholeMTU-wholePacket {
			return n
		}
	}
	return 0
}

func examineMTUAlike(x *exam) {
	seen := map[int][]string{}
	compared, missing := 0, 0
	var fastest float64
	for _, p := range x.rocePorts() {
		fastest = max(fastest, p.RateGbps)
	}
	for _, p := range x.rocePorts() {
		bytes, _, evidence, ok := x.mtu(p)
		if !ok {
			missing++
			continue
		}
		for _, n := range x.Peers {
			q, found := n.port(p.HCA.Name, p.Number)
			if !found || q.MTU == nil {
				continue
			}
			compared++
			if *q.MTU != bytes {
				x.fail(Warning, p.name(), fault{fmt.Sprintf("MTU %d here and %d on %s", bytes, *q.MTU, n.Hostname), "one host or switch port was forgotten", "one MTU end to end"},
					evidence, Evidence{"peer " + n.Hostname, fmt.Sprintf("MTU %d", *q.MTU)})
			}
		}
		if p.RateGbps >= fastest/2 { // a front-end port may have its own
			seen[bytes] = append(seen[bytes], p.name())
		}
	}
	ports := 0
	var words []string
	for _, bytes := range slices.Sorted(maps.Keys(seen)) {
		ports += len(seen[bytes])
		words = append(words, fmt.Sprintf("%d: %s", bytes, strings.Join(seen[bytes], ", ")))
	}
	evidence := Evidence{path.Join(classNet, "*/mtu"), strings.Join(words, "; ")}
	switch {
	case len(seen) > 1:
		x.fail(Warning, "", fault{"the ports have different MTUs: " + evidence.Value, "an interface was forgotten", "one MTU on all"}, evidence)
	case len(x.findings) > 0:
	case ports+compared > 1:
		x.pass("", "one MTU: "+evidence.Value, evidence)
	case missing > 1:
		x.unknown("", "the MTUs are not told: "+mtuElsewhere)
	}
	x.otherwise("there are no two RoCE ports to compare")
}

func examineGID(x *exam) {
	for _, p := range x.rocePorts() {
		dir := path.Join(p.dir(), "gids")
		if len(p.GIDs) == 0 && !x.read.IsDir(dir) {
			x.unknown(p.name(), "the GID table is not to be seen")
			continue
		}
		found := kinds(p.Port)
		var words []string
		for _, kind := range []gidKind{gidV2, gidV2Local, gidV1, gidNoType, gidNoAddr} {
			if n := found[kind]; n > 0 {
				words = append(words, fmt.Sprintf("%d %s", n, kind))
			}
		}
		if len(words) == 0 {
			words = []string{"empty"}
		}
		evidence := x.from(dir, strings.Join(words, "; "))
		f := fault{"", "the interface has no address, or it lives in another network namespace", "give the interface an IPv4 or a global IPv6 address; its GIDs appear by themselves"}
		switch {
		case found[gidV2] > 0:
			x.pass(p.name(), "there are GIDs of version 2 with an address", evidence)
		case found[gidNoType] > 0:
			x.unknown(p.name(), "the types of the GIDs are not told", evidence)
		case found[gidV2Local] > 0:
			f.text = "only link-local GIDs: RoCE reaches one segment and no router"
			x.fail(Warning, p.name(), f, evidence)
		case found[gidV1] > 0:
			f.text = "only GIDs of RoCE version 1: no router, and no peer that wants version 2"
			x.fail(Warning, p.name(), f, evidence)
		default:
			f.text = "no GID: no connection is possible"
			x.fail(Warning, p.name(), f, evidence)
		}
	}
	x.otherwise(noRoCE)
}

// slowed are the counters that grow where RoCE is held back.
func slowed(d counters.Delta) bool {
	switch d.Source {
	case counters.Vendor:
		return strings.Contains(d.Name, "cnp") && !strings.Contains(d.Name, "ignored") || strings.Contains(d.Name, "ecn_marked")
	case counters.Ethtool:
		return strings.Contains(d.Name, "pause") && !strings.Contains(d.Name, "duration") && !strings.Contains(d.Name, "storm")
	}
	return false
}

func examineCongestion(x *exam) {
	samples := x.portSamples()
	for _, p := range x.rocePorts() {
		if p.Kind == topo.KindSoftware {
			continue
		}
		after, ok := sampleOf(samples, p)
		w, window := x.window(p)
		if !window {
			w = counters.Between(counters.Sample{}, counters.Sample{}) // none
			for _, v := range after.Values {
				w.Deltas = append(w.Deltas, counters.Delta{Source: v.Source, Name: v.Name, Grown: v.Value})
			}
		}
		var evidence []Evidence
		looked := 0
		for _, d := range w.Deltas {
			if slowed(d) && !d.Same {
				if looked++; d.Grown > 0 {
					evidence = append(evidence, x.counterEvidence(p, d))
				}
			}
		}
		for _, name := range p.Netdevs {
			if trust, told := x.text(path.Join(classNet, name, "qos/trust")); told && len(evidence) > 0 {
				evidence = append(evidence, Evidence{path.Join(classNet, name, "qos/trust"), trust})
			}
		}
		switch {
		case !ok || looked == 0:
			x.unknown(p.name(), "the driver shows no counters of congestion or pauses")
		case len(evidence) == 0:
			x.pass(p.name(), "no congestion was signalled and nothing paused"+since(window))
		case !window:
			x.unknown(p.name(), "congestion or pauses were counted at some time: --watch shows whether they grow", evidence...)
		default:
			x.fail(Warning, p.name(), fault{
				"congestion is signalled, or the port is paused", "more is sent than a path carries, or switches and hosts do not agree on priorities",
				"trust DSCP on hosts and switches (mlnx_qos --trust dscp), one lossless priority, ECN on the switches; see NCCL_IB_TC",
			}, evidence...)
		}
	}
	x.otherwise("there is no active RoCE port of RDMA hardware")
}
