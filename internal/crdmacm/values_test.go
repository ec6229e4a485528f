package crdmacm_test

import (
	"testing"

	"github.com/gofabric/gofabric/internal/testutil/abivalues"
)

// TestCheckedValues keeps the C file that proves values.go in step with it.
func TestCheckedValues(t *testing.T) {
	abivalues.Check(t, "abi/check_values.c", "rdma/rdma_cma.h", "RDMA_", "RAI_", "IBV_")
}
