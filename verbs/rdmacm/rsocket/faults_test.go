package rsocket_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm/rsocket"
)

func TestDialNobody(t *testing.T) {
	inLab(t)
	l, err := rsocket.Listen(address, rsocket.Options{})
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = rsocket.Dial(patiently(t), addr, rsocket.Options{})
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	// An address that nobody has: the context ends the wait.
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err = rsocket.Dial(ctx, "10.0.0.77:7471", rsocket.Options{})
	require.Error(t, err)
}

// TestConnectionNobodyAccepts: closing a listener closes what waits in it.
func TestConnectionNobodyAccepts(t *testing.T) {
	inLab(t)
	l := listen(t, rsocket.Options{})
	c, err := rsocket.Dial(patiently(t), l.Addr().String(), rsocket.Options{})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = c.ReadContext(patiently(t), make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.NoError(t, c.Close())
}

func TestPeerKilled(t *testing.T) {
	inLab(t)
	l := listen(t, rsocket.Options{})
	exe, err := os.Executable()
	require.NoError(t, err)
	peer := exec.Command(exe)
	peer.Env = append(os.Environ(), dialEnv+"="+l.Addr().String())
	require.NoError(t, peer.Start())
	c, err := l.AcceptContext(patiently(t))
	require.NoError(t, err)
	got := make([]byte, 4)
	require.NoError(t, c.SetDeadline(time.Now().Add(60*time.Second)))
	_, err = io.ReadFull(c, got)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(got)
		ended <- err
	}()
	require.NoError(t, peer.Process.Kill())
	_ = peer.Wait()
	require.Equal(t, io.EOF, <-ended)
	_, err = c.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.ECONNRESET)
	require.NoError(t, c.Close())
}

func TestDirectWrite(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "riomap", "riounmap", "riowrite")
	a, b := pair(t, rsocket.Options{IOMaps: 4})
	_, err := b.WriteAt([]byte("x"), 4096)
	require.ErrorIs(t, err, rsocket.ErrNotMapped)
	const size = 1 << 20
	m, err := a.MapIO(size, 4096)
	require.NoError(t, err)
	require.EqualValues(t, 4096, m.Offset())
	one := make([]byte, 1)
	_, err = a.Write([]byte("m"))
	require.NoError(t, err)
	_, err = io.ReadFull(b, one)
	require.NoError(t, err)
	want := pattern(size - 10)
	n, err := b.WriteAt(want, 4096+10)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	_, err = b.Write([]byte("d"))
	require.NoError(t, err)
	_, err = io.ReadFull(a, one)
	require.NoError(t, err)
	assert.Equal(t, make([]byte, 10), m.Bytes()[:10])
	require.Equal(t, want, m.Bytes()[10:])
	n, err = b.WriteAt(make([]byte, 20), 4096+size-5)
	require.ErrorIs(t, err, rsocket.ErrNotMapped)
	require.Equal(t, 5, n, "up to the mapping's end")
	_, err = b.WriteAt([]byte("x"), 4095)
	require.ErrorIs(t, err, rsocket.ErrNotMapped)
	var more []*rsocket.IOMap
	for i := range 3 {
		next, err := a.MapIO(4096, int64(i+1)<<30)
		require.NoError(t, err)
		more = append(more, next)
	}
	_, err = a.MapIO(4097, 0)
	require.Error(t, err, "no whole page")
	_, err = a.MapIO(4096, 1<<40)
	require.ErrorIs(t, err, syscall.ENOMEM)
	require.NoError(t, m.Close())
	require.NoError(t, m.Close(), "twice is harmless")
	require.Nil(t, m.Bytes())
	require.NoError(t, a.Close())
	for _, next := range more {
		require.NoError(t, next.Close(), "after the connection")
	}
}
