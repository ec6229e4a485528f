//go:build linux && cgo

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
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

// clients makes a server with so many buckets and clients of it.
func clients(t *testing.T, device string, buckets, n int) []*Client {
	dev, err := verbs.Open(device)
	require.NoError(t, err)
	hub, err := rdmacm.NewHub(dev, rdmacm.HubOptions{})
	require.NoError(t, err)
	s, err := NewServer(hub, buckets)
	require.NoError(t, err)
	ctx := context.Background()
	var serving sync.WaitGroup
	var list []*Client
	for range n {
		a, b, err := rdmacm.Pair(ctx, hub, hub, rdmacm.ConnOptions{})
		require.NoError(t, err)
		serving.Add(1)
		go func() {
			defer serving.Done()
			assert.NoError(t, s.Serve(ctx, b))
		}()
		c, err := NewClient(ctx, a)
		require.NoError(t, err)
		list = append(list, c)
	}
	t.Cleanup(func() {
		for _, c := range list {
			assert.NoError(t, c.Close())
		}
		serving.Wait()
		assert.NoError(t, s.Close())
		assert.NoError(t, hub.Close())
		assert.NoError(t, dev.Close())
	})
	return list
}

func TestPutGetDelete(t *testing.T) {
	list := clients(t, "loop0", 4, 2)
	a, b := list[0], list[1]
	ctx := t.Context()
	_, ok, err := b.Get(ctx, "k")
	require.NoError(t, err)
	assert.False(t, ok)
	require.NoError(t, a.Put(ctx, "k", []byte("v")))
	v, ok, err := b.Get(ctx, "k")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "v", string(v))
	require.NoError(t, b.Put(ctx, "k", nil))
	v, ok, err = a.Get(ctx, "k")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Empty(t, v)
	require.NoError(t, a.Delete(ctx, "k"))
	require.NoError(t, a.Delete(ctx, "k"))
	_, ok, err = b.Get(ctx, "k")
	require.NoError(t, err)
	assert.False(t, ok)
	for _, key := range []string{"", strings.Repeat("k", maxKey+1)} {
		_, _, err = a.Get(ctx, key)
		require.Error(t, err, key)
	}
	require.Error(t, a.Put(ctx, "", nil))
	require.Error(t, a.Put(ctx, strings.Repeat("k", maxKey+1), nil))
	require.Error(t, a.Put(ctx, "k", make([]byte, maxValue+1)))
	require.Error(t, a.Delete(ctx, ""))
}

func TestFullBucket(t *testing.T) {
	c := clients(t, "loop0", 1, 1)[0]
	for i := range perBucket {
		require.NoError(t, c.Put(t.Context(), fmt.Sprint(i), nil))
	}
	require.ErrorContains(t, c.Put(t.Context(), "one more", nil), "full")
	require.NoError(t, c.Delete(t.Context(), "0"))
	require.NoError(t, c.Put(t.Context(), "one more", nil))
}

// readersAndWriters changes values while others read them: nobody sees a mixture.
func readersAndWriters(t *testing.T, device string, rounds int) {
	list := clients(t, device, 1, 3)
	ctx := t.Context()
	require.NoError(t, list[0].Put(ctx, "k", bytes.Repeat([]byte{'a'}, maxValue)))
	var wg sync.WaitGroup
	for _, reader := range list[1:] {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range rounds {
				v, ok, err := reader.Get(ctx, "k")
				if !assert.NoError(t, err) || !assert.True(t, ok) {
					return
				}
				assert.Equal(t, bytes.Repeat(v[:1], maxValue), v)
			}
		}()
	}
	for i := range rounds {
		require.NoError(t, list[0].Put(ctx, "k", bytes.Repeat([]byte{byte('a' + i%26)}, maxValue)))
	}
	wg.Wait()
}

func TestReadersAndWriters(t *testing.T) { readersAndWriters(t, "loop0", 1000) }

func TestReadersAndWritersOnDevice(t *testing.T) { readersAndWriters(t, testutil.Device(t), 100) }

func TestKVInOneProcess(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-n", "100"}, &out))
	assert.Contains(t, out.String(), "100 keys")
}

// TestKVOverAddresses runs a server and clients as they are run by hand.
func TestKVOverAddresses(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "needs the connection manager of a kernel with soft-RoCE: it runs in the lab")
	}
	ctx, stop := context.WithCancel(t.Context())
	var out testutil.Output
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"--listen", "10.0.0.1:0", "-d", "rxe0"}, &out) }()
	var addr string
	for addr == "" {
		if _, rest, ok := strings.Cut(out.String(), "listening at "); ok && strings.Contains(rest, "\n") {
			addr = strings.TrimSpace(rest)
		}
		time.Sleep(time.Millisecond)
	}
	client := func(args ...string) (string, error) {
		var b bytes.Buffer
		err := run(t.Context(), append([]string{"--dial", addr}, args...), &b)
		return b.String(), err
	}
	_, err := client("put", "colour", "blue")
	require.NoError(t, err)
	got, err := client("get", "colour")
	require.NoError(t, err)
	assert.Equal(t, "blue\n", got)
	_, err = client("del", "colour")
	require.NoError(t, err)
	_, err = client("get", "colour")
	require.ErrorContains(t, err, "no key")
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestWrongFlags(t *testing.T) {
	for _, args := range []string{"-n 0", "get x", "--nonsense", "-d nosuch0", "--dial nonsense get x", "--dial nonsense", "--buckets 0", "--listen :0 --dial a:1", "--listen :0 get x"} {
		require.Error(t, run(t.Context(), strings.Fields(args), &bytes.Buffer{}), args)
	}
}

func FuzzTable(f *testing.F) {
	slot := make([]byte, slotSize)
	putSlot(slot, "key", []byte("value"))
	f.Add(slot, makeRequest(opPut, "key", []byte("value")))
	f.Add(make([]byte, slotSize), []byte{opDel, 1, 'x'})
	f.Fuzz(func(t *testing.T, slot, request []byte) {
		if len(slot) >= slotSize {
			if key, value, err := readSlot(slot[:slotSize]); err == nil {
				assert.LessOrEqual(t, len(key)+len(value)+slotHead, slotSize)
			}
		}
		if op, key, value, err := parseRequest(request); err == nil {
			assert.Equal(t, request, makeRequest(op, key, value))
		}
	})
}
