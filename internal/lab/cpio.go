package lab

import (
	"fmt"
	"io"
	"math"
)

// File type bits of a cpio header's mode, which are stat(2)'s on every system.
const (
	cpioDir     = 0o040000
	cpioRegular = 0o100000
	cpioSymlink = 0o120000
)

// cpioWriter writes the "newc" archive format that the kernel unpacks as its
// initial root file system (Documentation/driver-api/early-userspace).
type cpioWriter struct {
	w   io.Writer
	ino uint32
	n   int64
	err error
}

func newCpioWriter(w io.Writer) *cpioWriter { return &cpioWriter{w: w} }

func (c *cpioWriter) write(b []byte) {
	if c.err != nil {
		return
	}
	n, err := c.w.Write(b)
	c.n += int64(n)
	c.err = err
}

// pad aligns the archive to 4 bytes, as headers and data must be.
func (c *cpioWriter) pad() {
	var zero [3]byte
	c.write(zero[:(4-c.n%4)%4])
}

func (c *cpioWriter) header(name string, mode uint32, size int64) error {
	if size < 0 || size > math.MaxUint32 {
		return fmt.Errorf("lab: %s: %d bytes do not fit the archive format", name, size)
	}
	c.ino++
	const links, mtime = 1, 0
	c.pad()
	c.write([]byte(fmt.Sprintf("070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.ino, mode, 0, 0, links, mtime, size, 0, 0, 0, 0, len(name)+1, 0)))
	c.write(append([]byte(name), 0))
	c.pad()
	return c.err
}

// dir, symlink and file add one entry; names are relative to the root, without
// a leading slash.
func (c *cpioWriter) dir(name string, perm uint32) error {
	return c.header(name, cpioDir|perm, 0)
}

func (c *cpioWriter) symlink(name, target string) error {
	if err := c.header(name, cpioSymlink|0o777, int64(len(target))); err != nil {
		return err
	}
	c.write([]byte(target))
	return c.err
}

func (c *cpioWriter) file(name string, perm uint32, size int64, r io.Reader) error {
	if err := c.header(name, cpioRegular|perm, size); err != nil {
		return err
	}
	n, err := io.Copy(c.w, io.LimitReader(r, size))
	c.n += n
	if err != nil {
		return fmt.Errorf("lab: archiving %s: %w", name, err)
	}
	if n != size {
		return fmt.Errorf("lab: archiving %s: %d of %d bytes: it changed meanwhile", name, n, size)
	}
	return nil
}

// close writes the trailer. A further archive may follow: the kernel unpacks
// one after the other.
func (c *cpioWriter) close() error {
	if err := c.header("TRAILER!!!", 0, 0); err != nil {
		return err
	}
	c.pad()
	return c.err
}
