package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

const qemuProgram = "qemu-system-x86_64"

// Config says which kernel and userland a guest has. The zero value is Debian
// 12's kernel with the host's userland.
type Config struct {
	// Kernel is the name of a known kernel (see [Kernels]); "" is "6.1".
	// With Vmlinuz set it is only a label.
	Kernel string
	// Vmlinuz and Modules name a kernel image and its module folder (the one
	// that holds "kernel/" and "modules.builtin"). Both or neither are set.
	Vmlinuz string
	Modules string
	// ExtraModules are loaded after the lab's own, dependencies included.
	ExtraModules []string
	// Userland is "host" ("" means the same) or a Debian suite: "bookworm",
	// "trixie".
	Userland string
	// Programs are further programs of the userland to put into the guest,
	// by name or absolute path.
	Programs []string
	// Mirror and Keyring name a Debian archive and the key that signs it, for
	// hosts whose own apt configuration has none (Ubuntu, for one).
	Mirror  string
	Keyring string
	// Cache is the cache folder; "" is $GOFABRIC_CACHE, or gofabric/lab in
	// the user's cache folder.
	Cache string
	// Refresh asks the archive for newer packages even if some are cached.
	Refresh bool
	// Log receives one line for each slow step; nil drops them.
	Log func(line string)
}

// KernelInfo is one kernel that [Ensure] can download by name.
type KernelInfo struct {
	// Name is what Config.Kernel takes.
	Name string
	// Suite is the Debian suite that carries it.
	Suite string
	// About is the distribution in words.
	About string
}

// Kernels lists the kernels known by name, oldest first.
func Kernels() []KernelInfo {
	return []KernelInfo{
		{"6.1", "bookworm", "Debian 12"},
		{"6.12", "trixie", "Debian 13"},
		{"7.3", "trixie-backports", "Debian 13 backports"},
	}
}

func kernelByName(name string) (KernelInfo, error) {
	var names []string
	for _, k := range Kernels() {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return KernelInfo{}, fmt.Errorf("lab: kernel %q is not known by name: choose one of %s, or name its files (vmlinuz and modules)", name, strings.Join(names, ", "))
}

// withDefaults checks c and fills in what the zero value stands for.
func (c Config) withDefaults() (Config, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return c, ErrNotSupported
	}
	if (c.Vmlinuz == "") != (c.Modules == "") {
		return c, fmt.Errorf("lab: a kernel named by its files needs both the image (vmlinuz) and the module folder")
	}
	if c.Kernel == "" {
		c.Kernel = "6.1"
		if c.Vmlinuz != "" {
			c.Kernel = "custom"
		}
	}
	if !plainName(c.Kernel) {
		return c, fmt.Errorf("lab: kernel name %q: letters, digits, '.', '+', '-' and '_' only", c.Kernel)
	}
	if c.Vmlinuz == "" {
		if _, err := kernelByName(c.Kernel); err != nil {
			return c, err
		}
	}
	switch c.Userland {
	case "":
		c.Userland = hostUserland
	case hostUserland, "bookworm", "trixie":
	default:
		return c, fmt.Errorf("lab: userland %q is not known: choose host, bookworm or trixie", c.Userland)
	}
	if (c.Mirror == "") != (c.Keyring == "") {
		return c, fmt.Errorf("lab: a mirror needs its keyring, and a keyring its mirror")
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	if c.Cache == "" {
		dir, err := CacheDir()
		if err != nil {
			return c, err
		}
		c.Cache = dir
	}
	abs, err := filepath.Abs(c.Cache)
	if err != nil {
		return c, fmt.Errorf("lab: cache folder: %w", err)
	}
	c.Cache = abs
	return c, nil
}

// plainName says whether s can be a file name and a label without surprises.
func plainName(s string) bool {
	if s == "" || s[0] == '.' || s[0] == '-' {
		return false
	}
	for _, r := range s {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".+-_", r)
		if !ok {
			return false
		}
	}
	return true
}

// CacheDir returns the folder that keeps kernels, userlands and archives:
// $GOFABRIC_CACHE, or gofabric/lab in [os.UserCacheDir].
func CacheDir() (string, error) {
	if dir := os.Getenv("GOFABRIC_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("lab: no cache folder, set GOFABRIC_CACHE to one: %w", err)
	}
	return filepath.Join(dir, "gofabric", "lab"), nil
}
