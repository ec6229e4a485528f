//go:build linux

package rdmacm_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tool runs a program of iproute2.
func tool(t testing.TB, line string) {
	t.Helper()
	args := strings.Fields(line)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", line, out)
}

// TestRemovalEndsConnections removes the device under both ends. Older kernels
// wait with the removal until the device is closed, which librdmacm never does.
func TestRemovalEndsConnections(t *testing.T) {
	inLab(t)
	testutil.RequireKernelFeature(t, testutil.FeatureDisassociate)
	const name, netdev = "rxe9", "removable"
	tool(t, "ip link add "+netdev+" type veth peer name "+netdev+"2")
	defer tool(t, "ip link delete "+netdev)
	tool(t, "ip addr add 10.9.0.1/24 dev "+netdev)
	tool(t, "ip link set "+netdev+"2 up")
	tool(t, "ip link set "+netdev+" up")
	tool(t, "rdma link add "+name+" type rxe netdev "+netdev)
	require.Eventually(t, func() bool {
		id, err := rdmacm.NewID(rdmacm.IDOptions{})
		require.NoError(t, err)
		defer id.Close()
		return id.Bind(parse(t, "10.9.0.1:0")) == nil
	}, time.Minute, 10*time.Millisecond)

	l, err := rdmacm.ListenEndpoint("10.9.0.1:0", rdmacm.ListenEndpointOptions{})
	require.NoError(t, err)
	c := connect(t, l, rdmacm.EndpointOptions{}, rdmacm.EndpointOptions{})
	removed := make(chan struct{})
	go func() {
		defer close(removed)
		tool(t, "rdma link delete "+name)
	}()
	for _, e := range []*rdmacm.Endpoint{c.dialed, c.accepted} {
		select {
		case <-e.Disconnected():
		case <-patiently(t).Done():
			require.Fail(t, "nothing was said of the removal")
		}
		// The other end's farewell may be faster than the removal.
		if !errors.Is(e.Reason(), rdmacm.ErrDisconnected) {
			assert.ErrorIs(t, e.Reason(), rdmacm.ErrDeviceGone)
		}
		_, err := e.CQ().Wait(patiently(t), make([]verbs.Completion, 1))
		assert.ErrorIs(t, err, rdmacm.ErrDeviceGone)
		require.NoError(t, e.Close())
	}
	require.NoError(t, l.Close())
	<-removed
	// The library drops what is gone when it next looks.
	_, err = rdmacm.Devices()
	require.NoError(t, err)
}
