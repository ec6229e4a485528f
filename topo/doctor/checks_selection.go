package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/topo"
)

var selectionChecks = []Check{
	{22, "gid-index", "NCCL_IB_GID_INDEX names a version 2 GID with an address on every RoCE port in use", "NCCL_IB_GID_INDEX, /sys/class/infiniband/*/ports/*/gids", Critical, examineGIDIndex},
	{23, "gid-index-ignored", "NCCL_IB_GID_INDEX is not set where it is never read", "NCCL_IB_GID_INDEX", Info, examineGIDIndexIgnored},
	{24, "mixed-fabrics", "NCCL's selection is all InfiniBand or all RoCE", "NCCL_IB_HCA, /sys/class/infiniband/*/ports/*/link_layer", Warning, examineMixed},
	{25, "hca-selection", "NCCL_IB_HCA takes what it names, and all of that is there and up", "NCCL_IB_HCA", Warning, examineSelection},
}

const noEnvironment = "the environment of the job is not told"

func examineGIDIndex(x *exam) {
	index, set := x.conf.get("NCCL_IB_GID_INDEX")
	if !set {
		if !x.conf.known {
			x.unknown("", noEnvironment)
			return
		}
		x.notApplicable("NCCL_IB_GID_INDEX is not set")
		return
	}
	want, exact := ncclInt(index.value)
	if exact && want < 0 {
		x.notApplicable("NCCL_IB_GID_INDEX is negative: NCCL chooses")
		return
	}
	for _, p := range x.selected() {
		if !p.roce() {
			continue
		}
		if len(p.GIDs) == 0 && !x.read.IsDir(path.Join(p.dir(), "gids")) {
			x.unknown(p.name(), "the GID table is not to be seen", index.evidence())
			continue
		}
		f := fault{"", "indexes differ between machines, and move when addresses change: 3 is a habit and no rule", "unset NCCL_IB_GID_INDEX: NCCL 2.21 and later finds the right entry itself"}
		i := slices.IndexFunc(p.GIDs, func(g topo.GID) bool { return int64(g.Index) == want })
		if i < 0 {
			f.text = fmt.Sprintf("entry %d of the GID table is empty", want)
			x.fail(Critical, p.name(), f, index.evidence())
			continue
		}
		g := p.GIDs[i]
		evidence := x.from(path.Join(p.dir(), "gids", fmt.Sprint(want)), strings.TrimSpace(g.GID+" "+g.Type))
		switch kind := kindOf(g); kind {
		case gidV2:
			x.pass(p.name(), fmt.Sprintf("entry %d is version 2 with an address", want), index.evidence(), evidence)
		case gidNoType:
			x.unknown(p.name(), "the type of the entry is not told", index.evidence(), evidence)
		default:
			f.text = fmt.Sprintf("entry %d of the GID table is %s", want, kind)
			x.fail(Critical, p.name(), f, index.evidence(), evidence)
		}
	}
	x.otherwise("no RoCE port is in use")
}

func examineGIDIndexIgnored(x *exam) {
	index, set := x.conf.get("NCCL_IB_GID_INDEX")
	ports := x.selected()
	infiniband := len(ports) > 0 && !slices.ContainsFunc(ports, func(p port) bool { return p.LinkLayer != topo.InfiniBand })
	switch {
	case len(ports) == 0:
		x.notApplicable("there is no active port")
	case !infiniband:
		x.notApplicable("not all ports in use are InfiniBand")
	case !set && !x.conf.known:
		x.unknown("", noEnvironment)
	case !set:
		x.pass("", "NCCL_IB_GID_INDEX is not set", Evidence{"environment", "no NCCL_IB_GID_INDEX"})
	default:
		x.fail(Info, "", fault{"NCCL_IB_GID_INDEX is set and never read on InfiniBand", "copied from a RoCE cluster", "remove it"}, index.evidence())
	}
}

func examineMixed(x *exam) {
	ports := x.selected()
	layers := map[topo.LinkLayer][]string{}
	for _, p := range ports {
		layers[p.LinkLayer] = append(layers[p.LinkLayer], p.name())
	}
	selection, set := x.conf.get("NCCL_IB_HCA")
	evidence := Evidence{"environment", "no NCCL_IB_HCA"}
	if set {
		evidence = selection.evidence()
	}
	switch {
	case len(ports) < 2:
		x.notApplicable("fewer than two ports are in use")
	case len(layers[""]) > 0:
		x.unknown(strings.Join(layers[""], ", "), "the link layer is not told")
	case len(layers) == 1:
		x.pass("", fmt.Sprintf("all %d ports are %s", len(ports), ports[0].LinkLayer))
	case !set && !x.conf.known:
		x.unknown("", "the machine has both fabrics, and "+noEnvironment)
	default:
		var words []string
		for _, layer := range []topo.LinkLayer{topo.InfiniBand, topo.Ethernet} {
			words = append(words, fmt.Sprintf("%s: %s", layer, strings.Join(layers[layer], ", ")))
		}
		x.fail(Warning, "", fault{
			"NCCL may use both fabrics in one job: " + strings.Join(words, "; "), "storage or front-end ports are not kept out",
			"name the compute rails: NCCL_IB_HCA==" + strings.Join(compute(layers), ","),
		}, evidence)
	}
}

// compute are the names of the larger group.
func compute(layers map[topo.LinkLayer][]string) []string {
	if len(layers[topo.Ethernet]) > len(layers[topo.InfiniBand]) {
		return layers[topo.Ethernet]
	}
	return layers[topo.InfiniBand]
}

func examineSelection(x *exam) {
	v, set := x.conf.get("NCCL_IB_HCA")
	switch {
	case !set && !x.conf.known:
		x.unknown("", noEnvironment)
		return
	case !set:
		x.notApplicable("NCCL_IB_HCA is not set")
		return
	}
	s := parseSelector(v.value)
	if s.exclude {
		x.pass("", "it leaves devices out", v.evidence())
		return
	}
	ports := portsOf(x.hcas())
	for _, word := range s.words {
		name, _, _ := strings.Cut(word, ":")
		var taken, others, down []string
		states := true
		exact := false
		for _, p := range ports {
			if !s.takes(word, p.HCA.Name, p.Number) {
				continue
			}
			if exact = exact || p.HCA.Name == name; p.HCA.Name != name {
				others = append(others, p.HCA.Name)
			}
			taken = append(taken, p.name())
			if usable, known := p.Usable(); !known {
				states = false
			} else if !usable {
				down = append(down, p.name())
			}
		}
		switch {
		case len(taken) == 0:
			x.fail(Warning, word, fault{"it names no device of this machine", "copied from another machine, or devices were renamed", "name what is there: " + names(x.hcas())}, v.evidence())
		case exact && len(others) > 0:
			x.fail(Warning, word, fault{
				fmt.Sprintf("it takes %s too: without = it is the beginning of a name", strings.Join(others, ", ")), "NCCL matches by prefix",
				"put = in front: NCCL_IB_HCA==" + strings.Join(s.words, ","),
			}, v.evidence())
		case len(down) > 0:
			x.fail(Warning, word, fault{fmt.Sprintf("of what it names, %s cannot be used", strings.Join(down, ", ")), "the port is not active: NCCL skips it without a word", "see port-state"}, v.evidence())
		case !states:
			x.unknown(word, "the states of the ports are not told", v.evidence())
		default:
			x.pass(word, "it takes "+strings.Join(taken, ", "), v.evidence())
		}
	}
	x.otherwise("NCCL_IB_HCA names nothing")
}

func names(hcas []*topo.HCA) string {
	if len(hcas) == 0 {
		return "there is none"
	}
	var list []string
	for _, h := range hcas {
		list = append(list, h.Name)
	}
	return strings.Join(list, ", ")
}
