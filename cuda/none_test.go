//go:build !linux || !cgo

package cuda_test

import (
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/require"
)

func TestThisBuildSaysThatItCannot(t *testing.T) {
	_, err := cuda.Library()
	require.ErrorIs(t, err, cuda.ErrNotSupported)
	_, err = cuda.DeviceCount()
	require.ErrorIs(t, err, cuda.ErrNotSupported)
	_, err = cuda.Info(0)
	require.ErrorIs(t, err, cuda.ErrNotSupported)
	_, err = cuda.Open(0)
	require.ErrorIs(t, err, cuda.ErrNotSupported)
	require.ErrorContains(t, err, "without cgo")
}
