package counters

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// Value is a counter as it was read.
type Value struct {
	Source Source `json:"source"`
	Name   string `json:"name"`
	// Value is in the unit that Describe tells: bytes, where the file has words.
	Value uint64 `json:"value"`
	// Saturated says that the counter has reached its greatest value and sticks.
	Saturated bool `json:"saturated,omitempty"`
}

// Absence is a counter that cannot be read, or a whole source (Name is "").
type Absence struct {
	Source Source `json:"source"`
	Name   string `json:"name,omitempty"`
	Why    string `json:"why"` // "EINVAL", "not there", "N/A (no PMA)"
}

// Sample is one reading of a port, or of a PCI function (Port is 0).
type Sample struct {
	Device string    `json:"device"` // mlx5_0, or 0000:3b:00.0
	Port   int       `json:"port,omitempty"`
	Netdev string    `json:"netdev,omitempty"`
	At     time.Time `json:"at"`
	// Lifespan is how long the driver keeps its hw_counters, 0 where it does not
	// say.
	Lifespan time.Duration `json:"lifespan,omitempty"`
	Values   []Value       `json:"values"`
	Absent   []Absence     `json:"absent,omitempty"`
}

// Get returns a counter's value, and false where it is absent.
func (s Sample) Get(source Source, name string) (Value, bool) {
	for _, v := range s.Values {
		if v.Source == source && v.Name == name {
			return v, true
		}
	}
	return Value{}, false
}

const (
	classInfiniband = "sys/class/infiniband"
	classNet        = "sys/class/net"
	busPCI          = "sys/bus/pci/devices"
)

// most bounds what is taken for a port's counters and a machine's ports; no
// driver has a tenth of it.
const most = 4096

// ReadPorts reads the counters of every port of every RDMA device, in natural
// order, and those of its network interface. The root holds
// "sys/class/infiniband", as os.DirFS("/") does. A machine without RDMA has no
// Samples.
func ReadPorts(root fs.FS) []Sample {
	r := sysfs.NewReader(root)
	var samples []Sample
	devices, _, _ := r.Names(classInfiniband)
	for _, device := range devices {
		ports, _, _ := r.Names(path.Join(classInfiniband, device, "ports"))
		for _, name := range ports {
			number, err := strconv.Atoi(name)
			if err != nil || number < 1 || len(samples) >= most {
				continue
			}
			samples = append(samples, readPort(r, device, number))
		}
	}
	return samples
}

func readPort(r sysfs.Reader, device string, number int) Sample {
	dir := path.Join(classInfiniband, device, "ports", strconv.Itoa(number))
	s := Sample{Device: device, Port: number, At: time.Now()}
	s.directory(r, Port, path.Join(dir, "counters"))
	s.directory(r, Vendor, path.Join(dir, "hw_counters"))
	if ms, ok, _ := r.Int(path.Join(dir, "hw_counters/lifespan")); ok && ms > 0 && ms < 3600_000 {
		s.Lifespan = time.Duration(ms) * time.Millisecond
	}
	if s.Netdev = netdevOf(r, device, dir); s.Netdev != "" {
		s.directory(r, Interface, path.Join(classNet, s.Netdev, "statistics"))
	}
	return s
}

// netdevOf finds a port's interface: that of its GIDs, or the only one of its
// function.
func netdevOf(r sysfs.Reader, device, dir string) string {
	if layer, _, _ := r.String(path.Join(dir, "link_layer")); layer != "Ethernet" {
		return ""
	}
	entries, _, _ := r.Names(path.Join(dir, "gid_attrs/ndevs"))
	for _, index := range entries[:min(len(entries), 16)] {
		if name, _, _ := r.String(path.Join(dir, "gid_attrs/ndevs", index)); plain(name) {
			return name
		}
	}
	if own, _, _ := r.Names(path.Join(classInfiniband, device, "device/net")); len(own) == 1 && plain(own[0]) && r.Exists(path.Join(classInfiniband, device, "device/net", own[0])) {
		return own[0]
	}
	if parent, _, _ := r.String(path.Join(classInfiniband, device, "parent")); plain(parent) {
		return parent
	}
	return ""
}

func plain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/ \n") && fs.ValidPath(name)
}

func (s *Sample) directory(r sysfs.Reader, source Source, dir string) {
	names, there, err := r.Names(dir)
	if !there {
		s.Absent = append(s.Absent, Absence{Source: source, Why: whyAbsent(err)})
		return
	}
	for _, name := range names[:min(len(names), most)] {
		if name == "lifespan" || r.IsDir(path.Join(dir, name)) {
			continue
		}
		text, err := content(r, path.Join(dir, name))
		if err != nil {
			s.Absent = append(s.Absent, Absence{source, name, whyAbsent(err)})
			continue
		}
		raw, err := parseValue(text)
		if err != nil {
			s.Absent = append(s.Absent, Absence{source, name, err.Error()})
			continue
		}
		s.Values = append(s.Values, value(source, name, raw))
	}
}

func value(source Source, name string, raw uint64) Value {
	info := Describe(source, name)
	v := Value{Source: source, Name: name, Value: raw * info.Scale}
	if v.Value/info.Scale != raw {
		v.Value, v.Saturated = ^uint64(0), true
	}
	switch limit := uint64(1)<<info.Bits - 1; {
	case info.Bits == 0:
	case info.Bits == 32:
		// An extended counter passes this value; a narrow one stays at it.
		v.Saturated = v.Saturated || raw == limit
	default:
		v.Saturated = raw == limit
	}
	return v
}

// content reads a file with the driver's own error.
func content(r sysfs.Reader, name string) (string, error) {
	f, err := r.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	return strings.TrimSpace(string(data)), err
}

var errEmpty = errors.New("empty")

type textError struct{ text string }

func (e *textError) Error() string { return clip(e.text) }

// parseValue reads a decimal. A driver without the counter writes words in its
// place.
func parseValue(text string) (uint64, error) {
	if text == "" {
		return 0, errEmpty
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, &textError{strconv.Quote(clip(text))}
	}
	return v, nil
}

var errnoNames = map[syscall.Errno]string{
	syscall.EINVAL: "EINVAL", syscall.EOPNOTSUPP: "EOPNOTSUPP", syscall.EACCES: "EACCES", syscall.EPERM: "EPERM",
	syscall.EIO: "EIO", syscall.ENODEV: "ENODEV", syscall.ENODATA: "ENODATA", syscall.ENXIO: "ENXIO",
}

func whyAbsent(err error) string {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return "not there"
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name, ok := errnoNames[errno]; ok {
			return name
		}
		return errno.Error()
	}
	if errors.Is(err, fs.ErrPermission) {
		return "EACCES"
	}
	return "unreadable"
}

// ReadPCI reads the errors of the PCIe links of functions, given by address as in
// "0000:3b:00.0". Kernels without AER, and most virtual machines, have none.
func ReadPCI(root fs.FS, addresses ...string) []Sample {
	r := sysfs.NewReader(root)
	var samples []Sample
	for _, address := range addresses {
		if !plain(address) {
			continue
		}
		s := Sample{Device: address, At: time.Now()}
		for _, class := range []string{"correctable", "nonfatal", "fatal"} {
			text, err := content(r, path.Join(busPCI, address, "aer_dev_"+class))
			if err != nil {
				s.Absent = append(s.Absent, Absence{AER, class, whyAbsent(err)})
				continue
			}
			s.Values = append(s.Values, parseAER(class, text)...)
		}
		samples = append(samples, s)
	}
	return samples
}

// parseAER reads lines of the form "BadTLP 3". The total is left out: it would
// count each error twice.
func parseAER(class, text string) []Value {
	var list []Value
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) != 2 || strings.HasPrefix(words[0], "TOTAL_") || len(words[0]) > 40 {
			continue
		}
		if raw, err := parseValue(words[1]); err == nil {
			list = append(list, value(AER, class+"/"+words[0], raw))
		}
	}
	slices.SortFunc(list, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return list
}
