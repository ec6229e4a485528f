// Command demo shows a Go bandwidth test talking to the C one through a kernel
// RDMA device, both ways, and compares the four combinations.
//
// Without RDMA hardware it does so in a guest of the lab, where two soft-RoCE
// devices face each other. DEMO_DEVICE names a device of this machine to use
// instead; the demo never takes one unasked.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/lab"
)

// deviceEnv names a device of this machine to run on.
const deviceEnv = "DEMO_DEVICE"

// guestArg makes the demo run the comparison here and now: it is how the demo
// starts itself in the guest.
const guestArg = "compare"

// limit ends a demo that hangs, downloads included.
const limit = 15 * time.Minute

func main() {
	lab.Guest()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 4 && args[0] == guestArg {
		return compare(ctx, args[1], args[2], args[3])
	}
	if len(args) != 0 {
		return fmt.Errorf("it takes no arguments; %s=name uses a device of this machine", deviceEnv)
	}
	started := time.Now()
	if err := listHardware(os.Stdout); err != nil {
		return err
	}
	tool, err := buildTool(ctx)
	if err != nil {
		return err
	}
	if device := os.Getenv(deviceEnv); device != "" {
		if err := checkDevice(device); err != nil {
			return err
		}
		fmt.Printf("Running on %s of this machine, because %s names it.\n\n", device, deviceEnv)
		err = compare(ctx, tool, device, device)
	} else {
		err = runInGuest(ctx, tool)
	}
	if err == nil {
		fmt.Printf("The whole took %.0f s.\n", time.Since(started).Seconds())
	}
	return err
}

// buildTool builds write_bw and returns its path.
func buildTool(ctx context.Context) (string, error) {
	path, err := filepath.Abs("build/write_bw")
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", path, "./examples/write_bw")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	fmt.Println("Building examples/write_bw.")
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("go build ./examples/write_bw: %w", err)
	}
	return path, nil
}

func runInGuest(ctx context.Context, tool string) error {
	cfg := lab.Config{Log: func(line string) { fmt.Println("lab:", line) }}
	image, err := lab.Ensure(ctx, cfg)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("Booting a guest with kernel %s, two soft-RoCE devices in it.\n\n", image.Kernel())
	result, err := image.Run(ctx, lab.Job{
		Path:   self,
		Args:   []string{guestArg, tool, "rxe0", "rxe1"},
		In:     []lab.Mapping{{Host: tool, Guest: tool}},
		Stdout: os.Stdout,
		Stderr: os.Stderr,
	})
	if err != nil {
		return err
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("the comparison in the guest ended with status %d", result.ExitCode)
	}
	fmt.Printf("The guest was %s; it was ready after %.0f s.\n", acceleration(result.Accel), result.Boot.Seconds())
	if result.Accel != "kvm" {
		fmt.Println("Under emulation the figures show that it works, not how fast: they change twofold from run to run.")
	}
	return nil
}

func acceleration(accel string) string {
	if accel == "kvm" {
		return "accelerated by KVM"
	}
	return "emulated"
}
