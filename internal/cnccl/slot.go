//go:build linux && cgo

package cnccl

// #include <stdlib.h>
// #include <string.h>
// #include "gf1_nccl_run.h"
import "C"

import (
	"sync"
	"unsafe"
)

// Slot is C memory for what NCCL keeps, or fills after a call has returned. It
// must outlive the communicator that it is for.
type Slot struct{ p *C.struct_gf1_nccl_slot }

// NewSlot makes an empty slot.
func NewSlot() Slot {
	return Slot{(*C.struct_gf1_nccl_slot)(C.calloc(1, C.sizeof_struct_gf1_nccl_slot))}
}

// Free gives the memory back.
func (s Slot) Free() {
	if s.p == nil {
		return
	}
	C.free(unsafe.Pointer(s.p.ids))
	C.free(unsafe.Pointer(s.p.excluded))
	C.free(unsafe.Pointer(s.p))
}

// Address returns the slot for Op.Slot and Member.Slot.
func (s Slot) Address() uint64 { return uint64(uintptr(unsafe.Pointer(s.p))) }

// Comm returns the communicator that NCCL put there, or 0.
func (s Slot) Comm() uint64 { return uint64(uintptr(s.p.comm)) }

// Window returns the window that NCCL put there, or 0.
func (s Slot) Window() uint64 { return uint64(uintptr(s.p.window)) }

// Handle returns the registration or pointer that NCCL put there, or 0.
func (s Slot) Handle() uint64 { return uint64(uintptr(s.p.handle)) }

// Reduction returns the reduction that NCCL made.
func (s Slot) Reduction() int32 { return int32(s.p.reduction) }

// Stats returns the memory statistics that NCCL filled in.
func (s Slot) Stats() (stats [4]uint64) {
	for i := range stats {
		stats[i] = uint64(s.p.stats[i])
	}
	return stats
}

// SetIDs copies unique ids.
func (s Slot) SetIDs(ids ...[128]byte) {
	C.free(unsafe.Pointer(s.p.ids))
	size := C.size_t(len(ids)) * C.sizeof_gf1_nccl_id
	s.p.ids = (*C.gf1_nccl_id)(C.malloc(size))
	copy(unsafe.Slice((*[128]byte)(unsafe.Pointer(s.p.ids)), len(ids)), ids)
	s.p.id_count = C.int(len(ids))
}

// ID returns the first unique id.
func (s Slot) ID() [128]byte { return *(*[128]byte)(unsafe.Pointer(s.p.ids)) }

// SetExcluded copies the ranks that a shrink leaves out.
func (s Slot) SetExcluded(ranks []int) {
	list := (*C.int)(C.malloc(C.size_t(len(ranks)+1) * C.sizeof_int))
	for i, r := range ranks {
		unsafe.Slice(list, len(ranks))[i] = C.int(r)
	}
	s.p.excluded, s.p.excluded_count = list, C.int(len(ranks))
}

// SetScalar copies a scalar of at most 8 bytes.
func (s Slot) SetScalar(data []byte) {
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&s.p.scalar)), len(s.p.scalar)), data)
}

// names are the strings that NCCL was given. It keeps a communicator's name by
// pointer for as long as any rank of the process lives, so they stay.
var names = struct {
	sync.Mutex
	m map[string]*C.char
}{m: map[string]*C.char{}}

func kept(name string) *C.char {
	if name == "" {
		return nil
	}
	names.Lock()
	defer names.Unlock()
	if names.m[name] == nil {
		names.m[name] = C.CString(name)
	}
	return names.m[name]
}

// configSizes is how much of the configuration each release knows.
var configSizes = []struct {
	since int
	size  C.size_t
}{
	{23007, 96}, {23003, 92}, {22902, 88}, {22803, 80}, {22703, 72}, {22602, 48}, {21801, 48}, {21701, 40}, {21403, 24},
}

// SetConfig fills the configuration for a library of the given version: the
// size and version that it knows, never more than it was built with.
func (s Slot) SetConfig(c *Config, version int) {
	p := &s.p.config
	p.magic = C.GF1_NCCL_MAGIC
	p.version = C.uint(min(version, C.GF1_NCCL_NEWEST))
	p.size = configSizes[len(configSizes)-1].size
	for _, known := range configSizes {
		if version >= known.since {
			p.size = known.size
			break
		}
	}
	p.net_name, p.comm_name = kept(c.NetName), kept(c.CommName)
	p.blocking = C.int(c.Blocking)
	p.cga_cluster, p.min_ctas, p.max_ctas = C.int(c.CGACluster), C.int(c.MinCTAs), C.int(c.MaxCTAs)
	p.split_share, p.traffic_class = C.int(c.SplitShare), C.int(c.TrafficClass)
	p.collnet, p.cta_policy, p.shrink_share = C.int(c.CollNet), C.int(c.CTAPolicy), C.int(c.ShrinkShare)
	p.nvls_ctas, p.net_channels, p.nvlink_central = C.int(c.NVLSCTAs), C.int(c.NetChannels), C.int(c.NVLinkCentral)
	p.graph_usage, p.rma_contexts, p.max_p2p_peers = C.int(c.GraphUsage), C.int(c.RMAContexts), C.int(c.MaxP2PPeers)
	p.graph_ordering = C.int(c.GraphOrdering)
}

// laterProperties is the release whose properties have every field.
const laterProperties = 22907

// PrepareProperties tells the library how much it may fill.
func (s Slot) PrepareProperties(version int) {
	p := &s.p.properties
	p.magic = C.GF1_NCCL_MAGIC
	p.version = C.uint(min(version, C.GF1_NCCL_NEWEST))
	p.size = C.sizeof_struct_gf1_nccl_properties
	if version < laterProperties {
		p.size = C.size_t(unsafe.Offsetof(p.lsa_teams))
	}
}

// Properties returns what the library filled in.
func (s Slot) Properties() Properties {
	p := &s.p.properties
	return Properties{
		Rank: int(p.rank), Ranks: int(p.ranks), CUDADevice: int(p.cuda_device), NVMLDevice: int(p.nvml_device),
		DeviceAPI: bool(p.device_api), Multimem: bool(p.multimem), GIN: int(p.gin),
		Later: p.version >= laterProperties, LSATeams: int(p.lsa_teams), HostRMA: bool(p.host_rma), RailedGIN: int(p.railed_gin),
	}
}
