package topo

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/Mellanox/rdmamap"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// Live reads this machine: its files, what opts.GPUs tells of the GPUs (package
// nvml's answers, translated), and rdmamap's view of the network interfaces. No
// rights are needed; as root the functions that serve an NVSwitch fabric are told
// from HCAs for use. Where opts.TopologyFile is "", NCCL_TOPO_FILE is taken.
//
// On other systems than Linux the error has errors.ErrUnsupported in its chain.
func Live(opts ReadOptions) (*System, error) {
	opts.TopologyFile = liveTopologyFile(opts.TopologyFile)
	s, err := readUnfinished(sysfs.Dir("/"), opts)
	if err != nil {
		return nil, err
	}
	s.Source = "live"
	s.mapNetdevs(rdmamap.GetRdmaDeviceForNetdevice)
	if err := s.Finish(); err != nil {
		return nil, err
	}
	return s, nil
}

// CaptureLive is Capture of this machine.
func CaptureLive(w io.Writer, opts CaptureOptions) error {
	opts.TopologyFile = liveTopologyFile(opts.TopologyFile)
	return Capture(w, sysfs.Dir("/"), opts)
}

func liveTopologyFile(name string) string {
	if file := os.Getenv("NCCL_TOPO_FILE"); name == "" && file != "" {
		// NCCL opens it from the working directory.
		if whole, err := filepath.Abs(file); err == nil {
			file = whole
		}
		name = file
	}
	return strings.TrimPrefix(name, "/")
}
