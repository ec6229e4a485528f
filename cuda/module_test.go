//go:build linux && cgo

package cuda_test

import (
	"bytes"
	"testing"

	"github.com/gofabric/gofabric/cuda"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLaunch(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	m, err := d.LoadModule([]byte(kernels))
	require.NoError(t, err)
	f, err := m.Function("gf1_fill_u32")
	require.NoError(t, err)
	assert.Equal(t, "gf1_fill_u32", f.Name())
	const n = 1000
	b := alloc(t, d, 4*n+4)
	require.NoError(t, s.Fill8(b.Span(), 0))
	var args cuda.Args
	args.Pointer(b.Span()).Uint64(n).Uint32(0x01010101)
	require.NoError(t, f.Launch(s, cuda.Grid{Blocks: cuda.Dim{X: 8}, Threads: cuda.Dim{X: 128}}, &args))
	args.Reset() // the launch has its own copy
	got := contents(t, s, b.Span())
	assert.Equal(t, bytes.Repeat([]byte{1}, 4*n), got[:4*n])
	assert.Equal(t, make([]byte, 4), got[4*n:])
	require.NoError(t, f.AllowSharedMemory(64<<10))
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	d := openGPU(t, 0)
	s := newStream(t, d)
	m, err := d.LoadModule([]byte(kernels))
	require.NoError(t, err)
	f, err := m.Function("gf1_fill_u32")
	require.NoError(t, err)
	var few, narrow, many cuda.Args
	few.Uint64(1)
	narrow.Uint64(1).Uint32(1).Uint32(1)
	many.Uint64(1).Uint64(1).Uint32(1).Uint8(1)
	for want, args := range map[string]*cuda.Args{
		"takes 3 arguments, not 0": nil,
		"takes 3 arguments, not 1": &few,
		"argument 1":               &narrow,
		"takes 3 arguments, not 4": &many,
	} {
		assert.ErrorContains(t, f.Launch(s, cuda.Grid{}, args), want)
	}
	_, err = m.Function("gf1_no_such_kernel")
	require.ErrorIs(t, err, cuda.ErrorNotFound)
	assert.Contains(t, err.Error(), "gf1_no_such_kernel")
	var args cuda.Args
	args.Uint64(0).Uint64(0).Uint32(0)
	require.ErrorIs(t, f.Launch(s, cuda.Grid{Threads: cuda.Dim{X: 1 << 20}}, &args), cuda.ErrorInvalidValue)
}

func TestBadPTXSaysWhy(t *testing.T) {
	d := openGPU(t, 0)
	_, err := d.LoadModule([]byte(".version 6.4\n.target sm_75\n.address_size 64\nthis is no PTX\n"))
	require.ErrorIs(t, err, cuda.ErrorInvalidPTX)
	var c *cuda.CompileError
	require.ErrorAs(t, err, &c)
	assert.Contains(t, c.Log, "ptxas")
	assert.Contains(t, err.Error(), "ptxas")

	_, err = d.LoadModule(nil)
	require.ErrorIs(t, err, cuda.ErrorInvalidImage)
}

func TestKernelOfAnotherGPU(t *testing.T) {
	a, b := openGPU(t, 0), openGPU(t, 1)
	m, err := a.LoadModule([]byte(kernels))
	require.NoError(t, err)
	f, err := m.Function("gf1_fill_u32")
	require.NoError(t, err)
	require.ErrorIs(t, f.Launch(newStream(t, b), cuda.Grid{}, nil), cuda.ErrorInvalidHandle)
}
