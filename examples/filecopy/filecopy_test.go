//go:build linux && cgo

package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

func TestMain(m *testing.M) {
	if testutil.InLab() {
		// librdmacm keeps each device open that it once used.
		_, _ = rdmacm.Devices()
	}
	verbstest.Main(m)
}

// files makes files of several lengths in a folder and returns their names.
func files(t *testing.T) []string {
	dir := t.TempDir()
	var names []string
	for i, size := range []int{0, 1, 5000, chunk, 2*chunk + 17} {
		name := filepath.Join(dir, fmt.Sprint("file", i))
		data := make([]byte, size)
		_, err := rand.Read(data)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, data, 0o640))
		names = append(names, name)
	}
	return names
}

func same(t *testing.T, names []string, dir string) {
	t.Helper()
	for _, name := range names {
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(dir, filepath.Base(name)))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), name)
		info, err := os.Stat(filepath.Join(dir, filepath.Base(name)))
		require.NoError(t, err)
		assert.EqualValues(t, 0o640, info.Mode())
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, len(names), "nothing else is left")
}

func TestCopyInOneProcess(t *testing.T) {
	names, dir := files(t), t.TempDir()
	require.NoError(t, run(t.Context(), append([]string{"--to", dir}, names...), &bytes.Buffer{}))
	same(t, names, dir)
}

func TestCopyOnDevice(t *testing.T) {
	names, dir := files(t), t.TempDir()
	require.NoError(t, run(t.Context(), append([]string{"-d", testutil.Device(t), "--to", dir}, names...), &bytes.Buffer{}))
	same(t, names, dir)
}

func TestWhatCannotBeCopied(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, name := range []string{filepath.Join(dir, "missing"), dir, pipe} {
		require.Error(t, run(t.Context(), []string{"--to", dir, name}, &bytes.Buffer{}))
	}
	err := run(t.Context(), append([]string{"--to", filepath.Join(dir, "missing")}, files(t)...), &bytes.Buffer{})
	require.ErrorContains(t, err, "no such file")
	err = run(t.Context(), []string{"--to", dir, "a/same", "b/same"}, &bytes.Buffer{})
	require.ErrorContains(t, err, "a/same and b/same would both be same in the folder")
}

// TestHostileSender gives a receiver what no client sends.
func TestHostileSender(t *testing.T) {
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, dev.Close()) }()
	hub, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	require.NoError(t, err)
	defer func() { assert.NoError(t, hub.CloseAll()) }()
	ctx := t.Context()
	for _, messages := range [][]string{
		{"no json"},
		{`{"Name":"../escape","Size":1}`},
		{`{"Name":"..","Size":1}`},
		{`{"Name":"x","Size":-1}`},
		{`{"Name":"x","Size":3}`, "too long"},
		{`{"Name":"x","Size":3}`, ""},
		{`{"Name":"x","Size":3}`, "abc", "a wrong sum"},
	} {
		dir := t.TempDir()
		a, b, err := rdmacm.Pair(ctx, hub, hub, rdmacm.ConnOptions{})
		require.NoError(t, err)
		ended := make(chan error, 1)
		go func() { ended <- receiveAll(ctx, b, dir) }()
		for _, m := range messages {
			require.NoError(t, a.Send(ctx, []byte(m)))
		}
		answer, err := a.Recv(ctx)
		require.NoError(t, err)
		assert.NotZero(t, answer.Len(), "%q", messages)
		answer.Release()
		// The receiver gives up once it has the end, and its word of that may come
		// before the acknowledgement of the end.
		if err := a.CloseWrite(ctx); err != nil {
			require.ErrorIs(t, err, rdmacm.ErrPeerAborted)
		}
		require.Error(t, <-ended)
		require.NoError(t, a.Abort())
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, entries)
	}
}

// TestCopyOverAddresses runs a server and a client as they are run by hand.
func TestCopyOverAddresses(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "needs the connection manager of a kernel with soft-RoCE: it runs in the lab")
	}
	names, dir := files(t), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var out testutil.Output
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--listen", "10.0.0.1:0", "--to", dir}, &out) }()
	var addr string
	for addr == "" {
		if _, rest, ok := strings.Cut(out.String(), "listening at "); ok && strings.Contains(rest, "\n") {
			addr = strings.TrimSpace(rest)
		}
		time.Sleep(time.Millisecond)
	}
	require.NoError(t, run(t.Context(), append([]string{"--dial", addr}, names...), &bytes.Buffer{}))
	same(t, names, dir)
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestWrongFlags(t *testing.T) {
	for _, args := range []string{"", "--to x", "file", "--dial a:1", "--dial a:1 --to x file", "--listen :0", "--listen :0 --to x file", "--listen :0 --dial a:1", "--nonsense"} {
		require.Error(t, run(t.Context(), strings.Fields(args), &bytes.Buffer{}), args)
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte(`{"Name":"x","Size":3,"Mode":420}`))
	f.Add([]byte(`{"Name":"/etc/passwd"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHeader(b); err == nil {
			assert.Equal(t, filepath.Base(h.Name), h.Name)
			assert.GreaterOrEqual(t, h.Size, int64(0))
		}
	})
}
