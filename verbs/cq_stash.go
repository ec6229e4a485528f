package verbs

import (
	"sync"
	"sync/atomic"
)

// stash is what closed queue pairs left to a completion queue: completions in
// front of it, and memory that only its poller may free. An empty one costs its
// reader one load.
type stash struct {
	attention atomic.Bool // there is something below
	mu        sync.Mutex
	list      []Completion
	dead      []func()
	closed    bool
}

// take moves completions to dst, the oldest first. The caller is inside the
// CQ's guard.
func (s *stash) take(dst []Completion) int {
	if !s.attention.Load() {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(dst, s.list)
	s.list = s.list[n:]
	if len(s.list) == 0 {
		s.list = nil
	}
	s.freeDead()
	s.attention.Store(len(s.list) > 0)
	return n
}

func (s *stash) freeDead() {
	for _, free := range s.dead {
		free()
	}
	s.dead = nil
}

func (s *stash) put(list []Completion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, list...)
	s.attention.Store(true)
}

// bury frees what is left of a queue as soon as nobody is polling: a poller
// that is inside C may have just found the record.
func (cq *CQ) bury(free func()) {
	alone := cq.side.visit()
	if alone {
		defer cq.side.exit()
	}
	s := &cq.stash
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = append(s.dead, free)
	if alone || s.closed {
		s.freeDead()
		return
	}
	s.attention.Store(true)
}

// close frees what was waiting for a poll. Nobody polls any more.
func (s *stash) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.freeDead()
}

// drain moves what is on the queue to the stash, for a queue pair that is being
// closed. It answers false while another goroutine polls, which serves as well.
func (cq *CQ) drain() bool {
	if !cq.side.visit() {
		return false
	}
	defer cq.side.exit()
	var batch [32]Completion
	for {
		n, err := cq.ask(batch[:])
		if n == 0 || err != nil {
			return true
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
