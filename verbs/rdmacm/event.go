package rdmacm

import (
	"fmt"
	"syscall"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/verbs"
)

// EventType is what happened to an id (enum rdma_cm_event_type).
type EventType int32

// Events of the connection manager. The last comes with rdma-core 60.
const (
	EventAddrResolved    EventType = crdmacm.RDMA_CM_EVENT_ADDR_RESOLVED
	EventAddrError       EventType = crdmacm.RDMA_CM_EVENT_ADDR_ERROR
	EventRouteResolved   EventType = crdmacm.RDMA_CM_EVENT_ROUTE_RESOLVED
	EventRouteError      EventType = crdmacm.RDMA_CM_EVENT_ROUTE_ERROR
	EventConnectRequest  EventType = crdmacm.RDMA_CM_EVENT_CONNECT_REQUEST
	EventConnectResponse EventType = crdmacm.RDMA_CM_EVENT_CONNECT_RESPONSE
	EventConnectError    EventType = crdmacm.RDMA_CM_EVENT_CONNECT_ERROR
	EventUnreachable     EventType = crdmacm.RDMA_CM_EVENT_UNREACHABLE
	EventRejected        EventType = crdmacm.RDMA_CM_EVENT_REJECTED
	EventEstablished     EventType = crdmacm.RDMA_CM_EVENT_ESTABLISHED
	EventDisconnected    EventType = crdmacm.RDMA_CM_EVENT_DISCONNECTED
	EventDeviceRemoval   EventType = crdmacm.RDMA_CM_EVENT_DEVICE_REMOVAL
	EventMulticastJoin   EventType = crdmacm.RDMA_CM_EVENT_MULTICAST_JOIN
	EventMulticastError  EventType = crdmacm.RDMA_CM_EVENT_MULTICAST_ERROR
	EventAddrChange      EventType = crdmacm.RDMA_CM_EVENT_ADDR_CHANGE
	EventTimewaitExit    EventType = crdmacm.RDMA_CM_EVENT_TIMEWAIT_EXIT
	EventUser            EventType = crdmacm.EventUser
)

var eventNames = map[EventType]string{
	EventAddrResolved: "address resolved", EventAddrError: "address error",
	EventRouteResolved: "route resolved", EventRouteError: "route error",
	EventConnectRequest: "connect request", EventConnectResponse: "connect response",
	EventConnectError: "connect error", EventUnreachable: "unreachable", EventRejected: "rejected",
	EventEstablished: "established", EventDisconnected: "disconnected", EventDeviceRemoval: "device removal",
	EventMulticastJoin: "multicast join", EventMulticastError: "multicast error",
	EventAddrChange: "address change", EventTimewaitExit: "timewait exit",
	EventUser: "user event",
}

// String names the event.
func (t EventType) String() string {
	if name, ok := eventNames[t]; ok {
		return name
	}
	return fmt.Sprintf("event %d", int32(t))
}

// LibraryString names the event as librdmacm does: RDMA_CM_EVENT_ESTABLISHED. It
// fails with ErrLibraryNotFound where librdmacm is not installed.
//
// Implements: rdma_event_str.
func (t EventType) LibraryString() (string, error) { return crdmacm.EventString(int32(t)) }

// Event is something that happened to an id. It is a plain value: it was
// acknowledged before it got here.
type Event struct {
	Type EventType
	// Status is 0, a negative errno, or the reason of a rejection.
	Status int
	// Data is the peer's private data, padded.
	Data PrivateData
	// QPN is the peer's queue pair, where the event tells.
	QPN uint32
	// ResponderResources and InitiatorDepth are how many RDMA reads and atomics
	// this end may have to serve, and may have under way.
	ResponderResources, InitiatorDepth uint8
	// SRQ tells that the peer's queue pair has a shared receive queue.
	SRQ bool
	// AV and QKey lead to the peer of a datagram service, or to a multicast
	// group.
	AV   verbs.AddressVector
	QKey uint32
	// Arg is what WriteEvent was given.
	Arg uint64
}

func eventOf(raw *crdmacm.Event) Event {
	ev := Event{
		Type: EventType(raw.Type), Status: int(raw.Status), Data: PrivateData(raw.Param.PrivateData),
		QPN: raw.Param.QPNum, ResponderResources: raw.Param.ResponderResources,
		InitiatorDepth: raw.Param.InitiatorDepth, SRQ: raw.Param.SRQ, Arg: raw.Arg,
	}
	if raw.Datagram {
		ev.AV, ev.QKey = addressVector(&raw.AH), raw.QKey
	}
	return ev
}

// Err returns what an event that tells of a failure means, and nil for others.
func (ev Event) Err() error {
	switch ev.Type {
	case EventRejected:
		return &RejectError{Reason: RejectReason(ev.Status), Data: ev.Data}
	case EventAddrError, EventRouteError, EventConnectError, EventUnreachable, EventDisconnected,
		EventDeviceRemoval, EventMulticastError:
	default:
		if ev.Status == 0 {
			return nil
		}
	}
	e := &EventError{Event: ev.Type}
	if ev.Status < 0 {
		e.Errno = syscall.Errno(-ev.Status)
	}
	if ev.Type == EventAddrError && ev.Status == -1 {
		// It is not EPERM: the library says so when it cannot open the device.
		e.Errno = syscall.ENODEV
	}
	return e
}
