package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Guest is the init process of the lab's guests. A program that calls
// [Image.Run] calls it first thing in main: it returns at once everywhere but
// in a guest, and there never.
func Guest() {
	if os.Getpid() != 1 || os.Args[0] != "/init" {
		return
	}
	if _, err := os.Stat(jobFile); err != nil {
		return
	}
	guestMain()
	// Nothing runs after init: the kernel is told to stop.
	unix.Sync()
	err := unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	fmt.Fprintln(os.Stderr, "lab: init: restart:", err)
	os.Exit(1)
}

func guestMain() {
	var spec jobSpec
	err := setUp(&spec)
	port, perr := openPort()
	if perr != nil {
		fmt.Fprintln(os.Stderr, "lab: init:", errors.Join(err, perr))
		return
	}
	w := &frameWriter{w: port}
	if err == nil {
		err = setUpDevices(spec)
	}
	if err == nil {
		err = runJob(port, w, spec)
	}
	if err != nil {
		if serr := w.send(frameFail, []byte(err.Error())); serr != nil {
			fmt.Fprintln(os.Stderr, "lab: init:", err, serr)
			return
		}
	}
	// The host ends the guest when it has read the last frame.
	_, _ = io.Copy(io.Discard, port)
}

// setUp does what the port depends on.
func setUp(spec *jobSpec) error {
	for _, m := range []struct{ source, target, fstype string }{
		{"proc", "/proc", "proc"}, {"sysfs", "/sys", "sysfs"}, {"devtmpfs", "/dev", "devtmpfs"},
		{"devpts", "/dev/pts", "devpts"}, {"tmpfs", "/dev/shm", "tmpfs"}, {"debugfs", "/sys/kernel/debug", "debugfs"},
	} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.source, m.target, m.fstype, 0, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	for _, l := range [][2]string{{"/proc/self/fd", "/dev/fd"}, {"/proc/self/fd/0", "/dev/stdin"}, {"/proc/self/fd/1", "/dev/stdout"}, {"/proc/self/fd/2", "/dev/stderr"}} {
		if err := os.Symlink(l[0], l[1]); err != nil {
			return err
		}
	}
	if err := readJSON(jobFile, spec); err != nil {
		return err
	}
	var names []string
	if err := readJSON(modulesFile, &names); err != nil {
		return err
	}
	for _, name := range names {
		image, err := os.ReadFile(path.Join(guestDir, "modules", name+".ko"))
		if err != nil {
			return err
		}
		if err := unix.InitModule(image, ""); err != nil && !errors.Is(err, unix.EEXIST) {
			// Modules that only speed something up refuse a CPU without it.
			if errors.Is(err, unix.ENODEV) {
				continue
			}
			return fmt.Errorf("loading module %s: %w", name, err)
		}
	}
	return nil
}

func readJSON(file string, v any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// waitFor asks until ok: none of what init waits for can be waited on.
func waitFor(what string, ok func() bool) error {
	const every, most = 2 * time.Millisecond, 30 * time.Second
	for start := time.Now(); !ok(); time.Sleep(every) {
		if time.Since(start) > most {
			return fmt.Errorf("%s did not appear in %v", what, most)
		}
	}
	return nil
}

// openPort opens the serial port to the host, which the driver announces some
// time after it was loaded.
func openPort() (*os.File, error) {
	var port *os.File
	err := waitFor("the port to the host", func() bool {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			if text, err := os.ReadFile(n); err != nil || strings.TrimSpace(string(text)) != portName {
				continue
			}
			f, err := os.OpenFile("/dev/"+filepath.Base(filepath.Dir(n)), os.O_RDWR, 0)
			if err == nil {
				port = f
				return true
			}
		}
		return false
	})
	return port, err
}

// setUpDevices makes the veth pair, the two rxe devices on it, and waits until
// their ports are active.
func setUpDevices(spec jobSpec) error {
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unlimited); err != nil {
		return fmt.Errorf("memlock limit: %w", err)
	}
	host, netdevs := "lab", []string{"v0", "v1"}
	if spec.End != nil {
		host, netdevs = spec.End.Name, []string{cableDev}
	}
	if spec.Staged {
		netdevs = nil
		for _, n := range spec.NICs {
			netdevs = append(netdevs, n.Name)
		}
	}
	if err := unix.Sethostname([]byte(host)); err != nil {
		return fmt.Errorf("host name: %w", err)
	}
	// Duplicate address detection would keep the link-local GIDs away for a
	// second; both ends of the pair are one host, so each sees its own
	// addresses as a sender's.
	for file, value := range map[string]string{
		"ipv6/conf/default/accept_dad": "0", "ipv4/conf/all/accept_local": "1",
		"ipv4/conf/all/rp_filter": "0", "ipv4/conf/default/rp_filter": "0",
	} {
		if err := os.WriteFile("/proc/sys/net/"+file, []byte(value), 0); err != nil {
			return err
		}
	}
	script := networkScript(spec.MTU)
	if spec.Staged {
		var err error
		if script, err = stagedScript(spec.MTU, spec.NICs); err != nil {
			return err
		}
	}
	if spec.End != nil {
		var err error
		if script, err = cableScript(spec.MTU, *spec.End); err != nil {
			return err
		}
	}
	if err := guestTool(script, "ip", "-batch", "-"); err != nil {
		return err
	}
	for i, netdev := range netdevs {
		dev := fmt.Sprintf("rxe%d", i)
		if err := guestTool("", "rdma", "link", "add", dev, "type", "rxe", "netdev", netdev); err != nil {
			return err
		}
		if err := waitFor("an active port of "+dev, func() bool {
			state, err := os.ReadFile("/sys/class/infiniband/" + dev + "/ports/1/state")
			return err == nil && strings.Contains(string(state), "ACTIVE")
		}); err != nil {
			return err
		}
	}
	nodes, err := filepath.Glob("/dev/infiniband/*")
	if err != nil || len(nodes) == 0 {
		return fmt.Errorf("no nodes in /dev/infiniband: %v", err)
	}
	for _, n := range nodes {
		if err := unix.Chmod(n, spec.DeviceMode); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

// networkScript makes the pair and routes what one end sends to the other over
// it; the kernel would otherwise short-cut both, as addresses of one host,
// through lo, where no rxe device listens.
func networkScript(mtu int) string {
	return fmt.Sprintf(`link set lo up
link add v0 mtu %d address 02:00:00:00:00:01 type veth peer name v1 mtu %d address 02:00:00:00:00:02
addr add 10.0.0.1/24 dev v0
addr add 10.0.0.2/24 dev v1
link set v0 up
link set v1 up
rule add pref 100 lookup local
rule del pref 0
rule add pref 10 iif lo from 10.0.0.1 to 10.0.0.2 lookup 10
rule add pref 11 iif lo from 10.0.0.2 to 10.0.0.1 lookup 11
route add 10.0.0.2 dev v0 src 10.0.0.1 table 10
route add 10.0.0.1 dev v1 src 10.0.0.2 table 11
`, mtu, mtu)
}

// cableDev is the guest's end of a pair's cable.
const cableDev = "eth0"

// cableScript gives the guest its address on the cable, which the driver shows
// some time after it was loaded.
func cableScript(mtu int, end pairEnd) (string, error) {
	err := waitFor("the network interface "+cableDev, func() bool {
		_, err := os.Stat("/sys/class/net/" + cableDev)
		return err == nil
	})
	return fmt.Sprintf("link set lo up\nlink set %[1]s mtu %[2]d\naddr add %[3]s/24 dev %[1]s\nlink set %[1]s up\n",
		cableDev, mtu, end.Own), err
}

func guestTool(input, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	for _, dir := range strings.Split(guestPath, ":") {
		if _, err := os.Stat(path.Join(dir, name)); err == nil {
			cmd = exec.Command(path.Join(dir, name), args...)
			break
		}
	}
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
