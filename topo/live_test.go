package topo

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLive reads the machine that the test runs on, whatever it is.
func TestLive(t *testing.T) {
	s, err := Live(ReadOptions{})
	var b bytes.Buffer
	err2 := CaptureLive(&b, CaptureOptions{})
	if runtime.GOOS != "linux" {
		assert.ErrorIs(t, err, errors.ErrUnsupported)
		assert.ErrorIs(t, err2, errors.ErrUnsupported)
		return
	}
	require.NoError(t, err)
	require.NoError(t, err2)
	assert.Equal(t, "live", s.Source)
	assert.NotEmpty(t, s.Nodes, "every Linux has a node")
	got, format, err := Parse(b.Bytes())
	require.NoError(t, err)
	assert.Equal(t, FormatCapture, format)
	assert.Equal(t, len(s.PCI), len(got.PCI))
	assert.Equal(t, len(s.HCAs), len(got.HCAs))
	assert.Equal(t, len(s.GPUs), len(got.GPUs))
}
