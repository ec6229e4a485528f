package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/gofabric/gofabric/verbs"
)

// info prints a device as ibv_devinfo does. Without q only what /sys tells.
func (o options) info(w io.Writer, d verbs.DeviceInfo, q *queried) {
	field := func(name, format string, args ...any) {
		fmt.Fprintf(w, "\t%s:%s%s\n", name, tabs(len(name)), fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "hca_id:\t%s\n", d.Name)
	transport := "InfiniBand (0)"
	if d.NodeType == verbs.NodeRNIC {
		transport = "iWARP (1)"
	}
	firmware := d.Firmware
	if q != nil {
		firmware = q.device.Firmware
	}
	fmt.Fprintf(w, "\ttransport:\t\t\t%s\n", transport)
	if firmware != "" {
		fmt.Fprintf(w, "\tfw_ver:\t\t\t\t%s\n", firmware)
	}
	fmt.Fprintf(w, "\tnode_guid:\t\t\t%s\n\tsys_image_guid:\t\t\t%s\n", d.NodeGUID, d.SysImageGUID)
	if q != nil {
		fmt.Fprintf(w, "\tvendor_id:\t\t\t0x%04x\n\tvendor_part_id:\t\t\t%d\n\thw_ver:\t\t\t\t0x%X\n", q.device.VendorID, q.device.VendorPartID, q.device.HWVersion)
	}
	if d.BoardID != "" {
		fmt.Fprintf(w, "\tboard_id:\t\t\t%s\n", d.BoardID)
	}
	count := len(d.Ports)
	if q != nil {
		count = q.device.Ports
	}
	fmt.Fprintf(w, "\tphys_port_cnt:\t\t\t%d\n", count)
	if o.verbose && q != nil {
		o.attributes(w, field, q.device)
	}
	for _, p := range d.Ports {
		if o.port != 0 && p.Number != o.port {
			continue
		}
		if q == nil {
			o.portOfSys(w, p)
			continue
		}
		o.portInfo(w, p, q.ports[p.Number])
	}
}

// tabs aligns a value as ibv_devinfo does: at the fourth tab stop.
func tabs(length int) string { return strings.Repeat("\t", max(1, 4-(length+1)/8)) }

func (o options) attributes(w io.Writer, field func(name, format string, args ...any), a verbs.DeviceAttrEx) {
	field("max_mr_size", "0x%x", a.MaxMRSize)
	field("page_size_cap", "0x%x", a.PageSizes)
	field("max_qp", "%d", a.MaxQP)
	field("max_qp_wr", "%d", a.MaxQPWR)
	field("device_cap_flags", "0x%08x", a.Capabilities)
	flags(w, a.Capabilities)
	for _, n := range []struct {
		name  string
		value int
	}{
		{"max_sge", a.MaxSGE}, {"max_sge_rd", a.MaxSGERead}, {"max_cq", a.MaxCQ}, {"max_cqe", a.MaxCQE}, {"max_mr", a.MaxMR}, {"max_pd", a.MaxPD},
		{"max_qp_rd_atom", a.MaxQPReads}, {"max_ee_rd_atom", a.MaxEEReads}, {"max_res_rd_atom", a.MaxReads},
		{"max_qp_init_rd_atom", a.MaxQPInitReads}, {"max_ee_init_rd_atom", a.MaxEEInitReads},
	} {
		field(n.name, "%d", n.value)
	}
	field("atomic_cap", "%s (%d)", a.AtomicCap, a.AtomicCap)
	for _, n := range []struct {
		name  string
		value int
	}{
		{"max_ee", a.MaxEE}, {"max_rdd", a.MaxRDD}, {"max_mw", a.MaxMW}, {"max_raw_ipv6_qp", a.MaxRawIPv6QPs}, {"max_raw_ethy_qp", a.MaxRawEthernetQPs},
		{"max_mcast_grp", a.MaxMulticastGroups}, {"max_mcast_qp_attach", a.MaxMulticastQPs}, {"max_total_mcast_qp_attach", a.MaxMulticastTotal},
		{"max_ah", a.MaxAH}, {"max_fmr", a.MaxFMR}, {"max_srq", a.MaxSRQ},
	} {
		field(n.name, "%d", n.value)
	}
	if a.MaxSRQ > 0 {
		field("max_srq_wr", "%d", a.MaxSRQWR)
		field("max_srq_sge", "%d", a.MaxSRQSGE)
	}
	field("max_pkeys", "%d", a.MaxPKeys)
	field("local_ca_ack_delay", "%d", a.LocalCAAckDelay)
	extended(w, a)
	field("num_comp_vectors", "%d", a.CompVectors)
}

// capabilities are enum ibv_device_cap_flags, by bit.
var capabilities = map[int]string{
	0: "RESIZE_MAX_WR", 1: "BAD_PKEY_CNTR", 2: "BAD_QKEY_CNTR", 3: "RAW_MULTI", 4: "AUTO_PATH_MIG", 5: "CHANGE_PHY_PORT", 6: "UD_AV_PORT_ENFORCE",
	7: "CURR_QP_STATE_MOD", 8: "SHUTDOWN_PORT", 9: "INIT_TYPE", 10: "PORT_ACTIVE_EVENT", 11: "SYS_IMAGE_GUID", 12: "RC_RNR_NAK_GEN", 13: "SRQ_RESIZE",
	14: "N_NOTIFY_CQ", 17: "MEM_WINDOW", 18: "UD_IP_CSUM", 20: "XRC", 21: "MEM_MGT_EXTENSIONS", 23: "MEM_WINDOW_TYPE_2A", 24: "MEM_WINDOW_TYPE_2B",
	25: "RC_IP_CSUM", 26: "RAW_IP_CSUM", 29: "MANAGED_FLOW_STEERING",
}

func flags(w io.Writer, set uint32) {
	unknown := set
	for bit := range 32 {
		name, ok := capabilities[bit]
		if !ok || set>>bit&1 == 0 {
			continue
		}
		unknown &^= 1 << bit
		fmt.Fprintf(w, "\t\t\t\t\t%s\n", name)
	}
	if unknown != 0 {
		fmt.Fprintf(w, "\t\t\t\t\tUnknown flags: 0x%X\n", unknown)
	}
}

// linkLayer is ibv_devinfo's word.
func linkLayer(l verbs.LinkLayer) string {
	if l == verbs.LinkLayerEthernet {
		return "Ethernet"
	}
	return "InfiniBand"
}

func (o options) portInfo(w io.Writer, p verbs.PortInfo, a verbs.PortAttr) {
	line := func(name, gap, format string, args ...any) {
		fmt.Fprintf(w, "\t\t\t%s:%s%s\n", name, gap, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(w, "\t\tport:\t%d\n", p.Number)
	line("state", "\t\t\t", "%s (%d)", a.State, a.State)
	line("max_mtu", "\t\t", "%s (%d)", a.MaxMTU, a.MaxMTU)
	line("active_mtu", "\t\t", "%s (%d)", a.ActiveMTU, a.ActiveMTU)
	line("sm_lid", "\t\t\t", "%d", a.SMLID)
	line("port_lid", "\t\t", "%d", a.LID)
	line("port_lmc", "\t\t", "0x%02x", a.LMC)
	line("link_layer", "\t\t", "%s", linkLayer(a.LinkLayer))
	if !o.verbose {
		return
	}
	line("max_msg_sz", "\t\t", "0x%x", a.MaxMsgSize)
	line("port_cap_flags", "\t\t", "0x%08x", a.CapMask)
	line("port_cap_flags2", "\t", "0x%04x", a.CapMask2)
	line("max_vl_num", "\t\t", "%s (%d)", vls[a.MaxVL], a.MaxVL)
	line("bad_pkey_cntr", "\t\t", "0x%x", a.BadPKeys)
	line("qkey_viol_cntr", "\t\t", "0x%x", a.BadQKeys)
	line("sm_sl", "\t\t\t", "%d", a.SMSL)
	line("pkey_tbl_len", "\t\t", "%d", a.PKeyTable)
	line("gid_tbl_len", "\t\t", "%d", a.GIDTableLen)
	line("subnet_timeout", "\t\t", "%d", a.SubnetTimeout)
	line("init_type_reply", "\t", "%d", a.InitTypeReply)
	line("active_width", "\t\t", "%s (%d)", a.Rate.Width, widths[a.Rate.Width])
	line("active_speed", "\t\t", "%s Gbps (%d)", speeds[a.Rate.Speed].text, speeds[a.Rate.Speed].code)
	line("phys_state", "\t\t", "%s (%d)", physStates[a.PhysState], a.PhysState)
	for _, g := range p.GIDs {
		fmt.Fprintf(w, "\t\t\tGID[%3d]:\t\t%s\n", g.Index, gidText(g))
	}
}

// portOfSys is the part of a port that /sys tells.
func (o options) portOfSys(w io.Writer, p verbs.PortInfo) {
	fmt.Fprintf(w, "\t\tport:\t%d\n\t\t\tstate:\t\t\t%s (%d)\n\t\t\tsm_lid:\t\t\t%d\n\t\t\tport_lid:\t\t%d\n\t\t\tlink_layer:\t\t%s\n",
		p.Number, p.State, p.State, p.SMLID, p.LID, linkLayer(p.LinkLayer))
	if o.verbose {
		for _, g := range p.GIDs {
			fmt.Fprintf(w, "\t\t\tGID[%3d]:\t\t%s\n", g.Index, gidText(g))
		}
	}
}

// gidText writes version 2 entries as addresses, as ibv_devinfo does.
func gidText(g verbs.GIDEntry) string {
	switch g.Type {
	case verbs.GIDTypeRoCEv2:
		if g.GID.IsIPv4Mapped() {
			return "::ffff:" + g.GID.IP().String() + ", RoCE v2"
		}
		return g.GID.IP().String() + ", RoCE v2"
	case verbs.GIDTypeRoCEv1:
		return g.GID.String() + ", RoCE v1"
	}
	return g.GID.String()
}

var (
	vls    = map[uint8]string{1: "1", 2: "2", 3: "4", 4: "8", 5: "15"}
	widths = map[string]int{"1X": 1, "4X": 2, "8X": 4, "12X": 8, "2X": 16}
	speeds = map[string]struct {
		text string
		code int
	}{
		"SDR": {"2.5", 1}, "DDR": {"5.0", 2}, "QDR": {"10.0", 4}, "FDR10": {"10.0", 8}, "FDR": {"14.0", 16},
		"EDR": {"25.0", 32}, "HDR": {"50.0", 64}, "NDR": {"100.0", 128}, "XDR": {"200.0", 256},
	}
	physStates = map[verbs.PhysState]string{
		verbs.PhysSleep: "SLEEP", verbs.PhysPolling: "POLLING", verbs.PhysDisabled: "DISABLED", verbs.PhysTraining: "PORT_CONFIGURATION TRAINNING",
		verbs.PhysLinkUp: "LINK_UP", verbs.PhysLinkErrorRecovery: "LINK_ERROR_RECOVERY", verbs.PhysTest: "PHY TEST",
	}
)
