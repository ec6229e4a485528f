package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// aptState is a private apt: its own sources, lists and archives, the host's
// keys and proxies. It needs no root and touches nothing of the host's.
type aptState struct {
	dir  string
	conf string
}

// openApt prepares the private apt of one suite below the cache folder. The
// caller holds that suite's lock.
func openApt(c Config, suite string) (*aptState, error) {
	var archive aptEntry
	var security *aptEntry
	if c.Mirror != "" {
		keyring, err := filepath.Abs(c.Keyring)
		if err != nil {
			return nil, fmt.Errorf("lab: keyring: %w", err)
		}
		archive = aptEntry{uris: []string{c.Mirror}, signedBy: keyring}
	} else {
		entries, err := hostSources("/etc")
		if err != nil {
			return nil, err
		}
		var ok bool
		if archive, security, ok = debianArchives(entries); !ok {
			return nil, errors.New("lab: this host's apt configuration names no Debian archive: name one and its keyring (mirror, keyring), or a kernel's own files (vmlinuz, modules)")
		}
	}
	a := &aptState{dir: filepath.Join(c.Cache, "apt", suite)}
	for _, d := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.dir, d), 0o755); err != nil {
			return nil, fmt.Errorf("lab: %w", err)
		}
	}
	a.conf = filepath.Join(a.dir, "apt.conf")
	files := map[string]string{
		"lab.sources": privateSources(archive, security, suite),
		"status":      "",
		"apt.conf":    aptConf(a.dir),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(a.dir, name), []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("lab: %w", err)
		}
	}
	return a, nil
}

// aptConf points apt at a private folder. The host's hooks and pins are not
// for it, and without root there is no sandbox user to become.
func aptConf(dir string) string {
	set := [][2]string{
		{"Dir::Etc::sourcelist", dir + "/lab.sources"},
		{"Dir::Etc::sourceparts", "/dev/null"},
		{"Dir::Etc::preferences", "/dev/null"},
		{"Dir::Etc::preferencesparts", "/dev/null"},
		{"Dir::State", dir},
		{"Dir::State::lists", dir + "/lists"},
		{"Dir::State::status", dir + "/status"},
		{"Dir::Cache", dir},
		{"Dir::Cache::archives", dir + "/archives"},
		{"Acquire::Languages", "none"},
		{"APT::Architecture", "amd64"},
		{"APT::Sandbox::User", "root"},
		{"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false"},
	}
	var b strings.Builder
	for _, hook := range []string{"APT::Update::Pre-Invoke", "APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success", "DPkg::Post-Invoke"} {
		fmt.Fprintf(&b, "#clear %s;\n", hook)
	}
	for _, s := range set {
		fmt.Fprintf(&b, "%s %q;\n", s[0], s[1])
	}
	return b.String()
}

func (a *aptState) run(ctx context.Context, dir, tool string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, tool, append([]string{"-c", a.conf, "-q"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	return output(cmd)
}

// output runs a tool and returns what it printed; its failure carries the end
// of what it complained about.
func output(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	name := filepath.Base(cmd.Args[0])
	if errors.Is(err, exec.ErrNotFound) {
		return "", &MissingError{Where: "the host", Items: []Missing{{name, debianPackage(name)}}}
	}
	if err != nil {
		return "", fmt.Errorf("lab: %s: %w: %s", strings.Join(cmd.Args, " "), err, tail(stderr.String(), 600))
	}
	return stdout.String(), nil
}

// debianPackage names the package of a tool that the lab runs on the host.
func debianPackage(program string) string {
	switch program {
	case "apt-get", "apt-cache":
		return "apt"
	case "dpkg-deb":
		return "dpkg"
	case qemuProgram:
		return "qemu-system-x86"
	case "xz":
		return "xz-utils"
	}
	return program
}

// tail returns the last n bytes of s, from the start of a line where it can.
func tail(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if _, rest, ok := strings.Cut(s, "\n"); ok {
		return rest
	}
	return s
}

func (a *aptState) update(ctx context.Context) error {
	_, err := a.run(ctx, a.dir, "apt-get", "update", "-o", "APT::Update::Error-Mode=any")
	return err
}

// names lists the packages whose name starts with prefix.
func (a *aptState) names(ctx context.Context, prefix string) ([]string, error) {
	out, err := a.run(ctx, a.dir, "apt-cache", "pkgnames", prefix)
	return strings.Fields(out), err
}

// depends returns the names in a package's Depends field, first alternatives
// only.
func (a *aptState) depends(ctx context.Context, pkg string) ([]string, error) {
	out, err := a.run(ctx, a.dir, "apt-cache", "--no-all-versions", "show", pkg)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range deb822(out) {
		for _, d := range strings.Split(s["depends"], ",") {
			if f := strings.Fields(d); len(f) > 0 {
				names = append(names, f[0])
			}
		}
	}
	return names, nil
}

// download fetches packages, without what they depend on, into dir.
func (a *aptState) download(ctx context.Context, dir string, pkgs ...string) error {
	_, err := a.run(ctx, dir, "apt-get", append([]string{"download"}, pkgs...)...)
	return err
}

// downloadAll fetches packages and all that they depend on into dir.
func (a *aptState) downloadAll(ctx context.Context, dir string, pkgs ...string) error {
	args := []string{"-y", "--no-install-recommends", "--download-only",
		"-o", "Dir::Cache::archives=" + dir, "-o", "Debug::NoLocking=true", "install"}
	if err := os.MkdirAll(filepath.Join(dir, "partial"), 0o755); err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	_, err := a.run(ctx, dir, "apt-get", append(args, pkgs...)...)
	return err
}

// unpack extracts every package of dir into root.
func unpack(ctx context.Context, dir, root string) error {
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	for _, deb := range debs {
		if _, err := output(exec.CommandContext(ctx, "dpkg-deb", "-x", deb, root)); err != nil {
			return err
		}
	}
	return nil
}

// kernelPackage matches the full kernels' packages: no -cloud-, -rt- or debug
// flavour.
var kernelPackage = regexp.MustCompile(`^linux-image-([0-9][0-9a-z.+~]*(?:-[0-9]+)?)-amd64$`)

// newestKernel picks the package of the newest kernel of one series ("6.1").
func newestKernel(names []string, series string) (pkg, version string, ok bool) {
	for _, n := range names {
		m := kernelPackage.FindStringSubmatch(n)
		if m == nil || !strings.HasPrefix(m[1], series+".") {
			continue
		}
		if !ok || versionLess(version, m[1]) {
			pkg, version, ok = n, m[1], true
		}
	}
	return pkg, version, ok
}

var versionPart = regexp.MustCompile(`[0-9]+|[^0-9]+`)

// versionLess compares kernel releases: runs of digits as numbers.
func versionLess(a, b string) bool {
	x, y := versionPart.FindAllString(a, -1), versionPart.FindAllString(b, -1)
	for i := 0; i < len(x) && i < len(y); i++ {
		p, q := strings.TrimLeft(x[i], "0"), strings.TrimLeft(y[i], "0")
		if p == q {
			continue
		}
		digits := x[i][0] >= '0' && x[i][0] <= '9' && y[i][0] >= '0' && y[i][0] <= '9'
		if digits && len(p) != len(q) {
			return len(p) < len(q)
		}
		return p < q
	}
	return len(x) < len(y)
}
