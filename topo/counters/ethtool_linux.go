package counters

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ethtool's requests and sizes, of linux/ethtool.h.
const (
	ethtoolGetSetInfo = 0x37
	ethtoolGetStrings = 0x1b
	ethtoolGetStats   = 0x1d
	setOfStats        = 1 // ETH_SS_STATS
	nameSize          = 32
	mostStats         = 1 << 16
)

// ReadEthtool reads what an interface's driver counts, without rights. On RoCE
// the names that end in _phy are the wire's totals. The error has
// errors.ErrUnsupported in its chain where the driver counts nothing.
func ReadEthtool(netdev string) ([]Value, error) {
	var name [unix.IFNAMSIZ]byte
	if netdev == "" || len(netdev) >= len(name) {
		return nil, fmt.Errorf("counters: %q is no name of an interface", clip(netdev))
	}
	copy(name[:], netdev)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("counters: a socket for ethtool: %w", err)
	}
	defer unix.Close(fd)
	ask := func(data []byte) error {
		request := struct {
			name [unix.IFNAMSIZ]byte
			data *byte
			_    [16]byte // the kernel's union is larger than a pointer
		}{name: name, data: &data[0]}
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
			if errno == syscall.EOPNOTSUPP {
				return fmt.Errorf("counters: ethtool of %s: %w", netdev, errors.ErrUnsupported)
			}
			return fmt.Errorf("counters: ethtool of %s: %w", netdev, errno)
		}
		return nil
	}
	// struct ethtool_sset_info: cmd, reserved, a mask of sets, a length for each.
	info := make([]byte, 24)
	put(info, 0, ethtoolGetSetInfo)
	put(info, 8, 1<<setOfStats)
	if err := ask(info); err != nil {
		return nil, err
	}
	count := get(info, 16)
	if get(info, 8) == 0 || count == 0 {
		return nil, nil
	}
	if count > mostStats {
		return nil, fmt.Errorf("counters: ethtool of %s: %d counters are more than a driver has", netdev, count)
	}
	// The kernel answers with the driver's own count, so the room is what it said
	// it needs, and a driver that changes its mind is noticed below.
	names := make([]byte, 12+int(count)*nameSize)
	put(names, 0, ethtoolGetStrings)
	put(names, 4, setOfStats)
	put(names, 8, count)
	if err := ask(names); err != nil {
		return nil, err
	}
	stats := make([]byte, 8+int(count)*8)
	put(stats, 0, ethtoolGetStats)
	put(stats, 4, count)
	if err := ask(stats); err != nil {
		return nil, err
	}
	var list []Value
	for i := range min(int(count), int(get(names, 8)), int(get(stats, 4))) {
		text, _, _ := bytes.Cut(names[12+i*nameSize:12+(i+1)*nameSize], []byte{0})
		// Some drivers indent names, or put white space between words.
		if word := strings.Join(strings.Fields(string(text)), "_"); word != "" {
			list = append(list, value(Ethtool, word, *(*uint64)(unsafe.Pointer(&stats[8+i*8]))))
		}
	}
	return list, nil
}

func put(data []byte, at int, v uint32) { *(*uint32)(unsafe.Pointer(&data[at])) = v }
func get(data []byte, at int) uint32    { return *(*uint32)(unsafe.Pointer(&data[at])) }
