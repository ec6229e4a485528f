package lab

import (
	"context"
	"errors"
	"fmt"
)

// ErrPoweredOff is how a guest ends whose plug was pulled (see [Node.PowerOff]).
var ErrPoweredOff = errors.New("the guest was powered off")

// Pair is two guests joined by a cable, each with its own job. Each has one
// device, rxe0, on its end eth0 of the cable: 10.1.0.1/24 in A, 10.1.0.2/24 in
// B.
type Pair struct {
	A, B *Node
}

// Wait waits for both jobs' ends. The error tells about both guests.
func (p *Pair) Wait() (a, b Result, err error) {
	a, aerr := p.A.Wait()
	b, berr := p.B.Wait()
	return a, b, errors.Join(aerr, berr)
}

// Node is one guest of a pair. It is safe for concurrent use.
type Node struct {
	end     pairEnd
	ready   chan struct{} // closed when the guest is set up
	start   <-chan struct{}
	cancel  context.CancelCauseFunc
	monitor *monitor
	done    chan struct{} // closed when result and err are there
	result  Result
	err     error
}

// pairEnd is what a guest of a pair has to know.
type pairEnd struct {
	Name string // also the host name
	MAC  string
	Own  string // IPv4 addresses
	Peer string
}

func pairEnds() [2]pairEnd {
	const a, b = "10.1.0.1", "10.1.0.2"
	return [2]pairEnd{{"a", "02:00:00:00:01:01", a, b}, {"b", "02:00:00:00:01:02", b, a}}
}

// cableID names a guest's end of the cable in its QEMU.
const cableID = "cable"

// SetLink pulls the cable out of the guest, or puts it back. The guest sees its
// link go down; the other guest's stays up, and what it sends is lost.
func (n *Node) SetLink(ctx context.Context, up bool) error {
	return n.monitor.do(ctx, "set_link", map[string]any{"name": cableID, "up": up})
}

// PowerOff ends the guest at once, as pulling its plug would: nothing in it is
// told. Wait answers [ErrPoweredOff].
func (n *Node) PowerOff() {
	n.cancel(fmt.Errorf("guest %s: %w", n.end.Name, ErrPoweredOff))
	<-n.done
}

// Wait waits for the end of the job and returns what [Image.Run] would.
func (n *Node) Wait() (Result, error) {
	<-n.done
	return n.result, n.err
}
