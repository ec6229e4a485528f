package verbs

import (
	"fmt"
	"slices"
)

// GIDChoice is the GID that a port's connections should use, and why.
type GIDChoice struct {
	GIDEntry
	Device    string
	Port      int
	LinkLayer LinkLayer
	Reason    string // one phrase
	// Candidates are all entries of the port's table, by index, each with what
	// spoke for or against it.
	Candidates []GIDCandidate
}

// GIDCandidate is an entry of the GID table as the choice saw it.
type GIDCandidate struct {
	GIDEntry
	Usable bool   // false: no connection can use it
	Taken  bool   // this is the one
	Why    string // one phrase
}

// ChooseGID picks the GID for connections of a port.
//
// On InfiniBand that is index 0, always: packets are routed by LID, or by the
// subnet prefix that all entries share. On RoCE it is the best of these, and of
// equals the one with the lowest index:
//
//  1. RoCE v2 with an IPv4 address (10.0.0.0/8 is as good as any other)
//  2. RoCE v2 with an IPv6 address that is not link-local
//  3. RoCE v2 with a link-local address, which reaches one segment
//  4. RoCE v1, which reaches one broadcast domain
//
// Loopback, unspecified and multicast addresses are never taken. A port where
// nothing is left answers *NoGIDError, which carries the table and says what to
// do. The state of the port plays no part.
func ChooseGID(port PortInfo) (GIDChoice, error) {
	return chooseGID(port, judgeGIDs(port))
}

// ChooseGIDIndex takes the GID that was asked for by index, if it can be used.
// The error is a *GIDIndexError: the index is outside the table or empty, the
// address cannot carry connections, or the entry is RoCE v1 while the table has
// RoCE v2 entries that two peers of today would use.
func ChooseGIDIndex(port PortInfo, index int) (GIDChoice, error) {
	candidates := judgeGIDs(port)
	fail := func(p GIDIndexProblem) (GIDChoice, error) {
		return GIDChoice{}, &GIDIndexError{
			Device: port.Device, Port: port.Number, Index: index,
			TableLen: port.GIDTableLen, Problem: p, Candidates: gidCandidates(candidates),
		}
	}
	if index < 0 || port.GIDTableLen > 0 && index >= port.GIDTableLen {
		return fail(GIDIndexOutOfRange)
	}
	at := slices.IndexFunc(candidates, func(c judgedGID) bool { return c.Index == index })
	if at < 0 {
		return fail(GIDIndexEmpty)
	}
	asked := &candidates[at]
	if !asked.Usable {
		return fail(GIDIndexUnusable)
	}
	if asked.rank == rankV1 {
		if slices.ContainsFunc(candidates, func(c judgedGID) bool { return c.Usable && c.rank < rankV1 }) {
			return fail(GIDIndexV1)
		}
	}
	return takeGID(port, candidates, at, "asked for; "+asked.Why, "another index was asked for"), nil
}

// gidRank orders usable entries; lower is better.
type gidRank int

const (
	rankIB gidRank = iota
	rankV2IPv4
	rankV2IPv6
	rankV2LinkLocal
	rankV1
	rankIBOther
)

func (r gidRank) String() string {
	switch r {
	case rankIB:
		return "index 0, as always on InfiniBand"
	case rankV2IPv4:
		return "RoCE v2 with an IPv4 address"
	case rankV2IPv6:
		return "RoCE v2 with an IPv6 address"
	case rankV2LinkLocal:
		return "RoCE v2 with a link-local address, which reaches one segment"
	case rankV1:
		return "RoCE v1, which reaches one broadcast domain"
	}
	return "not index 0"
}

// judgedGID is a candidate with its rank, which counts only if it is usable.
type judgedGID struct {
	GIDCandidate
	rank gidRank
}

// judgeGIDs looks at each entry by itself. Why holds what it is, or why it cannot be
// used.
func judgeGIDs(port PortInfo) []judgedGID {
	roce := port.roce()
	out := make([]judgedGID, 0, len(port.GIDs))
	for _, e := range port.GIDs {
		c := judgedGID{GIDCandidate: GIDCandidate{GIDEntry: e}}
		if why := unusableGID(e, roce); why != "" {
			c.Why = why
		} else {
			c.Usable, c.rank = true, rankOfGID(e, roce)
			c.Why = c.rank.String()
			if c.rank == rankIB && port.LinkLayer != LinkLayerInfiniBand {
				c.Why = "index 0, as always where the link layer is not Ethernet"
			}
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b judgedGID) int { return a.Index - b.Index })
	return out
}

func unusableGID(e GIDEntry, roce bool) string {
	if e.GID.IsZero() {
		return "empty"
	}
	if !roce {
		if e.GID.InterfaceID().IsZero() {
			return "it has no GUID in its lower half"
		}
		return ""
	}
	ip := e.GID.IP()
	switch {
	case e.Type == GIDTypeUnknown:
		return "its RoCE version is not known"
	case ip.IsLoopback():
		return "a loopback address"
	case ip.IsUnspecified():
		return "the unspecified address"
	case ip.IsMulticast():
		return "a multicast address"
	}
	return ""
}

func rankOfGID(e GIDEntry, roce bool) gidRank {
	switch {
	case !roce && e.Index == 0:
		return rankIB
	case !roce:
		return rankIBOther
	case e.Type != GIDTypeRoCEv2:
		return rankV1
	case e.GID.IsLinkLocal():
		return rankV2LinkLocal
	case e.GID.IP().Is4():
		return rankV2IPv4
	}
	return rankV2IPv6
}

func chooseGID(port PortInfo, candidates []judgedGID) (GIDChoice, error) {
	best := -1
	for i, c := range candidates {
		// The rule for InfiniBand is index 0 or nothing.
		if c.Usable && c.rank != rankIBOther && (best < 0 || c.rank < candidates[best].rank) {
			best = i
		}
	}
	if best < 0 {
		return GIDChoice{}, &NoGIDError{
			Device: port.Device, Port: port.Number, LinkLayer: port.LinkLayer,
			Netdev: port.Netdev, TableLen: port.GIDTableLen, Candidates: gidCandidates(candidates),
		}
	}
	return takeGID(port, candidates, best, candidates[best].Why, ""), nil
}

// takeGID marks one candidate as taken and tells each other usable one why it was
// not: with the reason given, or else by comparison.
func takeGID(port PortInfo, candidates []judgedGID, at int, reason, against string) GIDChoice {
	taken := candidates[at]
	for i := range candidates {
		c := &candidates[i]
		switch {
		case i == at:
			c.Taken = true
		case !c.Usable:
		case against != "":
			c.Why = fmt.Sprintf("%s; %s", c.Why, against)
		case c.rank == taken.rank:
			c.Why = fmt.Sprintf("%s; index %d is as good and lower", c.Why, taken.Index)
		default:
			c.Why = fmt.Sprintf("%s; index %d is better", c.Why, taken.Index)
		}
	}
	return GIDChoice{
		GIDEntry: taken.GIDEntry, Device: port.Device, Port: port.Number,
		LinkLayer: port.LinkLayer, Reason: reason, Candidates: gidCandidates(candidates),
	}
}

func gidCandidates(candidates []judgedGID) []GIDCandidate {
	out := make([]GIDCandidate, len(candidates))
	for i, c := range candidates {
		out[i] = c.GIDCandidate
	}
	return out
}
