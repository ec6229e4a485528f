package lab

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// Diagnosis is one thing that [Doctor] looked at.
type Diagnosis struct {
	What string
	OK   bool
	// Detail says what was found, or what to do.
	Detail string
}

// Doctor checks what a run with this configuration needs of the host, without
// downloading anything.
func Doctor(ctx context.Context, cfg Config) ([]Diagnosis, error) {
	c, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	var list []Diagnosis
	add := func(what string, err error, good string) {
		d := Diagnosis{What: what, OK: err == nil, Detail: good}
		if err != nil {
			d.Detail = err.Error()
		}
		list = append(list, d)
	}
	version, err := QEMUVersion(ctx)
	add("QEMU", err, version)
	for _, tool := range []string{"apt-get", "dpkg-deb", "xz"} {
		at, err := exec.LookPath(tool)
		if err != nil {
			err = errors.New("not found: install " + debianPackage(tool))
		}
		add(tool, err, at)
	}
	if c.Vmlinuz == "" && c.Mirror == "" {
		entries, err := hostSources("/etc")
		archive, _, ok := debianArchives(entries)
		if err == nil && !ok {
			err = errors.New("the host's apt configuration names none: name one with its keyring, or a kernel's own files")
		}
		good := ""
		if ok {
			good = archive.uris[0]
		}
		add("Debian archive", err, good)
	}
	if c.Userland == hostUserland {
		add("userland host", addUserland(ctx, c, "/", tree{}), "complete")
	}
	if f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
		f.Close()
		add("KVM", nil, "/dev/kvm opens; the first run finds out whether it works")
	} else {
		add("KVM", nil, "none, guests are emulated: "+err.Error())
	}
	return list, nil
}
