package rdmacm

import (
	"encoding/binary"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// sockaddr returns the address as the kernel has it.
func (a Addr) sockaddr() (*crdmacm.Sockaddr, error) {
	if a.IP.IsValid() {
		return crdmacm.SockaddrOf(a.IP)
	}
	var s crdmacm.Sockaddr
	pkey := a.IB.PKey
	if pkey == 0 {
		pkey = 0xffff
	}
	binary.NativeEndian.PutUint16(s[:], crdmacm.AF_IB)
	binary.BigEndian.PutUint16(s[2:], pkey)
	copy(s[8:], a.IB.GID[:])
	binary.BigEndian.PutUint64(s[24:], a.IB.ServiceID)
	binary.BigEndian.PutUint64(s[32:], ^uint64(0))
	return &s, nil
}

// addrOf reads an address that the kernel has; the zero Addr if it is none.
func addrOf(s *crdmacm.Sockaddr) Addr {
	if binary.NativeEndian.Uint16(s[:]) == crdmacm.AF_IB {
		return Addr{IB: IBAddr{
			GID: [16]byte(s[8:24]), PKey: binary.BigEndian.Uint16(s[2:]), ServiceID: binary.BigEndian.Uint64(s[24:]),
		}}
	}
	return Addr{IP: s.AddrPort()}
}
