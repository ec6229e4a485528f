package verbs

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// attrDir reads the attributes of one directory and keeps what goes wrong, so that
// the next attribute is read all the same.
type attrDir struct {
	sysfs.Reader
	dir      string
	problems *[]error
}

func (a attrDir) note(err error) {
	if err != nil {
		*a.problems = append(*a.problems, err)
	}
}

func (a attrDir) text(name string) string {
	s, _, err := a.String(path.Join(a.dir, name))
	a.note(err)
	return s
}

func (a attrDir) number(name string) (int, bool) {
	n, ok, err := a.Int(path.Join(a.dir, name))
	a.note(err)
	return n, ok
}

// hex reads a hexadecimal number of at most so many bits.
func (a attrDir) hex(name string, bits int) (uint64, bool) {
	name = path.Join(a.dir, name)
	v, ok, err := a.Hex(name)
	if ok && v>>bits != 0 {
		ok, err = false, fmt.Errorf("%s: %w: 0x%x has more than %d bits", name, sysfs.ErrMalformed, v, bits)
	}
	a.note(err)
	return v, ok
}

// attrValue reads an attribute and parses it. An absent or empty one is the zero
// value of its type, and so is one that does not parse.
func attrValue[T any](a attrDir, name string, parse func(string) (T, error)) T {
	var zero T
	s := a.text(name)
	if s == "" {
		return zero
	}
	v, err := parse(s)
	if err != nil {
		a.note(fmt.Errorf("%s: %w: %w", path.Join(a.dir, name), sysfs.ErrMalformed, err))
		return zero
	}
	return v
}

// parseNumbered reads the number of a text such as "4: ACTIVE". The words are
// the kernel's to choose; the number is the interface.
func parseNumbered(s string) (int, error) {
	number, _, ok := strings.Cut(s, ":")
	n, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q does not start with a small number and a colon, as in 4: ACTIVE", clip(s))
	}
	return int(n), nil
}

func parseNodeType(s string) (NodeType, error) {
	n, err := parseNumbered(s)
	return NodeType(n), err
}

func parsePortState(s string) (PortState, error) {
	n, err := parseNumbered(s)
	return PortState(n), err
}

func parsePhysState(s string) (PhysState, error) {
	n, err := parseNumbered(s)
	return PhysState(n), err
}

// parseLinkLayer reads the kernel's names. It prints Unknown for a link layer
// that is neither of the two, as on EFA, which is the unspecified one here.
func parseLinkLayer(s string) (LinkLayer, error) {
	switch s {
	case "InfiniBand":
		return LinkLayerInfiniBand, nil
	case "Ethernet":
		return LinkLayerEthernet, nil
	case "Unknown", "Unspecified":
		return LinkLayerUnspecified, nil
	}
	return 0, fmt.Errorf("%q is no link layer: want InfiniBand, Ethernet or Unknown", clip(s))
}

// portNumber reads the name of a port's directory. A number is plain decimal and
// fits the 8 bits that verbs have for it.
func portNumber(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 8)
	if err != nil || strconv.FormatUint(n, 10) != s {
		return 0, false
	}
	return int(n), true
}
