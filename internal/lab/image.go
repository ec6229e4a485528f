package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"
)

// Image is a kernel with a base archive, ready to boot any number of jobs, in
// several processes at once.
type Image struct {
	cfg     Config
	kernel  kernel
	root    string // the userland's root folder
	tree    tree   // what the base archive holds
	archive string // the base archive's file
	boot    string // the kernel that QEMU boots
}

// guestDir holds what the lab itself puts into the guest.
const guestDir = "/usr/lib/lab"

// modulesFile names the guest's modules in load order, as a JSON list.
const modulesFile = guestDir + "/modules.json"

// Fetch downloads the configured kernel and userland into the cache, unless
// they are there, and returns the kernel's release.
func Fetch(ctx context.Context, cfg Config) (string, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return "", err
	}
	k, err := ensureKernel(ctx, c)
	if err != nil {
		return "", err
	}
	if _, err := ensureUserland(ctx, c); err != nil {
		return "", err
	}
	return k.version, nil
}

// Ensure makes the configured image, downloading and building only what the
// cache lacks. A program or library that is missing is a [MissingError].
func Ensure(ctx context.Context, cfg Config) (*Image, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	im := &Image{cfg: c}
	if im.kernel, err = ensureKernel(ctx, c); err != nil {
		return nil, err
	}
	if im.root, err = ensureUserland(ctx, c); err != nil {
		return nil, err
	}
	im.tree = tree{}
	if err := addUserland(ctx, c, im.root, im.tree); err != nil {
		return nil, err
	}
	if err := im.buildArchive(ctx); err != nil {
		return nil, err
	}
	if im.boot, err = im.bootable(ctx); err != nil {
		return nil, err
	}
	return im, nil
}

// Kernel returns the kernel's release, such as "6.1.0-57-amd64".
func (im *Image) Kernel() string { return im.kernel.version }

// buildArchive writes the base archive, named by what goes into it, unless it
// exists.
func (im *Image) buildArchive(ctx context.Context) error {
	wanted := labModules()
	for _, m := range im.cfg.ExtraModules {
		wanted = append(wanted, labModule{name: m})
	}
	key := tree{}
	for p, e := range im.tree {
		key[p] = e
	}
	list, err := json.Marshal([]string{im.kernel.modules, im.kernel.version, fmt.Sprint(wanted)})
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	key.putData(modulesFile, 0o644, list)
	// The module folder's own time tells a refreshed kernel apart.
	if err := key.putFile(guestDir+"/modules.builtin", filepath.Join(im.kernel.modules, "modules.builtin")); err != nil {
		return err
	}
	dir := filepath.Join(im.cfg.Cache, "archives")
	im.archive = filepath.Join(dir, im.cfg.Kernel+"_"+im.cfg.Userland+"_"+key.hash()+".cpio")
	now := time.Now()
	if os.Chtimes(im.archive, now, now) == nil {
		return nil
	}
	release, err := lock(ctx, im.cfg.Cache, "archives")
	if err != nil {
		return err
	}
	defer release()
	if os.Chtimes(im.archive, now, now) == nil {
		return nil
	}
	index, err := openModules(im.kernel.modules)
	if err != nil {
		return err
	}
	mods, err := index.order(ctx, wanted)
	if err != nil {
		return err
	}
	full := tree{}
	for p, e := range im.tree {
		full[p] = e
	}
	names := []string{}
	for _, m := range mods {
		names = append(names, m.name)
		full.putData(path.Join(guestDir, "modules", m.name+".ko"), 0o644, m.image)
	}
	if list, err = json.Marshal(names); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	full.putData(modulesFile, 0o644, list)
	return writeCached(im.archive, full.write)
}

// archiveAge is how long an archive that no run uses stays in the cache. Runs
// set their archive's time.
const archiveAge = 7 * 24 * time.Hour

// writeCached writes a file of the archive folder under its final name in one
// step, and removes what has not been used for long.
func writeCached(file string, write func(io.Writer) error) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	defer os.Remove(f.Name())
	if err := write(f); err != nil {
		f.Close()
		return fmt.Errorf("lab: cache: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	all, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	for _, e := range all {
		if fi, err := e.Info(); err == nil && time.Since(fi.ModTime()) > archiveAge {
			// Another run may remove it first: nothing depends on it.
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return nil
}
