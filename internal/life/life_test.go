package life_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type thing struct {
	life.Object
	name string
	log  *[]string
	fail error
}

func newThing(name string, log *[]string, parents ...*thing) *thing {
	th := &thing{name: name, log: log}
	var objs []*life.Object
	for _, p := range parents {
		if p.Use() != nil {
			return nil
		}
		defer p.Done()
		objs = append(objs, &p.Object)
	}
	life.Enter(&th.Object, th, name, objs...)
	return th
}

func (th *thing) Close() error {
	return th.Object.Close(func() error {
		*th.log = append(*th.log, th.name)
		return th.fail
	})
}

func (th *thing) CloseAll() error { return errors.Join(th.CloseChildren(), th.Close()) }

// assertNoneLeft fails at the end of the test if it left an object open.
func assertNoneLeft(t *testing.T) {
	before := len(life.Open())
	t.Cleanup(func() { assert.Len(t, life.Open(), before) })
}

func TestParentRefusesWhileChildrenLive(t *testing.T) {
	assertNoneLeft(t)
	var log []string
	pd := newThing("PD", &log)
	cq := newThing("CQ", &log)
	qp := newThing("QP 7", &log, pd, cq)

	for _, parent := range []*thing{pd, cq} {
		err := parent.Close()
		require.ErrorIs(t, err, life.ErrBusy)
		assert.Contains(t, err.Error(), "QP 7")
	}
	require.NoError(t, qp.Close())
	require.NoError(t, qp.Close(), "closing twice is harmless")
	assert.ErrorIs(t, qp.Use(), life.ErrClosed)
	require.NoError(t, pd.Close())
	require.NoError(t, cq.Close())
	assert.Equal(t, []string{"QP 7", "PD", "CQ"}, log)
}

func TestCloseAllGoesFromTheNewest(t *testing.T) {
	assertNoneLeft(t)
	var log []string
	dev := newThing("device", &log)
	pd := newThing("PD", &log, dev)
	cq := newThing("CQ", &log, dev)
	newThing("MR", &log, pd)
	newThing("QP", &log, pd, cq)
	require.NoError(t, dev.CloseAll())
	assert.Equal(t, []string{"QP", "CQ", "MR", "PD", "device"}, log)
}

func TestParentForAWhile(t *testing.T) {
	assertNoneLeft(t)
	var log []string
	pd := newThing("PD", &log)
	mr := newThing("MR", &log, pd)
	window := newThing("window", &log, pd)
	bind := func() {
		require.NoError(t, window.Use())
		defer window.Done()
		require.NoError(t, mr.Use())
		defer mr.Done()
		window.Hold(&mr.Object)
		window.Hold(&mr.Object)
	}
	bind()
	assert.ErrorContains(t, mr.Close(), "window")
	require.NoError(t, window.Use())
	window.Release(&mr.Object)
	window.Done()
	require.NoError(t, mr.Close())
	assert.ErrorContains(t, pd.Close(), "window")

	mr = newThing("second MR", &log, pd)
	bind()
	require.NoError(t, mr.CloseAll())
	require.NoError(t, pd.Close())
	assert.Equal(t, []string{"MR", "window", "second MR", "PD"}, log)
}

func TestThoseThatCloseFirst(t *testing.T) {
	assertNoneLeft(t)
	var log []string
	dev := newThing("device", &log)
	comm := &thing{name: "communicator", log: &log}
	life.EnterFirst(&comm.Object, comm, comm.name, &dev.Object)
	newThing("buffer", &log, dev)
	require.NoError(t, dev.CloseAll())
	assert.Equal(t, []string{"communicator", "buffer", "device"}, log)
}

func TestFailedDestroyLeavesItOpen(t *testing.T) {
	var log []string
	th := newThing("MR", &log)
	th.fail = errors.New("device says no")
	require.ErrorIs(t, th.Close(), th.fail)
	require.NoError(t, th.Use())
	th.Done()
	th.fail = nil
	require.NoError(t, th.Close())
}

func TestZeroObjectIsClosed(t *testing.T) {
	var th thing
	assert.ErrorIs(t, th.Use(), life.ErrClosed)
	assert.NoError(t, th.Close())
}

func TestDroppedObjectIsListedWithItsStackAndClosed(t *testing.T) {
	assertNoneLeft(t)
	var log []string
	dev := newThing("device", &log)
	func() { newThing("dropped MR", &log, dev) }()
	runtime.GC()

	open := life.Open()
	last := open[len(open)-1]
	assert.Equal(t, "dropped MR", last.Name)
	assert.Contains(t, last.Stack, "TestDroppedObjectIsListedWithItsStackAndClosed")
	assert.ErrorContains(t, dev.Close(), "dropped MR")
	require.NoError(t, dev.CloseAll())
	assert.Equal(t, []string{"dropped MR", "device"}, log)
}

func TestCloseWaitsForTheCallInside(t *testing.T) {
	var log []string
	th := newThing("CQ", &log)
	require.NoError(t, th.Use())
	var wg sync.WaitGroup
	wg.Add(1)
	closed := make(chan struct{})
	go func() {
		defer wg.Done()
		assert.NoError(t, th.Close())
		close(closed)
	}()
	select {
	case <-closed:
		t.Fatal("Close did not wait")
	default:
	}
	th.Done()
	wg.Wait()
}
