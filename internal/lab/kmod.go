package lab

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// labModule is one module that the guest loads.
type labModule struct {
	name string
	// optional modules exist in some kernels only; what needs them fails
	// plainly in those that should have them.
	optional bool
}

// labModules are what the guest needs beyond what a distribution builds in.
// rdma_rxe asks for the crc32 hash by its algorithm, not as a dependency: up
// to 6.x that is a module of its own.
func labModules() []labModule {
	return []labModule{
		{name: "virtio_pci"}, {name: "virtio_console"},
		{name: "crc32_generic", optional: true}, {name: "crc32_pclmul", optional: true},
		{name: "veth"},
		// A pair's cable, and faults on it.
		{name: "virtio_net", optional: true}, {name: "sch_netem", optional: true},
		{name: "rdma_rxe"}, {name: "ib_uverbs"}, {name: "rdma_ucm"}, {name: "ib_umad"},
	}
}

// moduleIndex knows the modules of one kernel by name.
type moduleIndex struct {
	files   map[string]string // module name to file
	builtin map[string]bool
	// load returns a file's uncompressed content.
	load func(ctx context.Context, file string) ([]byte, error)
}

// moduleName turns a file name into a module's name: "crc32-pclmul.ko.xz" is
// crc32_pclmul.
func moduleName(file string) (string, bool) {
	base := filepath.Base(file)
	name, rest, ok := strings.Cut(base, ".ko")
	if !ok || rest != "" && rest[0] != '.' {
		return "", false
	}
	return strings.ReplaceAll(name, "-", "_"), true
}

// openModules indexes a folder that holds kernel/ and modules.builtin.
func openModules(dir string) (*moduleIndex, error) {
	x := &moduleIndex{files: map[string]string{}, builtin: map[string]bool{}, load: readModule}
	err := filepath.WalkDir(filepath.Join(dir, "kernel"), func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name, ok := moduleName(p); ok && !d.IsDir() {
			x.files[name] = p
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lab: kernel modules: %w", err)
	}
	list, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, fmt.Errorf("lab: kernel modules: %w", err)
	}
	for _, line := range strings.Split(string(list), "\n") {
		if name, ok := moduleName(strings.TrimSpace(line)); ok {
			x.builtin[name] = true
		}
	}
	return x, nil
}

// readModule returns a module's content, uncompressed by the host's tools.
func readModule(ctx context.Context, file string) ([]byte, error) {
	tools := map[string]string{".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
	tool, compressed := tools[filepath.Ext(file)]
	if !compressed {
		return os.ReadFile(file)
	}
	out, err := output(exec.CommandContext(ctx, tool, "-dc", file))
	return []byte(out), err
}

// module is one module to load, with its content.
type module struct {
	name  string
	image []byte
}

// order returns the wanted modules and all that they depend on, each after its
// dependencies.
func (x *moduleIndex) order(ctx context.Context, wanted []labModule) ([]module, error) {
	var out []module
	state := map[string]int{} // 1 while visiting, 2 when done
	var visit func(name, by string) error
	visit = func(name, by string) error {
		name = strings.ReplaceAll(name, "-", "_")
		if state[name] == 2 || x.builtin[name] {
			return nil
		}
		if state[name] == 1 {
			return fmt.Errorf("lab: kernel modules: %s depends on itself", name)
		}
		state[name] = 1
		file, ok := x.files[name]
		if !ok {
			return fmt.Errorf("lab: this kernel has no module %s (needed by %s); cloud and minimal kernels lack it, use a full one", name, by)
		}
		image, err := x.load(ctx, file)
		if err != nil {
			return err
		}
		depends, err := moduleDepends(image)
		if err != nil {
			return fmt.Errorf("lab: %s: %w", file, err)
		}
		for _, d := range depends {
			if err := visit(d, name); err != nil {
				return err
			}
		}
		state[name] = 2
		out = append(out, module{name, image})
		return nil
	}
	for _, w := range wanted {
		name := strings.ReplaceAll(w.name, "-", "_")
		if _, ok := x.files[name]; !ok && w.optional {
			continue
		}
		if err := visit(name, "the lab"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// moduleDepends reads the "depends" line of a module's .modinfo section.
func moduleDepends(image []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return nil, err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("no .modinfo section: not a kernel module")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	return dependsOf(info), nil
}

func dependsOf(info []byte) []string {
	for _, field := range bytes.Split(info, []byte{0}) {
		if list, ok := bytes.CutPrefix(field, []byte("depends=")); ok && len(list) > 0 {
			return strings.Split(string(list), ",")
		}
	}
	return nil
}
