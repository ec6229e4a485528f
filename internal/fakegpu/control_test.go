//go:build linux

package fakegpu

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestControlIsShared(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page")
	a, err := newControl(name)
	require.NoError(t, err)
	b, err := openControl(name)
	require.NoError(t, err)
	a.Set(CollectiveHold, 3)
	assert.EqualValues(t, 3, b.Get(CollectiveHold))
	process := atProcesses + processSize
	for _, n := range []Counter{ContextsLive(1), ContextsCreated(1)} {
		atomic.StoreUint64(b.word(process+inProcess+8*int(n)), 7)
	}
	assert.Zero(t, a.Count(ContextsLive(1)), "of a process that has ended")
	assert.EqualValues(t, 7, a.Count(ContextsCreated(1)))
	atomic.StoreUint64(b.word(process), uint64(os.Getpid()))
	assert.EqualValues(t, 7, a.Count(ContextsLive(1)))
	assert.True(t, a.WaitCount(ContextsLive(1), 7))
	a.Reset()
	assert.Zero(t, b.Get(CollectiveHold))
	assert.EqualValues(t, 7, b.Count(ContextsLive(1)), "counters go on")
}

func TestFaultsFillTheirEntries(t *testing.T) {
	c, err := newControl(filepath.Join(t.TempDir(), "page"))
	require.NoError(t, err)
	for range faults {
		require.NoError(t, c.Fail("cuMemAlloc_v2", 2, 0, 1))
	}
	assert.Error(t, c.Fail("cuMemAlloc_v2", 2, 0, 1))
	c.Reset()
	assert.NoError(t, c.Fail("cuMemAlloc_v2", 2, 0, 1))
	assert.Error(t, c.Fail(string(make([]byte, faultName)), 2, 0, 1))
}

func TestReports(t *testing.T) {
	c, err := newControl(filepath.Join(t.TempDir(), "page"))
	require.NoError(t, err)
	assert.Empty(t, c.Reports())
	for i := range reports + 5 { // more than there is room for
		atomic.AddUint64(c.word(atReports), 1)
		if i < reports {
			copy(c.page[atReport+i*reportSize+8:], "broken\x00")
			atomic.StoreUint64(c.word(atReport+i*reportSize), 1)
		}
	}
	assert.Len(t, c.TakeReports(), reports)
	assert.Empty(t, c.Reports())
}

func TestPageOfAnotherKind(t *testing.T) {
	name := filepath.Join(t.TempDir(), "page")
	require.NoError(t, os.WriteFile(name, make([]byte, controlSize), 0o600))
	_, err := openControl(name)
	assert.Error(t, err)
	_, err = openControl(name + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}
