package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// Times that are not the user's to choose.
const (
	handshakeTimeout = 10 * time.Second // for a stranger to say who it is
	writeTimeout     = time.Minute      // for a rank to take what it is sent
	leaveTimeout     = 2 * time.Second  // for the others to see that one leaves
)

// strangers is how many connections may be in their handshake beyond the ranks
// that are awaited. Further ones are closed, and ranks try again.
const strangers = 128

// head is rank 0's part: it takes the other ranks in, collects what they give to
// an operation and sends everybody the result. It is also rank 0's transport.
type head struct {
	world   World
	options Options
	limits  limits
	key     []byte
	session [16]byte
	me      hello
	// gathered is called once when all ranks have come.
	gathered func()

	listeners []net.Listener
	wg        sync.WaitGroup
	slots     chan struct{}
	stop      chan struct{} // closed by close

	mu      sync.Mutex
	closed  bool
	conns   map[net.Conn]struct{}
	members []*member // by rank; nil where nobody has come, and for rank 0
	joined  int       // with rank 0
	went    []absence // by rank: how one that came before has gone
	round   *round
	seq     int // of the last operation that was complete
	notes   []string

	allHere chan struct{} // closed when all have come
	peers   []Peer        // from then on
	broken  chan struct{} // closed when the session is over
	failure failure       // from then on
}

// absence is how a rank went before all had come.
type absence byte

const (
	never absence = iota // it has not come
	quit                 // it gave up
	died                 // its connection broke
)

// member is a rank that has joined.
type member struct {
	hello
	conn net.Conn
	out  chan []byte // frames to send, closed when nothing follows
	done bool        // out is closed
	left bool        // it closed its session
}

func newHead(w World, o Options, fileKey []byte, session [16]byte) *head {
	return &head{
		world: w, options: o, limits: limits{w.Size, o.MaxMessage},
		key: authKey(o.Secret, fileKey), session: session, me: identity(w),
		gathered: func() {},
		slots:    make(chan struct{}, w.Size+strangers), stop: make(chan struct{}),
		conns: map[net.Conn]struct{}{}, members: make([]*member, w.Size), joined: 1, went: make([]absence, w.Size),
		allHere: make(chan struct{}), broken: make(chan struct{}),
	}
}

// serve takes connections until close.
func (h *head) serve(listeners []net.Listener) {
	h.listeners = listeners
	for _, l := range listeners {
		h.wg.Add(1)
		go h.accept(l)
	}
}

func (h *head) accept(l net.Listener) {
	defer h.wg.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors, or a connection that went before it was taken.
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-h.stop:
				return
			}
		}
		select {
		case h.slots <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		if !h.track(conn) {
			_ = conn.Close()
			return
		}
		h.wg.Add(1)
		go func() {
			defer h.wg.Done()
			m := h.admit(conn)
			<-h.slots
			if m != nil {
				h.attend(m)
			}
			h.untrack(conn)
		}()
	}
}

// track has close find the connection.
func (h *head) track(conn net.Conn) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.conns[conn] = struct{}{}
	}
	return !h.closed
}

func (h *head) untrack(conn net.Conn) {
	_ = conn.Close()
	h.mu.Lock()
	delete(h.conns, conn)
	h.mu.Unlock()
}

// admit finds out who is there. Nil: nobody of ours, or nobody who may join;
// nothing of it reaches the others.
func (h *head) admit(conn net.Conn) *member {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	refuse := func(r refusal) *member {
		r.size = h.world.Size
		_, _ = conn.Write(frame(kindRefused, r.encode()))
		return nil
	}
	kind, body, err := readFrame(conn, handshake)
	if errors.Is(err, ErrVersion) {
		return refuse(refusal{reason: refuseVersion})
	}
	if err != nil || kind != kindHello {
		return nil
	}
	who, err := decodeHello(body)
	if err != nil {
		return nil
	}
	switch {
	case who.job != h.me.job:
		return refuse(refusal{reason: refuseJob})
	case who.session != h.session:
		return refuse(refusal{reason: refuseStale})
	}
	var challenge [nonceLen]byte
	fill(challenge[:])
	if _, err := conn.Write(frame(kindChallenge, challenge[:])); err != nil {
		return nil
	}
	kind, claimed, err := readFrame(conn, handshake)
	if err != nil || kind != kindProof {
		return nil
	}
	if !proves(h.key, rankProof, body, challenge[:], claimed) {
		h.note(fmt.Sprintf("a process with another secret came from %s", conn.RemoteAddr()))
		return refuse(refusal{reason: refuseSecret})
	}
	m := &member{hello: who, conn: conn, out: make(chan []byte, 8)}
	if r, ok := h.join(m, proof(h.key, headProof, body, challenge[:])); !ok {
		_ = refuse(r)
		if r.reason == refuseSize {
			h.mismatch(who) // after its refusal: this may end rank 0's Connect
		}
		return nil
	}
	_ = conn.SetDeadline(time.Time{})
	keepAlive(conn)
	return m
}

// note keeps what may explain later why a rank is missing.
func (h *head) note(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noteLocked(text)
}

func (h *head) noteLocked(text string) {
	const most = 8
	if len(h.notes) < most {
		h.notes = append(h.notes, text)
	}
}

// join gives a rank its place, if it is free.
func (h *head) join(m *member, accepted []byte) (refusal, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.failed() {
		return refusal{reason: refuseClosing}, false
	}
	if m.size != h.world.Size {
		return refusal{reason: refuseSize}, false
	}
	holder := &h.me
	if m.rank > 0 {
		holder = nil
		if at := h.members[m.rank]; at != nil {
			holder = &at.hello
		}
	}
	if holder != nil {
		h.noteLocked(fmt.Sprintf("process %d on %s came as rank %d too, which process %d on %s is", m.pid, m.host, m.rank, holder.pid, holder.host))
		return refusal{reason: refuseDuplicate, host: holder.host, pid: holder.pid}, false
	}
	h.members[m.rank] = m
	h.joined++
	h.send(m, frame(kindAccepted, accepted))
	if h.joined == h.world.Size {
		h.assemble()
	}
	return refusal{}, true
}

// mismatch ends a session that cannot come about, for all that wait for it.
func (h *head) mismatch(who hello) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.complete() {
		h.fail(failure{code: failSize, by: who.rank, other: who.size})
	}
}

// assemble tells everybody that all are here.
func (h *head) assemble() {
	hellos := []hello{h.me}
	for _, m := range h.members[1:] {
		hellos = append(hellos, m.hello)
	}
	h.peers = seat(hellos)
	h.gathered()
	h.sendAll(frame(kindWelcome, encodePeers(h.peers)))
	close(h.allHere)
}

func (h *head) complete() bool {
	select {
	case <-h.allHere:
		return true
	default:
		return false
	}
}

func (h *head) failed() bool {
	select {
	case <-h.broken:
		return true
	default:
		return false
	}
}

// send queues a frame. A rank that does not take its frames loses its connection:
// nothing but a broken one lets so many wait.
func (h *head) send(m *member, frame []byte) {
	if m.done {
		return
	}
	select {
	case m.out <- frame:
	default:
		_ = m.conn.Close()
	}
}

func (h *head) sendAll(frame []byte) {
	for _, m := range h.members {
		if m != nil {
			h.send(m, frame)
		}
	}
}

// finish lets the connection be closed once what is queued has been sent.
func (m *member) finish() {
	if !m.done {
		m.done = true
		close(m.out)
	}
}

// attend reads what a rank sends, until its connection ends.
func (h *head) attend(m *member) {
	h.wg.Add(1)
	go func() {
		defer h.wg.Done()
		m.write()
	}()
	for {
		kind, body, err := readFrame(m.conn, h.limits.of)
		if err != nil {
			break
		}
		h.mu.Lock()
		ok := h.handle(m, kind, body)
		h.mu.Unlock()
		if !ok {
			break
		}
	}
	_ = m.conn.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	m.finish()
	switch {
	case m.left:
	case h.complete():
		h.fail(failure{code: failDied, op: h.current(), by: -1, died: []int{m.rank}})
	case h.members[m.rank] == m:
		// It may come again: a launcher restarts what failed early.
		h.lose(m, died)
	}
}

// write sends what is queued, and then says that nothing follows.
func (m *member) write() {
	for frame := range m.out {
		_ = m.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := m.conn.Write(frame); err != nil {
			_ = m.conn.Close()
		}
	}
	if half, ok := m.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// handle acts on a rank's frame. False: it broke the protocol.
func (h *head) handle(m *member, kind frameKind, body []byte) bool {
	switch kind {
	case kindContribute:
		op, data, err := decodeContribution(body, h.world.Size)
		if err != nil || !h.complete() {
			return false
		}
		return h.submit(m.rank, op, data) != nil
	case kindAbandon:
		h.abandon(m, body)
		return true
	case kindLeave:
		m.left = true
		m.finish()
		if !h.complete() {
			h.lose(m, quit)
			return true
		}
		if h.round != nil {
			h.fail(failure{code: failLeft, op: h.round.op, by: -1, left: []int{m.rank}})
		}
		return true
	default:
		return false
	}
}

// fail ends the session for all ranks, once.
func (h *head) fail(f failure) {
	if h.failed() {
		return
	}
	h.failure = f
	h.sendAll(frame(kindFailed, f.encode()))
	close(h.broken)
}

// lose frees the place of a rank that went before all had come.
func (h *head) lose(m *member, how absence) {
	h.members[m.rank] = nil
	h.joined--
	h.went[m.rank] = how
}

// notAllCame is the failure of ranks that have not joined, or not stayed.
func (h *head) notAllCame(by int) failure {
	f := failure{code: failGaveUp, by: by}
	for rank, m := range h.members {
		if rank > 0 && m == nil {
			f.absent(rank, h.went[rank])
		}
	}
	return f
}

// wait returns when all ranks have come.
func (h *head) wait(ctx context.Context, watch func() error) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-h.allHere:
			return nil
		case <-h.broken:
			return h.failure.err(ctx, h.world, operation{}, nil)
		case <-tick.C:
			if err := watch(); err != nil {
				return err
			}
		case <-ctx.Done():
			return h.givenUp(ctx)
		}
	}
}

// givenUp is rank 0's error when not all came in time, and tells those that did.
func (h *head) givenUp(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.complete() {
		return nil
	}
	f := h.notAllCame(0)
	h.fail(f)
	err := &RankError{Op: opConnect.String(), Missing: f.missing, Died: f.died, Left: f.left, Notes: h.notes, Err: context.Cause(ctx)}
	if len(f.missing) == h.world.Size-1 && h.world.Address != "" {
		err.Hint = elsewhere(h.world.Address)
	}
	return err
}

// elsewhere says so if rank 0 listens on a machine that its address, as given to
// the others, does not name.
func elsewhere(address string) string {
	host, _, err := splitAddress(address)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	there, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return ""
	}
	here, err := net.InterfaceAddrs()
	if err != nil {
		return ""
	}
	for _, a := range there {
		for _, b := range here {
			if n, ok := b.(*net.IPNet); ok && n.IP.Equal(a.IP) {
				return ""
			}
		}
	}
	name, _ := os.Hostname()
	return fmt.Sprintf("%s is no address of this machine, %s, where rank 0 listens: check MASTER_ADDR", host, name)
}

// close leaves the session and ends all that serves it.
func (h *head) close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	close(h.stop)
	for _, l := range h.listeners {
		_ = l.Close()
	}
	joined := map[net.Conn]bool{}
	for _, m := range h.members {
		if m != nil {
			joined[m.conn] = true
			h.send(m, frame(kindLeave, nil))
			m.finish()
		}
	}
	// The ranks close their ends when they see ours closed. Strangers need not.
	for conn := range h.conns {
		if joined[conn] {
			_ = conn.SetReadDeadline(time.Now().Add(leaveTimeout))
			_ = conn.SetWriteDeadline(time.Now().Add(leaveTimeout))
		} else {
			_ = conn.Close()
		}
	}
	h.mu.Unlock()
	h.wg.Wait()
	return nil
}

func (h *head) ranks() []Peer { return h.peers }
