//go:build linux && cgo

package verbs_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/gofabric/gofabric/verbs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openLoop makes an in-process device of the test's own and opens it.
func openLoop(t *testing.T, name string) *verbs.Device {
	t.Helper()
	require.NoError(t, loopdev.AddDevice(loopdev.DeviceOptions{Name: name, Ports: 2}))
	t.Cleanup(func() { _ = loopdev.RemoveDevice(name) })
	dev, err := verbs.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.CloseAll()) })
	return dev
}

func TestEventsOfPorts(t *testing.T) {
	dev := openLoop(t, "loop101")
	q, err := dev.Events(verbs.EventOptions{})
	require.NoError(t, err)
	for _, up := range []bool{false, true} {
		require.NoError(t, loopdev.SetPort("loop101", 2, up))
		ev, err := q.Next(patiently(t))
		require.NoError(t, err)
		want := verbs.EventPortError
		if up {
			want = verbs.EventPortActive
		}
		assert.Equal(t, verbs.Event{Type: want, Port: 2}, ev)
	}
	assert.Equal(t, uint64(2), dev.Stats().AsyncEvents)
}

// TestDeviceGone: a removed device ends every wait with ErrDeviceGone, and what
// was made on it still closes.
func TestDeviceGone(t *testing.T) {
	dev := openLoop(t, "loop102")
	q, err := dev.Events(verbs.EventOptions{})
	require.NoError(t, err)
	cq, err := dev.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	ctx := patiently(t)
	waited := make(chan error, 1)
	go func() {
		_, err := cq.Wait(ctx, make([]verbs.Completion, 1))
		waited <- err
	}()
	require.Eventually(t, func() bool { return cq.Stats().Waits > 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, loopdev.RemoveDevice("loop102"))
	ev, err := q.Next(ctx)
	require.NoError(t, err)
	assert.Equal(t, verbs.Event{Type: verbs.EventDeviceFatal}, ev)
	_, err = q.Next(ctx)
	require.ErrorIs(t, err, verbs.ErrDeviceGone)
	require.ErrorIs(t, <-waited, verbs.ErrDeviceGone)
	_, err = dev.Events(verbs.EventOptions{})
	require.ErrorIs(t, err, verbs.ErrDeviceGone)
	_, err = dev.AllocPD()
	require.Error(t, err)
}

// TestUnreadEventsAreLostAndCounted fills a queue that nobody reads.
func TestUnreadEventsAreLostAndCounted(t *testing.T) {
	dev := openLoop(t, "loop103")
	full, err := dev.Events(verbs.EventOptions{Depth: 1})
	require.NoError(t, err)
	all, err := dev.Events(verbs.EventOptions{})
	require.NoError(t, err)
	flip := func(up bool) {
		require.NoError(t, loopdev.SetPort("loop103", 1, up))
		_, err := all.Next(patiently(t))
		require.NoError(t, err)
	}
	for i := range 5 {
		flip(i%2 != 0)
	}
	ev, err := full.Next(patiently(t))
	require.NoError(t, err)
	assert.Equal(t, 0, ev.Lost)
	flip(true)
	ev, err = full.Next(patiently(t))
	require.NoError(t, err)
	assert.Equal(t, verbs.Event{Type: verbs.EventPortActive, Port: 1, Lost: 4}, ev)
	assert.Equal(t, uint64(4), dev.Stats().LostEvents)
}

// farRegion is a region of 5 GiB and a queue pair that is connected to itself.
func farRegion(t *testing.T, device string) (*verbs.MR, *verbs.QP, *verbs.CQ) {
	t.Helper()
	const size = 5 << 30
	dev := openLoop(t, device)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	// Only address space: a small machine would not promise so much memory.
	buf, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(buf)) })
	mr, err := pd.RegisterMR(buf, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, mr.Close()) })
	cq, err := dev.CreateCQ(verbs.CQOptions{})
	require.NoError(t, err)
	qp, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq})
	require.NoError(t, err)
	own, err := qp.Endpoint()
	require.NoError(t, err)
	require.NoError(t, qp.Connect(patiently(t), own, verbs.ConnectOptions{}))
	return mr, qp, cq
}

// TestRegionOverFourGiB: a region may be longer than one piece can be, and its far
// end is reached.
func TestRegionOverFourGiB(t *testing.T) {
	mr, qp, cq := farRegion(t, "loop104")
	size := mr.Len()
	assert.Equal(t, mr.SGE(size, 0).Addr, mr.Addr()+uint64(size))
	far := mr.Bytes()[size-16:]
	copy(far, "far")
	s := qp.SendBatch()
	s.Write(2, mr.Remote().At(1<<32+5, 3), mr.SGE(size-16, 3))
	_, err := s.Post()
	require.NoError(t, err)
	wc := make([]verbs.Completion, 1)
	_, err = cq.Spin(patiently(t), wc)
	require.NoError(t, err)
	require.NoError(t, wc[0].Err())
	assert.Equal(t, "far", string(mr.Bytes()[1<<32+5:][:3]))
}

// TestPieceOverFourGiB: a piece has at most 2^32-1 bytes, and one that is longer is
// refused instead of cut.
func TestPieceOverFourGiB(t *testing.T) {
	mr, qp, _ := farRegion(t, "loop104")
	s := qp.SendBatch()
	for _, n := range []int{1 << 32, mr.Len()} {
		s.Write(1, mr.Remote(), mr.SGE(0, n))
		posted, err := s.Post()
		require.ErrorContains(t, err, "piece 0")
		require.Zero(t, posted)
	}
	assert.Equal(t, verbs.SGE{Addr: mr.Addr(), Length: 1<<32 - 1, LKey: mr.LKey()}, mr.SGE(0, 1<<32-1))
}

// TestCloseWithEventsUnderWay closes objects while their events pour in.
func TestCloseWithEventsUnderWay(t *testing.T) {
	dev := openLoop(t, "loop105")
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	mr, err := pd.AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	for range 50 {
		srq, err := pd.CreateSRQ(verbs.SRQOptions{MaxRecv: 2})
		require.NoError(t, err)
		srq.RecvBatch().Recv(1, mr.SGE(0, 8))
		_, err = srq.RecvBatch().Post()
		require.NoError(t, err)
		cq, err := dev.CreateCQ(verbs.CQOptions{Events: true})
		require.NoError(t, err)
		qp, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, SRQ: srq})
		require.NoError(t, err)
		own, err := qp.Endpoint()
		require.NoError(t, err)
		require.NoError(t, qp.Connect(patiently(t), own, verbs.ConnectOptions{}))
		require.NoError(t, loopdev.SpuriousEvents("loop105", qp.Num(), 70))
		require.NoError(t, srq.ArmLimit(2))
		require.NoError(t, qp.Err())
		require.NoError(t, qp.Close())
		require.NoError(t, srq.Close())
		require.NoError(t, cq.Close())
	}
}

// TestPostsThatFail: requests that the device refuses take no place.
func TestPostsThatFail(t *testing.T) {
	dev := openLoop(t, "loop106")
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	mr, err := pd.AllocMR(64, verbs.MROptions{})
	require.NoError(t, err)
	cq, err := dev.CreateCQ(verbs.CQOptions{})
	require.NoError(t, err)
	qp, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, Type: verbs.UD})
	require.NoError(t, err)
	require.NoError(t, qp.Activate())
	own, err := qp.Endpoint()
	require.NoError(t, err)
	ah, err := qp.CreateAH(own, verbs.RouteOptions{})
	require.NoError(t, err)
	room := qp.SendBatch().Room()
	require.NoError(t, loopdev.FailPosts("loop106", qp.Num(), 1))
	qp.SendBatch().SendTo(1, ah, qp.Num(), qp.QKey(), mr.SGE(0, 8))
	n, err := qp.SendBatch().Post()
	require.Error(t, err)
	require.Zero(t, n)
	require.Equal(t, room, qp.SendBatch().Room())
	require.Zero(t, qp.Stats().Send.Posted)
	require.NoError(t, ah.Close(), "the failed post holds it no more")
}

// TestFailedCreationLeaksNothing has the device fail to make each kind of
// object in turn: the error is the device's, and nothing is left but what was
// made before.
func TestFailedCreationLeaksNothing(t *testing.T) {
	const name = "loop107"
	dev := openLoop(t, name)
	pd, err := dev.AllocPD()
	require.NoError(t, err)
	srq, err := pd.CreateSRQ(verbs.SRQOptions{})
	require.NoError(t, err)
	cq, err := dev.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	qp, err := pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq, SRQ: srq, Type: verbs.UD})
	require.NoError(t, err)
	own, err := qp.Endpoint()
	require.NoError(t, err)
	before := len(life.Open())
	for what, create := range map[string]func() (closer, error){
		"PD":  func() (closer, error) { return dev.AllocPD() },
		"MR":  func() (closer, error) { return pd.AllocMR(8, verbs.MROptions{}) },
		"CQ":  func() (closer, error) { return dev.CreateCQ(verbs.CQOptions{Events: true}) },
		"SRQ": func() (closer, error) { return pd.CreateSRQ(verbs.SRQOptions{}) },
		"QP":  func() (closer, error) { return pd.CreateQP(verbs.QPOptions{SendCQ: cq, RecvCQ: cq}) },
		"AH":  func() (closer, error) { return qp.CreateAH(own, verbs.RouteOptions{}) },
	} {
		require.NoError(t, loopdev.FailAllocations(name, 1))
		_, err := create()
		require.ErrorIs(t, err, syscall.ENOMEM, what)
		require.Len(t, life.Open(), before, what)
		made, err := create()
		require.NoError(t, err, what)
		require.NoError(t, made.Close(), what)
		require.Len(t, life.Open(), before, what)
	}
}

type closer interface{ Close() error }
