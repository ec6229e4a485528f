//go:build linux

package verbs_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
)

// removable is a device that the test may remove, with a connection from a
// queue pair to itself and a goroutine that waits.
type removable struct {
	t      *testing.T
	ctx    context.Context
	dev    *verbs.Device
	mr     *verbs.MR
	qp     *verbs.QP
	sent   *verbs.CQ
	node   string     // of the device, in /dev
	waiter chan error // how the wait for a completion that never comes ended
}

// tool runs a program of iproute2.
func tool(t *testing.T, line string) {
	t.Helper()
	args := strings.Fields(line)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
}

// newRemovable makes a device on a network interface of its own, because an
// interface carries one rxe device only and other tests use the guest's.
func newRemovable(t *testing.T) *removable {
	const name, netdev = "rxe9", "removable"
	tool(t, "ip link add "+netdev+" type veth peer name "+netdev+"2")
	t.Cleanup(func() { tool(t, "ip link delete "+netdev) })
	tool(t, "ip addr add 10.9.0.1/24 dev "+netdev)
	tool(t, "ip link set "+netdev+"2 up")
	tool(t, "ip link set "+netdev+" up")
	tool(t, "rdma link add "+name+" type rxe netdev "+netdev)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r := &removable{t: t, ctx: ctx, waiter: make(chan error, 1)}
	r.node = nodeOf(t, name)
	var err error
	r.dev, err = verbs.Open(name)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := r.dev.ChooseGID(1)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	pd, err := r.dev.AllocPD()
	require.NoError(t, err)
	r.mr, err = pd.AllocMR(4096, verbs.MROptions{Access: verbs.AccessLocalWrite | verbs.AccessRemoteWrite})
	require.NoError(t, err)
	r.sent, err = r.dev.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	received, err := r.dev.CreateCQ(verbs.CQOptions{Events: true})
	require.NoError(t, err)
	r.qp, err = pd.CreateQP(verbs.QPOptions{SendCQ: r.sent, RecvCQ: received})
	require.NoError(t, err)
	self, err := r.qp.Endpoint()
	require.NoError(t, err)
	require.NoError(t, r.qp.Connect(ctx, self, verbs.ConnectOptions{}))
	go func() {
		_, err := received.Wait(ctx, make([]verbs.Completion, 1))
		r.waiter <- err
	}()
	return r
}

// write moves data through the device.
func (r *removable) write(text string) error {
	n := copy(r.mr.Bytes(), text)
	r.qp.SendBatch().Write(2, r.mr.Remote().At(2048, uint64(n)), r.mr.SGE(0, n))
	if _, err := r.qp.SendBatch().Post(); err != nil {
		return err
	}
	wc := make([]verbs.Completion, 1)
	if _, err := r.sent.Wait(r.ctx, wc); err != nil {
		return err
	}
	if err := wc[0].Err(); err != nil {
		return err
	}
	assert.Equal(r.t, text, string(r.mr.Bytes()[2048:2048+n]))
	return nil
}

// remove begins to remove the device; the channel tells how that ended.
func (r *removable) remove() <-chan error {
	cmd := exec.Command("rdma", "link", "delete", r.dev.Name())
	require.NoError(r.t, cmd.Start())
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	require.Eventually(r.t, func() bool {
		_, err := os.Stat(r.node)
		return os.IsNotExist(err)
	}, time.Minute, time.Millisecond)
	return done
}

func (r *removable) await(what string, c <-chan error) error {
	r.t.Helper()
	select {
	case err := <-c:
		return err
	case <-r.ctx.Done():
		require.FailNow(r.t, "nothing came", what)
		return nil
	}
}

func openFiles(t *testing.T) int {
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// TestRemoval: where the kernel takes an open device away, whoever waits or
// posts is told that it is gone. Where it cannot, the removal waits, the device
// works on, and closing it lets the removal finish. Nothing is left either way.
func TestRemoval(t *testing.T) {
	if !testutil.InLab() {
		testutil.Skip(t, "removes a device of its own: run it in the lab")
	}
	files, objects := openFiles(t), len(life.Open())
	r := newRemovable(t)
	require.NoError(t, r.write("before"))
	removed := r.remove()
	if testutil.KernelHas(t, testutil.FeatureDisassociate) {
		r.isGone(removed)
	} else {
		r.worksOn(removed)
	}
	require.NoError(t, r.dev.CloseAll())
	assert.Equal(t, files, openFiles(t), "open files")
	assert.Len(t, life.Open(), objects)
}

func (r *removable) isGone(removed <-chan error) {
	t := r.t
	require.ErrorIs(t, r.await("the waiter's error", r.waiter), verbs.ErrDeviceGone)
	require.NoError(t, r.await("the end of the removal", removed), "it waits for nobody")
	err := r.write("after")
	require.ErrorIs(t, err, verbs.ErrDeviceGone)
	require.ErrorIs(t, err, syscall.EIO)
	_, err = r.sent.Wait(r.ctx, make([]verbs.Completion, 1))
	require.ErrorIs(t, err, verbs.ErrDeviceGone)
	_, err = r.dev.AllocPD()
	require.ErrorIs(t, err, verbs.ErrDeviceGone)
	_, err = verbs.Open(r.dev.Name())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func (r *removable) worksOn(removed <-chan error) {
	t := r.t
	require.NoError(t, r.write("while it is being removed"))
	select {
	case err := <-r.waiter:
		require.FailNow(t, "the waiter was woken", "%v", err)
	case err := <-removed:
		require.FailNow(t, "the removal did not wait", "%v", err)
	default:
	}
	require.NoError(t, r.dev.CloseAll())
	require.ErrorIs(t, r.await("the waiter's error", r.waiter), verbs.ErrClosed)
	require.NoError(t, r.await("the end of the removal", removed))
}
