package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gofabric/gofabric/nvml/nvmllib"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/fromnvml"
)

// machine is what is shown: this machine, or one that was read from a file.
type machine struct {
	sys  *topo.System
	live bool
	nvml error // why NVML was not asked, nil if it was
}

// readMachine reads a file, "-" for standard input, or this machine for "".
func readMachine(from string, in io.Reader) (*machine, error) {
	if from == "" {
		return readLive()
	}
	if from != "-" {
		f, err := os.Open(from)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	// A device or a pipe need not end.
	data, err := io.ReadAll(io.LimitReader(in, topo.MaxInput+1))
	if err != nil {
		return nil, err
	}
	s, _, err := topo.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return &machine{sys: s}, nil
}

func readLive() (*machine, error) {
	gpus, done, why := nvmlSource()
	defer done()
	s, err := topo.Live(topo.ReadOptions{GPUs: gpus})
	if err != nil {
		return nil, err
	}
	return &machine{sys: s, live: true, nvml: why}, nil
}

// nvmlSource opens NVML. A machine without it is read without it.
func nvmlSource() (source topo.GPUSource, done func(), err error) {
	library, err := nvmllib.Open(nvmllib.Options{})
	if err != nil {
		return nil, func() {}, err
	}
	// There is nothing to do about a library that does not close.
	return fromnvml.Source(library), func() { _ = library.Close() }, nil
}

func (m *machine) printWarnings(w io.Writer) {
	if len(m.sys.Warnings) == 0 {
		return
	}
	fmt.Fprintln(w, "\nWarnings:")
	fmt.Fprintln(w)
	for _, x := range m.sys.Warnings {
		if x.Device != "" {
			fmt.Fprintf(w, "  %s: %s\n", x.Device, x.Text)
		} else {
			fmt.Fprintf(w, "  %s\n", x.Text)
		}
	}
}

func (m *machine) printNotes(w io.Writer) {
	notes := m.notes()
	if len(notes) == 0 {
		return
	}
	fmt.Fprintln(w, "\nNot known:")
	fmt.Fprintln(w)
	for _, n := range notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
}

const vendorNVIDIA = 0x10de

// notes say what cannot be known about this machine from here. A file is not
// asked for what it does not tell.
func (m *machine) notes() []string {
	if !m.live {
		return nil
	}
	s := m.sys
	var notes []string
	nvidia := slices.ContainsFunc(s.GPUs, func(g *topo.GPU) bool {
		d, ok := s.Device(g.PCI)
		return ok && d.Vendor == vendorNVIDIA
	})
	where := "here"
	if s.Host.Container != "" {
		where = "in this container (" + s.Host.Container + ")"
	}
	if len(s.GPUs) == 0 {
		notes = append(notes, fmt.Sprintf("GPUs: PCI shows none %s.", where))
	}
	if nvidia && m.nvml != nil {
		notes = append(notes, fmt.Sprintf("NVLinks, MIG slices and nvidia-smi's order of the GPUs: %s.", strings.TrimPrefix(oneLine(m.nvml), "nvml: ")))
	}
	if len(s.HCAs) == 0 {
		notes = append(notes, fmt.Sprintf("RDMA devices: /sys/class/infiniband shows none %s; where there should be some, their driver is not loaded (mlx5_ib for NVIDIA's).", where))
	}
	if len(s.Nodes) == 0 {
		notes = append(notes, "NUMA nodes: /sys/devices/system/node shows none.")
	}
	if os.Geteuid() != 0 && len(s.HCAs) > 0 && len(s.GPUs) > 4 {
		notes = append(notes, "Which RDMA devices serve an NVSwitch fabric: that is told to root only.")
	}
	return notes
}
