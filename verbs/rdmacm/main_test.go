package rdmacm_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

// dialEnv has the test binary dial an address and say what became of it.
const dialEnv = "GOFABRIC_CM_DIAL"

func TestMain(m *testing.M) {
	if addr := os.Getenv(dialEnv); addr != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Second)
		defer cancel()
		_, err := rdmacm.DialEndpoint(ctx, addr, rdmacm.DialEndpointOptions{})
		fmt.Println(err)
		return
	}
	if testutil.InLab() {
		// librdmacm keeps each device open that it once used. Before the tests
		// begin, that is no leak of theirs. What fails here fails in them too.
		_, _ = rdmacm.Devices()
	}
	verbstest.Main(m)
}

// patiently bounds a wait that ought to end soon.
func patiently(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}
