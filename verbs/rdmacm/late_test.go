package rdmacm

import (
	"context"
	"syscall"
	"testing"

	"github.com/gofabric/gofabric/internal/crdmacm"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// anID is an id without a kernel behind it, on a channel that never dies.
func anID(t *testing.T) *ID {
	id := idOf(crdmacm.ID{}, IDOptions{PortSpace: TCP})
	id.channel.Store(&Channel{dead: make(chan struct{}), ids: map[*ID]struct{}{}})
	life.Enter(&id.obj, id, "id of a test")
	t.Cleanup(func() { assert.NoError(t, id.obj.Close(func() error { return nil })) })
	return id
}

// TestLateUnreachableIsTolerated: the kernel may say that the peer cannot be
// reached when the connection stands, when it is over, and when its id is gone.
func TestLateUnreachableIsTolerated(t *testing.T) {
	ctx := context.Background()
	id := anID(t)
	late := Event{Type: EventUnreachable, Status: -int(syscall.ETIMEDOUT)}
	id.put(Event{Type: EventEstablished})
	_, err := id.await(ctx, EventEstablished, EventUnreachable)
	require.NoError(t, err)
	for range 1000 {
		id.put(late)
	}
	assert.LessOrEqual(t, len(id.events), 64, "nobody asks for them")
	assert.NoError(t, id.Reason(), "the connection stands")
	id.put(Event{Type: EventDisconnected})
	<-id.Disconnected()
	require.ErrorIs(t, id.Reason(), ErrDisconnected)
	id.put(late)
	require.ErrorIs(t, id.Reason(), ErrDisconnected, "the first reason stays")

	ev, err := id.Next(ctx)
	require.NoError(t, err)
	assert.Equal(t, late, ev, "whoever asks can see it")
	assert.ErrorIs(t, ev.Err(), ErrUnreachable)
	assert.ErrorIs(t, ev.Err(), ErrTimedOut)
	assert.Nil(t, known.find(crdmacm.ID{}), "an id that is not known gets nothing")
}

func TestUnreachableInTimeIsAnError(t *testing.T) {
	id := anID(t)
	id.put(Event{Type: EventRouteResolved}) // of an operation before
	id.put(Event{Type: EventUnreachable, Status: -int(syscall.ETIMEDOUT)})
	_, err := id.await(context.Background(), EventConnectResponse, EventUnreachable)
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorIs(t, err, syscall.ETIMEDOUT)
}

func TestDeviceRemovalEndsEveryWait(t *testing.T) {
	id := anID(t)
	id.put(Event{Type: EventDeviceRemoval})
	_, err := id.await(context.Background(), EventAddrResolved)
	assert.ErrorIs(t, err, ErrDeviceGone)
	assert.ErrorIs(t, id.Reason(), ErrDeviceGone)
}

func TestOneOperationAtATime(t *testing.T) {
	id := anID(t)
	ctx := context.Background()
	require.NoError(t, id.begin(ctx))
	assert.ErrorIs(t, id.begin(ctx), ErrConcurrentUse)
	id.finish()
	require.NoError(t, id.begin(ctx))
	id.finish()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, id.begin(ended), context.Canceled)
	require.NoError(t, id.begin(ctx))
	_, err := id.next(ended)
	require.ErrorIs(t, err, context.Canceled)
	id.finish()
	require.NoError(t, id.begin(ctx), "nothing was begun in the kernel, so nothing was abandoned")
	_, err = id.await(ended, EventAddrResolved)
	require.ErrorIs(t, err, context.Canceled)
	id.finish()
	assert.ErrorIs(t, id.begin(ctx), ErrAbandoned)
}
