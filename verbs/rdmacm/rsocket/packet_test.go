package rsocket_test

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm/rsocket"
)

func packets(t testing.TB, addr string) *rsocket.PacketConn {
	t.Helper()
	p, err := rsocket.ListenPacket(addr, rsocket.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	require.NoError(t, p.SetDeadline(time.Now().Add(60*time.Second)))
	return p
}

func TestDatagrams(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rrecvfrom", "rsendto")
	a, b := packets(t, address), packets(t, "10.0.0.2:0")
	got := make([]byte, 4096)
	for _, size := range []int{1, 64, 1000, rsocket.MaxDatagram} {
		want := pattern(size)
		n, err := a.WriteTo(want, b.LocalAddr())
		require.NoError(t, err)
		require.Equal(t, size, n)
		n, from, err := b.ReadFrom(got)
		require.NoError(t, err)
		require.Equal(t, want, got[:n])
		require.Equal(t, a.LocalAddr(), from)
		_, err = b.WriteTo(got[:n], from)
		require.NoError(t, err)
		n, from, err = a.ReadFrom(got)
		require.NoError(t, err)
		require.Equal(t, want, got[:n])
		require.Equal(t, b.LocalAddr(), from)
	}
	_, err := a.WriteTo(make([]byte, rsocket.MaxDatagram+1), b.LocalAddr())
	require.ErrorIs(t, err, syscall.EMSGSIZE)
	_, err = a.WriteTo([]byte("x"), &net.TCPAddr{})
	require.Error(t, err)
	_, err = a.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EDESTADDRREQ)
	require.NoError(t, a.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, _, err = a.ReadFrom(got)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func TestDialedDatagrams(t *testing.T) {
	inLab(t)
	testutil.Covers(t, "rsend")
	b := packets(t, address)
	a, err := rsocket.DialPacket(b.LocalAddr().String(), rsocket.Options{LocalAddr: "10.0.0.2:0"})
	require.NoError(t, err)
	defer func() { assert.NoError(t, a.Close()) }()
	require.NoError(t, a.SetDeadline(time.Now().Add(60*time.Second)))
	assert.Equal(t, b.LocalAddr(), a.RemoteAddr())
	got := make([]byte, 100)
	for range 20 {
		_, err = a.Write([]byte("there"))
		require.NoError(t, err)
		n, from, err := b.ReadFrom(got)
		require.NoError(t, err)
		require.Equal(t, "there", string(got[:n]))
		_, err = b.WriteTo([]byte("back"), from)
		require.NoError(t, err)
		n, err = a.Read(got)
		require.NoError(t, err)
		require.Equal(t, "back", string(got[:n]))
	}
}

func TestClosePacketConnWakesReader(t *testing.T) {
	inLab(t)
	a := packets(t, address)
	started, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		close(started)
		_, _, err := a.ReadFrom(make([]byte, 1))
		ended <- err
	}()
	<-started
	require.NoError(t, a.Close())
	require.ErrorIs(t, <-ended, rsocket.ErrClosed)
}
