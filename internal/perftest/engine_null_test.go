//go:build linux && cgo

package perftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/cbench"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/verbs"
)

// The null device takes requests and completes them at once, each of them, and
// moves nothing: it serves for what the engine does around the data. Tests that
// look at the data run in the lab.
func TestMain(m *testing.M) {
	if err := cbench.Register(); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func nullConfig(t *testing.T, args ...string) Config {
	t.Helper()
	config, err := ParseArgs(WriteBW, append([]string{"-d", cbench.Device, "-Q", "1"}, args...))
	require.NoError(t, err)
	return config
}

func nullTraffic(t *testing.T, args ...string) *traffic {
	t.Helper()
	config := nullConfig(t, args...)
	local, err := openEnd(&config, writeOperation)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, local.close()) })
	agreed := Agreement{PageSize: 4096, CacheLine: 64, MTU: 3}
	require.NoError(t, local.build(agreed))
	require.NoError(t, local.connect(local.key, agreed.MTU, true))
	tr, err := local.traffic(local.key, agreed)
	require.NoError(t, err)
	return tr
}

func TestTrafficCounts(t *testing.T) {
	for _, n := range []int{5, 31, 128, 129, 1000} {
		tr := nullTraffic(t, "-n", strconv.Itoa(n))
		for _, size := range []int{2, 65536} {
			bw, err := tr.run(context.Background(), size)
			require.NoError(t, err)
			assert.EqualValues(t, n, bw.Messages)
			assert.EqualValues(t, size, bw.Size)
			assert.Equal(t, n, tr.posted)
			assert.Len(t, tr.postedAt, n)
			assert.Len(t, tr.doneAt, n)
			assert.NotNil(t, bw.PeakBytesPerSecond)
			assert.Zero(t, tr.batch.Len())
		}
	}
}

func TestTrafficStops(t *testing.T) {
	for _, args := range [][]string{{"-n", "1000000"}, {"-D", "100"}} {
		tr := nullTraffic(t, args...)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := tr.run(ctx, 2)
		assert.ErrorIs(t, err, context.Canceled)
	}
}

func TestTrafficDoesNotAllocate(t *testing.T) {
	tr := nullTraffic(t, "-n", "10000")
	_, err := tr.run(context.Background(), 64)
	require.NoError(t, err)
	ctx := context.Background()
	tr.posted, tr.completed, tr.postedAt, tr.doneAt = 0, 0, tr.postedAt[:0], tr.doneAt[:0]
	allocs := testing.AllocsPerRun(200, func() {
		n, err := tr.turn(ctx, tr.iterations-tr.posted)
		if err != nil {
			panic(err)
		}
		tr.note(n)
	})
	assert.Zero(t, allocs)
}

// portOf is the port of a listener that took a free one.
func portOf(l *Listener) string { return strconv.Itoa(l.Addr().(*net.TCPAddr).Port) }

// waiting tells when a server has written that it listens.
type waiting struct {
	*bytes.Buffer
	listening chan struct{}
	once      sync.Once
}

func (w *waiting) Write(p []byte) (int, error) {
	w.once.Do(func() { close(w.listening) })
	return w.Buffer.Write(p)
}

// runBoth runs a server and a client against each other on the null device.
func runBoth(t *testing.T, ctx context.Context, args ...string) (server, client string, serverErr, clientErr error) {
	t.Helper()
	listener, err := Listen(ctx, 0)
	require.NoError(t, err)
	port := portOf(listener)
	require.NoError(t, listener.Close())
	args = append([]string{"-p", port}, args...)

	var serverOut, clientOut bytes.Buffer
	config := nullConfig(t, args...)
	done := make(chan error, 1)
	ready := &waiting{Buffer: &serverOut, listening: make(chan struct{})}
	go func() { done <- RunBandwidth(ctx, config, ready) }()
	select {
	case <-ready.listening:
	case err := <-done:
		require.NoError(t, err)
	}
	clientErr = RunBandwidth(ctx, nullConfig(t, append(args, "127.0.0.1")...), &clientOut)
	serverErr = <-done
	return serverOut.String(), clientOut.String(), serverErr, clientErr
}

func TestRunBandwidth(t *testing.T) {
	server, client, serverErr, clientErr := runBoth(t, context.Background(), "-a", "-n", "10")
	require.NoError(t, serverErr)
	require.NoError(t, clientErr)
	assert.Equal(t, 23, bytes.Count([]byte(client), []byte("    10  ")), client)
	assert.Contains(t, server, " 8388608    10 ")
	assert.NotContains(t, server, "TX depth")
	assert.Contains(t, client, " TX depth        : 10\n")
	assert.Empty(t, life.Open())
}

func TestRunBandwidthJSON(t *testing.T) {
	listener, err := Listen(context.Background(), 0)
	require.NoError(t, err)
	defer listener.Close()
	port := portOf(listener)
	server := make(chan error, 1)
	go func() {
		conn, err := listener.Accept(context.Background())
		if err != nil {
			server <- err
			return
		}
		s := NewSession(conn, RoleServer, SessionOptions{})
		defer s.Close()
		server <- silentServer(s)
	}()
	var out bytes.Buffer
	require.NoError(t, RunBandwidth(context.Background(), nullConfig(t, "-p", port, "-n", "20", "--json", "127.0.0.1"), &out))
	require.NoError(t, <-server)
	var doc report.Document
	require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
	assert.Equal(t, "client", doc.Role)
	assert.Equal(t, 20, *doc.Parameters.Iterations)
	require.Len(t, doc.Results, 1)
	assert.EqualValues(t, 65536, doc.Results[0].SizeBytes)
	assert.Empty(t, life.Open())
}

// silentServer makes a server's exchanges without an RDMA device.
func silentServer(s *Session) error {
	ctx := context.Background()
	key := Key{OutReads: 1, QPN: 1, PSN: 2, RKey: 3, VAddr: 4096, GID: &GID{10: 0xff, 11: 0xff, 12: 10, 15: 2}}
	if _, err := s.Prologue(ctx, Host{PageSize: 4096, CacheLine: 64, MTU: 5}); err != nil {
		return err
	}
	for range 2 {
		if _, err := s.ExchangeKeys(ctx, []Key{key}); err != nil {
			return err
		}
	}
	if err := s.Barrier(ctx, key); err != nil {
		return err
	}
	if err := s.BarrierAfterRun(ctx, key); err != nil {
		return err
	}
	if _, err := s.ExchangeResult(ctx, Result{}); err != nil {
		return err
	}
	return s.Finish(ctx, key)
}

// A signal while the server waits for its client closes everything.
func TestRunBandwidthEndsWithContext(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	ready := &waiting{Buffer: new(bytes.Buffer), listening: make(chan struct{})}
	done := make(chan error, 1)
	config := nullConfig(t)
	config.Port = 0
	go func() { done <- RunBandwidth(ctx, config, ready) }()
	<-ready.listening
	cancel(cause)
	assert.ErrorIs(t, <-done, cause)
	assert.Empty(t, life.Open())
}

func TestRunBandwidthRefuses(t *testing.T) {
	for _, args := range [][]string{
		{"-i", "2"}, {"-x", "7"}, {"-t", "15000", "-n", "20000"}, {"-d", "null7x", "-p", "1", "127.0.0.1"},
	} {
		err := RunBandwidth(context.Background(), nullConfig(t, args...), new(bytes.Buffer))
		assert.Error(t, err, args)
	}
	assert.Empty(t, life.Open())
}

func TestRemoteAccessIsExplained(t *testing.T) {
	tr := traffic{size: 65536}
	err := tr.explain(&verbs.CompletionError{Status: verbs.StatusRemoteAccess})
	require.ErrorIs(t, err, verbs.StatusRemoteAccess)
	assert.ErrorContains(t, err, "the same -s or -a")
	plain := &verbs.CompletionError{Status: verbs.StatusRetryExceeded}
	assert.Equal(t, plain, tr.explain(plain))
}
