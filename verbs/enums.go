package verbs

import (
	"fmt"
	"strconv"
)

// NodeType says what kind of RDMA device it is. The values are those of the
// kernel and of enum ibv_node_type; zero is unknown.
type NodeType int32

// Node types. RNIC is an iWARP adapter; RoCE and InfiniBand adapters are both CA.
const (
	NodeUnknown     NodeType = 0
	NodeCA          NodeType = 1
	NodeSwitch      NodeType = 2
	NodeRouter      NodeType = 3
	NodeRNIC        NodeType = 4
	NodeUSNIC       NodeType = 5
	NodeUSNICUDP    NodeType = 6
	NodeUnspecified NodeType = 7
)

// String names the type as ibv_node_type_str does.
//
// Implements: ibv_node_type_str.
func (t NodeType) String() string {
	switch t {
	case NodeCA:
		return "InfiniBand channel adapter"
	case NodeSwitch:
		return "InfiniBand switch"
	case NodeRouter:
		return "InfiniBand router"
	case NodeRNIC:
		return "iWARP NIC"
	case NodeUSNIC:
		return "usNIC"
	case NodeUSNICUDP:
		return "usNIC UDP"
	case NodeUnspecified:
		return "unspecified"
	}
	return "unknown"
}

// PortState is the logical state of a port. Only an active port carries data.
// The values are those of enum ibv_port_state; zero stands for a state that the
// kernel did not give.
type PortState uint32

// Port states.
const (
	PortNop         PortState = 0
	PortDown        PortState = 1
	PortInit        PortState = 2 // the link is up, a subnet manager has not configured it
	PortArmed       PortState = 3
	PortActive      PortState = 4
	PortActiveDefer PortState = 5
)

// String names the state as ibv_devinfo prints it: PORT_ACTIVE.
func (s PortState) String() string {
	switch s {
	case PortDown:
		return "PORT_DOWN"
	case PortInit:
		return "PORT_INIT"
	case PortArmed:
		return "PORT_ARMED"
	case PortActive:
		return "PORT_ACTIVE"
	}
	return "invalid state"
}

// Description names the state in plain words, as ibv_port_state_str does:
// "active".
//
// Implements: ibv_port_state_str.
func (s PortState) Description() string {
	switch s {
	case PortNop:
		return "no state change (NOP)"
	case PortDown:
		return "down"
	case PortInit:
		return "init"
	case PortArmed:
		return "armed"
	case PortActive:
		return "active"
	case PortActiveDefer:
		return "active defer"
	}
	return "unknown"
}

// PhysState is the physical state of a port. The values are those of the
// InfiniBand specification's PortPhysicalState; zero stands for a state that
// the kernel did not give.
type PhysState uint8

// Physical states.
const (
	PhysUnknown           PhysState = 0
	PhysSleep             PhysState = 1
	PhysPolling           PhysState = 2 // looking for the far end
	PhysDisabled          PhysState = 3
	PhysTraining          PhysState = 4
	PhysLinkUp            PhysState = 5
	PhysLinkErrorRecovery PhysState = 6
	PhysTest              PhysState = 7
)

// String names the state as ibv_devinfo prints it, its spelling of the training
// state included, so that scripts that match that output match this too.
func (s PhysState) String() string {
	switch s {
	case PhysSleep:
		return "SLEEP"
	case PhysPolling:
		return "POLLING"
	case PhysDisabled:
		return "DISABLED"
	case PhysTraining:
		return "PORT_CONFIGURATION TRAINNING"
	case PhysLinkUp:
		return "LINK_UP"
	case PhysLinkErrorRecovery:
		return "LINK_ERROR_RECOVERY"
	case PhysTest:
		return "PHY TEST"
	}
	return "invalid physical state"
}

// LinkLayer tells InfiniBand ports from RoCE ports. The values are those of
// libibverbs; zero is a link layer that is neither, or was not given.
type LinkLayer uint8

// Link layers.
const (
	LinkLayerUnspecified LinkLayer = 0
	LinkLayerInfiniBand  LinkLayer = 1
	LinkLayerEthernet    LinkLayer = 2
)

// String names the link layer. An unspecified one is "Unspecified", where
// ibv_devinfo prints InfiniBand for it.
func (l LinkLayer) String() string {
	switch l {
	case LinkLayerUnspecified:
		return "Unspecified"
	case LinkLayerInfiniBand:
		return "InfiniBand"
	case LinkLayerEthernet:
		return "Ethernet"
	}
	return "Unknown"
}

// GIDType says how a GID's packets travel. The values are those of enum
// ibv_gid_type.
type GIDType int32

// GID types. On an Ethernet port RoCE v1 stays within one broadcast domain;
// RoCE v2 travels in UDP and can be routed.
const (
	GIDTypeUnknown GIDType = -1 // the kernel did not say
	GIDTypeIB      GIDType = 0
	GIDTypeRoCEv1  GIDType = 1
	GIDTypeRoCEv2  GIDType = 2
)

// String names the type as ibv_devinfo prints it.
func (t GIDType) String() string {
	switch t {
	case GIDTypeIB:
		return "IB"
	case GIDTypeRoCEv1:
		return "RoCE v1"
	case GIDTypeRoCEv2:
		return "RoCE v2"
	case GIDTypeUnknown:
		return "unknown"
	}
	return "Invalid gid type"
}

// MTU is the largest payload of one packet, as an enumeration. The values are
// those of enum ibv_mtu; zero is no MTU.
type MTU uint32

// MTUs.
const (
	MTU256  MTU = 1
	MTU512  MTU = 2
	MTU1024 MTU = 3
	MTU2048 MTU = 4
	MTU4096 MTU = 5
)

// MTUFromBytes returns the MTU of so many bytes: 256, 512, 1024, 2048 or 4096.
// Any other number is an error.
func MTUFromBytes(n int) (MTU, error) {
	for m := MTU256; m <= MTU4096; m++ {
		if m.Bytes() == n {
			return m, nil
		}
	}
	return 0, fmt.Errorf("verbs: %d is not an RDMA MTU: take 256, 512, 1024, 2048 or 4096 bytes", n)
}

// Bytes returns the MTU in bytes, and 0 for a value that is no MTU.
func (m MTU) Bytes() int {
	if m < MTU256 || m > MTU4096 {
		return 0
	}
	return 128 << m
}

// String returns the number of bytes, as ibv_devinfo prints it: "4096".
func (m MTU) String() string {
	if n := m.Bytes(); n != 0 {
		return strconv.Itoa(n)
	}
	return "invalid MTU"
}
