package lab

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

const hostUserland = "host"

// labPrograms are the programs every guest has, with their Debian packages.
func labPrograms() []Missing {
	list := []Missing{{"ip", "iproute2"}, {"rdma", "iproute2"}, {"tc", "iproute2"}}
	for _, verb := range []string{"write", "read", "send", "atomic"} {
		list = append(list, Missing{"ib_" + verb + "_bw", "perftest"}, Missing{"ib_" + verb + "_lat", "perftest"})
	}
	return list
}

// labLibraries are opened at run time, so no program names them as needed.
func labLibraries() []Missing {
	return []Missing{
		{"libibverbs.so.1", "libibverbs1"}, {"librdmacm.so.1", "librdmacm1"},
		{"libibumad.so.3", "libibumad3"}, {"libgcc_s.so.1", "libgcc-s1"},
	}
}

// userlandPackages bring all of the above, and the shell, from a suite.
func userlandPackages() []string {
	return []string{"libibverbs1", "ibverbs-providers", "librdmacm1", "libibumad3", "libgcc-s1",
		"perftest", "rdmacm-utils", "iproute2", "dash", "busybox-static", "libc6"}
}

// busyboxDir stands last in the guest's PATH: iproute2's ip, not busybox's, is
// the one that scripts get.
const busyboxDir = "/usr/lib/lab/busybox"

// ensureUserland returns the folder that is the userland's root.
func ensureUserland(ctx context.Context, c Config) (string, error) {
	if c.Userland == hostUserland {
		return "/", nil
	}
	dir, _, err := store(ctx, c, "userlands", c.Userland, func(dir string) (stamp, error) {
		return downloadUserland(ctx, c, dir)
	})
	return dir, err
}

func downloadUserland(ctx context.Context, c Config, dir string) (stamp, error) {
	c.Log("downloading userland " + c.Userland)
	release, err := lock(ctx, c.Cache, "apt-"+c.Userland)
	if err != nil {
		return stamp{}, err
	}
	defer release()
	apt, err := openApt(c, c.Userland)
	if err != nil {
		return stamp{}, err
	}
	if err := apt.update(ctx); err != nil {
		return stamp{}, err
	}
	debs := filepath.Join(dir, "debs")
	if err := apt.downloadAll(ctx, debs, userlandPackages()...); err != nil {
		return stamp{}, err
	}
	// The packages expect the merged /usr that an installed system has.
	for _, d := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.MkdirAll(filepath.Join(dir, "usr", d), 0o755); err != nil {
			return stamp{}, fmt.Errorf("lab: cache: %w", err)
		}
		if err := os.Symlink("usr/"+d, filepath.Join(dir, d)); err != nil {
			return stamp{}, fmt.Errorf("lab: cache: %w", err)
		}
	}
	if err := unpack(ctx, debs, dir); err != nil {
		return stamp{}, err
	}
	s := stamp{Package: "libibverbs1", Suite: c.Userland}
	found, err := filepath.Glob(filepath.Join(debs, "libibverbs1_*.deb"))
	if err != nil || len(found) != 1 {
		return stamp{}, fmt.Errorf("lab: userland %s: the archive delivered no libibverbs1", c.Userland)
	}
	s.Version = strings.Split(filepath.Base(found[0]), "_")[1]
	for _, d := range []string{debs, filepath.Join(dir, "usr", "share")} {
		if err := os.RemoveAll(d); err != nil {
			return stamp{}, fmt.Errorf("lab: cache: %w", err)
		}
	}
	return s, nil
}

// addUserland puts the userland of root into the guest.
func addUserland(ctx context.Context, c Config, root string, t tree) error {
	r := openLibraryRoot(root)
	col := newCollector(r, t)
	wanted := labPrograms()
	for _, p := range c.Programs {
		wanted = append(wanted, Missing{Thing: p})
	}
	for _, p := range wanted {
		if at := r.findProgram(p.Thing); at != "" {
			col.addFile(at, p.Package)
		} else {
			col.miss(p.Thing, p.Package)
		}
	}
	for _, l := range labLibraries() {
		if at := r.findLibrary(l.Thing, nil, "/"); at != "" {
			col.addFile(at, l.Package)
		} else {
			col.miss(l.Thing, l.Package)
		}
	}
	addProvider(col)
	col.addFile("/bin/sh", "dash")
	if err := addBusybox(ctx, col); err != nil {
		return err
	}
	// The loader's cache matters where libraries lie outside its own folders.
	if _, err := os.Stat(filepath.Join(root, "etc/ld.so.cache")); err == nil {
		col.addFile("/etc/ld.so.cache", "")
	}
	where := "the host"
	if c.Userland != hostUserland {
		where = "userland " + c.Userland
	}
	if err := col.err(where); err != nil {
		return err
	}
	addEtc(t)
	return nil
}

// addProvider adds libibverbs' rxe driver, which it opens by name.
func addProvider(col *collector) {
	col.addFile("/etc/libibverbs.d/rxe.driver", "ibverbs-providers")
	for _, d := range col.root.dirs {
		found, err := filepath.Glob(filepath.Join(col.root.dir, d, "libibverbs", "librxe-rdmav*.so"))
		if err != nil || len(found) == 0 {
			continue
		}
		for _, f := range found {
			col.addFile(path.Join(d, "libibverbs", filepath.Base(f)), "ibverbs-providers")
		}
		return
	}
	col.miss("libibverbs' rxe provider (librxe-rdmav*.so)", "ibverbs-providers")
}

// addBusybox adds the static busybox and one link for each of its applets.
func addBusybox(ctx context.Context, col *collector) error {
	at := col.root.findProgram("busybox")
	if at == "" {
		col.miss("busybox", "busybox-static")
		return nil
	}
	real, _, err := resolveIn(col.root.dir, at)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	host := filepath.Join(col.root.dir, real)
	facts, err := readELF(host)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	if facts.interp != "" {
		col.miss("a static busybox", "busybox-static")
		return nil
	}
	applets, err := output(exec.CommandContext(ctx, host, "--list"))
	if err != nil {
		return err
	}
	if err := col.tree.putFile(path.Join(busyboxDir, "busybox"), host); err != nil {
		return err
	}
	for _, name := range strings.Fields(applets) {
		if name != "busybox" && plainName(name) {
			col.tree.putLink(path.Join(busyboxDir, name), "busybox")
		}
	}
	return nil
}

func addEtc(t tree) {
	t.putData("/etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n"))
	t.putData("/etc/group", 0o644, []byte("root:x:0:\nnogroup:x:65534:\n"))
	t.putData("/etc/hosts", 0o644, []byte("127.0.0.1 localhost lab\n::1 localhost\n10.0.0.1 rxe0\n10.0.0.2 rxe1\n"))
	t.putData("/etc/nsswitch.conf", 0o644, []byte("passwd: files\ngroup: files\nhosts: files\n"))
	for _, d := range []string{"/proc", "/sys", "/dev", "/run", "/var/tmp", "/mnt"} {
		t.mkdir(d, 0o755)
	}
	t.mkdir("/root", 0o700)
	t["/tmp"] = entry{mode: cpioDir | 0o1777}
	t["/var/tmp"] = entry{mode: cpioDir | 0o1777}
}
