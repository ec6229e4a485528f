package verbs

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Explain says in words what was chosen and why, and lists every entry of the
// table with what spoke for or against it. It ends without a newline.
func (c GIDChoice) Explain() string {
	on := ""
	if c.Netdev != "" {
		on = " on " + c.Netdev
	}
	return fmt.Sprintf("%s port %d (%s): GID index %d, %s%s: %s\n%s",
		c.Device, c.Port, c.LinkLayer, c.Index, gidText(c.GIDEntry), on, c.Reason,
		gidCandidateTable(c.Candidates))
}

// NoGIDError says that a port has no GID that a connection could use.
type NoGIDError struct {
	Device     string
	Port       int
	LinkLayer  LinkLayer
	Netdev     string // the port's network interface, "" if none is seen
	TableLen   int    // entries in the table, used or not; 0 if that is not known
	Candidates []GIDCandidate
}

// Error says what to do, and shows the GID table if it has entries.
func (e *NoGIDError) Error() string {
	msg := fmt.Sprintf("verbs: no usable GID on %s port %d (%s): %s", e.Device, e.Port, e.LinkLayer, e.remedy())
	switch {
	case len(e.Candidates) > 0:
		return msg + "; its GID table:\n" + gidCandidateTable(e.Candidates)
	case e.TableLen > 0:
		return fmt.Sprintf("%s (none of the %d entries of its GID table is in use)", msg, e.TableLen)
	}
	return msg
}

func (e *NoGIDError) remedy() string {
	switch {
	case len(e.Candidates) == 0 && e.TableLen == 0:
		return fmt.Sprintf("no GID table is seen; make /%s/%s/ports/%d/gids visible (a container may hide it), or take the GIDs of the open device", classInfiniband, e.Device, e.Port)
	case e.LinkLayer != LinkLayerEthernet:
		return "GID index 0 has no GUID; a virtual function needs one from its physical function (ip link set dev PF vf N port_guid GUID), another port a driver that brought it up"
	case e.Netdev == "":
		return "no network interface of this port is seen here, it may be in another network namespace; bring it here, or run there, and give it an IP address"
	}
	return fmt.Sprintf("give its network interface %s an IPv4 or IPv6 address (ip addr add ADDRESS/PREFIX dev %[1]s) and set it up (ip link set dev %[1]s up)", e.Netdev)
}

// GIDIndexProblem says what is wrong with a GID index that was asked for.
type GIDIndexProblem int

// Problems of a GID index.
const (
	GIDIndexOutOfRange GIDIndexProblem = iota + 1 // the table is shorter
	GIDIndexEmpty                                 // nothing stands there
	GIDIndexUnusable                              // the address cannot carry connections
	GIDIndexV1                                    // RoCE v1, and the table has RoCE v2
)

// GIDIndexError says that the GID index asked for cannot be used.
type GIDIndexError struct {
	Device     string
	Port       int
	Index      int
	TableLen   int // entries in the table, 0 if that is not known
	Problem    GIDIndexProblem
	Candidates []GIDCandidate
}

// Error names the index, what is wrong with it, and those that can be used.
func (e *GIDIndexError) Error() string {
	return fmt.Sprintf("verbs: GID index %d of %s port %d %s; %s",
		e.Index, e.Device, e.Port, e.problem(), e.alternatives())
}

func (e *GIDIndexError) problem() string {
	switch e.Problem {
	case GIDIndexOutOfRange:
		if e.TableLen > 0 {
			return fmt.Sprintf("is out of range: the table has 0 to %d", e.TableLen-1)
		}
		return "is out of range"
	case GIDIndexEmpty:
		return "is empty"
	case GIDIndexV1:
		return "is RoCE v1, which reaches one broadcast domain and does not talk to RoCE v2"
	}
	for _, c := range e.Candidates {
		if c.Index == e.Index {
			return fmt.Sprintf("cannot be used: %s: %s", gidText(c.GIDEntry), c.Why)
		}
	}
	return "cannot be used"
}

// alternatives lists the indexes to use instead: RoCE v1 only if there is
// nothing else.
func (e *GIDIndexError) alternatives() string {
	var v1, others []string
	for _, c := range e.Candidates {
		if !c.Usable || c.Index == e.Index {
			continue
		}
		text := fmt.Sprintf("%d (%s)", c.Index, gidText(c.GIDEntry))
		if c.Type == GIDTypeRoCEv1 {
			v1 = append(v1, text)
		} else {
			others = append(others, text)
		}
	}
	if len(others) == 0 {
		others = v1
	}
	if len(others) == 0 {
		return "the table has no other that could be used"
	}
	const most = 8
	more := ""
	if len(others) > most {
		more = fmt.Sprintf(" and %d more", len(others)-most)
		others = others[:most]
	}
	return "use one of: " + strings.Join(others, ", ") + more
}

// gidText is an entry in a few words: "RoCE v2, 10.0.0.1".
func gidText(e GIDEntry) string {
	return e.Type.String() + ", " + gidShort(e)
}

// gidShort prints InfiniBand GIDs in full and RoCE GIDs as the addresses that
// they are.
func gidShort(e GIDEntry) string {
	if e.Type == GIDTypeIB {
		return e.GID.String()
	}
	return e.GID.IP().String()
}

func gidCandidateTable(candidates []GIDCandidate) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  index\ttype\taddress\tnetdev\tverdict")
	for _, c := range candidates {
		verdict := "not taken: "
		switch {
		case c.Taken:
			verdict = "taken: "
		case !c.Usable:
			verdict = "cannot be used: "
		}
		netdev := c.Netdev
		if netdev == "" {
			netdev = "-"
		}
		fmt.Fprintf(w, "  %d\t%s\t%s\t%s\t%s%s\n", c.Index, c.Type, gidShort(c.GIDEntry), netdev, verdict, c.Why)
	}
	w.Flush() // into a strings.Builder, which does not fail
	return strings.TrimRight(b.String(), "\n")
}
