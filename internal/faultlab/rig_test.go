//go:build linux && amd64

package faultlab

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/lab"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/stretchr/testify/require"
)

// patience bounds a whole run. Emulated guests are slow.
const patience = 8 * time.Minute

// guest is the host's side of one guest.
type guest struct {
	name string
	node *lab.Node
	feed *io.PipeWriter
	said chan message
	done chan struct{} // closed when the guest has ended
}

// rig is two guests with a cable between them.
type rig struct {
	t    *testing.T // of the case that runs
	ctx  context.Context
	a, b *guest
}

func newRig(t *testing.T) *rig {
	if os.Getenv("GOFABRIC_LAB_TEST") == "" {
		testutil.Skip(t, "boots two guests: set GOFABRIC_LAB_TEST=1")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	image, err := lab.Ensure(ctx, lab.Config{Kernel: os.Getenv("GOFABRIC_LAB_KERNEL"), Userland: os.Getenv("GOFABRIC_LAB_USERLAND")})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)

	r := &rig{t: t, ctx: ctx}
	var jobs [2]lab.Job
	var inputs [2]*io.PipeReader
	var guests [2]*guest
	for i, name := range []string{"a", "b"} {
		g := &guest{name: name, said: make(chan message, 64), done: make(chan struct{})}
		inputs[i], g.feed = io.Pipe()
		output, write := io.Pipe()
		go g.listen(output)
		t.Cleanup(func() { write.Close() })
		guests[i] = g
		jobs[i] = lab.Job{Path: self, Env: []string{roleEnv + "=keeper"}, Stdin: inputs[i], Stdout: write, Stderr: os.Stderr}
	}
	pair, err := image.StartPair(ctx, jobs[0], jobs[1])
	require.NoError(t, err)
	r.a, r.b = guests[0], guests[1]
	r.a.node, r.b.node = pair.A, pair.B
	for i, g := range guests {
		go func() {
			_, err := g.node.Wait()
			close(g.done)
			// Whoever still tells the guest something must not wait for it.
			inputs[i].CloseWithError(fmt.Errorf("guest %s has ended: %v", g.name, err))
		}()
	}
	t.Cleanup(func() {
		r.a.node.PowerOff()
		r.b.node.PowerOff()
		<-r.a.done
		<-r.b.done
	})
	return r
}

func (g *guest) listen(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			// A panic, for one.
			m = message{Is: "failed", Text: lines.Text()}
		}
		g.said <- m
	}
}

// tell gives the guest a command.
func (r *rig) tell(g *guest, c command) {
	r.t.Helper()
	text, err := json.Marshal(c)
	require.NoError(r.t, err)
	_, err = g.feed.Write(append(text, '\n'))
	require.NoError(r.t, err)
}

// await waits for a message of a kind. What a transfer says on its way is
// passed over.
func (r *rig) await(g *guest, is string) message {
	r.t.Helper()
	for {
		select {
		case m := <-g.said:
			if m.Is == is {
				return m
			}
			require.Equal(r.t, "progress", m.Is, "guest %s: waiting for %q: %s", g.name, is, m.Text)
		case <-g.done:
			require.FailNow(r.t, "a guest ended", "%s, waiting for %q", g.name, is)
		case <-r.ctx.Done():
			require.FailNow(r.t, "a guest said nothing", "%s, waiting for %q", g.name, is)
		}
	}
}

// keeper has the guest's keeper do something, and returns what it says.
func (r *rig) keeper(g *guest, do string, args ...string) string {
	r.t.Helper()
	r.tell(g, command{Keeper: true, Do: do, Args: args})
	return r.await(g, do).Text
}

// connect starts a worker in each guest and connects them.
func (r *rig) connect(o connectOptions) {
	r.t.Helper()
	r.keeper(r.a, "start")
	r.keeper(r.b, "start")
	r.tell(r.a, command{Do: "open"})
	r.tell(r.b, command{Do: "open"})
	a, b := r.await(r.a, "open"), r.await(r.b, "open")
	r.tell(r.a, command{Do: "connect", Peer: b.Endpoint, Remote: b.Remote, Options: o})
	r.tell(r.b, command{Do: "connect", Peer: a.Endpoint, Remote: a.Remote, Options: o})
	r.await(r.a, "connected")
	r.await(r.b, "connected")
}

// disconnect closes what a worker has, ends it, and returns what it left.
func (r *rig) disconnect(g *guest) string {
	r.t.Helper()
	r.tell(g, command{Do: "close"})
	left := r.await(g, "closed").Text
	r.keeper(g, "wait")
	return left
}

// resources is what the guest's kernel holds for the device.
func (r *rig) resources(g *guest) string {
	r.t.Helper()
	return r.keeper(g, "tool", "rdma", "resource", "show", "rxe0")
}
