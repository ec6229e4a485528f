package main

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmllib"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

// source reads a machine again and again. It is safe for concurrent use.
type source struct {
	root    fs.FS
	devices []string
	gpus    nvml.Source // nil without NVML
	close   func()
	note    error // why GPUs are left out, on a machine that has some

	mu sync.Mutex
}

// reading is a machine at one moment.
type reading struct {
	at    time.Time
	sys   *topo.System
	ports []portReading
	gpus  []gpuReading
}

// portReading is a port with its counters.
type portReading struct {
	hca    *topo.HCA
	port   topo.Port
	sample counters.Sample
	heat   []counters.Temperature
}

func (p portReading) name() string { return fmt.Sprintf("%s/%d", p.hca.Name, p.port.Number) }

// limit is what the port can move in GB/s and direction: its rate, or its PCIe link
// where that is less. It is 0 where neither is known.
func (p portReading) limit(s *topo.System) (gbps float64, by string) {
	gbps, by = p.port.RateGbps/8, "port"
	pcie := 0.0
	for _, a := range p.hca.PCI {
		if d, ok := s.Device(a); ok {
			if rate, known := d.Link.GBps(); known {
				pcie += rate
			}
		}
	}
	if pcie > 0 && (gbps == 0 || pcie < gbps) {
		return pcie, "PCIe"
	}
	return gbps, by
}

// gpuReading is a GPU at one moment.
type gpuReading struct {
	gpu    nvml.GPU
	status nvml.Status
	links  nvml.LinkSum
}

func newSource(o options) (*source, error) {
	s := &source{root: sysfs.Dir(o.root), devices: o.devices, close: func() {}}
	// Without it there are no ports, which looks as if the machine had none.
	if !sysfs.NewReader(s.root).IsDir("sys/class") {
		return nil, fmt.Errorf("%s: %w: mount /sys, or name the folder that holds another machine's sys with --root", filepath.Join(o.root, "sys/class"), fs.ErrNotExist)
	}
	first, err := s.read()
	if err != nil {
		return nil, err
	}
	for _, name := range o.devices {
		if !slices.ContainsFunc(first.sys.HCAs, func(h *topo.HCA) bool { return h.Name == name }) {
			return nil, fmt.Errorf("no RDMA device %q: this machine has %s", name, names(first.sys.HCAs))
		}
	}
	if filepath.Clean(o.root) != "/" {
		return s, nil // another machine's files: NVML would tell of this one
	}
	library, err := nvmllib.Open(nvmllib.Options{})
	switch {
	case err == nil:
		s.gpus = library
		// There is nothing to do about a library that does not close.
		s.close = func() { _ = library.Close() }
	case len(first.sys.GPUs) > 0:
		s.note = err
	}
	return s, nil
}

func names(hcas []*topo.HCA) string {
	text := ""
	for _, h := range hcas {
		text += ", " + h.Name
	}
	if text == "" {
		return "none"
	}
	return text[2:]
}

// read reads the machine. Devices and interfaces may come and go meanwhile; what
// cannot be read is absent and costs nothing else.
func (s *source) read() (*reading, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sys, err := topo.Read(s.root, topo.ReadOptions{})
	if err != nil {
		return nil, err
	}
	r := &reading{at: time.Now(), sys: sys}
	samples := counters.ReadPorts(s.root)
	for _, h := range sys.HCAs {
		if h.Management || len(s.devices) > 0 && !slices.Contains(s.devices, h.Name) {
			continue
		}
		var heat []counters.Temperature
		if len(h.PCI) > 0 {
			heat = counters.Temperatures(s.root, string(h.PCI[0]))
		}
		for _, p := range h.Ports {
			at := slices.IndexFunc(samples, func(c counters.Sample) bool { return c.Device == h.Name && c.Port == p.Number })
			if at < 0 {
				continue
			}
			r.ports = append(r.ports, portReading{h, p, samples[at], heat})
			heat = nil // once a card
		}
	}
	r.gpus = s.readGPUs()
	return r, nil
}

// readGPUs asks NVML. A GPU that does not answer is left out this time.
func (s *source) readGPUs() []gpuReading {
	if s.gpus == nil {
		return nil
	}
	gpus, _ := s.gpus.GPUs() // what could be read counts
	var list []gpuReading
	for _, g := range gpus {
		status, _ := s.gpus.Status(g.UUID)
		links, _ := s.gpus.Links(g.UUID)
		list = append(list, gpuReading{g, status, nvml.SumLinks(links)})
	}
	return list
}

// moved are the counters of data, in the order in which they are preferred: on
// RoCE the interface's own see what RDMA does not pass.
var (
	sent     = []string{"port_xmit_data"}
	received = []string{"port_rcv_data"}
)

// rate is a port's rate in bytes a second by the first of the counters that it has.
// A software device has none: its interface's traffic stands for it.
func rate(w counters.Window, names []string, ofInterface string) (float64, bool) {
	for _, name := range names {
		if v, ok := w.PerSecond(counters.Port, name); ok {
			return v, true
		}
	}
	return w.PerSecond(counters.Interface, ofInterface)
}
