// Package gpudirect reads from the system what lets a network adapter at memory of
// a GPU, and says what is missing. It needs no rights: what cannot be read is not
// claimed.
package gpudirect

import (
	"bufio"
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"sync"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// System is a machine as its kernel shows it, below sys/ and proc/.
type System struct {
	sysfs.Reader
	symbols func() (known bool, has map[string]bool)
}

// New reads the machine below root.
func New(root fs.FS) System {
	s := System{Reader: sysfs.NewReader(root)}
	// The table has some hundred thousand lines.
	s.symbols = sync.OnceValues(func() (bool, map[string]bool) { return s.findSymbols(dmaBufSymbol, peerSymbol) })
	return s
}

// PeerModule returns the loaded kernel module by which adapters take addresses of
// a GPU, and its version, which may be empty.
func (s System) PeerModule() (name, version string, ok bool) {
	for _, name := range []string{"nvidia_peermem", "nv_peer_mem"} {
		if s.Exists("sys/module/" + name) {
			version, _, err := s.String("sys/module/" + name + "/version")
			if err != nil {
				version = ""
			}
			return name, version, true
		}
	}
	return "", "", false
}

// Symbols of the kernel's RDMA core: dma-buf regions since 5.12, and the interface
// of peer memory that the drivers of NVIDIA's networking bring and few kernels
// have.
const (
	dmaBufSymbol = "ib_umem_dmabuf_get"
	peerSymbol   = "ib_register_peer_memory_client"
)

// DMABuf says why memory of a GPU may have no dma-buf that an adapter takes.
// exported tells whether the driver exports them.
func (s System) DMABuf(exported bool) []string {
	var missing []string
	if !exported {
		missing = append(missing, "CUDA's attribute DMA_BUF_SUPPORTED is 0")
		if kind, version, ok := s.driver(); ok && kind != open {
			missing = append(missing, fmt.Sprintf("the NVIDIA driver %s is the proprietary kernel module: dma-buf needs the open one, from 515 on", version))
		}
	}
	if known, has := s.symbols(); known && !has[dmaBufSymbol] {
		missing = append(missing, "the kernel"+s.release()+" has no "+dmaBufSymbol+" (ib_uverbs, since 5.12): load ib_uverbs, or take a newer kernel")
	}
	return missing
}

// PeerMem says why an adapter may not take addresses of a GPU. capable tells
// whether the GPU lets it.
func (s System) PeerMem(capable bool) []string {
	var missing []string
	if !capable {
		missing = append(missing, "CUDA's attribute GPU_DIRECT_RDMA_SUPPORTED is 0")
	}
	name, _, loaded := s.PeerModule()
	known, has := s.symbols()
	switch {
	case !loaded && known && !has[peerSymbol]:
		missing = append(missing, "the module nvidia_peermem is not loaded, and the kernel"+s.release()+" has no "+peerSymbol+": it comes with NVIDIA's networking drivers (DOCA, MLNX_OFED)")
	case !loaded:
		missing = append(missing, "the module nvidia_peermem is not loaded: modprobe nvidia_peermem")
	case known && !has[peerSymbol]:
		missing = append(missing, "the module "+name+" is loaded, but the kernel"+s.release()+" has no "+peerSymbol+": the RDMA core does not ask it")
	}
	return missing
}

// Path says what on the way between the GPU and an adapter forbids either method,
// or makes it slow. bytes is what is to be registered.
func (s System) Path(gpu string, bytes uint64) []string {
	var notes []string
	dir := "sys/bus/pci/devices/" + strings.ToLower(gpu)
	if gpu == "" || !s.IsDir(dir) {
		return nil
	}
	if size, ok := s.bar1(dir); ok && size < bytes {
		notes = append(notes, fmt.Sprintf("BAR1 of the GPU has %d MiB, and %d MiB are to be registered: enable Above 4G Decoding and Resizable BAR in the firmware, or register less", size>>20, bytes>>20))
	}
	// A domain of type identity passes addresses through.
	kind, ok, err := s.String(dir + "/iommu_group/type")
	if err == nil && ok && kind != "identity" {
		notes = append(notes, fmt.Sprintf("the IOMMU translates for the GPU (domain type %s): on bare metal boot with iommu=pt", kind))
	}
	return notes
}

// bar1 returns the size of the GPU's second base address register, through which
// adapters reach its memory.
func (s System) bar1(dir string) (uint64, bool) {
	text, ok, err := s.String(dir + "/resource")
	if err != nil || !ok {
		return 0, false
	}
	lines := strings.Split(text, "\n")
	if len(lines) < 2 {
		return 0, false
	}
	fields := strings.Fields(lines[1])
	if len(fields) != 3 {
		return 0, false
	}
	first, err1 := strconv.ParseUint(fields[0], 0, 64)
	last, err2 := strconv.ParseUint(fields[1], 0, 64)
	if err1 != nil || err2 != nil || last <= first {
		return 0, false
	}
	return last - first + 1, true
}

type moduleKind int

const (
	unknown moduleKind = iota
	proprietary
	open
)

// driver reads which of NVIDIA's kernel modules is loaded.
func (s System) driver() (moduleKind, string, bool) {
	text, ok, err := s.String("proc/driver/nvidia/version")
	if err != nil || !ok {
		return unknown, "", false
	}
	line, _, _ := strings.Cut(text, "\n")
	kind := proprietary
	if strings.Contains(line, "Open Kernel Module") {
		kind = open
	}
	for _, f := range strings.Fields(line) {
		if f[0] >= '1' && f[0] <= '9' && strings.Contains(f, ".") {
			return kind, f, true
		}
	}
	return unknown, "", false
}

// release is " 6.1.0" with a space before it, or empty.
func (s System) release() string {
	text, ok, err := s.String("proc/sys/kernel/osrelease")
	if err != nil || !ok || text == "" {
		return ""
	}
	return " " + text
}

// mostSymbols bounds what is read of the kernel's table of symbols.
const mostSymbols = 64 << 20

// findSymbols looks for names in the kernel's table of symbols. known is false if
// it shows none.
func (s System) findSymbols(names ...string) (known bool, has map[string]bool) {
	f, err := s.Open("proc/kallsyms")
	if err != nil {
		return false, nil
	}
	defer f.Close()
	has = map[string]bool{}
	lines := bufio.NewScanner(f)
	for read := 0; lines.Scan() && read < mostSymbols; {
		line := lines.Bytes()
		read += len(line) + 1
		known = true
		for _, name := range names {
			if bytes.Contains(line, []byte(name)) && symbolOf(line) == name {
				has[name] = true
			}
		}
	}
	return known && lines.Err() == nil, has
}

// symbolOf returns the name in a line "address type name [module]".
func symbolOf(line []byte) string {
	fields := bytes.Fields(line)
	if len(fields) < 3 {
		return ""
	}
	return string(fields[2])
}
