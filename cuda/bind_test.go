//go:build linux && cgo

package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/ccuda"
)

func TestBoundThreadKeepsTheContextAndGetsItsOwnBack(t *testing.T) {
	d := openGPU(t, 0)
	onThread(func() {
		current := func() uintptr {
			c, r := ccuda.Current()
			assert.Zero(t, r)
			return uintptr(c)
		}
		before := current()
		b, err := d.Bind()
		if !assert.NoError(t, err) {
			return
		}
		_, _, err = d.MemInfo()
		assert.NoError(t, err)
		assert.Equal(t, d.Context(), current())
		assert.ErrorIs(t, d.Close(), cuda.ErrBusy)
		assert.NoError(t, b.Close())
		assert.NoError(t, b.Close())
		assert.Equal(t, before, current())
	})
	closed := openGPU(t, 0)
	require.NoError(t, closed.Close())
	_, err := closed.Bind()
	require.ErrorIs(t, err, cuda.ErrClosed)
	var none *cuda.Binding
	require.NoError(t, none.Close())
}
