package verbs

import (
	"fmt"

	"github.com/gofabric/gofabric/internal/cverbs"
)

// EventType is the kind of an asynchronous event (enum ibv_event_type).
type EventType int32

// Asynchronous events, as ibv_get_async_event(3) has them.
const (
	EventCQError          EventType = cverbs.IBV_EVENT_CQ_ERR              // CQ: it overflowed; it is lost
	EventQPFatal          EventType = cverbs.IBV_EVENT_QP_FATAL            // QP: it went to the error state
	EventQPRequestError   EventType = cverbs.IBV_EVENT_QP_REQ_ERR          // QP: the peer sent what is invalid
	EventQPAccessError    EventType = cverbs.IBV_EVENT_QP_ACCESS_ERR       // QP: the peer touched what it may not
	EventCommEstablished  EventType = cverbs.IBV_EVENT_COMM_EST            // QP: it received in RTR
	EventSQDrained        EventType = cverbs.IBV_EVENT_SQ_DRAINED          // QP: nothing is under way in SQD
	EventPathMigrated     EventType = cverbs.IBV_EVENT_PATH_MIG            // QP
	EventPathMigrateError EventType = cverbs.IBV_EVENT_PATH_MIG_ERR        // QP
	EventDeviceFatal      EventType = cverbs.IBV_EVENT_DEVICE_FATAL        // the device is gone; nothing follows
	EventPortActive       EventType = cverbs.IBV_EVENT_PORT_ACTIVE         // port
	EventPortError        EventType = cverbs.IBV_EVENT_PORT_ERR            // port: it is down
	EventLIDChange        EventType = cverbs.IBV_EVENT_LID_CHANGE          // port
	EventPKeyChange       EventType = cverbs.IBV_EVENT_PKEY_CHANGE         // port
	EventSMChange         EventType = cverbs.IBV_EVENT_SM_CHANGE           // port
	EventSRQError         EventType = cverbs.IBV_EVENT_SRQ_ERR             // SRQ
	EventSRQLimit         EventType = cverbs.IBV_EVENT_SRQ_LIMIT_REACHED   // SRQ: fewer receives than its limit
	EventLastWQE          EventType = cverbs.IBV_EVENT_QP_LAST_WQE_REACHED // QP: it takes no more from its SRQ
	EventClientReregister EventType = cverbs.IBV_EVENT_CLIENT_REREGISTER   // port
	EventGIDChange        EventType = cverbs.IBV_EVENT_GID_CHANGE          // port
	EventWQFatal          EventType = cverbs.IBV_EVENT_WQ_FATAL            // a work queue
)

var eventNames = map[EventType]string{
	EventCQError:          "CQ error",
	EventQPFatal:          "local work queue catastrophic error",
	EventQPRequestError:   "invalid request local work queue error",
	EventQPAccessError:    "local access violation work queue error",
	EventCommEstablished:  "communication established",
	EventSQDrained:        "send queue drained",
	EventPathMigrated:     "path migrated",
	EventPathMigrateError: "path migration request error",
	EventDeviceFatal:      "local catastrophic error",
	EventPortActive:       "port active",
	EventPortError:        "port error",
	EventLIDChange:        "LID change",
	EventPKeyChange:       "P_Key change",
	EventSMChange:         "SM change",
	EventSRQError:         "SRQ catastrophic error",
	EventSRQLimit:         "SRQ limit reached",
	EventLastWQE:          "last WQE reached",
	EventClientReregister: "client reregistration",
	EventGIDChange:        "GID table change",
	EventWQFatal:          "WQ fatal",
}

// String names the kind as ibv_event_type_str does.
//
// Implements: ibv_event_type_str.
func (t EventType) String() string {
	if name, ok := eventNames[t]; ok {
		return name
	}
	return fmt.Sprintf("event type %d", int32(t))
}

// concerns names the member of struct ibv_async_event's union that counts.
type concern int

const (
	concernsPort concern = iota
	concernsQP
	concernsCQ
	concernsSRQ
	concernsOther
)

func (t EventType) concerns() concern {
	switch t {
	case EventCQError:
		return concernsCQ
	case EventQPFatal, EventQPRequestError, EventQPAccessError, EventCommEstablished, EventSQDrained,
		EventPathMigrated, EventPathMigrateError, EventLastWQE:
		return concernsQP
	case EventSRQError, EventSRQLimit:
		return concernsSRQ
	case EventPortActive, EventPortError, EventLIDChange, EventPKeyChange, EventSMChange,
		EventClientReregister, EventGIDChange:
		return concernsPort
	}
	return concernsOther
}

// Event is something that happened to an object or to the device. It is a plain
// value: it was acknowledged before it got here.
type Event struct {
	Type EventType
	// One of these says what the event is about; the others are nil and zero.
	// An object can have been closed since.
	QP   *QP
	CQ   *CQ
	SRQ  *SRQ
	Port int // from 1
	// Lost is how many events came before this one that its queue had no room
	// for.
	Lost int
}

// String says what happened to what.
func (e Event) String() string {
	about := "device"
	switch {
	case e.QP != nil:
		about = fmt.Sprintf("QP 0x%06x", e.QP.num)
	case e.CQ != nil:
		about = "CQ"
	case e.SRQ != nil:
		about = "SRQ"
	case e.Port != 0:
		about = fmt.Sprintf("port %d", e.Port)
	}
	return fmt.Sprintf("%v: %v", about, e.Type)
}
