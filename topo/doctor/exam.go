package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

// exam is one diagnosis. Checks read the machine through it and add findings.
type exam struct {
	*Machine
	read     sysfs.Reader
	files    bool // there are files at all
	findings []Finding
	conf     *settings
	after    []counters.Sample
}

func newExam(m *Machine) *exam {
	x := &exam{Machine: m, files: m.Files != nil}
	if m.System == nil {
		copied := *m
		copied.System = &topo.System{}
		x.Machine = &copied
	}
	root := m.Files
	if root == nil {
		root = nothing{}
	}
	x.read = sysfs.NewReader(root)
	x.conf = x.settings()
	return x
}

func (x *exam) add(o Outcome, s Severity, device, text string, evidence []Evidence) *Finding {
	// Names of files and counters come from the machine too, or from a capture.
	for i := range evidence {
		evidence[i].Source, evidence[i].Value = printable.Text(evidence[i].Source), printable.Text(clip(evidence[i].Value))
	}
	x.findings = append(x.findings, Finding{Outcome: o, Severity: s, Device: printable.Text(device), Text: printable.Text(text), Evidence: evidence})
	return &x.findings[len(x.findings)-1]
}

func (x *exam) pass(device, text string, evidence ...Evidence) {
	x.add(Pass, None, device, text, evidence)
}

func (x *exam) unknown(device, text string, evidence ...Evidence) {
	x.add(Unknown, None, device, text, evidence)
}

// fault is the text, the cause and the fix of a failure.
type fault struct{ text, cause, fix string }

func (x *exam) fail(s Severity, device string, f fault, evidence ...Evidence) {
	made := x.add(Fail, s, device, f.text, evidence)
	made.Cause, made.Fix = printable.Text(f.cause), printable.Text(f.fix)
}

// notApplicable says why there is nothing to look at.
func (x *exam) notApplicable(why string) { x.add(NotApplicable, None, "", why, nil) }

// otherwise adds that a check does not apply, if nothing was found.
func (x *exam) otherwise(why string) {
	if len(x.findings) == 0 {
		x.notApplicable(why)
	}
}

// text reads a file; ok is false where there is none or it cannot be read.
func (x *exam) text(name string) (string, bool) {
	text, ok, err := x.read.String(name)
	return text, ok && err == nil
}

func (x *exam) number(name string) (int, bool) {
	n, ok, err := x.read.Int(name)
	return n, ok && err == nil
}

// from names a file as evidence, or the description where there are no files.
func (x *exam) from(file, value string) Evidence {
	if !x.files {
		file = x.System.Source
	}
	return Evidence{file, value}
}

const (
	classInfiniband = "sys/class/infiniband"
	classNet        = "sys/class/net"
	busPCI          = "sys/bus/pci/devices"
)

func portDir(h *topo.HCA, p topo.Port) string {
	return path.Join(classInfiniband, h.Name, "ports", strconv.Itoa(p.Number))
}

func functionDir(a topo.Address) string { return path.Join(busPCI, string(a)) }

// portName is "mlx5_0 port 1", and "mlx5_0" for a device with one port.
func portName(h *topo.HCA, p topo.Port) string {
	if len(h.Ports) == 1 {
		return h.Name
	}
	return fmt.Sprintf("%s port %d", h.Name, p.Number)
}

// hcas are the devices for users.
func (x *exam) hcas() []*topo.HCA {
	return slices.DeleteFunc(slices.Clone(x.System.HCAs), func(h *topo.HCA) bool { return h.Management })
}

// cards are the devices that are hardware.
func (x *exam) cards() []*topo.HCA {
	return slices.DeleteFunc(x.hcas(), func(h *topo.HCA) bool { return h.Kind == topo.KindSoftware })
}

// port is a port with its device.
type port struct {
	*topo.HCA
	topo.Port
}

func (p port) name() string { return portName(p.HCA, p.Port) }
func (p port) dir() string  { return portDir(p.HCA, p.Port) }
func (p port) key() string  { return fmt.Sprintf("%s/%d", p.HCA.Name, p.Number) } // in Facts
func (p port) roce() bool   { return p.LinkLayer == topo.Ethernet }

func portsOf(hcas []*topo.HCA) []port {
	var list []port
	for _, h := range hcas {
		for _, p := range h.Ports {
			list = append(list, port{h, p})
		}
	}
	return list
}

func active(list []port) []port {
	return slices.DeleteFunc(list, func(p port) bool { return p.State != topo.PortActive })
}

// twin is a key of devices that should behave alike: of one model and board.
func twin(h *topo.HCA) string {
	if h.Kind == topo.KindSoftware || h.BoardID == "" && h.Model == "" {
		return ""
	}
	return h.Model + "|" + h.BoardID
}

// function is the function number of a device's address: cards with two ports
// have two.
func function(h *topo.HCA) string {
	if len(h.PCI) == 0 {
		return ""
	}
	return string(h.PCI[0][len(h.PCI[0])-1:])
}

const (
	noHCA  = "there is no RDMA device"
	noCard = "there is no RDMA hardware"
	noGPU  = "there is no GPU"
)

// GPUs of NVIDIA.
func (x *exam) gpus() []*topo.GPU {
	return slices.DeleteFunc(slices.Clone(x.System.GPUs), func(g *topo.GPU) bool {
		d, ok := x.System.Device(g.PCI)
		return ok && d.Vendor != 0 && d.Vendor != vendorNVIDIA
	})
}

const vendorNVIDIA = 0x10de

func (x *exam) virtual() bool { return x.System.Host.Virtual != "" }

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// nothing is a root without files.
type nothing struct{}

func (nothing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
