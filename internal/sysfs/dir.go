package sysfs

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Dir returns the tree below a directory of this machine, its symbolic links
// included: Dir("/") for the machine itself, or the directory of a capture. In
// a capture, links are resolved inside it, absolute ones too, so that a file is
// never read from the machine that only looks at the capture.
func Dir(root string) FS {
	return dir{root: root, whole: filepath.Clean(root) == string(filepath.Separator)}
}

type dir struct {
	root  string
	whole bool // the root is this machine's own: the kernel resolves links
}

func (d dir) Open(name string) (fs.File, error) {
	p, err := d.resolve("open", name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(p); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		return nil, &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
	}
	f, err := os.Open(p)
	if err != nil {
		return nil, relative(err, name)
	}
	return f, nil
}

func (d dir) ReadLink(name string) (string, error) {
	p, err := d.join("readlink", name)
	if err != nil {
		return "", err
	}
	target, err := os.Readlink(p)
	return filepath.ToSlash(target), relative(err, name)
}

func (d dir) Lstat(name string) (fs.FileInfo, error) {
	p, err := d.join("lstat", name)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(p)
	return info, relative(err, name)
}

func (d dir) resolve(op, name string) (string, error) {
	if !d.whole {
		real, err := realPath(d, name)
		if err != nil {
			return "", err
		}
		name = real
	}
	return d.join(op, name)
}

func (d dir) join(op, name string) (string, error) {
	local, err := filepath.Localize(name)
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(d.root, local), nil
}

// relative gives a path error the name that the caller used.
func relative(err error, name string) error {
	if pe, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: pe.Op, Path: name, Err: pe.Err}
	}
	return err
}
