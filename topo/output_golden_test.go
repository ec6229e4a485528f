package topo

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// updateEnv, when set, writes the golden files instead of comparing with them.
const updateEnv = "GOFABRIC_UPDATE_GOLDEN"

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if os.Getenv(updateEnv) != "" {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "set %s to write it", updateEnv)
	assert.Equal(t, string(want), string(got), "%s: look at the difference, and set %s to accept it", path, updateEnv)
}

func write(t *testing.T, f func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, f(&b))
	return b.Bytes()
}

func TestGoldenOutputs(t *testing.T) {
	for name, build := range drawnMachines {
		t.Run(name, func(t *testing.T) {
			s := build(t)
			golden(t, name+".matrix.txt", write(t, func(w io.Writer) error { return s.Matrix(w, MatrixOptions{}) }))
			golden(t, name+".table.txt", write(t, s.Table))
			golden(t, name+".nccl.xml", write(t, s.NCCLXML))
			golden(t, name+".json", write(t, s.JSON))
			golden(t, name+".svg", write(t, s.SVG))
			golden(t, name+".dot", write(t, s.DOT))
			var env bytes.Buffer
			for _, v := range s.NCCLEnv() {
				fmt.Fprintf(&env, "# %s\n", v.Reason)
				if v.Set {
					fmt.Fprintln(&env, v)
				} else {
					fmt.Fprintf(&env, "# %s is not set\n", v.Name)
				}
			}
			golden(t, name+".env.txt", env.Bytes())
		})
	}
}

// failAfter is a writer that takes some bytes and then no more.
type failAfter int

var errFull = errors.New("no room")

func (f *failAfter) Write(p []byte) (int, error) {
	if *f -= failAfter(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestOutputsReturnTheWritersError(t *testing.T) {
	s := dgxA100(t)
	for name, f := range map[string]func(io.Writer) error{
		"Matrix": func(w io.Writer) error { return s.Matrix(w, MatrixOptions{}) },
		"Table":  s.Table, "NCCLXML": s.NCCLXML, "JSON": s.JSON, "SVG": s.SVG, "DOT": s.DOT,
	} {
		room := failAfter(100)
		assert.ErrorIs(t, f(&room), errFull, name)
	}
}

func TestSVGIsWellFormedWhateverTheNames(t *testing.T) {
	s := flatVM(t)
	s.HCAs[0].Name = "<a href=\"x\">&\x00\xff\x1b"
	s.GPUs[0].Name = "]]> \u2028"
	d := xml.NewDecoder(bytes.NewReader(write(t, s.SVG)))
	for {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}

func TestDrawingOfNothing(t *testing.T) {
	s := &System{}
	require.NoError(t, s.Finish())
	assert.Contains(t, string(write(t, s.SVG)), "</svg>")
	assert.Contains(t, string(write(t, s.DOT)), "graph topology")
	assert.Contains(t, string(write(t, s.Table)), "NODE")
	assert.Equal(t, "No GPU and no RDMA device is seen here.\n", string(write(t, func(w io.Writer) error { return s.Matrix(w, MatrixOptions{}) })))
	assert.Equal(t, "<system version=\"1\">\n</system>\n", string(write(t, s.NCCLXML)))
}
