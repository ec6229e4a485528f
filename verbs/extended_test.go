//go:build linux && cgo

package verbs_test

import (
	"context"
	"testing"

	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestExtendedPathsDoNotAllocate: builders, batched polls and polls field by
// field cost the collector nothing.
func TestExtendedPathsDoNotAllocate(t *testing.T) {
	dev := openLoop(t, "loop140")
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	mr, err := pd.AllocMR(128, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite})
	require.NoError(t, err)
	cq, err := dev.CreateCQEx(verbs.CQExOptions{})
	require.NoError(t, err)
	qp, err := pd.CreateQPEx(verbs.QPExOptions{
		QPOptions: verbs.QPOptions{SendCQ: cq.CQ(), RecvCQ: cq.CQ(), MaxSendSGE: 2, MaxInline: 64}, SendOps: verbs.OpWrite,
	})
	require.NoError(t, err)
	self, err := qp.Endpoint()
	require.NoError(t, err)
	require.NoError(t, qp.Connect(context.Background(), self, verbs.ConnectOptions{}))
	batch, wcs, p := qp.SendBatch(), make([]verbs.CompletionEx, 4), cq.Poller()
	from, more, to := mr.SGE(0, 8), mr.SGE(8, 4), mr.Remote().At(64, 12)
	post := func() {
		batch.Write(1, to, from)
		batch.Write(2, to, from, more)
		batch.Write(3, to, from, more).Inline()
		_, _ = batch.Post()
	}
	assert.Zero(t, testing.AllocsPerRun(50, func() {
		post()
		_, _ = cq.Poll(wcs)
	}))
	assert.Zero(t, testing.AllocsPerRun(50, func() {
		post()
		for ok, _ := p.Start(); ok; ok, _ = p.Next() {
			p.Opcode()
			p.Len()
			p.Imm()
		}
	}))
	_, err = cq.Poll(wcs)
	require.NoError(t, err)
	assert.Equal(t, verbs.QueueStats{Posted: 306, Completed: 306}, qp.Stats().Send)
}
