package sysfs

import (
	"io/fs"
	"path"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseTreeRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no operator":       "sys/a b",
		"path only":         "sys/a",
		"twice":             "a = 1\na = 2",
		"below a file":      "a = 1\na/b = 2",
		"file over a dir":   "a/b = 1\na = 2",
		"below a link":      "a -> b\na/c = 1",
		"dots":              "a/../b = 1",
		"root":              "/ = 1",
		"dot":               ". = 1",
		"no path":           "= 1",
		"link to nothing":   "a ->",
		"unknown errno":     "a !EWHAT",
		"stray content":     "| text",
		"content after one": "a = 1\n| 2",
		"open section":      "[a",
		"section with dots": "[../a]",
		"directory value":   "a/ = 1",
	} {
		t.Run(name, func(t *testing.T) {
			tree, err := ParseTree(text)
			require.Error(t, err)
			assert.Nil(t, tree)
			assert.Contains(t, err.Error(), "line ")
			assert.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestParseTreeTakesAListing(t *testing.T) {
	tree, err := ParseTree("/sys/class/infiniband/mlx5_0/board_id=SM_2001000001034\n/sys/x=a=b\n")
	require.NoError(t, err)
	s, ok, err := NewReader(tree).String("sys/class/infiniband/mlx5_0/board_id")
	require.NoError(t, err)
	assert.True(t, ok)
	assert.Equal(t, "SM_2001000001034", s)
	s, _, err = NewReader(tree).String("sys/x")
	require.NoError(t, err)
	assert.Equal(t, "a=b", s)
}

func FuzzParseTree(f *testing.F) {
	f.Add(sample)
	f.Add("a -> b\nb -> a\nc/d -> ../../..//e\n")
	f.Add("[a]\nb =\n| c\n|d\n[]\na/e !EIO\n")
	f.Add("a/b/ \na/b/c = 1")
	f.Fuzz(func(t *testing.T, text string) {
		tree, err := ParseTree(text)
		if err != nil {
			return
		}
		r := NewReader(tree)
		for name, n := range tree.nodes {
			if !fs.ValidPath(name) {
				t.Fatalf("the tree holds the invalid path %q", name)
			}
			if name != "." {
				if p := tree.nodes[path.Dir(name)]; p == nil || !p.mode.IsDir() {
					t.Fatalf("%q has no directory above it", name)
				}
			}
			real, err := r.RealPath(name)
			if err == nil && tree.nodes[real] == nil {
				t.Fatalf("%q resolves to %q, which is not there", name, real)
			}
			if n.mode.IsRegular() && n.readErr == nil {
				if _, ok, err := r.String(name); !ok || err != nil {
					t.Fatalf("%q cannot be read: %v", name, err)
				}
			}
			for _, child := range n.children {
				if tree.nodes[path.Join(name, child)] == nil {
					t.Fatalf("%q lists %q, which is not there", name, child)
				}
			}
		}
	})
}

func FuzzCompare(f *testing.F) {
	f.Add("mlx5_2", "mlx5_10")
	f.Add("a01", "a1")
	f.Add("1a", "1")
	f.Fuzz(func(t *testing.T, a, b string) {
		got := Compare(a, b)
		if got != -Compare(b, a) {
			t.Fatalf("order of %q and %q depends on the side", a, b)
		}
		if (got == 0) != (a == b) {
			t.Fatalf("%q and %q: %d", a, b, got)
		}
	})
}
