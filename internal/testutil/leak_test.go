package testutil

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

func TestLeakedGoroutineIsNamed(t *testing.T) {
	before := takeSnapshot()
	stop := make(chan struct{})
	started := make(chan struct{})
	go leakOnPurpose(started, stop)
	<-started

	problems := before.leaksAfter(0)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], "leakOnPurpose")

	close(stop)
	assert.Empty(t, before.leaksAfter(leakGrace), "a goroutine that ends within the grace is no leak")
}

func leakOnPurpose(started, stop chan struct{}) {
	close(started)
	<-stop
}

func TestLeakedFileIsNamed(t *testing.T) {
	if runtime.GOOS != "linux" {
		Skip(t, "open files are only seen on Linux")
	}
	before := takeSnapshot()
	file, err := os.Open(os.DevNull)
	require.NoError(t, err)

	problems := before.leaksAfter(0)
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0], os.DevNull)

	require.NoError(t, file.Close())
	assert.Empty(t, before.leaksAfter(leakGrace))
}

func TestNetpollerIsNoLeak(t *testing.T) {
	before := takeSnapshot()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.SetReadDeadline(time.Now()))
	_, err = r.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, r.Close())
	require.NoError(t, w.Close())
	assert.Empty(t, before.leaksAfter(leakGrace))
}

func TestManyThreadsAreALeak(t *testing.T) {
	before := snapshot{threads: 10}
	assert.Empty(t, before.compare(snapshot{threads: 10 + threadSlack}))
	assert.Len(t, before.compare(snapshot{threads: 11 + threadSlack}), 1)
}
