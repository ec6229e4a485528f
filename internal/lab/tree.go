package lab

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// maxLinks bounds symbolic link chains, as the kernel does.
const maxLinks = 40

// entry is one file of the guest.
type entry struct {
	mode   uint32 // cpio mode: type and permission bits
	source string // regular file on the host; "" means data
	data   []byte
	target string // symbolic link
	size   int64
	mtime  int64
}

// tree is a set of guest files, keyed by absolute, clean guest path.
type tree map[string]entry

func permOf(m fs.FileMode) uint32 {
	p := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		p |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		p |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		p |= 0o1000
	}
	return p
}

// mkdir adds a folder and those above it, keeping what is there already.
func (t tree) mkdir(guest string, perm uint32) {
	guest = path.Clean(guest)
	if guest == "/" {
		return
	}
	if _, ok := t[guest]; ok {
		return
	}
	t.mkdir(path.Dir(guest), 0o755)
	t[guest] = entry{mode: cpioDir | perm}
}

func (t tree) putData(guest string, perm uint32, data []byte) {
	t.mkdir(path.Dir(guest), 0o755)
	t[path.Clean(guest)] = entry{mode: cpioRegular | perm, data: data, size: int64(len(data))}
}

func (t tree) putLink(guest, target string) {
	t.mkdir(path.Dir(guest), 0o755)
	t[path.Clean(guest)] = entry{mode: cpioSymlink | 0o777, target: target}
}

// putFile adds one regular file of the host under a guest path of its own.
func (t tree) putFile(guest, host string) error {
	fi, err := os.Stat(host)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if !fi.Mode().IsRegular() {
		return fmt.Errorf("lab: %s is not a regular file", host)
	}
	t.mkdir(path.Dir(guest), 0o755)
	t[path.Clean(guest)] = fileEntry(host, fi)
	return nil
}

func fileEntry(host string, fi fs.FileInfo) entry {
	return entry{mode: cpioRegular | permOf(fi.Mode()), source: host, size: fi.Size(), mtime: fi.ModTime().UnixNano()}
}

// putAll adds a host file or a whole folder under a guest path. Symbolic links
// inside a folder stay links.
func (t tree) putAll(guest, host string) error {
	fi, err := os.Stat(host)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if !fi.IsDir() {
		return t.putFile(guest, host)
	}
	return filepath.WalkDir(host, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		rel, err := filepath.Rel(host, p)
		if err != nil {
			return err
		}
		g := path.Join(guest, filepath.ToSlash(rel))
		switch {
		case p == host || d.IsDir():
			t.mkdir(g, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return fmt.Errorf("lab: %w", err)
			}
			t.putLink(g, target)
		case d.Type().IsRegular():
			return t.putFile(g, p)
		}
		return nil
	})
}

// putFrom adds the file at guest path p of a root folder at the same path,
// together with every symbolic link on the way to it, and returns its real
// path inside the root.
func (t tree) putFrom(root, p string) (string, error) {
	real, links, err := resolveIn(root, p)
	if err != nil {
		return "", err
	}
	for at, target := range links {
		t.putLink(at, target)
	}
	host := filepath.Join(root, real)
	fi, err := os.Stat(host)
	if err != nil {
		return "", err
	}
	if fi.IsDir() {
		t.mkdir(real, permOf(fi.Mode()))
		return real, nil
	}
	return real, t.putFile(real, host)
}

// resolveIn follows the symbolic links of p inside root, where absolute links
// start at root. It returns the real path and the links met.
func resolveIn(root, p string) (string, map[string]string, error) {
	links := map[string]string{}
	rest := strings.Split(strings.TrimPrefix(path.Clean("/"+p), "/"), "/")
	at, followed := "/", 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, name)
		fi, err := os.Lstat(filepath.Join(root, next))
		if err != nil {
			return "", nil, err
		}
		if fi.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		// A loop meets the same links again and again.
		if followed++; followed > maxLinks {
			return "", nil, fmt.Errorf("lab: %s: too many symbolic links", p)
		}
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			return "", nil, err
		}
		links[next] = target
		if path.IsAbs(target) {
			at = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return at, links, nil
}

func (t tree) paths() []string {
	paths := make([]string, 0, len(t))
	for p := range t {
		paths = append(paths, p)
	}
	// A folder sorts before what it holds, as the kernel needs it.
	sort.Strings(paths)
	return paths
}

// hash identifies the tree by its paths and its files' sizes and times.
func (t tree) hash() string {
	h := sha256.New()
	for _, p := range t.paths() {
		e := t[p]
		fmt.Fprintf(h, "%q %o %q %q %d %d %x\n", p, e.mode, e.source, e.target, e.size, e.mtime, sha256.Sum256(e.data))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// write archives the tree as one cpio archive.
func (t tree) write(w io.Writer) error {
	c := newCpioWriter(w)
	for _, p := range t.paths() {
		if err := c.entry(strings.TrimPrefix(p, "/"), t[p]); err != nil {
			return err
		}
	}
	return c.close()
}

func (c *cpioWriter) entry(name string, e entry) error {
	perm := e.mode & 0o7777
	switch e.mode &^ 0o7777 {
	case cpioDir:
		return c.dir(name, perm)
	case cpioSymlink:
		return c.symlink(name, e.target)
	}
	if e.source == "" {
		return c.file(name, perm, e.size, bytes.NewReader(e.data))
	}
	f, err := os.Open(e.source)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return errors.Join(c.file(name, perm, e.size, f), f.Close())
}
