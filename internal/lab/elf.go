package lab

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// libraryRoot finds programs and shared libraries inside one root file system,
// as its dynamic loader would.
type libraryRoot struct {
	dir  string
	dirs []string // library folders in the loader's order, guest paths
}

// defaultLibraryDirs are those the loaders of Debian and Fedora know without
// any configuration.
func defaultLibraryDirs() []string {
	return []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
}

func openLibraryRoot(dir string) *libraryRoot {
	r := &libraryRoot{dir: dir}
	r.dirs = append(r.dirs, readLdConf(dir, "/etc/ld.so.conf", 0)...)
	r.dirs = append(r.dirs, defaultLibraryDirs()...)
	return r
}

// readLdConf reads ld.so.conf and what it includes; an absent file is an empty
// one, as it is for ldconfig.
func readLdConf(root, file string, depth int) []string {
	const maxDepth = 8
	if depth > maxDepth {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return nil
	}
	var dirs []string
	for _, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		pattern, include := strings.CutPrefix(line, "include ")
		switch {
		case include:
			pattern = strings.TrimSpace(pattern)
			if !path.IsAbs(pattern) {
				pattern = path.Join(path.Dir(file), pattern)
			}
			matches, _ := filepath.Glob(filepath.Join(root, pattern))
			sort.Strings(matches)
			for _, m := range matches {
				if rel, err := filepath.Rel(root, m); err == nil {
					dirs = append(dirs, readLdConf(root, "/"+rel, depth+1)...)
				}
			}
		case path.IsAbs(line):
			dirs = append(dirs, path.Clean(line))
		}
	}
	return dirs
}

// elfFacts is what the loader reads of a program or library.
type elfFacts struct {
	interp   string
	needed   []string
	runpath  []string
	provides map[string]bool     // versions defined
	wants    map[string][]string // library name to versions needed
}

var errNotELF = errors.New("not an ELF file")

func readELF(host string) (*elfFacts, error) {
	f, err := os.Open(host)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil || !bytes.Equal(magic[:], []byte(elf.ELFMAG)) {
		return nil, errNotELF
	}
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", host, err)
	}
	if e.Machine != elf.EM_X86_64 {
		return nil, fmt.Errorf("%s is built for %v, the guest is x86-64", host, e.Machine)
	}
	facts := &elfFacts{provides: map[string]bool{}, wants: map[string][]string{}}
	for _, p := range e.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		const maxPath = 4096
		if p.Filesz > maxPath {
			return nil, fmt.Errorf("%s: its interpreter's name has %d bytes", host, p.Filesz)
		}
		name := make([]byte, p.Filesz)
		if _, err := p.ReadAt(name, 0); err != nil {
			return nil, fmt.Errorf("%s: %w", host, err)
		}
		facts.interp = string(bytes.TrimRight(name, "\x00"))
	}
	if e.SectionByType(elf.SHT_DYNAMIC) == nil {
		return facts, nil
	}
	return facts, facts.readDynamic(e, host)
}

func (facts *elfFacts) readDynamic(e *elf.File, host string) error {
	var err error
	if facts.needed, err = e.DynString(elf.DT_NEEDED); err != nil {
		return fmt.Errorf("%s: %w", host, err)
	}
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		lists, err := e.DynString(tag)
		if err != nil {
			return fmt.Errorf("%s: %w", host, err)
		}
		for _, l := range lists {
			facts.runpath = append(facts.runpath, strings.Split(l, ":")...)
		}
	}
	// Both fail on a file without any version, which then has none.
	if defined, err := e.DynamicVersions(); err == nil {
		for _, v := range defined {
			facts.provides[v.Name] = true
		}
	}
	if needs, err := e.DynamicVersionNeeds(); err == nil {
		for _, n := range needs {
			for _, v := range n.Needs {
				if v.Flags&elf.VER_FLG_WEAK == 0 {
					facts.wants[n.Name] = append(facts.wants[n.Name], v.Dep)
				}
			}
		}
	}
	return nil
}

// collector gathers programs with everything their loader will ask for.
type collector struct {
	root    *libraryRoot
	tree    tree
	facts   map[string]*elfFacts // by guest path
	missing []Missing
}

func newCollector(root *libraryRoot, t tree) *collector {
	return &collector{root: root, tree: t, facts: map[string]*elfFacts{}}
}

func (c *collector) miss(thing, pkg string) {
	for _, m := range c.missing {
		if m.Thing == thing {
			return
		}
	}
	c.missing = append(c.missing, Missing{Thing: thing, Package: pkg})
}

// err reports everything that was missed so far.
func (c *collector) err(where string) error {
	if len(c.missing) == 0 {
		return nil
	}
	return &MissingError{Where: where, Items: c.missing}
}

// addFile adds one file of the root, with its libraries if it is a program.
func (c *collector) addFile(guest, pkg string) {
	real, err := c.tree.putFrom(c.root.dir, guest)
	if err != nil {
		c.miss(guest, pkg)
		return
	}
	c.addNeeds(filepath.Join(c.root.dir, real), real)
}

// addForeign adds the libraries, from this root, of a program that is not in
// it: the job's, which stands in the guest at the path guest.
func (c *collector) addForeign(host, guest string) { c.addNeeds(host, guest) }

func (c *collector) addNeeds(host, guest string) {
	if _, done := c.facts[guest]; done {
		return
	}
	facts, err := readELF(host)
	if errors.Is(err, errNotELF) {
		return
	}
	if err != nil {
		c.miss(err.Error(), "")
		return
	}
	c.facts[guest] = facts
	if facts.interp != "" {
		c.addFile(facts.interp, "libc6")
	}
	for _, name := range facts.needed {
		lib := c.root.findLibrary(name, facts.runpath, path.Dir(guest))
		if lib == "" {
			c.miss(fmt.Sprintf("%s (needed by %s)", name, guest), "")
			continue
		}
		c.addFile(lib, "")
		c.checkVersions(lib, name, guest, facts)
	}
}

// checkVersions catches a program built against a newer library than the
// guest's: there the loader would only say so after the boot.
func (c *collector) checkVersions(lib, name, guest string, facts *elfFacts) {
	real, _, err := resolveIn(c.root.dir, lib)
	if err != nil {
		return
	}
	have, ok := c.facts[real]
	if !ok || len(have.provides) == 0 {
		return
	}
	for _, v := range facts.wants[name] {
		if !have.provides[v] {
			c.miss(fmt.Sprintf("%s in %s (needed by %s: build it on an older system or choose a newer userland)", v, name, guest), "")
		}
	}
}

// findLibrary returns the guest path of a library, "" if there is none.
func (r *libraryRoot) findLibrary(name string, runpath []string, origin string) string {
	if path.IsAbs(name) {
		return name
	}
	var dirs []string
	for _, d := range runpath {
		d = strings.NewReplacer("${ORIGIN}", origin, "$ORIGIN", origin).Replace(d)
		if path.IsAbs(d) {
			dirs = append(dirs, path.Clean(d))
		}
	}
	for _, d := range append(dirs, r.dirs...) {
		p := path.Join(d, name)
		real, _, err := resolveIn(r.dir, p)
		if err != nil {
			continue
		}
		// A 32-bit library of the same name is not it.
		if _, err := readELF(filepath.Join(r.dir, real)); err == nil {
			return p
		}
	}
	return ""
}

// findProgram returns the guest path of a program, "" if there is none.
func (r *libraryRoot) findProgram(name string) string {
	if path.IsAbs(name) {
		return name
	}
	for _, d := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		p := path.Join(d, name)
		real, _, err := resolveIn(r.dir, p)
		if err != nil {
			continue
		}
		if fi, err := os.Stat(filepath.Join(r.dir, real)); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}
