package ccuda_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/testutil/abivalues"
)

// TestCheckedValues keeps the C file that proves values.go in step with it.
func TestCheckedValues(t *testing.T) {
	abivalues.Check(t, "abi/check_cuda_values.c", "cuda.h")
}
