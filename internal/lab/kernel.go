package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// kernel is one kernel's files on the host.
type kernel struct {
	vmlinuz string
	modules string
	version string
}

// ensureKernel returns the configured kernel, downloading it when it is not in
// the cache.
func ensureKernel(ctx context.Context, c Config) (kernel, error) {
	if c.Vmlinuz != "" {
		return kernel{vmlinuz: c.Vmlinuz, modules: c.Modules, version: filepath.Base(filepath.Clean(c.Modules))}, nil
	}
	info, err := kernelByName(c.Kernel)
	if err != nil {
		return kernel{}, err
	}
	dir, s, err := store(ctx, c, "kernels", info.Name, func(dir string) (stamp, error) {
		return downloadKernel(ctx, c, info, dir)
	})
	if err != nil {
		return kernel{}, err
	}
	return findKernel(dir, s.Version)
}

func downloadKernel(ctx context.Context, c Config, info KernelInfo, dir string) (stamp, error) {
	c.Log(fmt.Sprintf("downloading kernel %s (%s)", info.Name, info.About))
	release, err := lock(ctx, c.Cache, "apt-"+info.Suite)
	if err != nil {
		return stamp{}, err
	}
	defer release()
	apt, err := openApt(c, info.Suite)
	if err != nil {
		return stamp{}, err
	}
	if err := apt.update(ctx); err != nil {
		return stamp{}, err
	}
	names, err := apt.names(ctx, "linux-image-")
	if err != nil {
		return stamp{}, err
	}
	pkg, version, ok := newestKernel(names, info.Name)
	if !ok {
		return stamp{}, fmt.Errorf("lab: the archive's suite %s carries no %s kernel any more: choose another kernel", info.Suite, info.Name)
	}
	depends, err := apt.depends(ctx, pkg)
	if err != nil {
		return stamp{}, err
	}
	pkgs := []string{pkg}
	for _, d := range depends {
		// Newer packaging splits the image, the modules and their lists off,
		// all of the same version.
		if strings.HasSuffix(d, "-"+version+"-amd64") {
			pkgs = append(pkgs, d)
		}
	}
	debs := filepath.Join(dir, "debs")
	if err := os.Mkdir(debs, 0o755); err != nil {
		return stamp{}, fmt.Errorf("lab: cache: %w", err)
	}
	if err := apt.download(ctx, debs, pkgs...); err != nil {
		return stamp{}, err
	}
	if err := unpack(ctx, debs, dir); err != nil {
		return stamp{}, err
	}
	s := stamp{Package: pkg, Version: version + "-amd64", Suite: info.Suite}
	k, err := findKernel(dir, s.Version)
	if err != nil {
		return stamp{}, err
	}
	// No guest has a screen, a camera or a sound card: a third of the space.
	drop := []string{debs, filepath.Join(dir, "usr", "share")}
	for _, d := range []string{"sound", "drivers/gpu", "drivers/media", "drivers/net/wireless", "drivers/iio", "drivers/hid", "drivers/input", "drivers/staging", "drivers/usb"} {
		drop = append(drop, filepath.Join(k.modules, "kernel", d))
	}
	for _, d := range drop {
		if err := os.RemoveAll(d); err != nil {
			return stamp{}, fmt.Errorf("lab: cache: %w", err)
		}
	}
	return s, nil
}

// findKernel looks for a kernel's files where Debian's packages put them: the
// image in /boot or beside its modules, the modules in /lib or /usr/lib.
func findKernel(dir, version string) (kernel, error) {
	k := kernel{version: version}
	for _, lib := range []string{"lib", "usr/lib"} {
		m := filepath.Join(dir, lib, "modules", version)
		if _, err := os.Stat(filepath.Join(m, "modules.builtin")); err == nil {
			k.modules = m
			break
		}
	}
	if k.modules == "" {
		return k, fmt.Errorf("lab: the packages of kernel %s hold no modules: their layout is not one the lab knows", version)
	}
	for _, image := range []string{filepath.Join(dir, "boot", "vmlinuz-"+version), filepath.Join(k.modules, "vmlinuz")} {
		if _, err := os.Stat(image); err == nil {
			k.vmlinuz = image
			return k, nil
		}
	}
	return k, fmt.Errorf("lab: the packages of kernel %s hold no kernel image: their layout is not one the lab knows", version)
}

// CachedKernel is a kernel that needs no download.
type CachedKernel struct {
	KernelInfo
	// Version is the kernel's release, "" when it is not in the cache.
	Version string
}

// CachedKernels lists the known kernels with the version that the cache holds.
func CachedKernels(cache string) ([]CachedKernel, error) {
	if cache == "" {
		dir, err := CacheDir()
		if err != nil {
			return nil, err
		}
		cache = dir
	}
	var list []CachedKernel
	for _, k := range Kernels() {
		s, _, err := readStamp(filepath.Join(cache, "kernels", k.Name))
		if err != nil {
			return nil, err
		}
		list = append(list, CachedKernel{KernelInfo: k, Version: strings.TrimSuffix(s.Version, "-amd64")})
	}
	return list, nil
}
