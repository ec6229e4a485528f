//go:build linux && cgo

package perftest

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/gofabric/gofabric/internal/cbench"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/testutil"
)

// The null device takes requests and completes them at once, each of them, and
// moves nothing: it serves for what the engine does around the data. Whole runs
// have loop0, which moves it.
func TestMain(m *testing.M) {
	if err := cbench.Register(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		panic(err)
	}
	os.Exit(testutil.Main(m, func() error {
		for _, left := range life.Open() {
			return fmt.Errorf("%s, made at\n%s", left.Name, left.Stack)
		}
		return nil
	}))
}
