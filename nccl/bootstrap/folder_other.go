//go:build !unix

package bootstrap

import "os"

// makeFolder makes a folder, if it is not there.
func makeFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return &FileError{Path: path, Err: err}
	}
	return nil
}

// openOwn opens a file.
func openOwn(path string) (*os.File, error) { return os.Open(path) }
