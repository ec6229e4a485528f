package rdmacm_test

import (
	"os"
	"testing"

	"github.com/gofabric/gofabric/internal/conformance"
	"github.com/gofabric/gofabric/internal/testutil"
)

func TestMain(m *testing.M) { os.Exit(testutil.Main(m, conformance.Leaks)) }
