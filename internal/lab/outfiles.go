package lab

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// outFiles writes the files that come out of a guest, each in one step.
type outFiles struct {
	out  []Mapping
	seen map[int]bool

	file *os.File // being received
	dest string
	perm fs.FileMode
	left int64
}

func newOutFiles(out []Mapping) *outFiles { return &outFiles{out: out, seen: map[int]bool{}} }

func (o *outFiles) begin(f fileFrame) error {
	if o.file != nil {
		return fmt.Errorf("%w: a file inside a file", errFrame)
	}
	if f.Out < 0 || f.Out >= len(o.out) || !safeRel(f.Rel) || f.Size < 0 {
		return fmt.Errorf("%w: file %d %q of %d bytes", errFrame, f.Out, f.Rel, f.Size)
	}
	o.seen[f.Out] = true
	o.dest = filepath.Join(o.out[f.Out].Host, filepath.FromSlash(f.Rel))
	dir := filepath.Dir(o.dest)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("lab: receiving a file: %w", err)
	}
	file, err := os.CreateTemp(dir, ".lab-")
	if err != nil {
		return fmt.Errorf("lab: receiving a file: %w", err)
	}
	o.file, o.left, o.perm = file, f.Size, fs.FileMode(f.Perm&0o777)
	return o.finish()
}

func (o *outFiles) data(p []byte) error {
	if o.file == nil || int64(len(p)) > o.left {
		return fmt.Errorf("%w: %d bytes that belong to no file", errFrame, len(p))
	}
	if _, err := o.file.Write(p); err != nil {
		return fmt.Errorf("lab: receiving a file: %w", err)
	}
	o.left -= int64(len(p))
	return o.finish()
}

// finish gives a complete file its name.
func (o *outFiles) finish() error {
	if o.left > 0 {
		return nil
	}
	file := o.file
	o.file = nil
	err := file.Chmod(o.perm)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(file.Name(), o.dest)
	}
	if err != nil {
		os.Remove(file.Name())
		return fmt.Errorf("lab: receiving a file: %w", err)
	}
	return nil
}

// abort drops a file that stayed incomplete.
func (o *outFiles) abort() {
	if o.file != nil {
		o.file.Close()
		os.Remove(o.file.Name())
		o.file = nil
	}
}

// missing lists the mappings of which nothing came.
func (o *outFiles) missing() []string {
	var list []string
	for i, m := range o.out {
		if !m.Optional && !o.seen[i] {
			list = append(list, m.Guest)
		}
	}
	return list
}
