package topo

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// recorder is a file system that remembers what was read of another one, so that
// a capture holds exactly what a reading depends on.
type recorder struct {
	fsys  fs.FS
	seen  map[string]recorded
	alias map[string]string // names that stand for others, and hide them
}

// recorded is what was seen at a path.
type recorded struct {
	dir     bool
	target  string // of a link
	content []byte
	errno   string // of a file that could not be read
}

// empty is what says no more than that a file is there.
func (r recorded) empty() bool {
	return !r.dir && r.target == "" && r.errno == "" && len(r.content) == 0
}

func newRecorder(fsys fs.FS) *recorder {
	return &recorder{fsys: fsys, seen: map[string]recorded{}, alias: map[string]string{}}
}

// Open implements fs.FS. Files are read whole, so that an error of the read is
// seen too.
func (r *recorder) Open(name string) (fs.File, error) {
	there := name
	if other, ok := r.alias[name]; ok {
		there = other
	}
	f, err := r.fsys.Open(there)
	if err != nil {
		r.refused(name, err)
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	if info.IsDir() {
		r.note(name, recorded{dir: true})
		return f, nil
	}
	defer f.Close()
	if !info.Mode().IsRegular() {
		// A device's file: that it is there is all that is wanted.
		r.note(name, recorded{content: []byte{}})
		return &recordedFile{info: info, r: bytes.NewReader(nil)}, nil
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxInput))
	if err != nil {
		r.refused(name, err)
		return nil, err
	}
	r.note(name, recorded{content: content})
	return &recordedFile{info: info, r: bytes.NewReader(content)}, nil
}

// Stat implements fs.StatFS.
func (r *recorder) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(r.fsys, name)
	if err == nil {
		if info.IsDir() {
			r.note(name, recorded{dir: true})
		} else {
			r.note(name, recorded{content: []byte{}})
		}
	}
	return info, err
}

// ReadLink implements sysfs.FS.
func (r *recorder) ReadLink(name string) (string, error) {
	fsys, ok := r.fsys.(sysfs.FS)
	if !ok {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: syscall.ENOTSUP}
	}
	target, err := fsys.ReadLink(name)
	if err == nil {
		r.note(name, recorded{target: target})
	}
	return target, err
}

// Lstat implements sysfs.FS.
func (r *recorder) Lstat(name string) (fs.FileInfo, error) {
	fsys, ok := r.fsys.(sysfs.FS)
	if !ok {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: syscall.ENOTSUP}
	}
	info, err := fsys.Lstat(name)
	if err == nil && info.IsDir() {
		r.note(name, recorded{dir: true})
	} else if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		r.note(name, recorded{content: []byte{}}) // what it holds is noted if it is read
	}
	return info, err
}

// note keeps what was seen below the real path, because a tree's text names no
// path below a link. The links on the way are kept too.
func (r *recorder) note(name string, what recorded) {
	if what.target != "" {
		name = path.Join(r.real(path.Dir(name)), path.Base(name))
	} else {
		name = r.real(name)
	}
	if old, ok := r.seen[name]; ok && (what.dir || what.empty() && !old.dir) {
		return
	}
	r.seen[name] = what
}

// real resolves the links of a path, and keeps each of them.
func (r *recorder) real(name string) string {
	fsys, ok := r.fsys.(sysfs.FS)
	if !ok {
		return name
	}
	done, rest := ".", name
	for steps := 0; rest != "" && steps < 400; steps++ {
		var elem string
		elem, rest, _ = strings.Cut(rest, "/")
		if elem == "" || elem == "." {
			continue
		}
		if elem == ".." {
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, elem)
		if info, err := fsys.Lstat(next); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := fsys.ReadLink(next)
		if err != nil {
			return next
		}
		r.seen[next] = recorded{target: target}
		if path.IsAbs(target) {
			done = "."
		}
		rest = target + "/" + rest
	}
	return done
}

// refused keeps the errors that mean something to a reading: a file that is not
// there is told by its absence.
func (r *recorder) refused(name string, err error) {
	for text, errno := range recordedErrors {
		if isErrno(err, errno) {
			r.note(name, recorded{errno: text})
			return
		}
	}
}

// tree writes what was seen as the text of sysfs.ParseTree.
func (r *recorder) tree(redact func(name string, content []byte) []byte) []byte {
	names := make([]string, 0, len(r.seen))
	for name := range r.seen {
		if name != "." {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, sysfs.Compare)
	parents := map[string]bool{}
	for _, name := range names {
		for dir := path.Dir(name); dir != "." && !parents[dir]; dir = path.Dir(dir) {
			parents[dir] = true
		}
	}
	var b bytes.Buffer
	section := ""
	for _, name := range names {
		what := r.seen[name]
		if what.dir && parents[name] || !writable(name) || what.target != "" && !oneWord(what.target) {
			continue
		}
		if dir := path.Dir(name); dir != section {
			section = dir
			fmt.Fprintf(&b, "[%s]\n", strings.TrimPrefix(dir, "."))
		}
		base := path.Base(name)
		switch {
		case what.dir:
			fmt.Fprintf(&b, "%s/\n", base)
		case what.target != "":
			fmt.Fprintf(&b, "%s -> %s\n", base, what.target)
		case what.errno != "":
			fmt.Fprintf(&b, "%s !%s\n", base, what.errno)
		default:
			writeContent(&b, base, redact(name, what.content))
		}
	}
	return b.Bytes()
}

// writable reports whether a tree's text can name a path: the kernel lets an
// interface be called almost anything.
func writable(name string) bool {
	return oneWord(name) && !strings.Contains(name, "=") && !strings.ContainsAny(path.Base(name)[:1], "[#|")
}

// oneWord reports whether a text has neither white space nor control characters.
func oneWord(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
}

func writeContent(b *bytes.Buffer, base string, content []byte) {
	text := strings.ToValidUTF8(strings.ReplaceAll(string(content), "\x00", ""), "?")
	if one := strings.TrimSpace(text); !strings.ContainsAny(one, "\n\r") && strings.TrimSuffix(text, "\n") == one {
		fmt.Fprintf(b, "%s = %s\n", base, one)
		return
	}
	fmt.Fprintf(b, "%s =\n", base)
	for line := range strings.Lines(text) {
		fmt.Fprintf(b, "| %s\n", strings.TrimRight(line, "\r\n"))
	}
}

type recordedFile struct {
	info fs.FileInfo
	r    *bytes.Reader
}

func (f *recordedFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *recordedFile) Read(b []byte) (int, error) { return f.r.Read(b) }
func (f *recordedFile) Close() error               { return nil }
