//go:build linux && cgo

package loopdev

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// textFS is a file system of small texts by path. Directories are what paths
// have in common; the root is always there.
type textFS map[string]string

func (t textFS) add(dir, name, line string) { t[path.Join(dir, name)] = line + "\n" }

// Open implements fs.FS.
func (t textFS) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if text, ok := t[name]; ok {
		return &textFile{Reader: strings.NewReader(text), info: textInfo{name: path.Base(name), size: len(text)}}, nil
	}
	below := ""
	if name != "." {
		below = name + "/"
	}
	entries := map[string]textInfo{}
	for p, text := range t {
		rest, ok := strings.CutPrefix(p, below)
		if !ok {
			continue
		}
		child, _, isDir := strings.Cut(rest, "/")
		info := textInfo{name: child, dir: isDir}
		if !isDir {
			info.size = len(text)
		}
		entries[child] = info
	}
	if len(entries) == 0 && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	d := &textDir{info: textInfo{name: path.Base(name), dir: true}}
	for _, info := range entries {
		d.entries = append(d.entries, fs.FileInfoToDirEntry(info))
	}
	slices.SortFunc(d.entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return d, nil
}

type textInfo struct {
	name string
	size int
	dir  bool
}

func (i textInfo) Name() string       { return i.name }
func (i textInfo) Size() int64        { return int64(i.size) }
func (i textInfo) ModTime() time.Time { return time.Time{} }
func (i textInfo) IsDir() bool        { return i.dir }
func (i textInfo) Sys() any           { return nil }
func (i textInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type textFile struct {
	*strings.Reader
	info textInfo
}

func (f *textFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *textFile) Close() error               { return nil }

type textDir struct {
	info    textInfo
	entries []fs.DirEntry
}

func (d *textDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *textDir) Close() error               { return nil }
func (d *textDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *textDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	list := d.entries[:n:n]
	d.entries = d.entries[n:]
	return list, nil
}
