package sysfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"
)

// maxLinks is how many links one path may pass, as in the kernel.
const maxLinks = 40

// RealPath resolves every symbolic link of name and returns the path that is
// left, which exists. Absolute targets start at the root of the tree, and ".."
// never leaves it. It fails with errors.ErrUnsupported where the file system
// cannot show links.
func (r Reader) RealPath(name string) (string, error) {
	fsys, ok := r.fsys.(FS)
	if !ok {
		return "", fmt.Errorf("resolving %s: %w: the file system does not show its symbolic links",
			name, errors.ErrUnsupported)
	}
	return realPath(fsys, name)
}

func realPath(fsys FS, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	done, rest, links := ".", name, 0
	for rest != "" {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		switch elem {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, elem)
		info, err := fsys.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if rest != "" && !info.IsDir() {
				return "", &fs.PathError{Op: "readlink", Path: next, Err: syscall.ENOTDIR}
			}
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.ELOOP}
		}
		target, err := fsys.ReadLink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			done = "."
		}
		rest = target + "/" + rest
	}
	return done, nil
}
