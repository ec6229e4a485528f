package rsocket_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/gofabric/gofabric/verbs/rdmacm/rsocket"
)

func pattern(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(b)
	return b
}

// echo sends back all that comes, until the peer ends.
func echo(c net.Conn) error {
	_, err := io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
	return err
}

// there sends bytes and expects them back.
func there(c net.Conn, b []byte) error {
	sent := make(chan error, 1)
	go func() {
		_, err := c.Write(b)
		sent <- err
	}()
	got := make([]byte, len(b))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if !bytes.Equal(got, b) {
		return io.ErrUnexpectedEOF
	}
	return <-sent
}

func TestEcho(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rsocket", "rbind", "rlisten", "raccept", "rconnect", "rshutdown", "rclose",
		"rread", "rwrite", "rpoll", "rfcntl", "rgetpeername", "rgetsockname")
	a, b := pair(t, rsocket.Options{})
	assert.Equal(t, a.LocalAddr(), b.RemoteAddr())
	assert.Equal(t, a.RemoteAddr(), b.LocalAddr())
	assert.Equal(t, "rdma", a.LocalAddr().Network())
	done := make(chan error, 1)
	go func() { done <- echo(b) }()
	for _, size := range []int{1, 2, 63, 64, 65, 1000, 2048, 4096, 65536, 65537, 131072, 1 << 20, 4 << 20} {
		require.NoError(t, there(a, pattern(size)), "%d bytes", size)
	}
	require.NoError(t, a.CloseWrite())
	require.NoError(t, <-done, "the stream's end")
	_, err := a.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EPIPE)
	require.NoError(t, b.CloseWrite())
	_, err = a.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
}

// TestManyConnections has as many at once as the library can.
func TestManyConnections(t *testing.T) {
	inLab(t)
	connections := 20
	if old(t) {
		a, _ := pair(t, rsocket.Options{})
		l := listen(t, rsocket.Options{})
		c, err := rsocket.Dial(patiently(t), l.Addr().String(), rsocket.Options{})
		require.NoError(t, err)
		_, err = l.AcceptContext(patiently(t))
		require.ErrorIs(t, err, rsocket.ErrTooMany)
		_, err = rsocket.Dial(patiently(t), l.Addr().String(), rsocket.Options{})
		require.ErrorIs(t, err, rsocket.ErrNotSupported)
		require.NoError(t, c.Close())
		require.NoError(t, l.Close())
		require.NoError(t, a.Close())
		return
	}
	l := listen(t, rsocket.Options{})
	var serving sync.WaitGroup
	go func() {
		for range connections {
			c, err := l.AcceptContext(patiently(t))
			if !assert.NoError(t, err) {
				return
			}
			serving.Add(1)
			go func() {
				defer serving.Done()
				assert.NoError(t, echo(c))
				assert.NoError(t, c.Close())
			}()
		}
	}()
	results := make(chan error, connections)
	for i := range connections {
		go func() {
			c, err := rsocket.Dial(patiently(t), l.Addr().String(), rsocket.Options{})
			for range 5 {
				if err == nil {
					err = there(c, pattern(1+i*1777))
				}
			}
			if err == nil {
				err = c.Close()
			}
			results <- err
		}()
	}
	for range connections {
		assert.NoError(t, <-results)
	}
	serving.Wait()
}

// old tells a library that cannot have more than three rsockets.
func old(t testing.TB) bool {
	path, err := rdmacm.LibraryPath()
	require.NoError(t, err)
	return strings.Contains(path, ".so.1.3.44.")
}

func TestDeadlines(t *testing.T) {
	inLab(t)
	a, b := pair(t, rsocket.Options{})
	one := make([]byte, 1)
	isTimeout := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		var e net.Error
		require.ErrorAs(t, err, &e)
		require.True(t, e.Timeout())
	}
	past := time.Now().Add(-time.Second)
	require.NoError(t, a.SetReadDeadline(past))
	_, err := a.Read(one)
	isTimeout(err)
	require.NoError(t, a.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, err = a.Read(one)
	isTimeout(err)
	// A deadline that is set while a call waits ends it.
	require.NoError(t, a.SetReadDeadline(time.Time{}))
	ended := make(chan error, 1)
	go func() {
		_, err := a.Read(one)
		ended <- err
	}()
	require.NoError(t, a.SetReadDeadline(past))
	isTimeout(<-ended)
	require.NoError(t, a.SetReadDeadline(time.Time{}))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err = a.ReadContext(ctx, one)
	isTimeout(err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	// Nothing was lost by all this.
	_, err = b.Write([]byte("z"))
	require.NoError(t, err)
	_, err = a.ReadContext(patiently(t), one)
	require.NoError(t, err)
	require.Equal(t, "z", string(one))
	// A write that finds no room says what went, and that arrives.
	require.NoError(t, a.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
	big := pattern(8 << 20)
	n, err := a.Write(big)
	isTimeout(err)
	require.Less(t, n, len(big))
	require.NoError(t, a.SetWriteDeadline(time.Time{}))
	go func() {
		_, err := a.Write(big[n:])
		ended <- err
	}()
	got := make([]byte, len(big))
	_, err = io.ReadFull(b, got)
	require.NoError(t, err)
	require.NoError(t, <-ended)
	require.True(t, bytes.Equal(big, got), "bytes were lost or came twice")
	l := listen(t, rsocket.Options{})
	require.NoError(t, l.SetDeadline(past))
	_, err = l.Accept()
	isTimeout(err)
}

func TestCloseWakesWaiters(t *testing.T) {
	inLab(t)
	a, b := pair(t, rsocket.Options{})
	l := listen(t, rsocket.Options{})
	ended := make(chan error, 3)
	started := make(chan struct{}, 3)
	waiting := func(call func() error) {
		go func() {
			started <- struct{}{}
			ended <- call()
		}()
	}
	waiting(func() error {
		_, err := a.Read(make([]byte, 1))
		return err
	})
	waiting(func() error {
		_, err := a.Write(pattern(16 << 20))
		return err
	})
	waiting(func() error {
		_, err := l.Accept()
		return err
	})
	for range 3 {
		<-started
	}
	require.NoError(t, a.Close())
	require.NoError(t, a.Close(), "twice is harmless")
	require.NoError(t, l.Close())
	for range 3 {
		err := <-ended
		assert.ErrorIs(t, err, net.ErrClosed)
		assert.ErrorIs(t, err, rdmacm.ErrClosed)
	}
	_, err := a.Read(make([]byte, 1))
	require.ErrorIs(t, err, rsocket.ErrClosed)
	_, err = a.Option(rsocket.NoDelay)
	require.ErrorIs(t, err, rsocket.ErrClosed)
	_, err = io.Copy(io.Discard, struct{ io.Reader }{b})
	require.NoError(t, err, "what was sent before, then the end")
	_, err = b.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.ECONNRESET)
}

func TestCloseRead(t *testing.T) {
	inLab(t)
	a, b := pair(t, rsocket.Options{})
	require.NoError(t, a.CloseRead())
	_, err := a.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
	_, err = a.Write([]byte("still"))
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(b, got)
	require.NoError(t, err)
	require.Equal(t, "still", string(got))
}

func TestPeekAndBuffers(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rrecv", "rwritev")
	a, b := pair(t, rsocket.Options{})
	var want []byte
	var list net.Buffers
	for i := range 150 {
		part := pattern(i * 37)
		want = append(want, part...)
		list = append(list, part)
	}
	sent := make(chan error, 1)
	go func() {
		n, err := a.WriteBuffers(context.Background(), &list)
		assert.EqualValues(t, len(want), n)
		sent <- err
	}()
	first := make([]byte, 10)
	n, err := b.Peek(patiently(t), first)
	require.NoError(t, err)
	require.Equal(t, want[:n], first[:n])
	got := make([]byte, len(want))
	_, err = io.ReadFull(b, got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, got))
	require.NoError(t, <-sent)
	require.Empty(t, list)
}

func TestOptions(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rsetsockopt", "rgetsockopt")
	o := rsocket.Options{SendBuffer: 32768, RecvBuffer: 65536, SendQueue: 64, RecvQueue: 128, Inline: 32, KeepAlive: 5 * time.Second}
	a, b := pair(t, o)
	for _, c := range []*rsocket.Conn{a, b} {
		for option, want := range map[rsocket.Option]int{
			rsocket.SendBuffer: 65536, rsocket.RecvBuffer: 131072, rsocket.SendQueue: 64, rsocket.RecvQueue: 128,
			rsocket.KeepAlive: 1, rsocket.KeepIdle: 5, rsocket.NoDelay: 0,
		} {
			got, err := c.Option(option)
			require.NoError(t, err)
			assert.Equal(t, want, got, "%v", option)
		}
		inline, err := c.Option(rsocket.InlineSize)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, inline, 32)
		require.NoError(t, c.SetOption(rsocket.NoDelay, 1))
		on, err := c.Option(rsocket.NoDelay)
		require.NoError(t, err)
		assert.Equal(t, 1, on)
		require.ErrorIs(t, c.SetOption(rsocket.SendQueue, 10), syscall.EINVAL, "too late")
	}
	done := make(chan error, 1)
	go func() { done <- echo(b) }()
	require.NoError(t, there(a, pattern(300000)))
	require.NoError(t, a.CloseWrite())
	require.NoError(t, <-done)
}
