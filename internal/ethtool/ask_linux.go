package ethtool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	setOfStats = 1 // ETH_SS_STATS
	nameSize   = 32
	mostStats  = 1 << 16

	// Of struct ethtool_link_settings.
	settingsSize = 48
	wordsAt      = 15
	mostWords    = 127
)

// Ask makes one request of linux/ethtool.h, whose command is at the beginning of
// data. The kernel writes its answer there.
func Ask(netdev string, data []byte) error {
	var name [unix.IFNAMSIZ]byte
	if netdev == "" || len(netdev) >= len(name) {
		return fmt.Errorf("ethtool of %.20q: %w", netdev, ErrName)
	}
	copy(name[:], netdev)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return failure(netdev, err)
	}
	defer unix.Close(fd)
	request := struct {
		name [unix.IFNAMSIZ]byte
		data *byte
		_    [16]byte // the kernel's union is larger than a pointer
	}{name: name, data: &data[0]}
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
	switch errno {
	case 0:
		return nil
	case syscall.EOPNOTSUPP:
		return failure(netdev, errors.ErrUnsupported)
	}
	return failure(netdev, errno)
}

// Stats reads what an interface's driver counts. The error has
// errors.ErrUnsupported in its chain where it counts nothing.
func Stats(netdev string) ([]Stat, error) {
	// struct ethtool_sset_info: cmd, reserved, a mask of sets, a length for each.
	info := make([]byte, 24)
	put(info, 0, unix.ETHTOOL_GSSET_INFO)
	put(info, 8, 1<<setOfStats)
	if err := Ask(netdev, info); err != nil {
		return nil, err
	}
	count := get(info, 16)
	if get(info, 8) == 0 || count == 0 {
		return nil, nil
	}
	if count > mostStats {
		return nil, failure(netdev, fmt.Errorf("%d counters are more than a driver has", count))
	}
	// The kernel answers with the driver's own count, so the room is what it said
	// it needs, and a driver that changes its mind is noticed below.
	names := make([]byte, 12+int(count)*nameSize)
	put(names, 0, unix.ETHTOOL_GSTRINGS)
	put(names, 4, setOfStats)
	put(names, 8, count)
	if err := Ask(netdev, names); err != nil {
		return nil, err
	}
	values := make([]byte, 8+int(count)*8)
	put(values, 0, unix.ETHTOOL_GSTATS)
	put(values, 4, count)
	if err := Ask(netdev, values); err != nil {
		return nil, err
	}
	var list []Stat
	for i := range min(int(count), int(get(names, 8)), int(get(values, 4))) {
		name, _, _ := bytes.Cut(names[12+i*nameSize:12+(i+1)*nameSize], []byte{0})
		list = append(list, Stat{string(name), binary.NativeEndian.Uint64(values[8+i*8:])})
	}
	return list, nil
}

// Fastest is the speed of the fastest link that an interface supports, in Mb/s, and
// zero where its driver names none. The error has errors.ErrUnsupported in its
// chain where the driver does not tell.
func Fastest(netdev string) (mbps int, err error) {
	ask := func(words int) ([]byte, error) {
		// The settings, and three masks: supported, advertised, advertised by the partner.
		data := make([]byte, settingsSize+3*4*words)
		put(data, 0, unix.ETHTOOL_GLINKSETTINGS)
		data[wordsAt] = byte(words)
		return data, Ask(netdev, data)
	}
	// Asked with no room, the kernel answers with how many words a mask has, negated.
	data, err := ask(0)
	if err != nil {
		return 0, err
	}
	words := -int(int8(data[wordsAt]))
	if words <= 0 || words > mostWords {
		return 0, failure(netdev, fmt.Errorf("masks of %d words are not the kernel's", words))
	}
	if data, err = ask(words); err != nil {
		return 0, err
	}
	mask := make([]uint32, words)
	for i := range mask {
		mask[i] = get(data, settingsSize+4*i)
	}
	return fastest(mask), nil
}

func put(data []byte, at int, v uint32) { binary.NativeEndian.PutUint32(data[at:], v) }
func get(data []byte, at int) uint32    { return binary.NativeEndian.Uint32(data[at:]) }
