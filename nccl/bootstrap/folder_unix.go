//go:build unix

package bootstrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// makeFolder makes a folder for this user alone, if it is not there. One that is
// there must not let others replace this user's files.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return &FileError{Path: path, Err: err}
	}
	info, err := os.Stat(path)
	if err != nil {
		return &FileError{Path: path, Err: err}
	}
	others := info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0
	if owner, ok := ownerOf(info); ok && owner != os.Geteuid() && owner != 0 || others {
		return &FileError{
			Path: path, Err: fmt.Errorf("others may replace files in it (mode %v, owner %d)", info.Mode(), owner),
			Hint: "use a folder that only this user writes to",
		}
	}
	return nil
}

// openOwn opens a regular file that belongs to this user: in a shared folder
// others may have put theirs there.
func openOwn(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil {
		if owner, ok := ownerOf(info); ok && owner != os.Geteuid() {
			err = fmt.Errorf("it belongs to user %d, and this is user %d", owner, os.Geteuid())
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

func ownerOf(info fs.FileInfo) (int, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}
