package nccl

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/gofabric/gofabric/internal/ccuda"
	"github.com/gofabric/gofabric/internal/cnccl"
)

// PathEnv names the file of libnccl to load, unless LoadOptions does.
const PathEnv = "GOFABRIC_LIBNCCL"

// LoadOptions says which libnccl to load.
type LoadOptions struct {
	// Path is the file. If it is empty, $GOFABRIC_LIBNCCL names it; if that is
	// empty too, the dynamic linker looks for libnccl.so.2 (LD_LIBRARY_PATH
	// included), and then it is looked for where NVIDIA's Python wheels put it:
	// below $VIRTUAL_ENV, $CONDA_PREFIX, the prefix of the python3 on PATH, and
	// the user's own site-packages.
	Path string
}

// LibraryInfo is the library that was loaded.
type LibraryInfo struct {
	Path    string // with symbolic links followed
	Version Version
}

// library is libnccl with what this process may use of it.
type library struct {
	*cnccl.Library
	info      LibraryInfo
	supported [cnccl.FnCount]bool
}

var loaded = struct {
	sync.Mutex
	lib *library
	// asked is the path of the options or the environment; "" if the library
	// was searched for.
	asked string
}{}

// Load loads libnccl, once for the life of the process. Without it, the first
// use of the package loads the library as the zero LoadOptions say. Another path
// after that is an error: two copies of NCCL in one process disagree.
//
// NCCL reads its NCCL_ variables from the C environment, once, at its first
// use. os.Setenv before that reaches it.
func Load(options LoadOptions) (LibraryInfo, error) {
	lib, err := load(options)
	if err != nil {
		return LibraryInfo{}, &OpError{Op: "Load", Rank: -1, Device: -1, Err: err}
	}
	return lib.info, nil
}

// Library returns the library that is loaded, loading it if none is yet.
func Library() (LibraryInfo, error) { return Load(LoadOptions{}) }

func load(options LoadOptions) (*library, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.lib != nil {
		if options.Path != "" && options.Path != loaded.asked && resolved(options.Path) != loaded.lib.info.Path {
			return nil, badArgument("%s is loaded already (NCCL %v); a process has one NCCL: name the file before the first use",
				loaded.lib.info.Path, loaded.lib.info.Version)
		}
		return loaded.lib, nil
	}
	asked := options.Path
	if asked == "" {
		asked = os.Getenv(PathEnv)
	}
	names := []string{asked}
	if asked == "" {
		names = append([]string{"libnccl.so.2"}, wheels()...)
	}
	enter, leave := ccuda.EnterLeave()
	c, err := cnccl.Open(enter, leave, names...)
	if err != nil {
		return nil, err
	}
	lib := &library{Library: c, info: LibraryInfo{Path: c.Path(), Version: Version(c.Version())}}
	for i, f := range cnccl.Functions() {
		lib.supported[i] = c.Has(i) && c.Version() >= f.Since
	}
	loaded.lib, loaded.asked = lib, asked
	return lib, nil
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// wheels lists the libraries that NVIDIA's Python packages brought.
func wheels() []string {
	var prefixes []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if prefix := os.Getenv(name); prefix != "" {
			prefixes = append(prefixes, prefix)
		}
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		python := filepath.Join(dir, "python3")
		if _, err := os.Stat(python); err == nil {
			prefixes = append(prefixes, filepath.Dir(dir))
			break
		}
	}
	prefixes = append(prefixes, "/usr/local")
	if home, err := os.UserHomeDir(); err == nil {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	var found []string
	for _, prefix := range prefixes {
		for _, site := range []string{"site-packages", "dist-packages"} {
			// A pattern without a mistake cannot fail.
			matches, _ := filepath.Glob(filepath.Join(prefix, "lib*", "python3*", site, "nvidia", "nccl", "lib", "libnccl.so.2"))
			found = append(found, matches...)
		}
	}
	return found
}

// need answers an error that names the function and the release that brings it,
// if the library lacks it.
func (l *library) need(function int) error {
	if l.supported[function] {
		return nil
	}
	f := cnccl.Functions()[function]
	return l.unsupported(f.Name, Version(f.Since))
}

// since refuses something that only later libraries know.
func (l *library) since(version Version, what string) error {
	if l.info.Version >= version {
		return nil
	}
	return l.unsupported(what, version)
}

func (l *library) unsupported(what string, since Version) error {
	return &UnsupportedError{What: what, Since: since, Loaded: l.info.Version, Path: l.info.Path}
}

// failure makes an error of a result.
func (l *library) failure(code int, last string) error {
	return &Error{Code: Result(code), Text: l.ResultText(code), Last: last}
}
