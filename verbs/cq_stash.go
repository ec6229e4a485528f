package verbs

import (
	"sync"
	"sync/atomic"
)

// stash is a list of completions in front of a completion queue. An empty one
// costs its reader one load.
type stash struct {
	waiting atomic.Int32
	mu      sync.Mutex
	list    []Completion
}

// take moves completions to dst, the oldest first.
func (s *stash) take(dst []Completion) int {
	if s.waiting.Load() == 0 {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(dst, s.list)
	s.list = s.list[n:]
	if len(s.list) == 0 {
		s.list = nil
	}
	s.waiting.Store(int32(len(s.list)))
	return n
}

func (s *stash) put(list []Completion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, list...)
	s.waiting.Store(int32(len(s.list)))
}

// drain moves what is on the queue to the stash, for a queue pair that is being
// closed. It does nothing while another goroutine polls, which serves as well.
func (cq *CQ) drain() {
	if cq.side.enter() != nil {
		return
	}
	defer cq.side.exit()
	var batch [32]Completion
	for {
		n, err := cq.cq.Poll(&batch[0].wc, len(batch))
		if n == 0 || err != nil {
			return
		}
		cq.stash.put(batch[:n])
	}
}

// deliver hands completions over as if the device had made them.
func (cq *CQ) deliver(list []Completion) {
	if len(list) == 0 {
		return
	}
	cq.stash.put(list)
	if cq.events != nil {
		cq.events.wakeUp()
	}
}
