package lab

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	accelAuto = "auto"
	accelKVM  = "kvm"
	accelTCG  = "tcg"

	// kvmProbeTime is how long a guest may take under KVM to boot and run
	// nothing; where KVM works it takes less than two seconds. /dev/kvm may
	// exist and still abort, or spin for ever.
	kvmProbeTime = 10 * time.Second
)

// kvmVerdict is what a probe found out, kept until the host reboots or QEMU
// changes.
type kvmVerdict struct {
	Key    string `json:"key"`
	Usable bool   `json:"usable"`
	Reason string `json:"reason"`
}

// kvmKey identifies the host's boot and its QEMU.
func kvmKey(bootID string, qemu fs.FileInfo) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s %d %d", bootID, qemu.Size(), qemu.ModTime().UnixNano())))
	return hex.EncodeToString(sum[:8])
}

// readVerdict returns the remembered verdict for key, false if there is none.
// A damaged memory is none: the probe writes it anew.
func readVerdict(file, key string) (kvmVerdict, bool) {
	var v kvmVerdict
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &v) != nil || v.Key != key {
		return kvmVerdict{}, false
	}
	return v, true
}

func writeVerdict(file string, v kvmVerdict) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	temp := file + ".new"
	if err := os.WriteFile(temp, text, 0o644); err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	if err := os.Rename(temp, file); err != nil {
		return fmt.Errorf("lab: cache: %w", err)
	}
	return nil
}

// chooseAccel returns the accelerator that "auto" stands for on this host. The
// first call after a reboot boots a guest to find out.
func (im *Image) chooseAccel(ctx context.Context, qemu string, probe func(context.Context) error) (string, error) {
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		// No permission or no device: nothing to find out.
		return accelTCG, nil
	}
	f.Close()
	bootID, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	fi, err := os.Stat(qemu)
	if err != nil {
		return "", fmt.Errorf("lab: %w", err)
	}
	key, file := kvmKey(string(bootID), fi), filepath.Join(im.cfg.Cache, "kvm.json")
	verdict, ok := readVerdict(file, key)
	if !ok {
		release, err := lock(ctx, im.cfg.Cache, "kvm")
		if err != nil {
			return "", err
		}
		defer release()
		if verdict, ok = readVerdict(file, key); !ok {
			im.cfg.Log("probing KVM, once until the next reboot")
			if verdict, err = probeKVM(ctx, key, probe); err != nil {
				return "", err
			}
			if err := writeVerdict(file, verdict); err != nil {
				return "", err
			}
			if !verdict.Usable {
				im.cfg.Log("KVM does not work here, guests are emulated: " + verdict.Reason)
			}
		}
	}
	if verdict.Usable {
		return accelKVM, nil
	}
	return accelTCG, nil
}

func probeKVM(ctx context.Context, key string, probe func(context.Context) error) (kvmVerdict, error) {
	// The guest may also hang after its boot.
	limited, cancel := context.WithTimeout(ctx, 2*kvmProbeTime)
	defer cancel()
	err := probe(limited)
	if ctx.Err() != nil {
		return kvmVerdict{}, fmt.Errorf("lab: probing KVM: %w", ctx.Err())
	}
	v := kvmVerdict{Key: key, Usable: err == nil}
	var guest *GuestError
	switch {
	case errors.As(err, &guest):
		v.Reason = guest.Reason
	case err != nil:
		v.Reason = err.Error()
	}
	return v, nil
}
