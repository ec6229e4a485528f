// Package sysfs reads attribute files of the kernel, and trees that look like
// it: a captured machine, or one described in a text fixture.
//
// Every reader answers in three ways. A value; "absent", when the kernel has no
// such value to give; or an error, when there is a value that could not be read
// or understood. A caller that lists many attributes keeps the errors and goes
// on: one bad file must not hide the others.
//
// Names are slash-separated paths below the root, without a leading slash, as
// in io/fs: "sys/class/infiniband/mlx5_0/fw_ver".
package sysfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// maxAttribute bounds what is read of one file. An attribute is at most a page;
// the longest text read here, a uevent file, stays under that too.
const maxAttribute = 64 << 10

// FS is a file system that also shows its symbolic links. It has the methods of
// the standard library's fs.ReadLinkFS (Go 1.25), so any value of that type is
// an FS as well.
type FS interface {
	fs.FS
	ReadLink(name string) (string, error)
	Lstat(name string) (fs.FileInfo, error)
}

// Reader reads the attributes of one tree. It is safe for concurrent use if the
// file system below it is.
type Reader struct {
	fsys fs.FS
}

// NewReader returns a Reader over fsys. RealPath needs an FS; the rest works on
// any fs.FS.
func NewReader(fsys fs.FS) Reader {
	return Reader{fsys: fsys}
}

// Absent reports whether err means that the kernel has no such value: the file
// or the device is not there, or the driver answers that the attribute does not
// apply (EINVAL for an empty GID table entry, EOPNOTSUPP, ENODATA). A refused
// permission is not absence.
func Absent(err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	for _, e := range []error{
		syscall.ENOTDIR, syscall.ENODEV, syscall.ENXIO,
		syscall.EINVAL, syscall.EOPNOTSUPP, syscall.ENODATA,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ErrPipe is what the refusal of a named pipe unwraps to.
var ErrPipe = errors.New("it is a pipe and not a file")

// Open opens a file. A named pipe, which would wait for a writer, is refused where
// the file system can tell one before it opens it: the kernel has none among its
// attributes, a tree made by somebody else may.
func (r Reader) Open(name string) (fs.File, error) {
	if fsys, ok := r.fsys.(fs.StatFS); ok {
		if info, err := fsys.Stat(name); err == nil && info.Mode()&fs.ModeNamedPipe != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: ErrPipe}
		}
	}
	return r.fsys.Open(name)
}

// String reads a file and trims the white space around its text. An absent file
// is "", false, nil; an empty one is "", true, nil.
func (r Reader) String(name string) (string, bool, error) {
	f, err := r.Open(name)
	if err != nil {
		return "", false, dropAbsent(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAttribute))
	if err != nil {
		return "", false, dropAbsent(err)
	}
	return strings.TrimSpace(string(b)), true, nil
}

// Int reads a file that holds one decimal number, negative ones included.
func (r Reader) Int(name string) (int, bool, error) {
	s, ok, err := r.String(name)
	if !ok {
		return 0, false, err
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, false, malformed(name, s, "a decimal number")
	}
	return n, true, nil
}

// Hex reads a file that holds one hexadecimal number, with or without a leading
// "0x".
func (r Reader) Hex(name string) (uint64, bool, error) {
	s, ok, err := r.String(name)
	if !ok {
		return 0, false, err
	}
	digits := strings.TrimPrefix(strings.ToLower(s), "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0, false, malformed(name, s, "a hexadecimal number of at most 64 bits")
	}
	return n, true, nil
}

// List reads a file that holds words separated by white space. An empty file is
// an empty list.
func (r Reader) List(name string) ([]string, bool, error) {
	s, ok, err := r.String(name)
	if !ok {
		return nil, false, err
	}
	return strings.Fields(s), true, nil
}

// Names returns the names in a directory, links included, in natural order
// (see Compare).
func (r Reader) Names(dir string) ([]string, bool, error) {
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		return nil, false, dropAbsent(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	slices.SortFunc(names, Compare)
	return names, true, nil
}

// IsDir reports whether name is a directory, through links.
func (r Reader) IsDir(name string) bool {
	info, err := fs.Stat(r.fsys, name)
	return err == nil && info.IsDir()
}

// Exists reports whether name is there, through links.
func (r Reader) Exists(name string) bool {
	_, err := fs.Stat(r.fsys, name)
	return err == nil
}

func dropAbsent(err error) error {
	if Absent(err) {
		return nil
	}
	return err
}

// ErrMalformed is what a value that is there but cannot be understood unwraps
// to.
var ErrMalformed = errors.New("malformed value")

func malformed(name, got, want string) error {
	return fmt.Errorf("%s: %w: %q is not %s", name, ErrMalformed, clip(got), want)
}

// clip keeps an unexpected file from filling an error message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
