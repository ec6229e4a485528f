package rsocket_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm/rsocket"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

// address is that of the lab guest's first RDMA device.
const address = "10.0.0.1:0"

// dialEnv has the test binary dial an address and hold the connection.
const dialEnv = "GOFABRIC_RSOCKET_DIAL"

func TestMain(m *testing.M) {
	if addr := os.Getenv(dialEnv); addr != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
		defer cancel()
		c, err := rsocket.Dial(ctx, addr, rsocket.Options{})
		if err == nil {
			_, err = c.Write([]byte("here"))
		}
		if err == nil {
			_, err = c.ReadContext(ctx, make([]byte, 1))
		}
		fmt.Println(err)
		return
	}
	if testutil.InLab() {
		// What the library keeps open once it was used is no leak of the tests:
		// devices, and what its rpoll wakes itself with. What fails here fails in
		// them too.
		if l, err := rsocket.Listen(address, rsocket.Options{}); err == nil {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			_, _ = l.AcceptContext(ctx)
			cancel()
			_ = l.Close()
		}
		if p, err := rsocket.ListenPacket(address, rsocket.Options{}); err == nil {
			_ = p.Close()
		}
	}
	verbstest.Main(m)
}

// inLab skips a test outside the lab: it needs kernel RDMA with known addresses.
func inLab(t testing.TB) {
	t.Helper()
	if !testutil.InLab() {
		testutil.Skip(t, "needs the connection manager of a kernel with soft-RoCE: it runs in the lab")
	}
	verbstest.CheckLeaks(t)
	testutil.WatchCalls(t)
}

// patiently bounds a wait that ought to end soon.
func patiently(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func listen(t testing.TB, o rsocket.Options) *rsocket.Listener {
	t.Helper()
	l, err := rsocket.Listen(address, o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// pair is both ends of a connection, which close at the test's end.
func pair(t testing.TB, o rsocket.Options) (dialed, accepted *rsocket.Conn) {
	t.Helper()
	l := listen(t, o)
	dialed, err := rsocket.Dial(patiently(t), l.Addr().String(), o)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dialed.Close()) })
	accepted, err = l.AcceptContext(patiently(t))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, accepted.Close()) })
	bound := time.Now().Add(60 * time.Second)
	require.NoError(t, dialed.SetDeadline(bound))
	require.NoError(t, accepted.SetDeadline(bound))
	return dialed, accepted
}
