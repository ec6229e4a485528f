package perftest

import "github.com/gofabric/gofabric/verbs"

// schedule says which requests of one size make a completion: each every-th
// one, and the last. Requests count from 0.
type schedule struct {
	every int
	total int // zero in a run of fixed duration, which has no last one
}

func (s schedule) signalled(request int) bool {
	return (request+1)%s.every == 0 || request+1 == s.total
}

// covered returns how many requests the next completion stands for, once done
// requests have completed.
func (s schedule) covered(done int) int {
	if s.total == 0 {
		return s.every
	}
	return min(s.every, s.total-done)
}

// layout is how the memory of a queue pair is divided: a slot to send from, then
// one for the peer to write to, or to receive into. All queue pairs' first slots
// stand before all second ones.
type layout struct{ slot int }

// newLayout returns the layout for messages of at most size bytes. A slot holds
// a page in any case, because short messages step through one.
func newLayout(size int, connection verbs.QPType, agreed Agreement) layout {
	return layout{slot: roundUp(max(size+headroom(connection), agreed.PageSize), agreed.CacheLine)}
}

// headroom is what stands in front of a received message.
func headroom(connection verbs.QPType) int {
	if connection == verbs.UD {
		return verbs.GRHLen
	}
	return 0
}

// stepper gives the offset of each message within a slot, on both sides alike:
// messages of at most half a page step through a page, cache line by cache
// line; longer ones all start at 0.
type stepper struct{ offset, stride, end int }

func newStepper(size int, agreed Agreement) stepper {
	if size > agreed.PageSize/2 {
		return stepper{}
	}
	stride := roundUp(size, agreed.CacheLine)
	return stepper{stride: stride, end: max(1, agreed.PageSize/stride) * stride}
}

// next returns the offset of the next message.
func (s *stepper) next() int {
	at := s.offset
	if s.offset += s.stride; s.offset >= s.end {
		s.offset = 0
	}
	return at
}

func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }
