package verbs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// FlowSpec is a part of a rule. Of those that match, Val is what a packet must
// have in the bits that Mask names; Inner is about the packet within a tunnel.
// Numbers are as people write them, not in network order.
type FlowSpec interface {
	spec() ([]byte, error) // as the library's header lays it out
}

// FlowEth matches an Ethernet header.
type FlowEth struct {
	Val, Mask EthFields
	Inner     bool
}

// EthFields are fields of an Ethernet header.
type EthFields struct {
	Dst, Src  [6]byte
	EtherType uint16
	VLANTag   uint16 // priority 3 bits, CFI 1, VLAN 12
}

// FlowIPv4 matches an IPv4 header. The zero Addr is 0.0.0.0.
type FlowIPv4 struct {
	Val, Mask IPv4Fields
	Inner     bool
}

// IPv4Fields are fields of an IPv4 header.
type IPv4Fields struct{ Src, Dst netip.Addr }

// FlowIPv4Ext matches more of an IPv4 header.
type FlowIPv4Ext struct {
	Val, Mask IPv4ExtFields
	Inner     bool
}

// IPv4ExtFields are fields of an IPv4 header.
type IPv4ExtFields struct {
	IPv4Fields
	Protocol, TOS, TTL, Flags uint8
}

// FlowIPv6 matches an IPv6 header. The zero Addr is ::.
type FlowIPv6 struct {
	Val, Mask IPv6Fields
	Inner     bool
}

// IPv6Fields are fields of an IPv6 header.
type IPv6Fields struct {
	Src, Dst                           netip.Addr
	FlowLabel                          uint32 // 20 bits
	NextHeader, TrafficClass, HopLimit uint8
}

// FlowTCP matches a TCP header.
type FlowTCP struct {
	Val, Mask PortFields
	Inner     bool
}

// FlowUDP matches a UDP header.
type FlowUDP struct {
	Val, Mask PortFields
	Inner     bool
}

// PortFields are the ports of a TCP or UDP header.
type PortFields struct{ Dst, Src uint16 }

// FlowESP matches an IPsec ESP header.
type FlowESP struct {
	Val, Mask ESPFields
	Inner     bool
}

// ESPFields are fields of an ESP header.
type ESPFields struct{ SPI, Seq uint32 }

// FlowVXLAN matches the network identifier of a VXLAN tunnel, 24 bits.
type FlowVXLAN struct{ Val, Mask uint32 }

// FlowGRE matches a GRE header.
type FlowGRE struct{ Val, Mask GREFields }

// GREFields are fields of a GRE header.
type GREFields struct {
	Flags    uint16 // its first 16 bits
	Protocol uint16
	Key      uint32
}

// FlowMPLS matches an MPLS label with what stands beside it, 32 bits.
type FlowMPLS struct {
	Val, Mask uint32
	Inner     bool
}

// FlowTag puts a tag into the completions of what the rule takes
// (CompletionEx.FlowTag).
type FlowTag struct{ ID uint32 }

// FlowDrop drops what the rule takes.
type FlowDrop struct{}

// match lays out a specification that has a value and a mask, which begin
// behind a header of 4 bytes type and 2 bytes length, each aligned as C does.
func match(kind uint32, inner bool, align int, val, mask []byte) ([]byte, error) {
	if inner {
		kind |= cverbs.IBV_FLOW_SPEC_INNER
	}
	const head = 6
	b := make([]byte, (head+align-1)/align*align)
	b = append(append(b, val...), mask...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return headed(kind, b), nil
}

func headed(kind uint32, b []byte) []byte {
	binary.NativeEndian.PutUint32(b, kind)
	binary.NativeEndian.PutUint16(b[4:], uint16(len(b)))
	return b
}

func (f *EthFields) raw() []byte {
	b := append(append([]byte{}, f.Dst[:]...), f.Src[:]...)
	b = binary.BigEndian.AppendUint16(b, f.EtherType)
	return binary.BigEndian.AppendUint16(b, f.VLANTag)
}

func (f FlowEth) spec() ([]byte, error) {
	return match(cverbs.IBV_FLOW_SPEC_ETH, f.Inner, 2, f.Val.raw(), f.Mask.raw())
}

func appendIPv4(b []byte, addrs ...netip.Addr) ([]byte, error) {
	for _, a := range addrs {
		var ip [4]byte
		if a.IsValid() {
			if a = a.Unmap(); !a.Is4() {
				return nil, fmt.Errorf("%v is no IPv4 address", a)
			}
			ip = a.As4()
		}
		b = append(b, ip[:]...)
	}
	return b, nil
}

func (f FlowIPv4) spec() ([]byte, error) {
	val, err := appendIPv4(nil, f.Val.Src, f.Val.Dst)
	mask, merr := appendIPv4(nil, f.Mask.Src, f.Mask.Dst)
	if err := errors.Join(err, merr); err != nil {
		return nil, err
	}
	return match(cverbs.IBV_FLOW_SPEC_IPV4, f.Inner, 4, val, mask)
}

func (f *IPv4ExtFields) raw() ([]byte, error) {
	b, err := appendIPv4(nil, f.Src, f.Dst)
	return append(b, f.Protocol, f.TOS, f.TTL, f.Flags), err
}

func (f FlowIPv4Ext) spec() ([]byte, error) {
	val, err := f.Val.raw()
	mask, merr := f.Mask.raw()
	if err := errors.Join(err, merr); err != nil {
		return nil, err
	}
	return match(cverbs.IBV_FLOW_SPEC_IPV4_EXT, f.Inner, 4, val, mask)
}

func (f *IPv6Fields) raw() ([]byte, error) {
	var b []byte
	for _, a := range []netip.Addr{f.Src, f.Dst} {
		var ip [16]byte
		if a.IsValid() {
			if !a.Is6() {
				return nil, fmt.Errorf("%v is no IPv6 address", a)
			}
			ip = a.As16()
		}
		b = append(b, ip[:]...)
	}
	b = binary.BigEndian.AppendUint32(b, f.FlowLabel)
	return append(b, f.NextHeader, f.TrafficClass, f.HopLimit, 0), nil
}

func (f FlowIPv6) spec() ([]byte, error) {
	const most = 1<<20 - 1
	if f.Val.FlowLabel > most || f.Mask.FlowLabel > most {
		return nil, fmt.Errorf("flow label 0x%x with mask 0x%x: it has 20 bits", f.Val.FlowLabel, f.Mask.FlowLabel)
	}
	val, err := f.Val.raw()
	mask, merr := f.Mask.raw()
	if err := errors.Join(err, merr); err != nil {
		return nil, err
	}
	return match(cverbs.IBV_FLOW_SPEC_IPV6, f.Inner, 4, val, mask)
}

func (f *PortFields) raw() []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, f.Dst), f.Src)
}

func (f FlowTCP) spec() ([]byte, error) {
	return match(cverbs.IBV_FLOW_SPEC_TCP, f.Inner, 2, f.Val.raw(), f.Mask.raw())
}

func (f FlowUDP) spec() ([]byte, error) {
	return match(cverbs.IBV_FLOW_SPEC_UDP, f.Inner, 2, f.Val.raw(), f.Mask.raw())
}

func (f *ESPFields) raw() []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, f.SPI), f.Seq)
}

func (f FlowESP) spec() ([]byte, error) {
	return match(cverbs.IBV_FLOW_SPEC_ESP, f.Inner, 4, f.Val.raw(), f.Mask.raw())
}

func (f FlowVXLAN) spec() ([]byte, error) {
	const most = 1<<24 - 1
	if f.Val > most || f.Mask > most {
		return nil, fmt.Errorf("VXLAN identifier 0x%x with mask 0x%x: it has 24 bits", f.Val, f.Mask)
	}
	return match(cverbs.IBV_FLOW_SPEC_VXLAN_TUNNEL, false, 4, binary.BigEndian.AppendUint32(nil, f.Val),
		binary.BigEndian.AppendUint32(nil, f.Mask))
}

func (f *GREFields) raw() []byte {
	b := binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, f.Flags), f.Protocol)
	return binary.BigEndian.AppendUint32(b, f.Key)
}

func (f FlowGRE) spec() ([]byte, error) {
	return match(cverbs.IBV_FLOW_SPEC_GRE, false, 4, f.Val.raw(), f.Mask.raw())
}

func (f FlowMPLS) spec() ([]byte, error) {
	return match(cverbs.IBV_FLOW_SPEC_MPLS, f.Inner, 4, binary.BigEndian.AppendUint32(nil, f.Val),
		binary.BigEndian.AppendUint32(nil, f.Mask))
}

func (f FlowTag) spec() ([]byte, error) {
	b := binary.NativeEndian.AppendUint32(make([]byte, 8), f.ID)
	return headed(cverbs.IBV_FLOW_SPEC_ACTION_TAG, b), nil
}

func (FlowDrop) spec() ([]byte, error) {
	return headed(cverbs.IBV_FLOW_SPEC_ACTION_DROP, make([]byte, 8)), nil
}
