package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNVIDIAGPUs(t *testing.T) {
	dir := t.TempDir()
	assert.Empty(t, nvidiaGPUs(dir))
	gpu := filepath.Join(dir, "0000:18:00.0")
	require.NoError(t, os.Mkdir(gpu, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(gpu, "information"), []byte("Model: \t\t NVIDIA H200\nIRQ:   \t\t 27\n"), 0o644))
	assert.Equal(t, []string{"NVIDIA H200"}, nvidiaGPUs(dir))
}

func TestArgumentsAreRefused(t *testing.T) {
	assert.ErrorContains(t, run(t.Context(), []string{"--device", "x"}), deviceEnv)
}
