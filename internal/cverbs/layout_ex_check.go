//go:build linux && cgo

package cverbs

// #include "gf1_abi.h"
//
// #define OFF(name, field) OFF_##name = offsetof(struct gf1_device_attr_ex, field)
// enum {
//	OFF(ODP, odp_caps), OFF(STAMP, completion_timestamp_mask), OFF(TSO, tso_caps), OFF(RSS, rss_caps),
//	OFF(RSSFIELDS, rss_caps.rx_hash_fields_mask), OFF(WQ, max_wq_type_rq), OFF(TM, tm_caps),
//	OFF(MOD, cq_mod_caps), OFF(DM, max_dm_size), OFF(PCI, pci_atomic_caps), OFF(PORTS, phys_port_cnt_ex),
//	OFF_BIND = offsetof(struct gf1_send_wr, bind_mw),
//	OFF_BIND_RKEY = offsetof(struct gf1_send_wr, bind_mw.rkey) - OFF_BIND,
//	OFF_BIND_MR = offsetof(struct gf1_send_wr, bind_mw.mr) - OFF_BIND,
//	OFF_BIND_LENGTH = offsetof(struct gf1_send_wr, bind_mw.length) - OFF_BIND,
//	OFF_BIND_ACCESS = offsetof(struct gf1_send_wr, bind_mw.mw_access_flags) - OFF_BIND,
// };
import "C"

import "unsafe"

// As in layout_check.go: each line compiles only if both sides agree.
var (
	_ [unsafe.Sizeof(DeviceAttrEx{})]byte                   = [C.sizeof_struct_gf1_device_attr_ex]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.ODPGeneral)]byte      = [C.OFF_ODP]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.TimestampMask)]byte   = [C.OFF_STAMP]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.MaxTSO)]byte          = [C.OFF_TSO]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.RSSQPs)]byte          = [C.OFF_RSS]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.RSSFields)]byte       = [C.OFF_RSSFIELDS]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.MaxWQ)]byte           = [C.OFF_WQ]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.TMMaxHeader)]byte     = [C.OFF_TM]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.ModerationCount)]byte = [C.OFF_MOD]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.MaxDMSize)]byte       = [C.OFF_DM]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.PCIFetchAdd)]byte     = [C.OFF_PCI]byte{}
	_ [unsafe.Offsetof(DeviceAttrEx{}.PortsEx)]byte         = [C.OFF_PORTS]byte{}

	_ [unsafe.Offsetof(SendWR{}.Bind)]byte   = [C.OFF_BIND]byte{}
	_ [unsafe.Sizeof(bindWR{})]byte          = [unsafe.Sizeof(SendWR{}.Bind)]byte{}
	_ [unsafe.Offsetof(bindWR{}.rkey)]byte   = [C.OFF_BIND_RKEY]byte{}
	_ [unsafe.Offsetof(bindWR{}.mr)]byte     = [C.OFF_BIND_MR]byte{}
	_ [unsafe.Offsetof(bindWR{}.length)]byte = [C.OFF_BIND_LENGTH]byte{}
	_ [unsafe.Offsetof(bindWR{}.access)]byte = [C.OFF_BIND_ACCESS]byte{}
)
