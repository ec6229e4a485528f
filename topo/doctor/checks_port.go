package doctor

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

var portChecks = []Check{
	{1, "port-state", "every port that should be used is active", "/sys/class/infiniband/*/ports/*/state", Critical, examinePortState},
	{2, "subnet-manager", "a subnet manager has configured the InfiniBand ports", "/sys/class/infiniband/*/ports/*/state, phys_state", Critical, examineSubnetManager},
	{3, "physical-state", "the physical link of every port that should be used is up", "/sys/class/infiniband/*/ports/*/phys_state", Critical, examinePhysicalState},
	{4, "port-rate", "every active port has the rate that its twins have, and that its link could have", "/sys/class/infiniband/*/ports/*/rate, ethtool", Warning, examinePortRate},
	{5, "port-width", "every InfiniBand port runs all its lanes", "/sys/class/infiniband/*/ports/*/rate", Warning, examinePortWidth},
	{6, "rail-rates", "the ports of one selection, and those of the peers, have one rate", "/sys/class/infiniband/*/ports/*/rate, NCCL_IB_HCA, --peer", Warning, examineRailRates},
}

// wanted tells whether a port should be used, and by what evidence.
func (x *exam) wanted(p port) (Evidence, bool) {
	if g, ok := hasAddress(p.Port); ok && p.roce() {
		return x.from(path.Join(p.dir(), "gids", fmt.Sprint(g.Index)), g.GID), true
	}
	if s, ok := x.namedPort(p); ok {
		return s.evidence(), true
	}
	// Twins at the same place of their cards that are all up: on a machine with
	// eight rails the ninth state is a fault. Two at least, so that a pair of
	// which one is spare is left alone.
	up := 0
	for _, other := range portsOf(x.cards()) {
		if other.HCA == p.HCA || twin(p.HCA) == "" || twin(other.HCA) != twin(p.HCA) || function(other.HCA) != function(p.HCA) || other.Number != p.Number {
			continue
		}
		if other.State != topo.PortActive {
			return Evidence{}, false
		}
		up++
	}
	if up >= 2 {
		return x.from(path.Join(classInfiniband, "*"), fmt.Sprintf("all %d other devices of its kind (%s) are ACTIVE", up, strings.TrimPrefix(p.Model+" "+p.BoardID, " "))), true
	}
	return Evidence{}, false
}

func noGUID(p port) bool {
	for _, g := range p.GIDs {
		if g.Index == 0 {
			return strings.HasSuffix(g.GID, ":0000:0000:0000:0000")
		}
	}
	return len(p.GIDs) == 0
}

func examinePortState(x *exam) {
	for _, p := range portsOf(x.hcas()) {
		state := x.from(path.Join(p.dir(), "state"), string(p.State))
		switch {
		case p.State == topo.PortActive:
			x.pass(p.name(), "the port is active", state)
			continue
		case p.State == "":
			x.unknown(p.name(), "the port's state is not told", state)
			continue
		}
		if p.State == topo.PortInit && p.LinkLayer == topo.InfiniBand && p.PhysState == "LinkUp" {
			continue // the subnet manager's part
		}
		why, ok := x.wanted(p)
		if !ok {
			x.add(NotApplicable, None, p.name(), fmt.Sprintf("the port is %s, and nothing says that it is used", p.State), []Evidence{state})
			continue
		}
		f := fault{
			text:  fmt.Sprintf("the port is %s and should be active", p.State),
			cause: "the cable, the far end, or the port is switched off",
			fix:   "look at the cable and the switch's port; ip link set up for its interface",
		}
		phys := x.from(path.Join(p.dir(), "phys_state"), p.PhysState)
		if p.LinkLayer == topo.InfiniBand && p.Kind == topo.KindVF && (p.PhysState == "LinkUp" || noGUID(p)) {
			f.cause = "a virtual function waits for the subnet manager, or for its GUID; it is not the cable"
			f.fix = "give the function a GUID on the host (ip link set PF vf N node_guid, port_guid) and let the subnet manager serve virtual functions"
		}
		x.fail(Critical, p.name(), f, state, phys, why)
	}
	x.otherwise(noHCA)
}

func examineSubnetManager(x *exam) {
	for _, p := range portsOf(x.hcas()) {
		if p.LinkLayer != topo.InfiniBand {
			if p.LinkLayer == "" {
				x.unknown(p.name(), "the port's link layer is not told")
			}
			continue
		}
		state := x.from(path.Join(p.dir(), "state"), string(p.State))
		phys := x.from(path.Join(p.dir(), "phys_state"), p.PhysState)
		switch {
		case p.State == topo.PortActive || p.State == topo.PortArmed:
			x.pass(p.name(), "a subnet manager has configured the port", state)
		case p.State == topo.PortInit && p.PhysState == "LinkUp":
			x.fail(Critical, p.name(), fault{
				"the link is up and nobody has configured the port", "no subnet manager serves this fabric",
				"start one: opensm on a host, or the one of the switch; sminfo shows whether it answers",
			}, state, phys)
		case p.State == "" || p.PhysState == "":
			x.unknown(p.name(), "the port's states are not told", state, phys)
		default:
			x.add(NotApplicable, None, p.name(), "the port's link is not up", []Evidence{state, phys})
		}
	}
	x.otherwise("there is no InfiniBand port")
}

// physFaults are the causes of the physical states that are not LinkUp.
var physFaults = map[string]fault{
	"Polling":                   {"the port looks for a partner and finds none", "no cable, a damaged one, or the far end is off", "reseat or swap the cable; see whether the switch's port is enabled"},
	"Disabled":                  {"the port is disabled", "somebody switched it off, or its interface is down", "ibportstate DEVICE PORT enable, or ip link set up for its interface"},
	"Sleep":                     {"the port sleeps", "its link is in a state of low power", "ibportstate DEVICE PORT enable"},
	"PortConfigurationTraining": {"the link does not come out of training", "cable or transceiver", "swap the cable"},
	"LinkErrorRecovery":         {"the link recovers from errors", "cable or transceiver", "swap the cable; see the error counters"},
}

func examinePhysicalState(x *exam) {
	for _, p := range portsOf(x.hcas()) {
		phys := x.from(path.Join(p.dir(), "phys_state"), p.PhysState)
		f, bad := physFaults[p.PhysState]
		switch {
		case p.PhysState == "LinkUp":
			x.pass(p.name(), "the physical link is up", phys)
		case !bad:
			x.unknown(p.name(), "the port's physical state is not told", phys)
		default:
			why, ok := x.wanted(p)
			if !ok {
				x.add(NotApplicable, None, p.name(), fmt.Sprintf("the link is in %s, and nothing says that the port is used", p.PhysState), []Evidence{phys})
				continue
			}
			x.fail(Critical, p.name(), f, phys, why)
		}
	}
	x.otherwise(noHCA)
}

func examinePortRate(x *exam) {
	ports := active(portsOf(x.cards()))
	for _, p := range ports {
		rate := x.from(path.Join(p.dir(), "rate"), number(p.RateGbps)+" Gb/s")
		if p.RateGbps == 0 {
			x.unknown(p.name(), "the port's rate is not told")
			continue
		}
		lowClass := "a cable of a lower class (an EDR cable on an HDR port halves the rate), a split port, or FEC that fell back"
		best, of := p.RateGbps, ""
		for _, other := range ports {
			if twin(p.HCA) != "" && twin(other.HCA) == twin(p.HCA) && other.LinkLayer == p.LinkLayer && other.RateGbps > best {
				best, of = other.RateGbps, other.name()
			}
		}
		if of != "" {
			x.fail(Warning, p.name(), fault{
				fmt.Sprintf("%s Gb/s, and its twin %s has %s", number(p.RateGbps), of, number(best)),
				lowClass,
				"swap cables with the twin: if the rate goes with the cable it is the cable, if not the switch's port",
			}, rate, x.from(path.Join(classInfiniband, of), number(best)+" Gb/s"))
			continue
		}
		twins := slices.ContainsFunc(ports, func(o port) bool {
			return o.HCA != p.HCA && twin(p.HCA) != "" && twin(o.HCA) == twin(p.HCA)
		})
		most, told := x.Facts.LinkGbps[p.key()]
		driver := x.from("ethtool "+strings.Join(p.Netdevs[:min(1, len(p.Netdevs))], ""), number(most)+" Gb/s supported")
		switch {
		case told && p.RateGbps < most:
			severity := Warning
			if twins {
				severity = Info // they agree: a fabric of that rate
			}
			x.fail(severity, p.name(), fault{
				fmt.Sprintf("%s Gb/s, and its link could have %s", number(p.RateGbps), number(most)),
				lowClass + ", or a switch of a lower rate",
				"see what the cable and the switch's port can do; if they can do no more, this is what the fabric was built for",
			}, rate, driver)
		case told:
			x.pass(p.name(), fmt.Sprintf("%s Gb/s, which is what its link can have", number(p.RateGbps)), rate, driver)
		case twins:
			x.pass(p.name(), fmt.Sprintf("%s Gb/s, as its twins", number(p.RateGbps)), rate)
		default:
			x.unknown(p.name(), fmt.Sprintf("%s Gb/s: what the port could do is not known, as the machine has no other of its kind and no driver tells; ibportstate tells it on InfiniBand", number(p.RateGbps)), rate)
		}
	}
	x.otherwise("there is no active port of RDMA hardware")
}

// laneRate takes the lanes and the word for the speed out of "200 Gb/sec (4X HDR)".
func laneRate(text string) (lanes int, speed string, ok bool) {
	_, inner, found := strings.Cut(text, "(")
	if !found {
		return 0, "", false
	}
	n, err := fmt.Sscanf(strings.TrimSuffix(inner, ")"), "%dX %s", &lanes, &speed)
	return lanes, speed, err == nil && n == 2 && lanes > 0
}

func examinePortWidth(x *exam) {
	ports := active(portsOf(x.cards()))
	for _, p := range ports {
		if p.roce() {
			continue // names of InfiniBand, and no lanes to count
		}
		file := path.Join(p.dir(), "rate")
		text, _ := x.text(file)
		lanes, speed, ok := laneRate(text)
		if !ok {
			x.unknown(p.name(), "the port's lanes are not told")
			continue
		}
		rate := x.from(file, text)
		// Two lanes are a right of HDR100 and of halved ports of NDR and XDR,
		// unless the twins have four.
		halved := lanes == 2 && slices.Contains([]string{"HDR", "NDR", "XDR"}, speed)
		if halved {
			halved = !slices.ContainsFunc(ports, func(o port) bool {
				return o.HCA != p.HCA && twin(p.HCA) != "" && twin(o.HCA) == twin(p.HCA) && o.RateGbps == 2*p.RateGbps
			})
		}
		if lanes >= 4 || halved {
			x.pass(p.name(), fmt.Sprintf("%dX %s", lanes, speed), rate)
			continue
		}
		x.fail(Warning, p.name(), fault{
			fmt.Sprintf("the port runs %s of %s", plural(lanes, "lane"), speed), "lanes of the cable or the transceiver are lost",
			"reseat the cable at both ends, then swap it",
		}, rate)
	}
	x.otherwise("there is no active InfiniBand port")
}

func examineRailRates(x *exam) {
	ports := slices.DeleteFunc(x.rails(), func(p port) bool { return p.RateGbps == 0 })
	remote := 0
	for _, n := range x.Peers {
		for _, h := range n.HCAs {
			for _, q := range h.Ports {
				for _, p := range ports {
					if p.HCA.Name == h.Name && p.Number == q.Number && q.RateGbps > 0 && q.State == string(topo.PortActive) {
						remote++
						if q.RateGbps != p.RateGbps {
							x.fail(Warning, p.name(), fault{
								fmt.Sprintf("%s Gb/s here and %s on %s", number(p.RateGbps), number(q.RateGbps), n.Hostname),
								"one of the two links came up slow", "look at the cable and the switch's port of the slower one",
							}, x.from(path.Join(p.dir(), "rate"), number(p.RateGbps)), Evidence{"peer " + n.Hostname, number(q.RateGbps) + " Gb/s"})
						}
					}
				}
			}
		}
	}
	rates := map[float64][]string{}
	for _, p := range ports {
		rates[p.RateGbps] = append(rates[p.RateGbps], p.name())
	}
	switch {
	case len(ports) < 2 && remote == 0:
		if len(portsOf(x.hcas())) > 0 && slices.ContainsFunc(x.rails(), func(p port) bool { return p.RateGbps == 0 }) {
			x.unknown("", "the rates of the ports are not told")
		}
	case len(rates) > 1:
		var words []string
		var slow []string
		least := slices.Sorted(maps.Keys(rates))[0]
		for _, r := range slices.Sorted(maps.Keys(rates)) {
			words = append(words, fmt.Sprintf("%s Gb/s: %s", number(r), strings.Join(rates[r], ", ")))
		}
		slow = rates[least]
		x.fail(Warning, strings.Join(slow, ", "), fault{
			"the ports of one selection have different rates: " + strings.Join(words, "; "), "one bad rail, or a front-end port among the rails",
			"repair the slow link, or leave the port out of NCCL_IB_HCA",
		}, x.from(path.Join(classInfiniband, "*/ports/*/rate"), strings.Join(words, "; ")))
	case len(x.findings) == 0:
		x.pass("", fmt.Sprintf("%s and %s of peers at %s Gb/s", plural(len(ports), "port"), plural(remote, "port"), number(ports[0].RateGbps)))
	}
	x.otherwise("fewer than two active ports are used together")
}

// rails are the ports that work together: those that NCCL_IB_HCA selects, else the
// best of each GPU, else those of the same kind as the fastest.
func (x *exam) rails() []port {
	selected := slices.DeleteFunc(x.selected(), func(p port) bool { return p.Kind == topo.KindSoftware })
	if _, ok := x.conf.get("NCCL_IB_HCA"); ok {
		return selected
	}
	best := map[string]bool{}
	for _, g := range x.System.GPUs {
		for _, c := range x.System.HCAsFor(g) {
			if c.Best && c.Path.Closer(topo.PHB) {
				best[c.Device.Label()] = true
			}
		}
	}
	fastest := 0.0
	for _, p := range selected {
		fastest = max(fastest, p.RateGbps)
	}
	var kindOfFastest string
	for _, p := range selected {
		if p.RateGbps == fastest {
			kindOfFastest = twin(p.HCA)
			break
		}
	}
	return slices.DeleteFunc(selected, func(p port) bool {
		if len(best) > 0 {
			return !best[p.HCA.Name]
		}
		return twin(p.HCA) != kindOfFastest
	})
}
