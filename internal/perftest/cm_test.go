package perftest

import (
	"context"
	"encoding/hex"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlagsOfTheConnectionManager(t *testing.T) {
	c := parse(t, "-R -T 0 --retry_count 3")
	assert.True(t, c.CMPairs)
	assert.True(t, c.CMControl, "-R talks over rdma_cm too")
	require.NotNil(t, c.TypeOfService)
	assert.Equal(t, 0, *c.TypeOfService)
	assert.Equal(t, 3, c.RetryCount)
	assert.IsType(t, &cmPairsLink{}, linkOf(&c))

	ud, err := ParseArgs(SendBW, []string{"-R", "-c", "UD"})
	require.NoError(t, err)
	assert.IsType(t, &cmDatagramsLink{}, linkOf(&ud))

	c = parse(t, "-z")
	assert.False(t, c.CMPairs)
	assert.True(t, c.CMControl)
	assert.Nil(t, c.TypeOfService)
	assert.IsType(t, cmLink{}, linkOf(&c))

	c = parse(t, "")
	assert.False(t, c.CMControl)
	assert.IsType(t, tcpLink{}, linkOf(&c))
}

// binaryKey is a key as a C tool lays it out.
const binaryKey = "00000001" + "00000080" + "00000012" + "00bbb318" + "00000374" + "00000000" +
	"00007f25d377b000" + "00000000000000000000ffff0a000001" + "00000000" + "00000001"

func TestBinaryKey(t *testing.T) {
	msg, err := hex.DecodeString(binaryKey)
	require.NoError(t, err)
	k, err := DecodeBinaryKey(msg)
	require.NoError(t, err)
	gid := GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}
	want := Key{LID: 1, OutReads: 128, QPN: 0x12, PSN: 0xbbb318, RKey: 0x374, VAddr: 0x7f25d377b000, GID: &gid}
	assert.Equal(t, want, k)
	again, err := EncodeBinaryKey(k)
	require.NoError(t, err)
	assert.Equal(t, msg[:52], again[:52])

	zero, err := DecodeBinaryKey(make([]byte, keyLenBinary))
	require.NoError(t, err)
	assert.Equal(t, Key{}, zero)

	for field, at := range map[string]int{"lid": 1, "out_reads": 4, "qpn": 8, "psn": 12} {
		bad := append([]byte(nil), msg...)
		bad[at] = 1
		_, err := DecodeBinaryKey(bad)
		var fieldErr *FieldError
		require.ErrorAs(t, err, &fieldErr, field)
		assert.Equal(t, field, fieldErr.Field)
	}
	_, err = DecodeBinaryKey(msg[:55])
	require.Error(t, err)
	_, err = EncodeBinaryKey(Key{QPN: 1 << 24})
	require.Error(t, err)
}

func FuzzDecodeBinaryKey(f *testing.F) {
	msg, err := hex.DecodeString(binaryKey)
	require.NoError(f, err)
	f.Add(msg)
	f.Add(make([]byte, keyLenBinary))
	f.Fuzz(func(t *testing.T, msg []byte) {
		k, err := DecodeBinaryKey(msg)
		if err != nil {
			return
		}
		again, err := EncodeBinaryKey(k)
		require.NoError(t, err)
		back, err := DecodeBinaryKey(again)
		require.NoError(t, err)
		require.Equal(t, k, back)
	})
}

// A session with structures for keys passes what one side has and the other needs,
// and drops a GID that this side would not use.
func TestSessionWithBinaryKeys(t *testing.T) {
	a, b := net.Pipe()
	options := SessionOptions{BinaryKeys: true, AnyGID: true}
	client, server := NewSession(a, RoleClient, options), NewSession(b, RoleServer, options)
	defer client.Close()
	defer server.Close()
	v4, v6 := GID{10: 0xff, 11: 0xff, 12: 10, 15: 1}, GID{0: 0xfe, 1: 0x80, 15: 1}
	serverKeys := []Key{{QPN: 7, GID: &v6}, {QPN: 8, GID: &v6}}
	done := make(chan error, 1)
	go func() {
		err := server.Meet(context.Background())
		if err == nil {
			_, err = server.ExchangeKeys(context.Background(), serverKeys)
		}
		done <- err
	}()
	require.NoError(t, client.Meet(context.Background()))
	got, err := client.ExchangeKeys(context.Background(), []Key{{QPN: 1, GID: &v4}, {QPN: 2}})
	require.NoError(t, err)
	require.NoError(t, <-done)
	assert.Equal(t, []Key{serverKeys[0], {QPN: 8}}, got)
}

func TestDeadline(t *testing.T) {
	var d deadline
	parent, cancel := context.WithCancelCause(context.Background())
	d.init(parent)
	first := d.current()
	d.set(time.Now().Add(time.Hour))
	require.NoError(t, first.Err())
	d.set(time.Unix(1, 0)) // ends what waits
	<-first.Done()
	require.ErrorIs(t, context.Cause(first), os.ErrDeadlineExceeded)
	d.set(time.Time{})
	second := d.current()
	require.NoError(t, second.Err())
	cancel(net.ErrClosed)
	<-second.Done()
	require.ErrorIs(t, context.Cause(second), net.ErrClosed)
	d.set(time.Time{})
	require.ErrorIs(t, context.Cause(d.current()), net.ErrClosed)
}
