package rdmacm

import "fmt"

// RejectReason says why a connection was refused. Values are those of the
// InfiniBand specification (volume 1, section 12.6.7.2). On iWARP they are an
// errno.
type RejectReason int32

// Reasons that programs ask for. String knows the others.
const (
	// RejectTimeout: the peer's kernel gave up before its program decided.
	RejectTimeout RejectReason = 4
	// RejectNoListener: nobody listens at the address.
	RejectNoListener RejectReason = 8
	// RejectStale: the peer still knows an older connection of the same queue
	// pair.
	RejectStale RejectReason = 10
	// RejectByConsumer: the peer's program refused.
	RejectByConsumer RejectReason = 28
	// RejectECE: the peer does not take the options offered (ECE).
	RejectECE RejectReason = 35
)

var rejectNames = map[RejectReason]string{
	1: "no queue pair", 2: "no end-to-end context", 3: "no resources", RejectTimeout: "timeout",
	5: "unsupported request", 6: "invalid communication id", 7: "invalid communication instance",
	RejectNoListener: "nobody listens at the address", 9: "invalid transport type", RejectStale: "stale connection",
	11: "no reliable datagram channel", 12: "invalid GID", 13: "invalid LID", 14: "invalid service level",
	15: "invalid traffic class", 16: "invalid hop limit", 17: "invalid packet rate", 18: "invalid alternate GID",
	19: "invalid alternate LID", 20: "invalid alternate service level", 21: "invalid alternate traffic class",
	22: "invalid alternate hop limit", 23: "invalid alternate packet rate", 24: "redirected to another port and CM",
	25: "redirected to another port", 26: "invalid MTU", 27: "not enough responder resources",
	RejectByConsumer: "the peer's program refused", 29: "RNR retry count too low", 30: "duplicate local communication id",
	31: "invalid class version", 32: "invalid flow label", 33: "invalid alternate flow label",
	RejectECE: "vendor options refused",
}

// String names the reason.
func (r RejectReason) String() string {
	if name, ok := rejectNames[r]; ok {
		return name
	}
	return fmt.Sprintf("reason %d", int32(r))
}

// Error makes a reason a target for errors.Is.
func (r RejectReason) Error() string { return "connection rejected: " + r.String() }
