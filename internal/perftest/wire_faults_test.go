//go:build linux && cgo

package perftest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/gofabric/gofabric/internal/life"
)

// faultTimeout is the time limit of a run whose peer says nothing.
const faultTimeout = 250 * time.Millisecond

// Whatever becomes of any message of any tool, in either direction, the side that
// should have received it ends with an error within its time-outs, and leaves
// nothing open. The recordings say how many messages there are.
func TestFaultAtEachStep(t *testing.T) {
	slots := make(chan struct{}, 16)
	var all sync.WaitGroup
	for _, c := range recorded[:len(Tools)] { // the first ones are the tools' own
		for _, from := range []Role{RoleClient, RoleServer} {
			steps := messages(recording2501(t, c.name, from), true)
			for at, msg := range steps {
				for _, f := range faults {
					slots <- struct{}{}
					all.Add(1)
					go func() {
						defer all.Done()
						defer func() { <-slots }()
						faulty(t, parseLoop(t, c.tool, c.args), from, at, f, len(msg))
					}()
				}
			}
		}
	}
	all.Wait()
	assert.Empty(t, life.Open())
}

// faulty runs both sides over a wire with a fault.
func faulty(t *testing.T, config Config, from Role, at int, f fault, length int) {
	name := fmt.Sprintf("%s, message %d of the %v: %s", config.Tool.Name, at, from, f.name)
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	config.Timeout, config.ServerTimeout = faultTimeout, 4*faultTimeout
	listener, err := Listen(ctx, "127.0.0.1", 0)
	if !assert.NoError(t, err, name) {
		return
	}
	wire := newFaultyWire(t, listener.Addr().(*net.TCPAddr).Port, from, at, f)
	serverErr, clientErr := between(t, ctx, config, listener, wire.port())
	wire.close()
	assert.NoError(t, ctx.Err(), "%s: it took too long", name)
	victim := serverErr
	if from == RoleServer {
		victim = clientErr
	}
	// Any number can be a result; the side that measured does not look at the other's.
	if !f.ends && (length == wordLen || length == mtuLen) {
		return
	}
	assert.Error(t, victim, name)
	if victim != nil {
		assert.NotContains(t, victim.Error(), "\n", name)
	}
}
