//go:build linux && cgo

package perftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/pairs"
)

// recorded are the runs of release 25.01 that were written down, by the names of
// their recordings.
var recorded = []struct {
	name string
	tool Tool
	args string
}{
	{"write_bw", WriteBW, "-n 20"}, {"read_bw", ReadBW, "-n 20"}, {"send_bw", SendBW, "-n 20"}, {"atomic_bw", AtomicBW, "-n 20"},
	{"write_lat", WriteLat, "-n 20"}, {"read_lat", ReadLat, "-n 20"}, {"send_lat", SendLat, "-n 20"}, {"atomic_lat", AtomicLat, "-n 20"},
	{"write_bw_b", WriteBW, "-n 20 -b"}, {"read_bw_b", ReadBW, "-n 20 -b"}, {"send_bw_b", SendBW, "-n 20 -b"}, {"atomic_bw_b", AtomicBW, "-n 20 -b"},
	{"write_bw_q2", WriteBW, "-n 20 -q 2"}, {"send_bw_q2", SendBW, "-n 20 -q 2"},
	{"send_bw_ud", SendBW, "-n 20 -c UD"}, {"send_lat_ud", SendLat, "-n 20 -c UD"},
	{"write_bw_ab", WriteBW, "-n 5 -a -b"}, {"send_bw_a", SendBW, "-n 5 -a"}, {"send_bw_ab", SendBW, "-n 5 -a -b"},
	{"send_lat_a", SendLat, "-n 5 -a"}, {"send_bw_ud_a", SendBW, "-n 5 -c UD -a"}, {"write_lat_a", WriteLat, "-n 5 -a"},
	{"send_bw_bD", SendBW, "-D 1 -f 0 -b"},
}

// Between two sides of ours goes what goes between two of C's: as many messages
// in the same order, each as long.
func TestExchangesAs2501(t *testing.T) {
	for _, c := range recorded {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			listener, err := Listen(ctx, "127.0.0.1", 0)
			require.NoError(t, err)
			recorder, err := pairs.Record(listener.Addr().(*net.TCPAddr).Port)
			require.NoError(t, err)
			serverErr, clientErr := between(t, ctx, parseLoop(t, c.tool, c.args), listener, recorder.Port())
			messages, err := recorder.Close(ctx)
			require.NoError(t, errors.Join(serverErr, clientErr, err))

			var got []string
			for _, m := range messages {
				got = append(got, fmt.Sprintf("%v %d", m.Client, len(m.Bytes)))
			}
			var want []string
			for _, l := range recording2501(t, c.name, RoleClient) {
				want = append(want, fmt.Sprintf("%v %d", l.write, len(l.msg)))
			}
			assert.Equal(t, want, got)
		})
	}
	assert.Empty(t, life.Open())
}

func parseLoop(t *testing.T, tool Tool, args string) Config {
	t.Helper()
	config, err := ParseArgs(tool, append([]string{"-d", "loop0"}, strings.Fields(args)...))
	require.NoError(t, err)
	config.Duration /= 10
	return config
}

// between runs a server at the listener and a client that connects to port.
func between(t *testing.T, ctx context.Context, config Config, listener *Listener, port int) (serverErr, clientErr error) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- runEnd(ctx, config, listening{listener: listener}, io.Discard, io.Discard) }()
	client := config
	client.Host, client.Port = "127.0.0.1", port
	clientErr = runEnd(ctx, client, tcpLink{}, io.Discard, io.Discard)
	// A client that failed before it connected would leave the server waiting.
	_ = listener.Close()
	return <-done, clientErr
}

// fault is what becomes of one message.
type fault struct {
	name string
	// apply gets the message and the connection that it goes to.
	apply func(to net.Conn, msg []byte)
	// ends tells that the peer says nothing more.
	ends bool
}

var faults = []fault{
	{"killed", func(to net.Conn, _ []byte) { _ = to.Close() }, true},
	{"killed within a message", func(to net.Conn, msg []byte) { _, _ = to.Write(msg[:len(msg)/2]); _ = to.Close() }, true},
	{"stopped", func(net.Conn, []byte) {}, true},
	{"stopped within a message", func(to net.Conn, msg []byte) { _, _ = to.Write(msg[:len(msg)/2]) }, true},
	{"garbage", func(to net.Conn, msg []byte) { _, _ = to.Write(bytes.Repeat([]byte{0xfe}, len(msg))) }, false},
	{"zeros", func(to net.Conn, msg []byte) { _, _ = to.Write(make([]byte, len(msg))) }, false},
}

// faultyWire passes messages between a client and a server until the at-th one of
// one side, which is spoiled.
type faultyWire struct {
	listener net.Listener
	server   int
	from     Role // whose message is spoiled
	at       int
	fault    fault
	done     chan struct{}
}

func newFaultyWire(t *testing.T, server int, from Role, at int, f fault) *faultyWire {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	w := &faultyWire{listener: l, server: server, from: from, at: at, fault: f, done: make(chan struct{})}
	go w.run()
	return w
}

func (w *faultyWire) port() int { return w.listener.Addr().(*net.TCPAddr).Port }

func (w *faultyWire) close() {
	_ = w.listener.Close()
	<-w.done
}

func (w *faultyWire) run() {
	defer close(w.done)
	client, err := w.listener.Accept()
	if err != nil {
		return
	}
	server, err := net.Dial("tcp4", fmt.Sprintf("127.0.0.1:%d", w.server))
	if err != nil {
		_ = client.Close()
		return
	}
	var both sync.WaitGroup
	both.Add(2)
	go func() { defer both.Done(); w.copy(server, client, w.from == RoleClient) }()
	go func() { defer both.Done(); w.copy(client, server, w.from == RoleServer) }()
	both.Wait()
	_, _ = client.Close(), server.Close()
}

// copy passes messages on until from closes its end. A read gives one message,
// because the sides take turns.
func (w *faultyWire) copy(to, from net.Conn, spoil bool) {
	buffer := make([]byte, 4096)
	for n := 0; ; n++ {
		size, err := from.Read(buffer)
		if err != nil {
			if w.fault.ends && spoil && n > w.at {
				return // to knows nothing of it
			}
			_ = to.(*net.TCPConn).CloseWrite()
			return
		}
		if !spoil || n != w.at {
			if _, err := to.Write(buffer[:size]); err != nil {
				_, _ = io.Copy(io.Discard, from)
				return
			}
			continue
		}
		w.fault.apply(to, buffer[:size])
		if w.fault.ends {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}
