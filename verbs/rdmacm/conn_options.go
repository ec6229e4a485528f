package rdmacm

import (
	"fmt"
	"time"

	"github.com/gofabric/gofabric/verbs"
)

const (
	maxWindow      = 1 << 14
	minBufferSize  = 256
	maxBufferSize  = 16 << 20
	maxLarge       = 256
	maxMessageSize = 1 << 40
	maxOps         = 1024
)

// ConnOptions are the options of one side of a connection. The two sides need
// not have the same.
type ConnOptions struct {
	// Window is how many messages may be on their way to this side: received
	// by the adapter and not released. Zero is 64, the most 16384.
	Window int
	// BufferSize is how many bytes a receive takes. A message up to the
	// receiver's goes out at once; a longer one is offered first, and written
	// by RDMA when the receiver has made room. Zero is 8 KiB; at least 256.
	BufferSize int
	// MaxMessage is the longest message that this side receives, in bytes;
	// zero is 64 MiB.
	MaxMessage int
	// Large is how many messages longer than BufferSize may be on their way in
	// each direction; this side holds up to that many buffers of its longest
	// such messages. Zero is 4, the most 256.
	Large int
	// Ops is how many reads and writes of the peer's regions may be under way;
	// zero is 16, the most 1024.
	Ops int
	// KeepAlive is how long the connection may be idle before the peer is
	// probed; a peer that does not answer ends it. Zero is 15 seconds, a
	// negative value is never.
	KeepAlive time.Duration
	// Linger is how long Close waits for the peer; zero is 5 seconds.
	Linger time.Duration
	// QP are further options of the queue pair: Port, GIDIndex, PKeyIndex.
	// Queues, sizes, type and rights are the connection's own.
	QP verbs.QPOptions
}

func (o ConnOptions) withDefaults() (ConnOptions, error) {
	for _, f := range []struct {
		name        string
		value       *int
		def         int
		least, most int
	}{
		{"Window", &o.Window, 64, 1, maxWindow},
		{"BufferSize", &o.BufferSize, 8 << 10, minBufferSize, maxBufferSize},
		{"MaxMessage", &o.MaxMessage, 64 << 20, 1, maxMessageSize},
		{"Large", &o.Large, 4, 1, maxLarge},
		{"Ops", &o.Ops, 16, 1, maxOps},
	} {
		if *f.value == 0 {
			*f.value = f.def
		}
		if *f.value < f.least || *f.value > f.most {
			return o, fmt.Errorf("%s %d: it must be %d to %d", f.name, *f.value, f.least, f.most)
		}
	}
	o.MaxMessage = max(o.MaxMessage, o.BufferSize)
	if o.KeepAlive == 0 {
		o.KeepAlive = 15 * time.Second
	}
	if o.Linger < 0 {
		return o, fmt.Errorf("a Linger of %v: it cannot be negative", o.Linger)
	}
	if o.Linger == 0 {
		o.Linger = 5 * time.Second
	}
	return o, nil
}

// slots is how many receives are posted: one for each message of the window,
// for the end of each large message that comes in and the grant of each that
// goes out, and for what else needs no credit.
func (o *ConnOptions) slots() int {
	// Two or three credit messages may be unseen, a hello, an answer to a
	// revocation, an end and an abort.
	const control = 8
	return o.Window + 2*o.Large + control
}

// controlSends is how many places of the send queue messages without credits
// may need.
func (o *ConnOptions) controlSends() int { return 4*o.Large + 12 }

// signalEvery is how many sends share a completion.
const signalEvery = 16

// sends is the depth of the send queue. The peer's window is not known yet: a
// larger one is used as far as this goes.
func (o *ConnOptions) sends() int {
	return max(o.Window, 32) + o.Ops + o.controlSends() + 2*signalEvery
}
