package rdmacm_test

import (
	"context"
	"testing"
	"time"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/rdmacm"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

func TestMain(m *testing.M) {
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
