package rdmacm

import "sync/atomic"

// connCounts are a connection's counters.
type connCounts struct {
	sent, sentBytes, received, receivedBytes atomic.Uint64
	reads, writes, waits, creditMessages     atomic.Uint64
}

// ConnStats is what a connection has done, and how it stands.
type ConnStats struct {
	Sent, SentBytes         uint64 // messages that were posted
	Received, ReceivedBytes uint64 // messages that Recv returned
	Reads, Writes           uint64 // of the peer's regions, that were posted
	// SendWaits is how often a Send had to wait because the peer's window or
	// the send queue was full: the peer is slower than this side.
	SendWaits uint64
	// CreditMessages is how many messages had to be sent for credits alone.
	CreditMessages uint64
	Credits        int // messages that the peer takes now
	Queued         int // messages that arrived and wait for Recv
	Unreleased     int // messages that Recv returned and nobody released
	InFlight       int // requests that the adapter has not completed, as far as is known
}

// Stats returns the connection's counters.
func (c *Conn) Stats() ConnStats {
	n := &c.counts
	st := ConnStats{
		Sent: n.sent.Load(), SentBytes: n.sentBytes.Load(),
		Received: n.received.Load(), ReceivedBytes: n.receivedBytes.Load(),
		Reads: n.reads.Load(), Writes: n.writes.Load(),
		SendWaits: n.waits.Load(), CreditMessages: n.creditMessages.Load(),
		Credits: int(c.send.credits.Load()),
	}
	c.recv.mu.Lock()
	st.Queued, st.Unreleased = c.recv.length, c.recv.leases
	c.recv.mu.Unlock()
	c.send.mu.Lock()
	st.InFlight = int(c.send.tail - c.send.head)
	c.send.unlock()
	return st
}

// HubStats is what a hub holds.
type HubStats struct {
	Conns         int // that are open
	CQs           int // completion queues, each with a goroutine
	Polls         uint64
	Completions   uint64 // that the polls found
	PoolBytes     int64  // registered for buffers
	HugePageBytes int64  // those of them on huge pages
	BuffersInUse  int64
}

// Stats returns what the hub holds now.
func (h *Hub) Stats() HubStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	st := HubStats{
		Conns: len(h.conns), CQs: len(h.polls),
		PoolBytes: h.pool.bytes.Load(), HugePageBytes: h.pool.hugeBytes.Load(), BuffersInUse: h.pool.held.Load(),
	}
	for _, s := range h.polls {
		st.Polls += s.polls.Load()
		st.Completions += s.completions.Load()
	}
	return st
}
