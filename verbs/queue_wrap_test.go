package verbs

import (
	"context"
	"testing"

	_ "github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/require"
)

// TestSequenceNumbersWrap carries a queue past the last sequence number, which
// takes a fast device minutes.
func TestSequenceNumbersWrap(t *testing.T) {
	dev, err := Open("loop0")
	require.NoError(t, err)
	defer dev.CloseAll()
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	cq, err := dev.CreateCQ(CQOptions{})
	require.NoError(t, err)
	mr, err := pd.AllocMR(64, MROptions{Access: AccessLocalWrite | AccessRemoteWrite})
	require.NoError(t, err)
	qp, err := pd.CreateQP(QPOptions{SendCQ: cq, RecvCQ: cq, MaxSend: 4})
	require.NoError(t, err)
	self, err := qp.Endpoint()
	require.NoError(t, err)
	require.NoError(t, qp.Connect(context.Background(), self, ConnectOptions{}))

	const before = 10
	b := qp.SendBatch()
	b.tail -= before
	b.rec.Head = b.tail
	wc := make([]Completion, 8)
	for i := range uint64(2 * before) {
		b.Write(i, mr.Remote(), mr.SGE(0, 8))
		_, err := b.Post()
		require.NoError(t, err)
		n, err := cq.Spin(context.Background(), wc)
		require.NoError(t, err)
		require.Equal(t, 1, n)
		require.Equal(t, i, wc[0].ID())
		require.NoError(t, wc[0].Err())
		require.Equal(t, 4, b.Room())
	}
}
