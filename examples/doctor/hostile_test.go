package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/command"
	"github.com/gofabric/gofabric/topo/doctor"
)

// The first signal ends the program, also while it waits for a terminal or for the
// writer of a named pipe.
func TestSignalsEndReading(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	silent, writer := io.Pipe()
	for _, from := range []string{"-", fifo} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(command.SignalError{Signal: syscall.SIGINT})
		var o, e bytes.Buffer
		assert.Equal(t, exitFailed, run(ctx, []string{"--from", from}, streams{silent, &o, &e}))
		assert.Contains(t, e.String(), "signal")
	}
	require.NoError(t, writer.Close())
	// The one that waits for a writer gets it, and the end of the file.
	fd, err := syscall.Open(fifo, syscall.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Close(fd))
}

func TestFlagsThatDoNotGoTogether(t *testing.T) {
	for _, args := range [][]string{
		{"--capture", "-", "--json"}, {"--capture", "-", "--strict"}, {"--capture", "-", "--peer", "a:1"}, {"--serve", ":0", "--json"}, {"--serve", ":0", "-v"},
		{"--serve", ":0", "--watch", "1s"}, {"--serve", ":0", "--measured", "nvlink=3"}, {"--capture", "-", "--symptom", "timeout"},
	} {
		status, out, stderr := call(t, "", args...)
		assert.Equal(t, exitFailed, status, args)
		assert.Empty(t, out, args)
		assert.Contains(t, stderr, "leave out", args)
	}
	_, _, stderr := call(t, "", "--symptom", "slow")
	assert.Contains(t, stderr, "slow-allreduce", "the known ones are named")
	_, _, stderr = call(t, "", "--watch", "60")
	assert.Contains(t, stderr, "60s", "a time has a unit")
}

func TestPeerAddresses(t *testing.T) {
	for _, address := range []string{"", "node2", "node2:", "node2:0", "node2:http", "node2:99999", "a/b:80", "user@node2:80", "[::1"} {
		_, _, stderr := call(t, "", "--from", dgx(t), "--peer", address)
		assert.Contains(t, stderr, "want host:port", address)
	}
}

// Only a doctor's answer is compared: an empty one would differ in everything.
func TestAnswersOfOthers(t *testing.T) {
	for _, body := range []string{"null", "{}", `{"Node":{"Node":"consul"}}`, `{"hostname":"x"}`, `{"schema":"gofabric doctor node 2"}`, "[]", `{"schema":1}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }))
		status, out, stderr := call(t, "", "--from", dgx(t), "--peer", strings.TrimPrefix(server.URL, "http://"))
		server.Close()
		assert.Equal(t, exitFailed, status, body)
		assert.Empty(t, out)
		assert.Contains(t, stderr, "no doctor's", body)
	}
}

func TestAPeerThatDoesNotAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err = ask(ctx, listener.Addr().String())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "doctor --serve")
	signalled, stop := context.WithCancelCause(context.Background())
	stop(command.SignalError{Signal: syscall.SIGTERM})
	_, err = ask(signalled, listener.Addr().String())
	assert.Equal(t, command.SignalError{Signal: syscall.SIGTERM}, err, "it is not the peer's fault")
}

// A peer that is not there is told before the watch, not an hour later.
func TestPeersAreAskedFirst(t *testing.T) {
	status, _, stderr := call(t, "", "--watch", "24h", "--peer", "127.0.0.1:1")
	assert.Equal(t, exitFailed, status)
	assert.NotContains(t, stderr, "watching")
}

func TestNothingJudgedIsNotNothingWrong(t *testing.T) {
	_, out, _ := call(t, "-[0000:00]-+-01.0-[01]----00.0  Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n", "--from", "-")
	assert.NotContains(t, out, "Nothing wrong")
	assert.Contains(t, out, "Nothing")
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestOutputThatCannotBeWritten(t *testing.T) {
	for _, args := range [][]string{{"--list"}, {"--from", dgx(t)}, {"--from", dgx(t), "--json"}} {
		_, err := start(context.Background(), args, streams{strings.NewReader(""), full{}, io.Discard})
		require.ErrorIs(t, err, errFull, args)
	}
	assert.Len(t, symptoms(), len(doctor.Symptoms()))
}
