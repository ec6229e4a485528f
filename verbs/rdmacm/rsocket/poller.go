package rsocket

import (
	"sync"

	"github.com/gofabric/gofabric/internal/crdmacm"
)

// How long the poller sleeps, in milliseconds, while a waiter's news may come
// without waking rpoll: from the first to the last step.
const (
	firstSleep = 1
	lastSleep  = 20
)

// poller waits in one thread for all rsockets of the process and wakes goroutines
// one by one. It runs while an rsocket is open.
type poller struct {
	ring *crdmacm.RPoller

	mu      sync.Mutex
	ended   sync.Cond // a round ended
	open    int
	err     error // of rpoll; nothing can wait any more
	polling bool
	woken   bool
	round   uint64
	sleep   int
	want    map[crdmacm.RSocket]*interest
}

// interest is what goroutines wait for on an rsocket: a channel is closed when it
// came, or when the waiter has to look again.
type interest struct {
	fd      crdmacm.RSocket
	slow    bool
	in, out chan struct{}
}

// running is the process's poller, if there is one.
var running = struct {
	sync.Mutex
	*poller
}{}

// holdPoller returns the process's poller, which runs until release.
func holdPoller() (*poller, error) {
	running.Lock()
	defer running.Unlock()
	if running.poller == nil {
		ring, err := crdmacm.NewRPoller()
		if err != nil {
			return nil, err
		}
		p := &poller{ring: ring, want: map[crdmacm.RSocket]*interest{}, sleep: firstSleep}
		p.ended.L = &p.mu
		running.poller = p
	}
	p := running.poller
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open++; p.open == 1 {
		go p.run()
	}
	return p, nil
}

func (p *poller) release() {
	running.Lock()
	defer running.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open--; p.open == 0 {
		running.poller = nil
		p.wake()
	}
}

func (p *poller) wake() {
	if p.polling && !p.woken {
		p.woken = true
		p.ring.Wake()
	}
}

// add has a channel closed when the rsocket is ready for what events, of which there
// is one, says. slow is for what does not always wake rpoll.
func (p *poller) add(fd crdmacm.RSocket, events int16, slow bool) (<-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return nil, p.err
	}
	e := p.want[fd]
	if e == nil {
		e = &interest{fd: fd}
		p.want[fd] = e
	}
	ready := make(chan struct{})
	if events == crdmacm.POLLIN {
		e.in = ready
	} else {
		e.out = ready
	}
	if e.slow = slow; slow {
		p.sleep = firstSleep
	}
	p.wake()
	return ready, nil
}

// drop ends an interest without waking anybody. rpoll may look at the rsocket until
// the round ends.
func (p *poller) drop(fd crdmacm.RSocket, events int16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.want[fd]
	if e == nil {
		return
	}
	if events == crdmacm.POLLIN {
		e.in = nil
	} else {
		e.out = nil
	}
	p.forget(e)
}

func (p *poller) forget(e *interest) {
	if e.in == nil && e.out == nil && p.want[e.fd] == e {
		delete(p.want, e.fd)
	}
}

// detach wakes who waits on an rsocket and returns when rpoll does not look at it.
func (p *poller) detach(fd crdmacm.RSocket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e := p.want[fd]; e != nil {
		p.fire(e, crdmacm.POLLIN|crdmacm.POLLOUT)
	}
	p.wake()
	for round := p.round; p.polling && p.round == round; {
		p.ended.Wait()
	}
}

// fire wakes who waits for one of the events.
func (p *poller) fire(e *interest, events int16) {
	const over = crdmacm.POLLERR | crdmacm.POLLHUP
	if e.in != nil && events&(crdmacm.POLLIN|over) != 0 {
		close(e.in)
		e.in = nil
	}
	if e.out != nil && events&(crdmacm.POLLOUT|over) != 0 {
		close(e.out)
		e.out = nil
	}
	p.forget(e)
}

func (p *poller) run() {
	own := p.ring.Own()
	var (
		fds   []crdmacm.PollFD
		batch []*interest
	)
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.ring.Close()
	for p.open > 0 && p.err == nil {
		fds, batch = append(fds[:0], own[:]...), batch[:0]
		slow := false
		for _, e := range p.want {
			var events int16
			if e.in != nil {
				events |= crdmacm.POLLIN
			}
			if e.out != nil {
				events |= crdmacm.POLLOUT
			}
			fds = append(fds, crdmacm.PollFD{FD: int32(e.fd), Events: events})
			batch = append(batch, e)
			slow = slow || e.slow
		}
		sleep := 0
		if slow {
			sleep = p.sleep
			p.sleep = min(2*p.sleep, lastSleep)
		}
		p.polling, p.woken = true, false
		p.round++
		p.mu.Unlock()
		p.ring.Alarm(sleep)
		err := p.ring.Wait(fds)
		p.mu.Lock()
		p.polling = false
		p.ended.Broadcast()
		for i, e := range batch {
			p.fire(e, fds[len(own)+i].Revents)
		}
		if err != nil {
			p.err = err
			for _, e := range p.want {
				p.fire(e, crdmacm.POLLERR)
			}
		}
	}
}
