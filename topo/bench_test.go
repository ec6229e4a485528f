package topo

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// onDisk writes a machine's files into a folder and returns it with the paths of
// the files that a reading opens.
func onDisk(b *testing.B, name string) (dir string, files []string) {
	b.Helper()
	text, ok := machine(b, name).file(captureTree)
	require.True(b, ok)
	tree, err := sysfs.ParseTree(string(text))
	require.NoError(b, err)
	rec := newRecorder(tree)
	_, err = Read(rec, ReadOptions{})
	require.NoError(b, err)
	dir = b.TempDir()
	for path, what := range rec.seen {
		full := filepath.Join(dir, filepath.FromSlash(path))
		require.NoError(b, os.MkdirAll(filepath.Dir(full), 0o755))
		switch {
		case what.dir:
			require.NoError(b, os.MkdirAll(full, 0o755))
		case what.target != "":
			require.NoError(b, os.Symlink(what.target, full))
		default:
			require.NoError(b, os.WriteFile(full, what.content, 0o644))
			files = append(files, full)
		}
	}
	return dir, files
}

// BenchmarkDiscovery reads the largest machine of testdata from disk, beside a
// plain reading of the same files one after the other, as cat does.
func BenchmarkDiscovery(b *testing.B) {
	dir, files := onDisk(b, "dgx2-16xv100")
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i++ {
			s, err := Read(os.DirFS(dir), ReadOptions{})
			if err != nil || len(s.GPUs) != 16 {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(files)), "files")
	})
	b.Run("cat", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; i < b.N; i++ {
			for _, f := range files {
				if _, err := os.ReadFile(f); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(len(files)), "files")
	})
}

// BenchmarkRankAll ranks the HCAs of every GPU of a machine.
func BenchmarkRankAll(b *testing.B) {
	s, _, err := Parse(machine(b, "oci-bm-gpu-h100").format())
	require.NoError(b, err)
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if _, err := s.Plan(len(s.GPUs)); err != nil {
			b.Fatal(err)
		}
	}
}
