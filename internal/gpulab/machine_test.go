//go:build linux && cgo

package gpulab

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/nccl"
)

// What the figures were measured on.
func TestMachineIsKnown(t *testing.T) {
	n := begin(t, 1, testLimit)
	driver, err := cuda.Library()
	require.NoError(t, err)
	assert.NotEmpty(t, driver.Path)
	lib, err := nccl.Library()
	require.NoError(t, err)
	assert.NotEmpty(t, lib.Path)
	figure("machine: CUDA %v (%s), NCCL %v (%s), NCCL_NVLS_ENABLE=%s", driver.Version, driver.Path, lib.Version, lib.Path, os.Getenv("NCCL_NVLS_ENABLE"))
	for ordinal := range n {
		info, err := cuda.Info(ordinal)
		require.NoError(t, err)
		assert.NotZero(t, info.Memory)
		figure("machine: GPU %d is %s at %s with %d MiB, compute capability %v", ordinal, info.Name, info.PCIAddress, info.Memory>>20, info.ComputeCapability)
	}
}
