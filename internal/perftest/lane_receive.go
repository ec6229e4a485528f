package perftest

// owe notes that a receive of a pair has completed.
func (l *lane) owe(p *pair) {
	if l.srq != nil {
		l.sharedOwed++
		return
	}
	if p.owed == 0 {
		l.dirty = append(l.dirty, p)
	}
	p.owed++
}

// repost posts receives for those that have completed, as far as messages are
// still to come: in lists, or as many as there are.
func (l *lane) repost() error {
	if l.srq != nil {
		n := l.sharedOwed
		if l.sharedLeft >= 0 {
			n = min(n, l.sharedLeft)
		}
		l.sharedOwed = 0
		return l.postShared(n)
	}
	list := l.config.RecvPostList
	kept := l.dirty[:0]
	for _, p := range l.dirty {
		n := p.owed / list * list
		p.owed -= n
		if p.owed > 0 {
			kept = append(kept, p)
		}
		if err := l.postReceives(p, n); err != nil {
			return err
		}
	}
	l.dirty = kept
	return nil
}

// postFirst fills the receive queues before the first message.
func (l *lane) postFirst() error {
	if l.srq != nil {
		l.sharedOwed, l.sharedLeft = 0, -1
		depth := l.config.recvDepth()
		if l.toReceive > 0 {
			l.sharedLeft = l.toReceive
			depth = min(depth, l.toReceive)
		}
		return l.postShared(depth)
	}
	l.dirty = l.dirty[:0]
	for _, p := range l.pairs {
		if err := l.postReceives(p, l.config.recvDepth()); err != nil {
			return err
		}
	}
	return nil
}

// postReceives posts n receives of a pair, or as many as it still needs.
func (l *lane) postReceives(p *pair, n int) error {
	if p.toReceive >= 0 {
		n = min(n, p.toReceive)
		p.toReceive -= n
	}
	length := l.size + headroom(l.config.Connection)
	list := l.config.RecvPostList
	for i := range n {
		p.recv.Recv(p.recvID(), p.mr.SGE(p.recvAt+p.recvSteps.next(), length))
		if list > 1 && (i+1)%list == 0 {
			if _, err := p.recv.Post(); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		return nil
	}
	_, err := p.recv.Post()
	return err
}

// postShared posts n receives to the shared queue. They use the memory of all
// queue pairs in turn.
func (l *lane) postShared(n int) error {
	if n == 0 {
		return nil
	}
	if l.sharedLeft >= 0 {
		l.sharedLeft -= n
	}
	length := l.size + headroom(l.config.Connection)
	for i := range n {
		p := l.pairs[i%len(l.pairs)]
		l.srq.Recv(recvBit, p.mr.SGE(p.recvAt+p.recvSteps.next(), length))
	}
	_, err := l.srq.Post()
	return err
}
