package nvml

// Event is something that happened to a GPU. Absent values are nil.
type Event struct {
	// GPU is its UUID; empty for an event of a GPU that has gone.
	GPU  string    `json:"gpu,omitempty"`
	Kind EventKind `json:"kind"` // one bit
	// XID is the driver's error number of an EventXID, as its documentation
	// and the kernel log have it: 79 is "the GPU has fallen off the bus".
	XID *uint64 `json:"xid,omitempty"`
	// The MIG device of an EventXID that concerns one.
	GPUInstance     *int `json:"gpu_instance,omitempty"`
	ComputeInstance *int `json:"compute_instance,omitempty"`
}

// EventKind is a set of kinds of events.
type EventKind uint64

// NVML's kinds.
const (
	EventSingleBitECC      EventKind = 1 << 0
	EventDoubleBitECC      EventKind = 1 << 1
	EventPerformanceState  EventKind = 1 << 2
	EventXID               EventKind = 1 << 3 // an error that the driver logs as "Xid"
	EventClock             EventKind = 1 << 4
	EventPowerSource       EventKind = 1 << 7
	EventMIGConfig         EventKind = 1 << 8
	EventSingleBitECCStorm EventKind = 1 << 9
	EventPageRetired       EventKind = 1 << 10
	EventPageNotRetired    EventKind = 1 << 11
	EventPoison            EventKind = 1 << 12 // poisoned memory was read, not fatal
	EventFatalPoison       EventKind = 1 << 13
	EventUnavailable       EventKind = 1 << 14
	EventRecovery          EventKind = 1 << 15 // what the GPU needs to recover has changed
)

// EventsOfHealth are the kinds that say that something broke.
const EventsOfHealth = EventDoubleBitECC | EventXID | EventSingleBitECCStorm | EventPageRetired |
	EventPageNotRetired | EventPoison | EventFatalPoison | EventUnavailable | EventRecovery

var eventTexts = map[EventKind]string{
	EventSingleBitECC: "single-bit ECC error", EventDoubleBitECC: "double-bit ECC error",
	EventPerformanceState: "performance state", EventXID: "XID", EventClock: "clock",
	EventPowerSource: "power source", EventMIGConfig: "MIG configuration",
	EventSingleBitECCStorm: "storm of single-bit ECC errors", EventPageRetired: "page retired",
	EventPageNotRetired: "page could not be retired", EventPoison: "poison", EventFatalPoison: "fatal poison",
	EventUnavailable: "GPU unavailable", EventRecovery: "recovery action",
}

// String lists the kinds: "XID, clock"; "none" without any.
func (k EventKind) String() string { return bitTexts(uint64(k), eventTexts) }
