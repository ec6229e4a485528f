//go:build linux && amd64

package faultlab

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type connectOptions = verbs.ConnectOptions

// fault is something that happens in the middle of a transfer from a to b.
type fault struct {
	did        string
	send       bool // messages, rather than writes
	with       connectOptions
	before, do func(*rig) // before the transfer, and in the middle of it
	// says is how the transfer ends; if well, every byte is compared. Some
	// kernels say something else.
	says, or verbs.Status
	// undo makes the next case possible.
	undo func(*rig)
	// b's worker, or all of b, is no more.
	workerGone, guestGone bool
}

// patient outlasts an interruption of three tenths of a second: it waits half a
// second before each of its retries.
var patient = connectOptions{Timeout: 17}

func faults() []fault {
	list := []fault{
		{did: "nothing"},
		{
			did: "peer's cable pulled out for good", says: verbs.StatusRetryExceeded,
			do:   func(r *rig) { r.link(r.b, false) },
			undo: func(r *rig) { r.link(r.b, true) },
		},
		{
			did: "peer's cable out for 300 ms", with: patient,
			do: func(r *rig) {
				r.link(r.b, false)
				time.Sleep(300 * time.Millisecond)
				r.link(r.b, true)
				r.more(64)
			},
		},
		{
			// With the own link down, rxe of 6.12 and 7.3 may end the queue pair at
			// the first retry and flush it without a reason.
			did: "own cable pulled out for good", says: verbs.StatusRetryExceeded, or: verbs.StatusFlushed,
			do:   func(r *rig) { r.link(r.a, false) },
			undo: func(r *rig) { r.link(r.a, true) },
		},
	}
	for _, percent := range []string{"1%", "5%"} {
		list = append(list, fault{
			did: percent + " of packets lost, both ways", with: patient,
			// Changing the queueing drops packets in a way of its own, which is
			// another case's subject: it is done before.
			before: func(r *rig) { r.bothTC("add", "netem", "loss", percent) },
			do: func(r *rig) {
				r.more(192)
				// Of some hundred packets it may be none.
				for end := time.Now().Add(time.Minute); !r.bothLost(); r.more(64) {
					require.True(r.t, time.Now().Before(end), "a side has lost nothing")
				}
			},
			undo: func(r *rig) { r.bothTC("del") },
		})
	}
	return append(list,
		fault{
			did: "peer stopped, RNR retries finite", send: true, says: verbs.StatusRNRRetryExceeded,
			// The acknowledgement time-out is long: the answer that counts comes first.
			with: connectOptions{Timeout: 20, RNRRetries: 3},
			do:   func(r *rig) { r.keeper(r.b, "stop") },
			undo: func(r *rig) { r.keeper(r.b, "continue") },
		},
		fault{
			did: "peer stopped for 300 ms, RNR retries infinite", send: true, with: patient,
			do: func(r *rig) {
				r.keeper(r.b, "stop")
				time.Sleep(300 * time.Millisecond)
				r.keeper(r.b, "continue")
				r.more(64)
			},
		},
		fault{
			did: "peer closes its QP", says: verbs.StatusRetryExceeded,
			do: func(r *rig) {
				r.tell(r.b, command{Do: "close QP"})
				r.await(r.b, "closed QP")
			},
		},
		fault{
			did: "peer process killed", says: verbs.StatusRetryExceeded, workerGone: true,
			do: func(r *rig) { r.keeper(r.b, "kill") },
		},
		fault{
			did: "peer powered off", says: verbs.StatusRetryExceeded, workerGone: true, guestGone: true,
			do: func(r *rig) { r.b.node.PowerOff() },
		},
	)
}

func (r *rig) link(g *guest, up bool) {
	r.t.Helper()
	require.NoError(r.t, g.node.SetLink(r.ctx, up))
}

// bothTC changes the queueing of both guests' ends of the cable.
func (r *rig) bothTC(change string, discipline ...string) {
	r.t.Helper()
	for _, g := range []*guest{r.a, r.b} {
		r.keeper(g, "tool", append([]string{"tc", "qdisc", change, "dev", "eth0", "root"}, discipline...)...)
	}
}

// more waits until the transfer is so many chunks further.
func (r *rig) more(chunks int) {
	r.t.Helper()
	r.tell(r.a, command{Do: "report", Chunks: 1})
	now := r.await(r.a, "progress").Chunks
	r.tell(r.a, command{Do: "report", Chunks: now + chunks})
	r.await(r.a, "progress")
}

// bothLost tells that each guest's interface has dropped packets.
func (r *rig) bothLost() bool {
	r.t.Helper()
	for _, g := range []*guest{r.a, r.b} {
		if strings.Contains(r.keeper(g, "tool", "tc", "-s", "qdisc", "show", "dev", "eth0"), "dropped 0,") {
			return false
		}
	}
	return true
}

// row is a line of the suite's result.
type row struct{ did, said, after, left string }

func TestFaults(t *testing.T) {
	r := newRig(t)
	kernel := r.keeper(r.a, "tool", "uname", "-r")
	var rows []row
	for _, f := range faults() {
		ok := t.Run(strings.ReplaceAll(f.did, " ", "_"), func(t *testing.T) {
			outer := r.t
			r.t = t
			defer func() { r.t = outer }()
			rows = append(rows, r.run(f))
		})
		if !ok {
			// The guests are in a state that nobody knows.
			break
		}
	}
	t.Logf("kernel %s\n%s", kernel, table(rows))
}

// run runs one case.
func (r *rig) run(f fault) row {
	before := [2]string{r.resources(r.a), r.resources(r.b)}
	r.connect(f.with)
	if f.before != nil {
		f.before(r)
	}
	do := "write"
	if f.send {
		do = "send"
		r.tell(r.b, command{Do: "receive"})
		r.await(r.b, "receiving")
	}
	r.tell(r.a, command{Do: do, Chunks: 32})
	r.await(r.a, "progress")
	if f.do != nil {
		f.do(r)
	}
	if f.says == verbs.StatusSuccess {
		r.tell(r.a, command{Do: "finish"})
	}
	end := r.await(r.a, "ended")
	require.Contains(r.t, []verbs.Status{f.says, cmp.Or(f.or, f.says)}, end.Status, end.Text)
	if f.undo != nil {
		f.undo(r)
	}
	said := end.Status.Error()
	if f.says == verbs.StatusSuccess {
		said = fmt.Sprintf("%d KiB sent", end.Chunks*chunk>>10)
		if !f.send {
			r.tell(r.b, command{Do: "check", Chunks: end.Chunks})
			r.await(r.b, "checked")
			said = fmt.Sprintf("%d KiB written, every byte right", end.Chunks*chunk>>10)
		}
	}
	left := r.disconnect(r.a)
	if !f.workerGone {
		left += r.disconnect(r.b)
	}
	assert.Equal(r.t, before[0], r.resources(r.a), "what a's kernel holds")
	if !f.guestGone {
		assert.Equal(r.t, before[1], r.resources(r.b), "what b's kernel holds")
	}
	assert.Empty(r.t, left, "what is left open")
	if left == "" {
		left = "nothing"
	}
	return row{f.did, said, end.Stall.Round(time.Millisecond).String(), left}
}

func table(rows []row) string {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| done in mid-transfer\t| what the API said\t| after\t| left\t|")
	fmt.Fprintln(w, "| ---\t| ---\t| ---\t| ---\t|")
	for _, r := range rows {
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| %s\t|\n", r.did, r.said, r.after, r.left)
	}
	// A buffer takes everything.
	_ = w.Flush()
	return b.String()
}
