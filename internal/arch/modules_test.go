package arch

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// absent marks a package of the design that the tree does not have yet. The test
// fails on the day it appears, until its modules are listed.
const absent = "absent"

// allowedModules reads testdata/modules.txt: "package: module module".
func allowedModules(t *testing.T) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "modules.txt"))
	require.NoError(t, err)
	allowed := map[string][]string{}
	for _, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, modules, ok := strings.Cut(line, ":")
		require.True(t, ok, "modules.txt: %q is not \"package: module module\"", line)
		allowed[name] = strings.Fields(modules)
	}
	return allowed
}

// TestModulesOfLibraries pins what a user's program links in. The tools of the
// tree may use more; a library that a service embeds may not.
func TestModulesOfLibraries(t *testing.T) {
	allowed := allowedModules(t)
	for _, library := range []string{"verbs", "nccl", "topo"} {
		require.Contains(t, allowed, library, "modules.txt has no line for it")
	}
	for library, modules := range allowed {
		t.Run(library, func(t *testing.T) {
			// A folder that only holds other packages is no package.
			files, err := filepath.Glob(filepath.Join(root(t), filepath.FromSlash(library), "*.go"))
			require.NoError(t, err)
			if slices.Equal(modules, []string{absent}) {
				require.Empty(t, files, "%s is in the tree now: list its modules in modules.txt", library)
				return
			}
			require.NotEmpty(t, files, "modules.txt lists a package that is not in the tree")
			if library != permissiveLibrary {
				require.NotContains(t, modules, goNVML, "its linker flags would reach every program that imports %s", library)
			}
			for _, system := range []struct{ os, arch, cgo string }{
				{"linux", "amd64", "1"}, {"linux", "amd64", "0"}, {"linux", "arm64", "0"}, {"darwin", "arm64", "0"},
			} {
				for _, used := range modulesOf(t, library, "GOOS="+system.os, "GOARCH="+system.arch, "CGO_ENABLED="+system.cgo) {
					assert.Contains(t, modules, used, "%s pulls in %s on %v", library, used, system)
				}
			}
		})
	}
}

func modulesOf(t *testing.T, library string, env ...string) []string {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Module", "./"+library)
	cmd.Dir = root(t)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	require.NoError(t, err)
	var modules []string
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for {
		var pkg struct {
			ImportPath string
			Module     *struct {
				Path string
				Main bool
			}
		}
		err := decoder.Decode(&pkg)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if pkg.Module != nil && !pkg.Module.Main && !slices.Contains(modules, pkg.Module.Path) {
			modules = append(modules, pkg.Module.Path)
		}
	}
	return modules
}
