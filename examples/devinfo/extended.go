package main

import (
	"fmt"
	"io"

	"github.com/gofabric/gofabric/verbs"
)

// extended prints what ibv_devinfo takes from ibv_query_device_ex.
func extended(w io.Writer, a verbs.DeviceAttrEx) {
	words := func(list ...string) {
		for _, word := range list {
			fmt.Fprintf(w, "\t\t\t\t\t%s\n", word)
		}
	}
	fmt.Fprintln(w, "\tgeneral_odp_caps:")
	if a.ODP.Supported {
		words("ODP_SUPPORT")
	}
	if a.ODP.Implicit {
		words("ODP_SUPPORT_IMPLICIT")
	}
	for _, transport := range []struct {
		name string
		ops  verbs.ODPOps
	}{{"rc", a.ODP.RC}, {"uc", a.ODP.UC}, {"ud", a.ODP.UD}, {"xrc", a.ODP.XRC}} {
		fmt.Fprintf(w, "\t%s_odp_caps:\n", transport.name)
		words(odpOps(transport.ops)...)
	}
	if a.TimestampMask != 0 {
		fmt.Fprintf(w, "\tcompletion timestamp_mask:\t\t\t0x%016x\n", a.TimestampMask)
	} else {
		fmt.Fprintln(w, "\tcompletion_timestamp_mask not supported")
	}
	if a.CoreClockKHz != 0 {
		fmt.Fprintf(w, "\thca_core_clock:\t\t\t%dkHZ\n", a.CoreClockKHz)
	} else {
		fmt.Fprintln(w, "\tcore clock not supported")
	}
	if a.RawPacket != 0 {
		fmt.Fprintln(w, "\traw packet caps:")
		for bit, name := range []string{"C-VLAN stripping offload", "Scatter FCS offload", "IP csum offload", "Delay drop"} {
			if a.RawPacket>>bit&1 != 0 {
				words(name)
			}
		}
	}
	capabilitiesEx(w, a.CapabilitiesEx)
	fmt.Fprintf(w, "\ttso_caps:\n\t\tmax_tso:\t\t\t%d\n", a.TSO.MaxBytes)
	if a.TSO.MaxBytes != 0 {
		supportedQPs(w, a.TSO.QPs)
	}
	fmt.Fprintf(w, "\trss_caps:\n\t\tmax_rwq_indirection_tables:\t\t\t%d\n\t\tmax_rwq_indirection_table_size:\t\t\t%d\n\t\trx_hash_function:\t\t\t\t0x%x\n\t\trx_hash_fields_mask:\t\t\t\t0x%X\n",
		a.RSS.MaxTables, a.RSS.MaxTableSize, a.RSS.Functions, a.RSS.Fields)
	if a.RSS.QPs != 0 {
		supportedQPs(w, a.RSS.QPs)
	}
	fmt.Fprintf(w, "\tmax_wq_type_rq:\t\t\t%d\n", a.MaxWQ)
	fmt.Fprintf(w, "\tpacket_pacing_caps:\n\t\tqp_rate_limit_min:\t%dkbps\n\t\tqp_rate_limit_max:\t%dkbps\n", a.Pacing.MinKbps, a.Pacing.MaxKbps)
	if a.Pacing.QPs != 0 {
		supportedQPs(w, a.Pacing.QPs)
	}
	if t := a.TagMatching; t.MaxTags != 0 {
		fmt.Fprintf(w, "\tmax_rndv_hdr_size:\t\t%d\n\tmax_num_tags:\t\t\t%d\n\tmax_ops:\t\t\t%d\n\tmax_sge:\t\t\t%d\n\tflags:\n", t.MaxRendezvousHeader, t.MaxTags, t.MaxOps, t.MaxSGE)
		if t.RC {
			words("IBV_TM_CAP_RC")
		}
	} else {
		fmt.Fprintln(w, "\ttag matching not supported")
	}
	if m := a.Moderation; m.MaxCount != 0 {
		fmt.Fprintf(w, "\n\tcq moderation caps:\n\t\tmax_cq_count:\t%d\n\t\tmax_cq_period:\t%d us\n\n", m.MaxCount, m.MaxPeriod.Microseconds())
	}
	if a.MaxDM != 0 {
		fmt.Fprintf(w, "\tmaximum available device memory:\t%dBytes\n\n", a.MaxDM)
	}
}

func odpOps(ops verbs.ODPOps) []string {
	var list []string
	for _, op := range []struct {
		bit  verbs.ODPOps
		name string
	}{
		{verbs.ODPSend, "SUPPORT_SEND"}, {verbs.ODPRecv, "SUPPORT_RECV"}, {verbs.ODPWrite, "SUPPORT_WRITE"},
		{verbs.ODPRead, "SUPPORT_READ"}, {verbs.ODPAtomic, "SUPPORT_ATOMIC"}, {verbs.ODPSRQRecv, "SUPPORT_SRQ"},
	} {
		if ops&op.bit != 0 {
			list = append(list, op.name)
			ops &^= op.bit
		}
	}
	if ops != 0 {
		list = append(list, fmt.Sprintf("Unknown flags: 0x%X", uint32(ops)))
	}
	if len(list) == 0 {
		return []string{"NO SUPPORT"}
	}
	return list
}

// supportedQPs lists transports as ibv_devinfo does.
func supportedQPs(w io.Writer, set verbs.QPTypes) {
	fmt.Fprintln(w, "\t\tsupported_qp:")
	for _, t := range []struct {
		kind verbs.QPType
		name string
	}{{verbs.RC, "SUPPORT_RC"}, {verbs.UC, "SUPPORT_UC"}, {verbs.UD, "SUPPORT_UD"}, {verbs.RawPacket, "SUPPORT_RAW_PACKET"}} {
		if set.Has(t.kind) {
			fmt.Fprintf(w, "\t\t\t\t\t%s\n", t.name)
		}
	}
}

// capabilitiesEx prints the flags beyond 32 bits.
func capabilitiesEx(w io.Writer, set uint64) {
	fmt.Fprintf(w, "\tdevice_cap_flags_ex:\t\t0x%X\n", set)
	unknown := set &^ 0xffffffff
	for _, known := range []struct {
		bit  int
		name string
	}{{34, "RAW_SCATTER_FCS"}, {36, "PCI_WRITE_END_PADDING"}} {
		if set>>known.bit&1 != 0 {
			fmt.Fprintf(w, "\t\t\t\t\t%s\n", known.name)
			unknown &^= 1 << known.bit
		}
	}
	if unknown != 0 {
		fmt.Fprintf(w, "\t\t\t\t\tUnknown flags: 0x%X\n", unknown)
	}
}
