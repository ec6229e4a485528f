package doctor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/gofabric/gofabric/internal/ethtool"
	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
	"github.com/gofabric/gofabric/topo/fromnvml"
)

// LiveOptions say how this machine is read. The zero value reads its files and
// judges the calling process.
type LiveOptions struct {
	// NVML is asked about the GPUs; nil reads without it.
	NVML nvml.Source
	// Process is the id of a process whose limits, CPUs, mounts and environment
	// are judged in place of the caller's, 0 for the caller.
	Process int
}

// Live reads this machine. It opens the device files of RDMA devices to see
// whether it may, and changes nothing. An error beside a Machine is what NVML could
// not be asked.
func Live(opts LiveOptions) (*Machine, error) {
	root := sysfs.Dir("/")
	m := &Machine{Files: root}
	var asked error
	read := topo.ReadOptions{}
	if opts.NVML != nil {
		m.NVML, asked = nvml.Take(opts.NVML)
		m.NVML.Users = nil
		if len(m.NVML.Inventory) == 0 && asked != nil {
			m.NVML = nil
		} else {
			read.GPUs = fromnvml.Source(m.NVML)
		}
	}
	var err error
	if m.System, err = topo.Live(read); err != nil {
		return nil, err
	}
	// Without it nothing is found, which looks as if nothing were wrong.
	if !sysfs.NewReader(root).IsDir("sys/class") {
		return nil, fmt.Errorf("doctor: /sys/class: %w: mount /sys, or give the container the host's", fs.ErrNotExist)
	}
	m.Facts = liveFacts(root, m.System)
	m.Env = Environment(os.Environ())
	if opts.Process > 0 {
		m.Facts.Process = strconv.Itoa(opts.Process)
		if m.Env, err = processEnvironment(opts.Process); err != nil {
			return nil, err
		}
	}
	return m, asked
}

func processEnvironment(pid int) (map[string]string, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("doctor: there is no process %d", pid)
	case errors.Is(err, fs.ErrPermission):
		return nil, nil // its settings are not known; its limits are
	case err != nil:
		return nil, fmt.Errorf("doctor: the environment of process %d: %w", pid, err)
	}
	var lines []string
	for len(data) > 0 {
		line := data
		for i, b := range data {
			if b == 0 {
				line = data[:i]
				break
			}
		}
		lines = append(lines, string(line))
		data = data[min(len(data), len(line)+1):]
	}
	return Environment(lines), nil
}

func liveFacts(root fs.FS, s *topo.System) Facts {
	f := Facts{UverbsDenied: []string{}, Config: map[topo.Address]PCIConfig{}, LinkGbps: map[string]float64{}}
	f.Hostname, _ = os.Hostname()
	if home := os.Getenv("HOME"); home != "" {
		if data, err := readAtMost(path.Join(home, ".nccl.conf"), 64<<10); err == nil {
			text := string(data)
			f.UserConf = &text
		}
	}
	for _, h := range s.HCAs {
		if h.Uverbs == "" {
			continue
		}
		file, err := os.OpenFile(path.Join("/dev/infiniband", h.Uverbs), os.O_RDWR, 0)
		if err == nil {
			_ = file.Close()
		} else if errors.Is(err, fs.ErrPermission) {
			f.UverbsDenied = append(f.UverbsDenied, h.Uverbs)
		}
	}
	x := newExam(&Machine{System: s})
	var wanted []topo.Address
	for _, h := range x.cards() {
		wanted = append(wanted, h.PCI...)
	}
	for _, b := range x.peerBridges() {
		wanted = append(wanted, b.Address)
	}
	for _, a := range wanted {
		if space := readConfig(root, a); len(space) > 64 {
			f.Config[a] = space.facts()
		}
	}
	for _, p := range portsOf(x.cards()) {
		for _, name := range p.Netdevs[:min(1, len(p.Netdevs))] {
			if !p.roce() {
				continue // modes are Ethernet's
			}
			if mbps, err := ethtool.Fastest(name); err == nil && mbps > 0 {
				f.LinkGbps[p.key()] = float64(mbps) / 1000
			}
		}
	}
	return f
}

func readConfig(root fs.FS, a topo.Address) configSpace {
	file, err := root.Open(path.Join(functionDir(a), "config"))
	if err != nil {
		return nil
	}
	defer file.Close()
	// A read beyond what the caller may see ends early, and that is no error.
	space, _ := io.ReadAll(io.LimitReader(file, 4096))
	return space
}

func readAtMost(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// Counters reads everything that the checks count: ports, their interfaces, and the
// PCIe links of GPUs and RDMA devices.
func Counters(root fs.FS, s *topo.System) []counters.Sample {
	samples := counters.ReadPorts(root)
	x := &exam{Machine: &Machine{System: s}}
	var addresses []string
	seen := map[topo.Address]bool{}
	for _, l := range x.cardLinks(true) {
		for _, d := range []*topo.PCIDevice{l.lower, l.upper} {
			if d != nil && !seen[d.Address] {
				seen[d.Address] = true
				addresses = append(addresses, string(d.Address))
			}
		}
	}
	return append(samples, counters.ReadPCI(root, addresses...)...)
}

// LiveCounters is Counters of this machine, with what the interfaces' drivers count
// beside it.
func LiveCounters(s *topo.System) []counters.Sample {
	samples := Counters(sysfs.Dir("/"), s)
	for i := range samples {
		if samples[i].Netdev == "" {
			continue
		}
		if values, err := counters.ReadEthtool(samples[i].Netdev); err == nil {
			samples[i].Values = append(samples[i].Values, values...)
		}
	}
	return samples
}

// capturePart is what a capture holds beside topo's.
const capturePart = "doctor.json"

// part is the content of capturePart.
type part struct {
	Env    map[string]string `json:"env"`
	Facts  Facts             `json:"facts"`
	NVML   *nvml.Snapshot    `json:"nvml,omitempty"`
	Before []counters.Sample `json:"before,omitempty"`
	After  []counters.Sample `json:"after,omitempty"`
}

// Capture writes a machine that was read from files as a text: topo's capture, with
// everything that the checks read. Open reads it back. What identifies the machine
// is replaced, unless unredacted says not to.
func Capture(w io.Writer, m *Machine, comment string, unredacted bool) error {
	if m.Files == nil {
		return fmt.Errorf("doctor: this machine was not read from files: keep the description itself")
	}
	p := part{Env: m.Env, Facts: m.Facts, Before: m.Before, After: m.After}
	opts := topo.CaptureOptions{Comment: comment, Unredacted: unredacted}
	if m.NVML != nil {
		copied := *m.NVML
		copied.Inventory = append([]nvml.GPU(nil), m.NVML.Inventory...)
		if !unredacted {
			for i := range copied.Inventory {
				copied.Inventory[i].Serial = ""
			}
		}
		copied.Users = nil
		p.NVML = &copied
		opts.GPUs = fromnvml.Source(m.NVML)
	}
	if !unredacted {
		p.Facts.Hostname = ""
	}
	data, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	opts.Parts = map[string][]byte{capturePart: append(data, '\n')}
	opts.Also = func(fsys fs.FS) {
		seen := *m
		seen.Files = fsys
		seen.After = nil // so that the files are read
		Diagnose(&seen)
	}
	return topo.Capture(w, m.Files, opts)
}

// Open reads a machine's description: a capture of Capture or of topo, or any text
// that topo.Parse takes. What the description does not hold is not known.
func Open(data []byte) (*Machine, error) {
	s, format, err := topo.Parse(data)
	if err != nil {
		return nil, err
	}
	m := &Machine{System: s}
	if format != topo.FormatCapture {
		return m, nil
	}
	files, parts, err := topo.CaptureContents(data)
	if err != nil {
		return nil, err
	}
	m.Files = files
	text, ok := parts[capturePart]
	if !ok {
		return m, nil
	}
	var p part
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("doctor: %s: %w", capturePart, err)
	}
	if p.NVML != nil {
		if err := p.NVML.Check(); err != nil {
			return nil, fmt.Errorf("doctor: %s: %w", capturePart, err)
		}
	}
	if p.Env != nil {
		lines := make([]string, 0, len(p.Env))
		for name, value := range p.Env {
			lines = append(lines, name+"="+value)
		}
		p.Env = Environment(lines)
	}
	if !fs.ValidPath(p.Facts.Process) && p.Facts.Process != "" {
		return nil, fmt.Errorf("doctor: %s: %q is no process", capturePart, clip(p.Facts.Process))
	}
	m.Env, m.Facts, m.NVML, m.Before, m.After = p.Env, p.Facts, p.NVML, p.Before, p.After
	return m, nil
}
