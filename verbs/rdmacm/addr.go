package rdmacm

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs"
)

// Addr is an address that the connection manager knows: an IP address and port
// of an interface that belongs to an RDMA device, or a native InfiniBand
// address. It implements net.Addr.
type Addr struct {
	// IP is the address and port. A link-local IPv6 address needs its zone. If
	// it is not valid, IB counts.
	IP netip.AddrPort
	IB IBAddr
}

// IBAddr is a native InfiniBand address (AF_IB): no IP address is needed.
type IBAddr struct {
	GID verbs.GID
	// PKey is the partition; zero is the default one, 0xffff.
	PKey uint16
	// ServiceID says what is spoken to. IBPort makes one from a port number.
	ServiceID uint64
}

// IBPort returns the service id of a port number in the port space of RC
// connections.
func IBPort(port uint16) uint64 { return crdmacm.RDMA_IB_IP_PS_TCP | uint64(port) }

// ibTag begins the text of a native InfiniBand address.
const ibTag = "ib:"

// Network returns "rdma".
func (a Addr) Network() string { return "rdma" }

// String returns the text that ParseAddr reads: "10.0.0.1:7471",
// "[fe80::1%eth0]:7471", or "ib:[fe80:…:0001]:7471".
func (a Addr) String() string {
	if a.IP.IsValid() {
		return a.IP.String()
	}
	sid := fmt.Sprintf("0x%x", a.IB.ServiceID)
	if a.IB.ServiceID&^0xffff == crdmacm.RDMA_IB_IP_PS_TCP {
		sid = strconv.Itoa(int(a.IB.ServiceID & 0xffff))
	}
	text := fmt.Sprintf("%s[%v]:%s", ibTag, a.IB.GID, sid)
	if a.IB.PKey != 0 {
		text += fmt.Sprintf("/0x%04x", a.IB.PKey)
	}
	return text
}

// MarshalText returns the same text as String.
func (a Addr) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the text that MarshalText writes.
func (a *Addr) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAddr(string(text))
	return err
}

// ParseAddr reads an address: "IPv4:PORT", "[IPv6%ZONE]:PORT", or
// "ib:[GID]:SERVICE" with an optional "/PKEY", where SERVICE is a port number or
// a service id of 64 bits with 0x in front, and PKEY is a number too. Numbers are
// decimal unless 0x is in front. Names are not looked up.
func ParseAddr(s string) (Addr, error) {
	rest, ok := strings.CutPrefix(s, ibTag)
	if !ok {
		ip, err := netip.ParseAddrPort(s)
		if err != nil {
			return Addr{}, fmt.Errorf("rdmacm: %q is not an address: want IP:PORT, [IPv6%%ZONE]:PORT or ib:[GID]:PORT", clip(s))
		}
		return Addr{IP: ip}, nil
	}
	ib, err := parseIB(rest)
	if err != nil {
		return Addr{}, fmt.Errorf("rdmacm: %q is not an InfiniBand address: %w", clip(s), err)
	}
	return Addr{IB: ib}, nil
}

func parseIB(s string) (a IBAddr, err error) {
	s, pkey, given := strings.Cut(s, "/")
	if given {
		n, err := parseNumber(pkey, 16)
		if err != nil || n == 0 {
			return a, fmt.Errorf("%q is no partition key: want 0x0001 to 0xffff", clip(pkey))
		}
		a.PKey = uint16(n)
	}
	gid, sid, ok := strings.Cut(s, "]:")
	if gid, ok = cutFront(gid, "[", ok); !ok {
		return a, fmt.Errorf("want ib:[GID]:PORT")
	}
	if a.GID, err = verbs.ParseGID(gid); err != nil {
		return a, err
	}
	n, err := parseNumber(sid, 64)
	switch {
	case err != nil:
		return a, fmt.Errorf("%q is neither a port nor a service id with 0x", clip(sid))
	case strings.HasPrefix(sid, "0x"):
		a.ServiceID = n
	case n > 0xffff:
		return a, fmt.Errorf("port %d has more than 16 bits", n)
	default:
		a.ServiceID = IBPort(uint16(n))
	}
	return a, nil
}

// parseNumber reads a decimal number, or a hexadecimal one with 0x in front.
func parseNumber(s string, bits int) (uint64, error) {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return strconv.ParseUint(hex, 16, bits)
	}
	return strconv.ParseUint(s, 10, bits)
}

func cutFront(s, prefix string, ok bool) (string, bool) {
	rest, found := strings.CutPrefix(s, prefix)
	return rest, ok && found
}

// clip keeps a text that came from outside to a length that an error can hold.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
