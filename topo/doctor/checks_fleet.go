package doctor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var fleetChecks = []Check{
	{35, "firmware", "equal cards have equal firmware, and so have those of the peers", "/sys/class/infiniband/*/fw_ver, board_id, --peer", Info, examineFirmware},
	{44, "peers-alike", "the peers have the same NCCL, settings, GIDs and driver", "--peer", Warning, examinePeers},
}

func examineFirmware(x *exam) {
	type card struct{ name, firmware string }
	boards := map[string][]card{}
	untold := 0
	for _, h := range x.cards() {
		switch {
		case h.BoardID == "":
			untold++
		case h.Firmware == "":
			untold++
		default:
			boards[h.BoardID] = append(boards[h.BoardID], card{h.Name, h.Firmware})
		}
	}
	for _, n := range x.Peers {
		for _, h := range n.HCAs {
			if h.BoardID != "" && h.Firmware != "" && len(boards[h.BoardID]) > 0 {
				boards[h.BoardID] = append(boards[h.BoardID], card{h.Name + " of " + n.Hostname, h.Firmware})
			}
		}
	}
	for _, board := range slices.Sorted(maps.Keys(boards)) {
		versions := map[string][]string{}
		for _, c := range boards[board] {
			versions[c.firmware] = append(versions[c.firmware], c.name)
		}
		if len(boards[board]) < 2 {
			continue
		}
		var words []string
		for _, v := range slices.Sorted(maps.Keys(versions)) {
			words = append(words, fmt.Sprintf("%s: %s", v, strings.Join(versions[v], ", ")))
		}
		evidence := x.from(classInfiniband+"/*/fw_ver", strings.Join(words, "; "))
		if len(versions) > 1 {
			x.fail(Info, board, fault{"cards of one kind have different firmware: " + evidence.Value, "an update that did not reach all", "bring all to the newest"}, evidence)
		} else {
			x.pass(board, fmt.Sprintf("%d cards, one firmware", len(boards[board])), evidence)
		}
	}
	if len(x.findings) == 0 && untold > 1 {
		x.unknown("", "firmware and boards are not told")
	}
	x.otherwise("there are no two cards of one kind")
}

func examinePeers(x *exam) {
	if len(x.Peers) == 0 {
		x.notApplicable("no peer was asked: --peer host:port")
		return
	}
	own := Summarize(x.Machine)
	for _, n := range x.Peers {
		differences := Compare(own, n)
		if len(differences) == 0 {
			if len(own.HCAs) == 0 && len(n.HCAs) == 0 && own.NCCL == "" {
				x.unknown(n.Hostname, "neither machine tells anything to compare")
				continue
			}
			x.pass(n.Hostname, "nothing differs that matters")
			continue
		}
		for _, d := range differences {
			x.fail(d.Severity, n.Hostname, fault{
				fmt.Sprintf("%s differs: %s here, %s there", d.What, clipTo(orNone(d.Here), mostShown), clipTo(orNone(d.There), mostShown)), "one of the machines was set up or updated otherwise", d.Fix,
			}, Evidence{"here", d.What + " " + orNone(d.Here)}, Evidence{"peer " + n.Hostname, d.What + " " + orNone(d.There)})
		}
	}
}

// mostShown is how much of a difference fits a screen: the names of twenty devices.
const mostShown = 320

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
