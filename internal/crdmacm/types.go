package crdmacm

import (
	"encoding/binary"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// PrivateMost is the most private data that a connection parameter can have.
const PrivateMost = 255

// Sockaddr is a socket address as the kernel has it (struct sockaddr_storage).
type Sockaddr [128]byte

func (s *Sockaddr) family() uint16 { return binary.NativeEndian.Uint16(s[:]) }

// len returns how many bytes of it count, which the kernel checks.
func (s *Sockaddr) len() int {
	switch s.family() {
	case afInet:
		return 16
	case afInet6:
		return 28
	case AF_IB:
		return 48
	}
	return 0
}

// ConnParam is struct rdma_conn_param.
type ConnParam struct {
	PrivateData        []byte
	ResponderResources uint8
	InitiatorDepth     uint8
	FlowControl        bool
	RetryCount         uint8
	RNRRetryCount      uint8
	SRQ                bool
	QPNum              uint32
}

// Event is an event, copied; Ack gives the library its own back.
type Event struct {
	ID, Listener ID
	Type, Status int32
	// Arg is what a user's event carries, and the context of a multicast group.
	Arg uint64
	// Datagram tells that AH and QKey count, rather than what Param has besides
	// private data and the QP number.
	Datagram bool
	Param    ConnParam
	AH       cverbs.AHAttr
	QKey     uint32
	raw      rawEvent
}

// Path is a path record (struct ibv_sa_path_rec), its numbers in host order.
type Path struct {
	DGID, SGID                      [16]byte
	DLID, SLID                      uint16
	RawTraffic, Reversible          bool
	FlowLabel                       uint32
	HopLimit, TrafficClass, NumPath uint8
	PKey                            uint16
	SL                              uint8
	MTU, MTUSelector                uint8
	Rate, RateSelector              uint8
	Lifetime, LifetimeSelector      uint8
	Preference                      uint8
}

// PathDataLen is the length of struct ibv_path_data.
const PathDataLen = 72

// AddrInfo is struct rdma_addrinfo.
type AddrInfo struct {
	Flags, Family, QPType, PortSpace int
	Source, Destination              *Sockaddr
	SourceName, DestinationName      string
	Route, Connect                   []byte
}

// ECE is struct ibv_ece.
type ECE struct{ VendorID, Options, CompMask uint32 }
