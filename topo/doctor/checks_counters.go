package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

var counterChecks = []Check{
	{11, "pcie-errors", "the PCIe links of GPUs and RDMA devices count no errors", "/sys/bus/pci/devices/*/aer_dev_*; --watch", Critical, examineAER},
	{38, "temperature", "RDMA devices and GPUs are not too hot", "/sys/bus/pci/devices/*/hwmon, NVML", Warning, examineTemperature},
	{42, "port-errors", "the ports' error counters do not grow, and none is stuck at its limit", "/sys/class/infiniband/*/ports/*/counters; --watch", Critical, examinePortErrors},
	{43, "transport-errors", "the transport counts no lost or refused packets", "/sys/class/infiniband/*/ports/*/hw_counters; --watch", Critical, examineTransportErrors},
}

func (x *exam) portSamples() []counters.Sample {
	if x.After != nil {
		return x.After
	}
	if x.after == nil && x.files {
		x.after = Counters(x.Files, x.System)
	}
	return x.after
}

func sampleOf(list []counters.Sample, p port) (counters.Sample, bool) {
	i := slices.IndexFunc(list, func(s counters.Sample) bool { return s.Device == p.HCA.Name && s.Port == p.Number })
	if i < 0 {
		return counters.Sample{}, false
	}
	return list[i], true
}

// window is what a port counted under the watch; ok is false without one.
func (x *exam) window(p port) (w counters.Window, ok bool) {
	after, ok1 := sampleOf(x.After, p)
	before, ok2 := sampleOf(x.Before, p)
	if !ok1 || !ok2 {
		return w, false
	}
	return counters.Between(before, after), true
}

func since(window bool) string {
	if window {
		return " while it was watched"
	}
	return " since the counters were reset"
}

func (x *exam) counterEvidence(p port, d counters.Delta) Evidence {
	file := path.Join(p.dir(), string(d.Source), d.Name)
	switch d.Source {
	case counters.Interface:
		file = path.Join(classNet, strings.Join(p.Netdevs[:min(1, len(p.Netdevs))], ""), "statistics", d.Name)
	case counters.Ethtool:
		file = "ethtool -S " + strings.Join(p.Netdevs[:min(1, len(p.Netdevs))], "") + ": " + d.Name
	}
	value := fmt.Sprintf("+%d", d.Grown)
	if d.Reset {
		value += " since a reset"
	}
	if d.Saturated {
		value += " (saturated)"
	}
	return Evidence{file, value}
}

// countersOf examines the counters of some sources of every port.
func (x *exam) countersOf(sources ...counters.Source) {
	samples := x.portSamples()
	for _, p := range portsOf(x.hcas()) {
		after, ok := sampleOf(samples, p)
		looked := 0
		for _, v := range after.Values {
			if slices.Contains(sources, v.Source) && counters.Describe(v.Source, v.Name).Severity > None {
				looked++
			}
		}
		if !ok || looked == 0 {
			why := "its counters are not to be seen"
			if p.Kind == topo.KindVF || x.virtual() {
				why += ": a virtual machine or function does not see the physical port's"
			}
			if p.Kind == topo.KindSoftware && sources[0] == counters.Port && ok {
				x.add(NotApplicable, None, p.name(), "a software device has no physical port", nil)
				continue
			}
			x.unknown(p.name(), why)
			continue
		}
		x.judgeCounters(p, after, looked, sources)
	}
	x.otherwise(noHCA)
}

// sinceReset is what a port counted since its counters were zero, without the
// completions that a closed connection flushed.
func sinceReset(after counters.Sample) counters.Window {
	zero := counters.Sample{At: after.At.Add(-24 * time.Hour)}
	for _, v := range after.Values {
		zero.Values = append(zero.Values, counters.Value{Source: v.Source, Name: v.Name})
	}
	return counters.Between(zero, after)
}

func (x *exam) judgeCounters(p port, after counters.Sample, looked int, sources []counters.Source) {
	w, window := x.window(p)
	var stuck, ever []Evidence
	for _, d := range sinceReset(after).Deltas {
		if !slices.Contains(sources, d.Source) || counters.Describe(d.Source, d.Name).Severity < Warning {
			continue
		}
		e := Evidence{path.Join(p.dir(), string(d.Source), d.Name), fmt.Sprint(d.Grown)}
		switch {
		case d.Saturated:
			stuck = append(stuck, e)
		case d.Grown > 0:
			ever = append(ever, e)
		}
	}
	if len(stuck) > 0 {
		x.fail(Warning, p.name(), fault{
			"counters are stuck at their greatest value: new errors cannot be seen", "many errors since the last reset", "reset them (perfquery -R, or reload the driver) and watch",
		}, stuck...)
	}
	if !window {
		switch {
		case len(ever) > 0:
			x.unknown(p.name(), "errors were counted at some time: --watch shows whether they grow", ever...)
		case len(stuck) == 0:
			x.pass(p.name(), fmt.Sprintf("%s, none with errors%s", plural(looked, "counter"), since(false)))
		}
		return
	}
	var evidence []Evidence
	var means []string
	worst, same := None, 0
	for _, d := range w.Deltas {
		if !slices.Contains(sources, d.Source) {
			continue
		}
		if d.Same {
			same++
		}
		if d.Severity == None {
			continue
		}
		worst = max(worst, d.Severity)
		evidence = append(evidence, x.counterEvidence(p, d))
		if m := counters.Describe(d.Source, d.Name).Means; m != "" && !slices.Contains(means, m) {
			means = append(means, m)
		}
	}
	switch {
	case same > 0 && len(evidence) == 0:
		x.unknown(p.name(), "the driver refreshes its counters less often than they were read: watch longer")
	case len(evidence) == 0:
		x.pass(p.name(), fmt.Sprintf("%s, none grew in %s", plural(looked, "counter"), w.Elapsed.Round(time.Millisecond)))
	default:
		x.fail(worst, p.name(), fault{
			fmt.Sprintf("errors grew in %s: %s", w.Elapsed.Round(time.Millisecond), strings.Join(means, "; ")), "cable, transceiver, heat, congestion, or a peer: the counters' names tell which",
			"symbol and integrity errors: cable and cooling; out of order and time-outs: loss on the way; remote physical: the fault is upstream",
		}, evidence...)
	}
}

func examinePortErrors(x *exam) { x.countersOf(counters.Port, counters.Ethtool) }

func examineTransportErrors(x *exam) { x.countersOf(counters.Vendor) }

func examineAER(x *exam) {
	functions := map[topo.Address]string{}
	var order []topo.Address
	for _, l := range x.cardLinks(true) {
		for _, d := range []*topo.PCIDevice{l.lower, l.upper} {
			if d != nil && functions[d.Address] == "" {
				functions[d.Address] = l.of
				order = append(order, d.Address)
			}
		}
	}
	after := x.portSamples()
	seen := 0
	find := func(list []counters.Sample, a topo.Address) (counters.Sample, bool) {
		i := slices.IndexFunc(list, func(s counters.Sample) bool { return s.Port == 0 && s.Device == string(a) })
		if i < 0 {
			return counters.Sample{}, false
		}
		return list[i], len(list[i].Values) > 0
	}
	for _, a := range order {
		name := fmt.Sprintf("%s (%s)", functions[a], a)
		s, ok := find(after, a)
		if !ok {
			continue
		}
		seen++
		before, window := find(x.Before, a)
		window = window && x.After != nil
		var deltas []counters.Delta
		if window {
			deltas = counters.Between(before, s).Errors()
		} else {
			for _, v := range s.Values {
				if v.Value > 0 {
					deltas = append(deltas, counters.Delta{Source: v.Source, Name: v.Name, Grown: v.Value, Severity: counters.Describe(v.Source, v.Name).Severity})
				}
			}
		}
		var evidence []Evidence
		worst := None
		for _, d := range deltas {
			class, kind, _ := strings.Cut(d.Name, "/")
			evidence = append(evidence, Evidence{path.Join(functionDir(a), "aer_dev_"+class), fmt.Sprintf("%s +%d", kind, d.Grown)})
			worst = max(worst, d.Severity)
		}
		switch {
		case len(evidence) == 0:
			x.pass(name, "no PCIe error"+since(window))
		case !window:
			x.unknown(name, "PCIe errors were counted since the boot: --watch shows whether they grow", evidence...)
		default:
			x.fail(worst, name, fault{"PCIe errors grow", "signal integrity: the seat of the card, a riser or a retimer", "reseat the card, swap the riser; a slower speed of the slot may hide it"}, evidence...)
		}
	}
	switch {
	case len(order) == 0:
		x.notApplicable("there is neither an RDMA device nor a GPU on PCIe")
	case seen == 0 && x.virtual():
		x.notApplicable("a virtual machine does not see its host's PCIe errors")
	case seen == 0:
		x.unknown("", "the kernel shows no PCIe errors: it was built or started without AER, or this is a description without them")
	}
}

// Heat: a card within this many degrees of where it protects itself, or above
// warmCard where it does not tell.
const (
	nearCritical = 5
	warmCard     = 100
)

func examineTemperature(x *exam) {
	for _, h := range x.cards() {
		if h.Kind == topo.KindVF || len(h.PCI) == 0 {
			continue
		}
		var list []counters.Temperature
		if x.files {
			list = counters.Temperatures(x.Files, string(h.PCI[0]))
		}
		if len(list) == 0 {
			x.unknown(h.Name, "the driver shows no temperature")
			continue
		}
		for _, t := range list {
			evidence := Evidence{path.Join(functionDir(h.PCI[0]), "hwmon"), fmt.Sprintf("%s %s C", strings.TrimSpace(t.Label+" "), number(t.Celsius))}
			limit := float64(warmCard)
			if t.Critical != nil {
				limit = *t.Critical - nearCritical
				evidence.Value += fmt.Sprintf(", critical %s C", number(*t.Critical))
			}
			if t.Celsius >= limit {
				x.fail(Warning, h.Name, fault{fmt.Sprintf("the card has %s C", number(t.Celsius)), "air flow; heat showed up once as link integrity errors", "fans, dust, blanking plates, the neighbours' heat"}, evidence)
			} else {
				x.pass(h.Name, fmt.Sprintf("%s C", number(t.Celsius)), evidence)
			}
		}
	}
	for _, g := range x.gpus() {
		now, ok := x.nvmlStatus(g)
		if !ok || now.status.ClockEvents == nil {
			x.unknown(g.Label(), "NVML was not asked, or does not tell why clocks are low")
			continue
		}
		const hot = nvml.ClockThermal | nvml.ClockHardwareThermal
		evidence := Evidence{"NVML", "clocks: " + now.status.ClockEvents.String()}
		if t := now.status.Temperature; t != nil {
			evidence.Value += fmt.Sprintf("; %d C", *t)
		}
		if *now.status.ClockEvents&hot != 0 {
			x.fail(Warning, g.Label(), fault{"the GPU lowers its clocks because of heat", "air flow or cooling", "fans, dust, the cold plate; nvidia-smi -q -d TEMPERATURE"}, evidence)
		} else {
			x.pass(g.Label(), "no clock is lowered by heat", evidence)
		}
	}
	x.otherwise("there is neither a physical RDMA function nor a GPU")
}
