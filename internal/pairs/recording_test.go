package pairs

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecorder(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			served <- err
			return
		}
		_, err = io.ReadFull(conn, make([]byte, 5))
		if err == nil {
			_, err = io.WriteString(conn, "six of")
		}
		if err == nil {
			_, err = io.ReadAll(conn)
		}
		_ = conn.Close()
		served <- err
	}()

	recorder, err := Record(listener.Addr().(*net.TCPAddr).Port)
	require.NoError(t, err)
	client, err := net.DialTCP("tcp4", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: recorder.Port()})
	require.NoError(t, err)
	_, err = io.WriteString(client, "first")
	require.NoError(t, err)
	_, err = io.ReadFull(client, make([]byte, 6))
	require.NoError(t, err)
	_, err = io.WriteString(client, "bye")
	require.NoError(t, err)
	require.NoError(t, client.Close())
	require.NoError(t, <-served)

	messages, err := recorder.Close(ctx)
	require.NoError(t, err)
	assert.Equal(t, []Message{{true, []byte("first")}, {false, []byte("six of")}, {true, []byte("bye")}}, messages)
}

func TestRecorderWithoutServerOrClient(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	recorder, err := Record(1)
	require.NoError(t, err)
	client, err := net.DialTCP("tcp4", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: recorder.Port()})
	require.NoError(t, err)
	_, err = recorder.Close(ctx)
	require.Error(t, err)
	require.NoError(t, client.Close())

	recorder, err = Record(1)
	require.NoError(t, err)
	ended, end := context.WithCancel(ctx)
	end()
	_, err = recorder.Close(ended)
	require.Error(t, err)
}
