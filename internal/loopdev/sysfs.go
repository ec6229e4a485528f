//go:build linux && cgo

package loopdev

// #include <stdlib.h>
// #include "gf1l.h"
import "C"

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unsafe"
)

// snapshot is the devices as sysfs would show them now.
func snapshot() fs.FS {
	files := textFS{}
	for _, device := range Devices() {
		describe(files, device)
	}
	return files
}

func describe(files textFS, device string) {
	name := C.CString(device)
	defer C.free(unsafe.Pointer(name))
	dev := C.gf1l_find_device(name)
	if dev == nil {
		return // it went since the names were read
	}
	defer C.gf1l_put_device(dev)
	dir := path.Join("sys/class/infiniband", device)
	guid := *(*[8]byte)(unsafe.Pointer(&dev.node_guid))
	files.add(dir, "node_type", "1: CA")
	files.add(dir, "node_guid", groups(guid[:]))
	files.add(dir, "sys_image_guid", groups(guid[:]))
	files.add(dir, "fw_ver", "1.0")
	files.add(dir, "node_desc", device)
	for n := 1; n <= int(dev.num_ports); n++ {
		describePort(files, path.Join(dir, "ports", fmt.Sprint(n)), dev, n)
	}
}

func describePort(files textFS, dir string, dev *C.struct_gf1l_dev, n int) {
	port := &dev.ports[n]
	state, phys := "1: DOWN", "3: Disabled"
	if C.gf1l_port_up(dev, C.int(n)) != 0 {
		state, phys = "4: ACTIVE", "5: LinkUp"
	}
	link, smLID := "Ethernet", 0
	if dev.link_layer == C.LINK_INFINIBAND {
		link, smLID = "InfiniBand", 1
	}
	files.add(dir, "state", state)
	files.add(dir, "phys_state", phys)
	files.add(dir, "link_layer", link)
	files.add(dir, "rate", "100 Gb/sec (4X EDR)")
	files.add(dir, "lid", fmt.Sprintf("0x%x", uint16(port.lid)))
	files.add(dir, "sm_lid", fmt.Sprintf("0x%x", smLID))
	files.add(dir, "lid_mask_count", "0")
	files.add(dir, "sm_sl", "0")
	files.add(dir, "cap_mask", "0x00000000")
	files.add(dir, "pkeys/0", "0xffff")
	for i := range port.gids {
		g := &port.gids[i]
		gid := *(*[16]byte)(unsafe.Pointer(&g.gid))
		files.add(dir, fmt.Sprintf("gids/%d", i), groups(gid[:]))
		switch g._type {
		case C.GID_IB, C.GID_ROCE1:
			files.add(dir, fmt.Sprintf("gid_attrs/types/%d", i), "IB/RoCE v1")
		case C.GID_ROCE2:
			files.add(dir, fmt.Sprintf("gid_attrs/types/%d", i), "RoCE v2")
		}
	}
}

// groups writes bytes as sysfs does, in groups of two.
func groups(b []byte) string {
	var parts []string
	for ; len(b) > 0; b = b[2:] {
		parts = append(parts, hex.EncodeToString(b[:2]))
	}
	return strings.Join(parts, ":")
}
