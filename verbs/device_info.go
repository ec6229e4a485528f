package verbs

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"errors"
	"github.com/gofabric/gofabric/internal/sysfs"
)

// DeviceInfo describes an RDMA device as sysfs shows it, without opening it. It
// is a plain value.
type DeviceInfo struct {
	Name         string // mlx5_0
	NodeType     NodeType
	NodeGUID     GUID
	SysImageGUID GUID
	Firmware     string // "" when the driver gives none, as for every text here
	BoardID      string
	HCAType      string // MT4129; some drivers have none
	HardwareRev  string

	// Uverbs is the name of the device file under /dev/infiniband, uverbs0, and
	// "" where the kernel has none for this device. Inside a container the name
	// can be there and the file missing.
	Uverbs string
	// ABIVersion is the driver's version of the uverbs interface. Versions start
	// at 1; 0 means that none was found.
	ABIVersion int

	// PCIAddress is the address of the PCI function, 0000:3b:00.0, with a domain
	// of four to eight digits. It is "" for a virtual device (rxe, siw), and where
	// /sys does not show the device's place.
	PCIAddress string
	// NUMA is the NUMA node of the PCI function, nil when it is not known: the
	// kernel says -1 or nothing.
	NUMA *int
	// ParentNetdev is the network interface that a virtual device (rxe, siw)
	// stands on, "" for a device with a place of its own or where none is seen.
	ParentNetdev string

	Ports []PortInfo // by number

	// Problems lists what is there but could not be read or understood; the
	// fields it belongs to are zero. An attribute that the driver does not have
	// is no problem.
	Problems []error
}

// NUMANode returns the device's NUMA node, and false when it is not known.
func (d DeviceInfo) NUMANode() (int, bool) {
	if d.NUMA == nil {
		return 0, false
	}
	return *d.NUMA, true
}

// Port returns the port with that number, counted from 1, and false if there is
// none.
func (d DeviceInfo) Port(number int) (PortInfo, bool) {
	for _, p := range d.Ports {
		if p.Number == number {
			return p, true
		}
	}
	return PortInfo{}, false
}

const (
	classInfiniband = "sys/class/infiniband"
	classUverbs     = "sys/class/infiniband_verbs"
	classNet        = "sys/class/net"
)

// Devices lists the RDMA devices of this machine, ordered as people count
// (mlx5_2 before mlx5_10). It reads /sys and needs neither libibverbs nor
// rights. Where the kernel has no RDMA, and on other systems than Linux, the
// list is empty and the error nil.
func Devices() ([]DeviceInfo, error) {
	return DevicesIn(sysfs.Dir("/"))
}

// DevicesIn lists the RDMA devices of the machine whose files are in root, which
// holds "sys/class/infiniband". It fails only if that directory is there and
// cannot be listed; what else cannot be read is in DeviceInfo.Problems.
//
// A root that also has ReadLink and Lstat (the methods of the standard library's
// fs.ReadLinkFS, which os.DirFS has from Go 1.25 on) shows the place of a device
// on the PCI bus; without them only the device's uevent file can tell.
func DevicesIn(root fs.FS) ([]DeviceInfo, error) {
	s := sysScan{Reader: sysfs.NewReader(root)}
	names, err := s.deviceNames()
	if err != nil {
		return nil, err
	}
	uverbs := s.uverbs()
	ipoib := s.ipoib()
	devices := make([]DeviceInfo, 0, len(names))
	for _, name := range names {
		devices = append(devices, s.device(name, uverbs, ipoib))
	}
	return devices, nil
}

// deviceIn reads one device; the error says which there are.
func deviceIn(root fs.FS, name string) (DeviceInfo, error) {
	s := sysScan{Reader: sysfs.NewReader(root)}
	if err := s.find(name); err != nil {
		return DeviceInfo{}, err
	}
	return s.device(name, s.uverbs(), s.ipoib()), nil
}

// find answers nil if the device exists, and otherwise which there are.
func (s sysScan) find(name string) error {
	names, err := s.deviceNames()
	switch {
	case err != nil:
		return err
	case slices.Contains(names, name):
		return nil
	case len(names) == 0:
		return fmt.Errorf("no RDMA device %q: this machine has none (%w)", name, fs.ErrNotExist)
	}
	return fmt.Errorf("no RDMA device %q: this machine has %s (%w)", name, strings.Join(names, ", "), fs.ErrNotExist)
}

func (s sysScan) deviceNames() ([]string, error) {
	names, _, err := s.Names(classInfiniband)
	return slices.DeleteFunc(names, func(name string) bool {
		return !s.IsDir(path.Join(classInfiniband, name))
	}), err
}

// sysScan reads one root.
type sysScan struct {
	sysfs.Reader
}

func (s sysScan) device(name string, uverbs map[string]string, ipoib map[GUID]string) DeviceInfo {
	dir := path.Join(classInfiniband, name)
	d := DeviceInfo{Name: name}
	a := attrDir{Reader: s.Reader, dir: dir, problems: &d.Problems}

	d.NodeType = attrValue(a, "node_type", parseNodeType)
	d.NodeGUID = attrValue(a, "node_guid", ParseGUID)
	d.SysImageGUID = attrValue(a, "sys_image_guid", ParseGUID)
	d.Firmware = a.text("fw_ver")
	d.BoardID = a.text("board_id")
	d.HCAType = a.text("hca_type")
	d.HardwareRev = a.text("hw_rev")

	d.Uverbs = uverbs[name]
	if d.Uverbs == "" {
		d.Uverbs = s.uverbsBelow(dir, name)
	}
	if d.Uverbs != "" {
		for _, p := range []string{
			path.Join(classUverbs, d.Uverbs),
			path.Join(dir, "device/infiniband_verbs", d.Uverbs),
		} {
			at := attrDir{Reader: s.Reader, dir: p, problems: &d.Problems}
			if v, ok := at.number("abi_version"); ok {
				d.ABIVersion = v
				break
			}
		}
	}

	d.PCIAddress = s.pciAddress(a)
	if n, ok := s.numaNode(a, d.PCIAddress); ok {
		d.NUMA = &n
	}

	if d.PCIAddress == "" {
		d.ParentNetdev = a.text("parent")
	}
	numbers, _, err := s.Names(path.Join(dir, "ports"))
	a.note(err)
	for _, number := range numbers {
		if n, ok := portNumber(number); ok {
			d.Ports = append(d.Ports, s.port(&d, n, ipoib))
		}
	}
	if d.PCIAddress == "" && d.ParentNetdev == "" {
		for _, p := range d.Ports {
			if p.Netdev != "" {
				d.ParentNetdev = p.Netdev
				break
			}
		}
	}
	return d
}

// uverbs maps device names to their uverbs names.
func (s sysScan) uverbs() map[string]string {
	m := map[string]string{}
	// Neither the directory nor an entry needs to be there, and one that cannot
	// be read leaves its device without a name, which is what the caller sees.
	names, _, _ := s.Names(classUverbs)
	for _, name := range names {
		if dev, ok, _ := s.String(path.Join(classUverbs, name, "ibdev")); ok {
			m[dev] = name
		}
	}
	return m
}

// uverbsBelow finds the uverbs name below the device itself, for a container
// whose /sys has the device and not the class.
func (s sysScan) uverbsBelow(dir, device string) string {
	below := path.Join(dir, "device/infiniband_verbs")
	names, _, _ := s.Names(below)
	for _, name := range names {
		dev, ok, _ := s.String(path.Join(below, name, "ibdev"))
		if ok && dev == device {
			return name
		}
	}
	return ""
}

// pciAddress finds the PCI function that the device belongs to: the last PCI
// address on the real path of its device link, because a subfunction or an
// auxiliary device lies below its function. Where links cannot be seen, the
// function's uevent file names it.
func (s sysScan) pciAddress(a attrDir) string {
	real, err := s.RealPath(path.Join(a.dir, "device"))
	if err == nil {
		for p := real; p != "."; p = path.Dir(p) {
			if isPCIAddress(path.Base(p)) {
				return path.Base(p)
			}
		}
		return ""
	}
	if !errors.Is(err, errors.ErrUnsupported) && !sysfs.Absent(err) {
		a.note(err)
	}
	for _, word := range strings.Fields(a.text("device/uevent")) {
		if addr, ok := strings.CutPrefix(word, "PCI_SLOT_NAME="); ok && isPCIAddress(addr) {
			return addr
		}
	}
	return ""
}

func (s sysScan) numaNode(a attrDir, pci string) (int, bool) {
	if pci == "" {
		return 0, false
	}
	n, ok := a.number("device/numa_node")
	if !ok {
		// An auxiliary device has no such file, its function has.
		at := attrDir{Reader: a.Reader, dir: path.Join("sys/bus/pci/devices", pci), problems: a.problems}
		n, ok = at.number("numa_node")
	}
	return n, ok && n >= 0
}

// isPCIAddress checks for domain:bus:device.function in hexadecimal, with a
// domain of four to eight digits.
func isPCIAddress(s string) bool {
	domain, rest, ok := strings.Cut(s, ":")
	if !ok || len(domain) < 4 || len(domain) > 8 || !isHex(domain) {
		return false
	}
	if len(rest) != len("00:00.0") || rest[2] != ':' || rest[5] != '.' {
		return false
	}
	return isHex(rest[:2]) && isHex(rest[3:5]) && '0' <= rest[6] && rest[6] <= '7'
}

func isHex(s string) bool {
	for _, c := range s {
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F') {
			return false
		}
	}
	return true
}
