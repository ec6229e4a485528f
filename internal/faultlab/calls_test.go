//go:build linux && amd64

package faultlab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callee is where guest b listens.
var callee = fmt.Sprintf("10.1.0.2:%d", callerPort)

// callFault is something that happens to connections of the connection manager.
type callFault struct {
	did string
	do  func(*rig) string // returns what the API said
	// b's process, or all of b, is no more.
	workerGone, guestGone bool
}

func callFaults() []callFault {
	list := []callFault{
		{did: "nothing, ten connections", do: func(r *rig) string {
			r.dialed(10, connectOptions{})
			return r.pinged(10)
		}},
		{did: "peer's cable out for 2 s, idle", do: func(r *rig) string {
			r.dialed(1, connectOptions{})
			r.link(r.b, false)
			time.Sleep(2 * time.Second)
			r.link(r.b, true)
			return r.pinged(1)
		}},
		{did: "peer's cable out for 2 s, a message under way", do: func(r *rig) string {
			// Half a second before each of six retries.
			r.dialed(1, connectOptions{Timeout: 17})
			r.link(r.b, false)
			r.tell(r.a, command{Do: "ping", Limit: time.Minute})
			time.Sleep(2 * time.Second)
			r.link(r.b, true)
			return r.answer(1)
		}},
		{did: "dial with the peer's cable out", do: func(r *rig) string {
			r.link(r.b, false)
			m := r.dial(1, 5*time.Second, connectOptions{})
			r.link(r.b, true)
			assert.Zero(r.t, m.Chunks)
			assert.True(r.t, m.TimedOut, m.Text)
			assert.Less(r.t, m.Stall, 30*time.Second)
			return "dial failed in time"
		}},
	}
	for _, percent := range []string{"1%", "5%"} {
		list = append(list, callFault{did: percent + " of packets lost, both ways, ten connections", do: func(r *rig) string {
			r.bothTC("add", "netem", "loss", percent)
			defer r.bothTC("del")
			r.dialed(10, connectOptions{Timeout: 17})
			return r.pinged(10)
		}})
	}
	return append(list,
		callFault{did: "peer process killed", workerGone: true, do: func(r *rig) string {
			r.dialed(3, connectOptions{})
			r.keeper(r.b, "kill")
			r.tell(r.a, command{Do: "await end", Limit: time.Minute})
			m := r.await(r.a, "end")
			assert.Equal(r.t, 3, m.Chunks, m.Text)
			m = r.dial(1, 10*time.Second, connectOptions{})
			assert.Zero(r.t, m.Chunks)
			return "disconnected; a new dial is refused"
		}},
		callFault{did: "peer powered off", workerGone: true, guestGone: true, do: func(r *rig) string {
			// A sixteenth of a second before each of six retries.
			r.dialed(3, connectOptions{Timeout: 14})
			r.b.node.PowerOff()
			r.tell(r.a, command{Do: "ping", Limit: time.Minute})
			m := r.await(r.a, "pinged")
			assert.Equal(r.t, verbs.StatusRetryExceeded, m.Status, m.Text)
			m = r.dial(1, 5*time.Second, connectOptions{})
			assert.Zero(r.t, m.Chunks)
			assert.True(r.t, m.TimedOut, m.Text)
			return "the message ends with " + verbs.StatusRetryExceeded.Error() + "; a new dial fails in time"
		}},
	)
}

// dial asks a for connections to b.
func (r *rig) dial(n int, limit time.Duration, o connectOptions) message {
	r.t.Helper()
	r.tell(r.a, command{Do: "dial", Args: []string{callee}, Chunks: n, Limit: limit, Options: o})
	return r.await(r.a, "dialed")
}

// dialed is dial for connections that must come about, however the network is.
func (r *rig) dialed(n int, o connectOptions) {
	r.t.Helper()
	m := r.dial(n, 2*time.Minute, o)
	require.Equal(r.t, n, m.Chunks, m.Text)
}

func (r *rig) pinged(n int) string {
	r.t.Helper()
	r.tell(r.a, command{Do: "ping", Limit: 2 * time.Minute})
	return r.answer(n)
}

func (r *rig) answer(n int) string {
	r.t.Helper()
	m := r.await(r.a, "pinged")
	require.Equal(r.t, n, m.Chunks, m.Text)
	return fmt.Sprintf("%d answered", n)
}

// TestCallFaults does to connections of the connection manager what TestFaults
// does to queue pairs connected by hand.
func TestCallFaults(t *testing.T) {
	r := newRig(t)
	kernel := r.keeper(r.a, "tool", "uname", "-r")
	var rows []row
	for _, f := range callFaults() {
		ok := t.Run(strings.ReplaceAll(f.did, " ", "_"), func(t *testing.T) {
			outer := r.t
			r.t = t
			defer func() { r.t = outer }()
			rows = append(rows, r.call(f))
		})
		if !ok {
			// The guests are in a state that nobody knows.
			break
		}
	}
	t.Logf("kernel %s\n%s", kernel, table(rows))
}

func (r *rig) call(f callFault) row {
	r.keeper(r.a, "start", "caller")
	r.keeper(r.b, "start", "caller")
	r.tell(r.b, command{Do: "listen"})
	r.await(r.b, "listening")
	start := time.Now()
	said := f.do(r)
	took := time.Since(start)
	left := r.disconnect(r.a)
	if !f.workerGone {
		left += r.disconnect(r.b)
	}
	assert.Empty(r.t, left, "what is left open")
	if left == "" {
		left = "nothing"
	}
	return row{f.did, said, took.Round(time.Millisecond).String(), left}
}
