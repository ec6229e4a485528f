package fakegpu

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/internal/nccltest/kernels"
)

//go:embed testdata/control.h testdata/cuda testdata/nccl
var sources embed.FS

// Libraries names the built files.
type Libraries struct {
	CUDA string
	NCCL string
}

// Options choose a variant of the libraries. The zero value is CUDA 13.0 and
// NCCL 2.30.7 with every function.
type Options struct {
	// NCCL is the version to be, "2.14.3" to "2.30.7": it decides what
	// ncclGetVersion says, which functions exist and which fields of the
	// configuration are understood.
	NCCL string
	// HideCUDA and HideNCCL name functions that the library is not to have. A
	// driver function that the fake libnccl calls cannot be hidden where both
	// are loaded.
	HideCUDA []string
	HideNCCL []string
	// Flags are added to the compiler's command line, such as
	// "-fsanitize=thread".
	Flags []string
}

var baseFlags = []string{
	"-std=gnu11", "-D_GNU_SOURCE", "-O1", "-g", "-fPIC", "-pthread", "-Wall", "-Wextra", "-Werror",
}

// Build compiles the libraries, with $CC or cc, unless dir holds them already,
// and returns their paths. dir is a cache that processes may share; "" is a
// folder of the user's cache.
func Build(dir string, options Options) (Libraries, error) {
	if options.NCCL == "" {
		options.NCCL = newestNCCL
	}
	version, err := versionCode(options.NCCL)
	if err != nil {
		return Libraries{}, err
	}
	if dir == "" {
		if dir, err = cacheDir(); err != nil {
			return Libraries{}, err
		}
	}
	b := builder{dir: dir, flags: slices.Concat(baseFlags, options.Flags)}
	if b.sources, err = b.extract(); err != nil {
		return Libraries{}, err
	}
	return b.libraries(options, version)
}

func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "gofabric-fakegpu")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("no folder for the fake GPU libraries: %w", err)
	}
	return dir, nil
}

type builder struct {
	dir     string
	flags   []string
	sources string // folder with the extracted sources
}

// artifact returns the folder of dir that build fills, named by what goes into
// it. It is built aside and renamed, so that a reader never sees half of it.
func (b *builder) artifact(name string, inputs []string, build func(dir string) error) (string, error) {
	hash := sha256.New()
	for _, input := range slices.Concat([]string{runtime.GOARCH, compiler()}, inputs) {
		fmt.Fprintf(hash, "%d:%s", len(input), input)
	}
	final := filepath.Join(b.dir, name+"-"+hex.EncodeToString(hash.Sum(nil))[:16])
	unlock, err := lock(final + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	aside, err := os.MkdirTemp(b.dir, name+"-*.new")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(aside) // nothing is there once it has been renamed
	if err := build(aside); err != nil {
		return "", err
	}
	return final, os.Rename(aside, final)
}

func (b *builder) extract() (string, error) {
	var inputs, files []string
	err := fs.WalkDir(sources, "testdata", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := sources.ReadFile(name)
		inputs = append(inputs, name, string(data))
		files = append(files, name)
		return err
	})
	if err != nil {
		return "", err
	}
	// What the kernels of a check compute.
	const series = "cuda/series.cuh"
	inputs = append(inputs, series, string(kernels.Series))
	return b.artifact("src", inputs, func(dir string) error {
		for _, name := range files {
			data, err := sources.ReadFile(name)
			if err != nil {
				return err
			}
			target := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "testdata/")))
			if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(target, data, 0o644); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(dir, filepath.FromSlash(series)), kernels.Series, 0o644)
	})
}

// object compiles the .c files of one folder into one object file.
func (b *builder) object(folder string) (string, error) {
	inputs := append([]string{b.sources, folder}, b.flags...)
	dir, err := b.artifact(folder, inputs, func(dir string) error {
		names, err := filepath.Glob(filepath.Join(b.sources, folder, "*.c"))
		if err != nil || len(names) == 0 {
			return fmt.Errorf("no sources of the fake in %s: %w", path.Join(b.sources, folder), fs.ErrNotExist)
		}
		slices.Sort(names)
		args := slices.Concat(b.flags, []string{"-r", "-nostdlib", "-o", filepath.Join(dir, folder+".o")}, names)
		return run(args...)
	})
	return filepath.Join(dir, folder+".o"), err
}

func (b *builder) libraries(options Options, version int) (Libraries, error) {
	cuda, err := b.object("cuda")
	if err != nil {
		return Libraries{}, err
	}
	nccl, err := b.object("nccl")
	if err != nil {
		return Libraries{}, err
	}
	hidden := slices.Concat(options.HideNCCL, newerThan(version))
	scripts := []string{
		exports("cu*; gf1_fake_*;", options.HideCUDA),
		exports("nccl*; gf1_fake_*;", hidden),
	}
	inputs := slices.Concat([]string{cuda, nccl, options.NCCL}, scripts, b.flags)
	dir, err := b.artifact("lib", inputs, func(dir string) error {
		for i, text := range scripts {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("exports%d", i)), []byte(text), 0o644); err != nil {
				return err
			}
		}
		number := filepath.Join(dir, "version.c")
		code := fmt.Sprintf("const int gf1_fake_nccl_version = %d;\n", version)
		if err := os.WriteFile(number, []byte(code), 0o644); err != nil {
			return err
		}
		link := slices.Concat(b.flags, []string{"-shared"})
		err := run(slices.Concat(link, []string{
			"-Wl,-soname,libcuda.so.1", "-Wl,--version-script=" + filepath.Join(dir, "exports0"),
			"-o", filepath.Join(dir, "libcuda.so.1"), cuda,
		})...)
		if err != nil {
			return err
		}
		return run(slices.Concat(link, []string{
			"-Wl,-soname,libnccl.so.2", "-Wl,--version-script=" + filepath.Join(dir, "exports1"), "-Wl,-rpath,$ORIGIN",
			"-Wl,-z,lazy", "-o", filepath.Join(dir, "libnccl.so.2"), nccl, number, "-L" + dir, "-l:libcuda.so.1", "-lm",
		})...)
	})
	return Libraries{CUDA: filepath.Join(dir, "libcuda.so.1"), NCCL: filepath.Join(dir, "libnccl.so.2")}, err
}

// exports is a linker script: what a library offers, less what it hides.
func exports(offered string, hidden []string) string {
	var b strings.Builder
	b.WriteString("{\n\tglobal: " + offered + "\n\tlocal:\n")
	for _, name := range hidden {
		b.WriteString("\t\t" + name + ";\n")
	}
	b.WriteString("\t\t*;\n};\n")
	return b.String()
}

func compiler() string {
	if cc := os.Getenv("CC"); cc != "" {
		return cc
	}
	return "cc"
}

func run(args ...string) error {
	command := strings.Fields(compiler())
	cmd := exec.Command(command[0], append(command[1:], args...)...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compiling the fake GPU libraries with %s (install a C compiler): %w\n%s", command[0], err, output.Bytes())
	}
	return nil
}
