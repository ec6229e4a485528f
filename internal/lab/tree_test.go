package lab

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mergedRoot makes a root folder with a merged /usr and one file.
func mergedRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "usr/lib/sub"), 0o755))
	require.NoError(t, os.Symlink("usr/lib", filepath.Join(root, "lib")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "usr/lib/sub/real.so"), []byte("x"), 0o644))
	require.NoError(t, os.Symlink("/lib/sub/real.so", filepath.Join(root, "usr/lib/abs.so")))
	require.NoError(t, os.Symlink("../lib/./sub/real.so", filepath.Join(root, "usr/lib/rel.so")))
	require.NoError(t, os.Symlink("loop", filepath.Join(root, "loop")))
	return root
}

func TestPutFromKeepsLinks(t *testing.T) {
	root := mergedRoot(t)
	for _, name := range []string{"/lib/abs.so", "/lib/rel.so"} {
		tr := tree{}
		real, err := tr.putFrom(root, name)
		require.NoError(t, err)
		assert.Equal(t, "/usr/lib/sub/real.so", real)
		assert.Equal(t, "usr/lib", tr["/lib"].target)
		assert.Contains(t, tr, "/usr/lib/"+filepath.Base(name))
		assert.Equal(t, filepath.Join(root, "usr/lib/sub/real.so"), tr[real].source)
	}
	_, err := tree{}.putFrom(root, "/loop")
	assert.Error(t, err)
	_, err = tree{}.putFrom(root, "/lib/none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestHashFollowsContent(t *testing.T) {
	a, b := tree{}, tree{}
	a.putData("/etc/x", 0o644, []byte("1"))
	b.putData("/etc/x", 0o644, []byte("1"))
	assert.Equal(t, a.hash(), b.hash())
	b.putData("/etc/x", 0o644, []byte("2"))
	assert.NotEqual(t, a.hash(), b.hash())
}

func TestPlaceFollowsTheImagesLinks(t *testing.T) {
	im := &Image{tree: tree{}}
	im.tree.putLink("/bin", "usr/bin")
	im.tree.putLink("/usr/bin/sh", "dash")
	assert.Equal(t, "/usr/bin/prog", im.place("/bin/prog"))
	assert.Equal(t, "/usr/bin/sh", im.place("/bin/sh"), "the file itself is replaced, not followed")
	assert.Equal(t, "/srv/me/x", im.place("/srv/me/x"))
	im.tree.putLink("/a", "b")
	im.tree.putLink("/b", "a")
	assert.NotPanics(t, func() { im.place("/a/x") })
}

func TestPutAllCopiesAFolder(t *testing.T) {
	tr := tree{}
	require.NoError(t, tr.putAll("/guest", mergedRoot(t)))
	assert.Contains(t, tr, "/guest/usr/lib/sub/real.so")
	assert.Equal(t, "usr/lib", tr["/guest/lib"].target)
	assert.Error(t, tr.putAll("/guest", "/nonexistent"))
}
