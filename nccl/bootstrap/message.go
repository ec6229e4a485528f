package bootstrap

import "fmt"

// Longest names that travel.
const (
	hostLimit = 255
	nodeLimit = 320
	peerLimit = 16 + hostLimit
)

const nonceLen = 32

// Peer is one rank of a session as rank 0 knows it.
type Peer struct {
	Host string // its host's own name
	PID  int
	// Node numbers the machines from 0, in the order of their lowest ranks.
	// Ranks are on one machine if they have the same host name and the same boot
	// of the same kernel: containers with names of their own count as machines.
	Node int
	// LocalRank is the launcher's, or else counts the lower ranks of the node.
	LocalRank int
}

// hello is a rank's first frame.
type hello struct {
	rank, size int
	job        [16]byte // of the job's name
	session    [16]byte // from the rendezvous file; zero without one
	nonce      [nonceLen]byte
	localRank  int // -1: unknown
	pid        int
	host, node string
}

func (h hello) encode() []byte {
	var e encoder
	e.u32(h.rank)
	e.u32(h.size)
	e.raw(h.job[:])
	e.raw(h.session[:])
	e.raw(h.nonce[:])
	e.u32(h.localRank)
	e.u32(h.pid)
	e.text(h.host)
	e.text(h.node)
	return e
}

func decodeHello(body []byte) (h hello, err error) {
	d := decoder{rest: body}
	h.rank, h.size = d.u32(), d.u32()
	copy(h.job[:], d.raw(len(h.job)))
	copy(h.session[:], d.raw(len(h.session)))
	copy(h.nonce[:], d.raw(nonceLen))
	h.localRank, h.pid = d.u32(), d.u32()
	h.host, h.node = d.text(hostLimit), d.text(nodeLimit)
	if h.size < 1 || h.size > MaxSize || h.rank < 0 || h.rank >= h.size || h.localRank < -1 || h.localRank >= MaxSize {
		d.bad = true
	}
	return h, d.done("hello")
}

// refusal is why a rank may not join.
type refusal struct {
	reason refusalReason
	size   int    // rank 0's
	host   string // of the rank's first holder
	pid    int
}

type refusalReason byte

const (
	refuseJob refusalReason = 1 + iota
	refuseStale
	refuseSecret
	refuseSize
	refuseDuplicate
	refuseClosing
	refuseVersion
	refuseEnd
)

func (r refusal) encode() []byte {
	var e encoder
	e.u8(byte(r.reason))
	e.u32(r.size)
	e.text(r.host)
	e.u32(r.pid)
	return e
}

func decodeRefusal(body []byte) (r refusal, err error) {
	d := decoder{rest: body}
	r.reason = refusalReason(d.u8())
	r.size, r.host, r.pid = d.u32(), d.text(hostLimit), d.u32()
	if r.reason == 0 || r.reason >= refuseEnd {
		d.bad = true
	}
	return r, d.done("refusal")
}

// err is the refusal as the refused rank sees it.
func (r refusal) err(w World) error {
	refused := &RefusedError{Rank: w.Rank}
	switch r.reason {
	case refuseJob:
		refused.Err = ErrWrongJob
	case refuseStale:
		refused.Err, refused.Detail = ErrWrongJob, "the rendezvous file is another run's"
	case refuseSecret:
		refused.Err = ErrSecret
	case refuseSize:
		refused.Err, refused.Detail = ErrSizeMismatch, fmt.Sprintf("rank 0 has %d ranks, this process has %d", r.size, w.Size)
	case refuseDuplicate:
		refused.Err, refused.Detail = ErrDuplicateRank, fmt.Sprintf("process %d on %s is rank %d", r.pid, r.host, w.Rank)
	case refuseVersion:
		refused.Err = ErrVersion
	default:
		refused.Err, refused.Detail = ErrClosed, "rank 0 is closing its session"
	}
	return refused
}

// final reports whether trying again cannot help.
func (r refusal) final() bool {
	switch r.reason {
	case refuseJob, refuseStale, refuseClosing:
		return false
	}
	return true
}

func encodePeers(peers []Peer) []byte {
	var e encoder
	e.u32(len(peers))
	for _, p := range peers {
		e.text(p.Host)
		e.u32(p.PID)
		e.u32(p.Node)
		e.u32(p.LocalRank)
	}
	return e
}

func decodePeers(body []byte, size int) ([]Peer, error) {
	d := decoder{rest: body}
	if n := d.u32(); n != size {
		d.bad = true
		return nil, d.done("list of ranks")
	}
	peers := make([]Peer, size)
	for i := range peers {
		peers[i] = Peer{Host: d.text(hostLimit), PID: d.u32(), Node: d.u32(), LocalRank: d.u32()}
		if p := peers[i]; p.Node < 0 || p.Node > i || p.LocalRank < 0 || p.LocalRank >= MaxSize {
			d.bad = true
		}
	}
	if err := d.done("list of ranks"); err != nil {
		return nil, err
	}
	return peers, nil
}

// opKind is an operation of a session.
type opKind byte

const (
	opConnect opKind = iota
	opBroadcast
	opAllGather
	opBarrier
	opEnd
)

func (k opKind) String() string {
	switch k {
	case opConnect:
		return "connect"
	case opBroadcast:
		return "broadcast"
	case opAllGather:
		return "allgather"
	default:
		return "barrier"
	}
}

// operation names what a rank called.
type operation struct {
	sequence int // from 1
	kind     opKind
	root     int
}

const (
	contributionHead = 9
	resultHead       = 8
)

func encodeContribution(op operation, data []byte) []byte {
	e := make(encoder, 0, contributionHead+len(data))
	e.u32(op.sequence)
	e.u8(byte(op.kind))
	e.u32(op.root)
	e.raw(data)
	return e
}

func decodeContribution(body []byte, size int) (op operation, data []byte, err error) {
	d := decoder{rest: body}
	op.sequence, op.kind, op.root = d.u32(), opKind(d.u8()), d.u32()
	carries := op.kind == opAllGather || op.kind == opBroadcast
	if op.sequence < 1 || op.kind == opConnect || op.kind >= opEnd || op.root < 0 || op.root >= size || !carries && len(d.rest) > 0 {
		d.bad = true
	}
	if !d.bad {
		data = d.raw(len(d.rest))
	}
	return op, data, d.done("contribution")
}

func encodeResult(sequence int, parts [][]byte) []byte {
	total := resultHead
	for _, p := range parts {
		total += 4 + len(p)
	}
	e := make(encoder, 0, total)
	e.u32(sequence)
	e.u32(len(parts))
	for _, p := range parts {
		e.blob(p)
	}
	return e
}

func decodeResult(body []byte) (sequence int, parts [][]byte, err error) {
	d := decoder{rest: body}
	sequence = d.u32()
	n := d.u32()
	if n < 0 || n*4 > len(d.rest) {
		d.bad = true
		n = 0
	}
	for range n {
		parts = append(parts, d.blob())
	}
	if err := d.done("result"); err != nil {
		return 0, nil, err
	}
	return sequence, parts, nil
}
