package rdmacm

import (
	"encoding/binary"
	"fmt"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs"
)

// Path is a way through the fabric, as the subnet administrator describes it
// (struct ibv_sa_path_rec). On RoCE the kernel makes one up.
type Path struct {
	Source, Destination       verbs.GID
	SourceLID, DestinationLID uint16
	RawTraffic, Reversible    bool
	FlowLabel                 uint32 // 20 bits
	HopLimit, TrafficClass    uint8
	PKey                      uint16
	ServiceLevel              uint8
	MTU                       verbs.MTU
	// Rate is the code of the specification, of which 2 is 2.5 Gbit/s.
	Rate uint8
	// Lifetime is how long a packet may be under way: 4.096 µs times
	// 2^Lifetime.
	Lifetime   uint8
	Preference uint8
}

// Paths returns the paths of the route that ResolveRoute found, or that came with
// a request; the first is the one in use.
func (id *ID) Paths() []Path {
	if id.obj.Use() != nil {
		return nil
	}
	defer id.obj.Done()
	var list []Path
	for _, p := range id.raw.Paths() {
		list = append(list, Path{
			Source: p.SGID, Destination: p.DGID, SourceLID: p.SLID, DestinationLID: p.DLID,
			RawTraffic: p.RawTraffic, Reversible: p.Reversible, FlowLabel: p.FlowLabel, HopLimit: p.HopLimit,
			TrafficClass: p.TrafficClass, PKey: p.PKey, ServiceLevel: p.SL, MTU: verbs.MTU(p.MTU),
			Rate: p.Rate, Lifetime: p.Lifetime, Preference: p.Preference,
		})
	}
	return list
}

// SetPaths gives the id a route in place of ResolveRoute: the first path, and
// perhaps an alternate one. The program knows it from the subnet administrator.
// It needs an InfiniBand port.
//
// Implements: rdma_set_option.
func (id *ID) SetPaths(paths ...Path) error {
	const op = "set route to"
	if len(paths) < 1 || len(paths) > 2 {
		return id.err(op, fmt.Errorf("%d paths: it takes one, or two with an alternate one", len(paths)))
	}
	var value []byte
	for i, p := range paths {
		flags := uint32(crdmacm.IBV_PATH_FLAG_OUTBOUND | crdmacm.IBV_PATH_FLAG_INBOUND_REVERSE)
		if i == 0 {
			flags |= crdmacm.IBV_PATH_FLAG_GMP | crdmacm.IBV_PATH_FLAG_PRIMARY
		} else {
			flags |= crdmacm.IBV_PATH_FLAG_ALTERNATE
		}
		value = p.append(value, flags)
	}
	return id.call(op, func(raw crdmacm.ID) error {
		return raw.SetOption(crdmacm.RDMA_OPTION_IB, crdmacm.RDMA_OPTION_IB_PATH, value)
	})
}

// append adds the path as the kernel takes it (struct ibv_path_data).
func (p Path) append(b []byte, flags uint32) []byte {
	// Selector 2 of MTU, rate and lifetime is "exactly".
	const exactly = 2 << 6
	b = binary.NativeEndian.AppendUint32(b, flags)
	b = append(b, 0, 0, 0, 0)
	b = append(b, make([]byte, 8)...) // service id: the kernel's
	b = append(b, p.Destination[:]...)
	b = append(b, p.Source[:]...)
	b = binary.BigEndian.AppendUint16(b, p.DestinationLID)
	b = binary.BigEndian.AppendUint16(b, p.SourceLID)
	b = binary.BigEndian.AppendUint32(b, p.FlowLabel<<8|uint32(p.HopLimit))
	reversible := byte(1) // one path
	if p.Reversible {
		reversible |= 0x80
	}
	b = append(b, p.TrafficClass, reversible)
	b = binary.BigEndian.AppendUint16(b, p.PKey)
	b = binary.BigEndian.AppendUint16(b, uint16(p.ServiceLevel&0xf))
	b = append(b, exactly|byte(p.MTU), exactly|p.Rate&0x3f, exactly|p.Lifetime&0x3f, p.Preference)
	return append(b, make([]byte, crdmacm.PathDataLen-len(b)%crdmacm.PathDataLen)...)
}
