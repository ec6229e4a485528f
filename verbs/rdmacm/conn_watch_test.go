package rdmacm

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/verbs"
)

// leaver is a link whose peer leaves when the channel is closed.
type leaver chan struct{}

func (l leaver) Gone() <-chan struct{} { return l }
func (l leaver) Leave() error          { return nil }
func (l leaver) Left() error           { return nil }

// TestNothingIsLostWhenThePeerLeaves: the connection manager's word that the peer
// has left may be faster than the goroutine that takes in what it had sent, by more
// than the time that any machine is expected to be busy for.
func TestNothingIsLostWhenThePeerLeaves(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dev, err := verbs.Open("loop0")
	require.NoError(t, err)
	defer func() { assert.NoError(t, dev.Close()) }()
	var hubs [2]*Hub
	for i := range hubs {
		hubs[i], err = NewHub(dev, HubOptions{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, hubs[i].CloseAll()) }()
	}
	a, b, err := Pair(ctx, hubs[0], hubs[1], ConnOptions{KeepAlive: -1})
	require.NoError(t, err)
	require.NoError(t, a.Send(ctx, []byte("first")))
	// Nothing that is completed is looked at while the lock is held.
	b.shard.mu.Lock()
	look := sync.OnceFunc(b.shard.mu.Unlock)
	defer look()
	require.NoError(t, a.Send(ctx, []byte("last")))
	require.NoError(t, a.CloseWrite(ctx))
	l := make(leaver)
	go b.watch(l.Gone())
	close(l)
	select {
	case <-b.Done():
		t.Error("the connection is over, and what had come was not seen")
	case <-time.After(300 * time.Millisecond):
	}
	look()
	for _, want := range []string{"first", "last"} {
		m, err := b.Recv(ctx)
		require.NoError(t, err)
		assert.Equal(t, want, string(m.Bytes()))
		m.Release()
	}
	_, err = b.Recv(ctx)
	require.ErrorIs(t, err, io.EOF)
	<-b.Done()
	require.ErrorIs(t, b.Err(), ErrPeerGone)
	assert.EqualError(t, b.Err().(*ConnError).Err, ErrPeerGone.Error())
}
