package sysfs

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Tree is a file tree in memory, as ParseTree builds it. It does not change
// once built, and is safe for concurrent use.
type Tree struct {
	nodes map[string]*node // by path; "." is the root
}

// node is one entry. A file keeps its content, a link its target, and a file
// that the kernel refuses to read the errno it answers with.
type node struct {
	mode     fs.FileMode
	content  []byte
	target   string
	readErr  error
	children []string // names, in byte order
}

// Open implements fs.FS and follows links.
func (t *Tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	real, err := realPath(t, name)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: cause(err)}
	}
	n := t.nodes[real]
	info := nodeInfo{name: path.Base(name), node: n}
	if n.mode.IsDir() {
		return &openDir{tree: t, path: real, info: info}, nil
	}
	return &openFile{info: info, name: name, r: bytes.NewReader(n.content)}, nil
}

// ReadLink implements FS.
func (t *Tree) ReadLink(name string) (string, error) {
	n, err := t.lookup("readlink", name)
	if err != nil {
		return "", err
	}
	if n.mode&fs.ModeSymlink == 0 {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return n.target, nil
}

// Lstat implements FS.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) {
	n, err := t.lookup("lstat", name)
	if err != nil {
		return nil, err
	}
	return nodeInfo{name: path.Base(name), node: n}, nil
}

// lookup finds a node without following a link in its last element.
func (t *Tree) lookup(op, name string) (*node, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	if n := t.nodes[name]; n != nil {
		return n, nil
	}
	parent, base := path.Split(name)
	if parent == "" {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	// realPath looks up one element at a time below a resolved directory, so
	// this ends: each step has one element fewer.
	real, err := realPath(t, strings.TrimSuffix(parent, "/"))
	if err != nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: cause(err)}
	}
	if n := t.nodes[path.Join(real, base)]; n != nil {
		return n, nil
	}
	return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

// cause takes the reason out of a path error about another path.
func cause(err error) error {
	if pe, ok := err.(*fs.PathError); ok {
		return pe.Err
	}
	return err
}

type nodeInfo struct {
	name string
	node *node
}

func (i nodeInfo) Name() string               { return i.name }
func (i nodeInfo) Size() int64                { return int64(len(i.node.content)) }
func (i nodeInfo) Mode() fs.FileMode          { return i.node.mode }
func (i nodeInfo) Type() fs.FileMode          { return i.node.mode.Type() }
func (i nodeInfo) ModTime() time.Time         { return time.Time{} }
func (i nodeInfo) IsDir() bool                { return i.node.mode.IsDir() }
func (i nodeInfo) Sys() any                   { return nil }
func (i nodeInfo) Info() (fs.FileInfo, error) { return i, nil }

type openFile struct {
	info nodeInfo
	name string
	r    *bytes.Reader
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

func (f *openFile) Read(b []byte) (int, error) {
	if err := f.info.node.readErr; err != nil {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: err}
	}
	return f.r.Read(b)
}

type openDir struct {
	tree *Tree
	path string
	info nodeInfo
	next int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: syscall.EISDIR}
}

func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	names := d.info.node.children[d.next:]
	if n > 0 {
		if len(names) == 0 {
			return nil, io.EOF
		}
		names = names[:min(n, len(names))]
	}
	entries := make([]fs.DirEntry, len(names))
	for i, name := range names {
		entries[i] = nodeInfo{name: name, node: d.tree.nodes[path.Join(d.path, name)]}
	}
	d.next += len(names)
	return entries, nil
}

// add inserts a node and the directories above it. It reports false when the
// path is taken, by something else or by the same thing twice.
func (t *Tree) add(name string, n *node) bool {
	if old := t.nodes[name]; old != nil {
		// A directory may be named again, or for the first time after its
		// children.
		return old.mode.IsDir() && n.mode.IsDir()
	}
	parent := path.Dir(name)
	if p := t.nodes[parent]; p == nil {
		if !t.add(parent, &node{mode: fs.ModeDir | 0o555}) {
			return false
		}
	} else if !p.mode.IsDir() {
		return false
	}
	t.nodes[name] = n
	dir, base := t.nodes[parent], path.Base(name)
	at, _ := slices.BinarySearch(dir.children, base)
	dir.children = slices.Insert(dir.children, at, base)
	return true
}
