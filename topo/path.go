package topo

import (
	"fmt"
	"strconv"
	"strings"
)

// Path is how two devices of a machine reach each other, in the words of
// nvidia-smi. The zero Path is PathUnknown. Paths are not numbers to compare:
// Closer orders them.
type Path int

const (
	PathUnknown Path = iota // nothing is known about it
	LOC                     // the device itself, "X" in a matrix
	PIX                     // one PCIe switch or bridge, or functions of one device
	PXB                     // several switches, no host bridge
	PHB                     // one host bridge
	// PHBOrNODE is one NUMA node, where the source cannot tell whether the host
	// bridge is one too: NCCL's XML has no host bridges.
	PHBOrNODE
	NODE // two host bridges of one NUMA node
	SYS  // two NUMA nodes
)

// nvBase separates the bonded NVLinks from the other paths.
const nvBase Path = 1000

// NV is the path over n bonded NVLinks, "NV18" in a matrix. n is at least 1.
func NV(n int) Path { return nvBase + Path(n) }

// NVLinks returns how many NVLinks the path bonds, and false for every other
// path.
func (p Path) NVLinks() (int, bool) {
	if p <= nvBase {
		return 0, false
	}
	return int(p - nvBase), true
}

var pathNames = [...]string{
	PathUnknown: "?", LOC: "X", PIX: "PIX", PXB: "PXB", PHB: "PHB",
	PHBOrNODE: "PHB/NODE", NODE: "NODE", SYS: "SYS",
}

// String returns the word that nvidia-smi uses: X, NV18, PIX, PXB, PHB, NODE,
// SYS; "?" for PathUnknown and "PHB/NODE" for PHBOrNODE.
func (p Path) String() string {
	if n, ok := p.NVLinks(); ok {
		return "NV" + strconv.Itoa(n)
	}
	if p < 0 || int(p) >= len(pathNames) {
		return "Path(" + strconv.Itoa(int(p)) + ")"
	}
	return pathNames[p]
}

// MarshalText implements encoding.TextMarshaler with the words of String.
func (p Path) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; see ParsePath.
func (p *Path) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePath(string(text))
	return err
}

// ParsePath reads a word as it stands in a matrix of nvidia-smi: the words of
// String, and the SOC of old versions for SYS.
func ParsePath(word string) (Path, error) {
	if digits, ok := strings.CutPrefix(word, "NV"); ok {
		n, err := strconv.ParseUint(digits, 10, 16)
		if err != nil || n == 0 {
			return PathUnknown, fmt.Errorf("path %q: NV needs the number of links, as in NV4", clip(word))
		}
		return NV(int(n)), nil
	}
	if word == "SOC" {
		return SYS, nil
	}
	for p, name := range pathNames {
		if word == name {
			return Path(p), nil
		}
	}
	return PathUnknown, fmt.Errorf("path %q: want X, NV and a number, PIX, PXB, PHB, NODE or SYS", clip(word))
}

// rank orders paths from near to far.
func (p Path) rank() int {
	if n, ok := p.NVLinks(); ok {
		return 2_000_000 - n
	}
	switch p {
	case LOC:
		return 0
	case PathUnknown:
		return 9_000_000
	}
	return 3_000_000 + int(p)
}

// Closer reports whether p is nearer than q. More NVLinks are nearer than fewer,
// and PathUnknown is farther than all.
func (p Path) Closer(q Path) bool { return p.rank() < q.rank() }

// PathFromNVML translates the common ancestor that NVML tells for two GPUs:
// INTERNAL 0, SINGLE 10, MULTIPLE 20, HOSTBRIDGE 30, NODE 40, SYSTEM 50. Two GPUs
// of one board (INTERNAL) are PIX, as in nvidia-smi.
func PathFromNVML(ancestor int) (Path, error) {
	switch ancestor {
	case 0, 10:
		return PIX, nil
	case 20:
		return PXB, nil
	case 30:
		return PHB, nil
	case 40:
		return NODE, nil
	case 50:
		return SYS, nil
	}
	return PathUnknown, fmt.Errorf("NVML topology level %d: want 0, 10, 20, 30, 40 or 50", ancestor)
}

// clip keeps a strange input from filling an error message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
