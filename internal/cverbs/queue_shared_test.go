//go:build linux && cgo

package cverbs_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSharedQueueHandsOutEverySlotOnce(t *testing.T) {
	const depth = 5
	q, err := cverbs.NewSharedQueue(depth)
	require.NoError(t, err)
	defer q.Free()
	defer q.Leave()

	seen := map[uint64]bool{}
	var last uint64
	for i := range depth {
		id, ok := q.Take(uint64(i))
		require.True(t, ok)
		assert.False(t, seen[id])
		seen[id], last = true, id
	}
	_, ok := q.Take(99)
	assert.False(t, ok, "the queue is full")

	q.GiveBack(last)
	again, ok := q.Take(7)
	require.True(t, ok)
	assert.Equal(t, last, again)
	_, ok = q.Take(99)
	assert.False(t, ok)
}
