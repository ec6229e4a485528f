package rsocket_test

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/verbs/rdmacm"
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

// TestDatagramsOnRoCE: the library cannot reach a peer there, and says so.
func TestDatagramsOnRoCE(t *testing.T) {
	inLab(t)
	a, b := packets(t, address), packets(t, "10.0.0.2:0")
	_, err := a.WriteTo([]byte("x"), b.LocalAddr())
	var errno syscall.Errno
	require.ErrorAs(t, err, &errno)
	_, err = rsocket.DialPacket(b.LocalAddr().String(), rsocket.Options{LocalAddr: "10.0.0.2:0"})
	require.ErrorIs(t, err, errno)
}

func TestPacketConnChecks(t *testing.T) {
	inLab(t)
	a := packets(t, address)
	here := a.LocalAddr()
	assert.NotZero(t, here.(rdmacm.Addr).IP.Port())
	_, err := a.WriteTo(make([]byte, rsocket.MaxDatagram+1), here)
	require.ErrorIs(t, err, syscall.EMSGSIZE)
	_, err = a.WriteTo([]byte("x"), &net.TCPAddr{})
	require.Error(t, err)
	_, err = a.WriteTo([]byte("x"), &net.UDPAddr{IP: net.IPv6loopback, Port: 1})
	require.ErrorIs(t, err, syscall.EAFNOSUPPORT)
	_, err = a.Write([]byte("x"))
	require.ErrorIs(t, err, syscall.EDESTADDRREQ)
	require.NoError(t, a.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	_, _, err = a.ReadFrom(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
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
