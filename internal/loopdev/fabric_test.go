//go:build linux && cgo

package loopdev_test

import (
	"io/fs"
	"path"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/gofabric/gofabric/internal/cverbs"
	"github.com/gofabric/gofabric/internal/loopdev"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sysfsRoot(t *testing.T) fs.FS {
	p, ok := cverbs.ProviderOf("loop0")
	require.True(t, ok)
	return p.Root()
}

func readLine(t *testing.T, device, name string) string {
	text, err := fs.ReadFile(sysfsRoot(t), path.Join("sys/class/infiniband", device, name))
	require.NoError(t, err)
	return strings.TrimSpace(string(text))
}

func TestLoop0NeedsNoConfiguration(t *testing.T) {
	ctx := openDevice(t, "loop0")
	attr, err := ctx.QueryDevice()
	require.NoError(t, err)
	assert.Equal(t, uint8(1), attr.PhysPortCnt)
	assert.Equal(t, int32(cverbs.IBV_ATOMIC_GLOB), attr.AtomicCap)
	port, err := ctx.QueryPort(1)
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_PORT_ACTIVE), port.State)
	assert.Equal(t, uint8(cverbs.IBV_LINK_LAYER_ETHERNET), port.LinkLayer)
	assert.Equal(t, uint32(1<<31), port.MaxMsgSz)
	_, err = ctx.QueryPort(2)
	assert.ErrorIs(t, err, errInvalid)
	assert.Equal(t, 1, ctx.Vectors())
	assert.Contains(t, loopdev.Devices(), "loop0")
}

func TestDeviceRefusals(t *testing.T) {
	for _, o := range []loopdev.DeviceOptions{
		{}, {Name: "loop"}, {Name: "loop256"}, {Name: "loop01"}, {Name: "mlx5_0"}, {Name: "loop+1"},
		{Name: "loop250", Ports: -1}, {Name: "loop250", Ports: 9},
	} {
		assert.ErrorIs(t, loopdev.AddDevice(o), errInvalid, "%+v", o)
	}
	assert.ErrorIs(t, loopdev.AddDevice(loopdev.DeviceOptions{Name: "loop0"}), syscall.EEXIST)
	assert.ErrorIs(t, loopdev.RemoveDevice("loop300"), errNoDevice)
	_, err := cverbs.OpenDevice("loop300")
	assert.ErrorIs(t, err, errNoDevice)
	for _, r := range loopdev.Refusals() {
		assert.NotEmpty(t, r.Feature)
		assert.NotEmpty(t, r.Reason)
	}
}

func TestSysfsTree(t *testing.T) {
	device := addDevice(t, loopdev.DeviceOptions{Ports: 2})
	require.NoError(t, fstest.TestFS(sysfsRoot(t),
		"sys/class/infiniband/"+device+"/node_guid", "sys/class/infiniband/"+device+"/ports/2/gids/7"))
	assert.Equal(t, "1: CA", readLine(t, device, "node_type"))
	assert.Len(t, readLine(t, device, "node_guid"), 19)
	assert.Equal(t, "4: ACTIVE", readLine(t, device, "ports/2/state"))
	assert.Equal(t, "Ethernet", readLine(t, device, "ports/2/link_layer"))
	assert.Equal(t, "RoCE v2", readLine(t, device, "ports/1/gid_attrs/types/3"))
	assert.Contains(t, readLine(t, device, "ports/1/gids/3"), "ffff:c612:")
	require.NoError(t, loopdev.SetPort(device, 2, false))
	assert.Equal(t, "1: DOWN", readLine(t, device, "ports/2/state"))
	assert.Equal(t, "4: ACTIVE", readLine(t, device, "ports/1/state"))
	require.NoError(t, loopdev.RemoveDevice(device))
	_, err := fs.Stat(sysfsRoot(t), "sys/class/infiniband/"+device)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestNumbersBelongToADevice(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	assert.Equal(t, a.qp.Num(), b.qp.Num())
}

func TestPortsOfOneDevice(t *testing.T) {
	device := addDevice(t, loopdev.DeviceOptions{Ports: 2})
	a, b := newEnd(t, endOptions{device: device}), newEnd(t, endOptions{device: device, port: 2})
	connect(a, b)
	b.receive(1, b.sge(0, 8))
	a.post(send(a, 1))
	assert.Zero(t, completion(t, a.send).Status)
	require.NoError(t, loopdev.SetPort(device, 2, false))
	assert.Equal(t, []int32{cverbs.IBV_EVENT_PORT_ERR}, a.asyncEvents())
	a.post(send(a, 2))
	assert.Equal(t, int32(cverbs.IBV_WC_RETRY_EXC_ERR), completion(t, a.send).Status)
	require.NoError(t, loopdev.SetPort(device, 2, true))
	ev, err := a.ctx.NextAsyncEvent()
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_EVENT_PORT_ACTIVE), ev.Type())
	assert.Equal(t, 2, ev.Port())
	require.NoError(t, ev.Ack())
	require.NoError(t, loopdev.SetPort(device, 2, true))
	assert.Empty(t, a.asyncEvents(), "it was up")
}

func TestPortThatComesBackInTime(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	connectWith(a, b, func(attr *cverbs.QPAttr) { attr.Timeout, attr.RetryCnt = 14, 7 })
	b.receive(1, b.sge(0, 8))
	require.NoError(t, loopdev.SetPort(b.device, 1, false))
	a.post(send(a, 1))
	assert.Empty(t, pollOnce(t, a.send, 1))
	require.NoError(t, loopdev.SetPort(b.device, 1, true))
	assert.Zero(t, completion(t, a.send).Status)
}

// A GID leads to a port by its type: RoCE v1 does not reach RoCE v2.
func TestGIDTypesDoNotMix(t *testing.T) {
	a, b := newEnd(t, endOptions{}), newEnd(t, endOptions{})
	b.toRTS(a)
	a.toInit()
	attr := a.rtrAttr(b)
	attr.AH.SGIDIndex = 0 // a v1 address, with the v2 address of the peer
	attr.AH.DGID = [16]byte{}
	a.modify(attr, a.rtrMask())
	a.modify(a.rtsAttr(), a.rtsMask())
	b.receive(1, b.sge(0, 8))
	a.post(send(a, 1))
	assert.Equal(t, int32(cverbs.IBV_WC_RETRY_EXC_ERR), completion(t, a.send).Status)
}

func TestInfiniBandByLID(t *testing.T) {
	o := loopdev.DeviceOptions{InfiniBand: true, Ports: 2}
	a := newEnd(t, endOptions{device: addDevice(t, o), kind: cverbs.IBV_QPT_UD})
	b := newEnd(t, endOptions{device: addDevice(t, o), kind: cverbs.IBV_QPT_UD, port: 2})
	for _, e := range []*end{a, b} {
		e.toInit()
		e.toState(cverbs.IBV_QPS_RTR)
		e.modify(e.rtsAttr(), e.rtsMask())
	}
	lid := func(e *end) uint16 {
		port, err := e.ctx.QueryPort(e.port)
		require.NoError(t, err)
		assert.Equal(t, uint8(cverbs.IBV_LINK_LAYER_INFINIBAND), port.LinkLayer)
		assert.NotZero(t, port.LID)
		return port.LID
	}
	ah, err := a.pd.CreateAH(&cverbs.AHAttr{DLID: lid(b), PortNum: 1})
	require.NoError(t, err)
	a.handles = append(a.handles, ah)
	b.receive(1, b.sge(0, 100))
	a.post(datagram(a, b, ah, 1, 8))
	wc := completion(t, b.recv)
	assert.Zero(t, wc.Flags, "no GRH")
	assert.Equal(t, uint32(grhLen+8), wc.ByteLen)
	assert.Equal(t, lid(a), wc.SLID)
	attr, err := b.ctx.AHFromWC(2, &wc, &cverbs.GRH{})
	require.NoError(t, err)
	assert.Equal(t, lid(a), attr.DLID)
	assert.Equal(t, uint8(2), attr.PortNum)
}

func TestDeviceRemoval(t *testing.T) {
	a, b := pair(t, endOptions{channel: true})
	a.post(writes(a, b, 1)...)
	require.NoError(t, a.send.Arm(false))
	require.NoError(t, loopdev.DelayMessages(a.device, a.qp.Num(), 3600e9))
	a.post(writes(a, b, 1)...)

	waiter := make(chan error, 1)
	require.NoError(t, syscall.SetNonblock(a.channel.FD(), false))
	go func() {
		_, err := a.channel.NextEvent()
		waiter <- err
	}()
	require.NoError(t, loopdev.RemoveDevice(a.device))
	assert.ErrorIs(t, <-waiter, errGone)

	ev, err := a.ctx.NextAsyncEvent()
	require.NoError(t, err)
	assert.Equal(t, int32(cverbs.IBV_EVENT_DEVICE_FATAL), ev.Type())
	require.NoError(t, ev.Ack())
	_, err = a.ctx.NextAsyncEvent()
	assert.ErrorIs(t, err, syscall.EAGAIN, "and then nothing")

	_, err = a.tryPost(writes(a, b, 1)...)
	assert.ErrorIs(t, err, errGone)
	assert.ErrorIs(t, a.tryReceive(1), errGone)
	assert.ErrorIs(t, a.send.Arm(false), errGone)
	assert.ErrorIs(t, a.qp.Modify(&cverbs.QPAttr{}, cverbs.IBV_QP_STATE), errGone)
	_, err = a.qp.Query(0)
	assert.ErrorIs(t, err, errGone)
	_, err = a.ctx.AllocPD()
	assert.ErrorIs(t, err, errGone)
	_, err = a.ctx.QueryPort(1)
	assert.ErrorIs(t, err, errGone)
	completion(t, a.send) // what had completed can still be polled
	var wc cverbs.WC
	_, err = a.send.Poll(&wc, 1)
	assert.ErrorIs(t, err, errGone)
	_, err = cverbs.OpenDevice(a.device)
	assert.ErrorIs(t, err, errNoDevice)

	require.NoError(t, loopdev.AddDevice(loopdev.DeviceOptions{Name: a.device}), "the name is free")
	require.NoError(t, loopdev.RemoveDevice(a.device))
	// The rest is destroyed without error when the test ends.
}
