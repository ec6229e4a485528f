package doctor

import (
	"io/fs"
	"strings"

	"github.com/gofabric/gofabric/internal/printable"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

// Machine is what is examined. Only System has to be there; what is nil is not
// known.
type Machine struct {
	System *topo.System
	// Files is the root that System was read from, nil for a description.
	Files fs.FS
	// NVML is what the driver's library said, nil where it was not asked.
	NVML *nvml.Snapshot
	// Env is the environment of the process that is judged, those variables that
	// the checks read (see EnvNames); nil where it is not known.
	Env   map[string]string
	Facts Facts

	// Before and After are the counters before and after a load. Without After
	// they are read from Files; without Before there is no window.
	Before, After []counters.Sample

	Peers    []Node        // other machines of the same job
	Measured []Measurement // what was measured on this one
}

// Facts are what no file tells that an fs.FS could hold. The zero value knows
// none.
type Facts struct {
	Hostname string `json:"hostname,omitempty"`
	// Process is the directory in /proc of the process that is judged, "" for
	// "self".
	Process string `json:"process,omitempty"`
	// Config is what the configuration space of bridges and RDMA devices says
	// beyond its first 64 bytes, which only root may read.
	Config map[topo.Address]PCIConfig `json:"config,omitempty"`
	// UverbsDenied are the names of device files that are there and may not be
	// opened, nil where nobody tried.
	UverbsDenied []string `json:"uverbsDenied"`
	// UserConf is the text of ~/.nccl.conf, nil where there is none.
	UserConf *string `json:"userConf,omitempty"`
	// ActiveMTU in bytes by device and port, "mlx5_0/1", as opened devices tell
	// it.
	ActiveMTU map[string]int `json:"activeMTU,omitempty"`
	// LinkGbps is the rate that a port's interface could have at most, in Gb/s, by
	// device and port, as its driver tells it.
	LinkGbps map[string]float64 `json:"linkGbps,omitempty"`
	// DMABuf says whether GPUs export dma-bufs (CUDA's attribute 124), and
	// DMABufHCA which RDMA devices take them.
	DMABuf    *bool           `json:"dmabuf,omitempty"`
	DMABufHCA map[string]bool `json:"dmabufHCA,omitempty"`
	// NCCL is the version of the library that would be loaded.
	NCCL string `json:"nccl,omitempty"`
}

// PCIConfig is what the checks want of a function's configuration space.
type PCIConfig struct {
	// MaxReadRequest is the greatest read request in bytes, 0 where it was not
	// read.
	MaxReadRequest int `json:"maxReadRequest,omitempty"`
	// ACS is the control word of Access Control Services, nil where it was not
	// read, and 0 for a bridge without.
	ACS *uint16 `json:"acs,omitempty"`
}

// EnvNames are the variables that the checks read, and the only ones that a
// capture holds.
func EnvNames() []string {
	return []string{
		"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NCCL_CONF_FILE", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_IB_GID_INDEX",
		"NCCL_IB_MERGE_VFS", "NCCL_IB_TC", "NCCL_IB_SL", "NCCL_IB_TIMEOUT", "NCCL_IB_RETRY_CNT", "NCCL_IB_ADDR_FAMILY",
		"NCCL_IB_ROCE_VERSION_NUM", "NCCL_IB_PCI_RELAXED_ORDERING", "NCCL_IB_ADAPTIVE_ROUTING", "NCCL_IB_QPS_PER_CONNECTION",
		"NCCL_IB_SPLIT_DATA_ON_QPS", "NCCL_NET", "NCCL_NET_PLUGIN", "NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C",
		"NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY", "NCCL_TOPO_FILE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE",
		"NCCL_CROSS_NIC", "NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_NVLS_ENABLE",
		"NCCL_DMABUF_ENABLE", "NCCL_IGNORE_CPU_AFFINITY", "NCCL_DEBUG", "NCCL_BUFFSIZE", "NCCL_NTHREADS", "NCCL_CUMEM_ENABLE",
	}
}

// Environment picks the variables that the checks read out of "NAME=VALUE" lines,
// as os.Environ gives them.
func Environment(lines []string) map[string]string {
	wanted := map[string]bool{}
	for _, name := range EnvNames() {
		wanted[name] = true
	}
	env := map[string]string{}
	for _, line := range lines {
		if name, value, ok := strings.Cut(line, "="); ok && wanted[name] {
			env[name] = printable.Text(value)
		}
	}
	return env
}
