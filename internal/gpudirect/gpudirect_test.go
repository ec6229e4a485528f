package gpudirect

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
)

func machine(files map[string]string) System {
	root := fstest.MapFS{}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return New(root)
}

const (
	plainSymbols = "0000000000000000 T ib_register_device\t[ib_core]\n0000000000000000 T ib_umem_dmabuf_get\t[ib_uverbs]\n"
	withPeers    = plainSymbols + "0000000000000000 T ib_register_peer_memory_client\t[ib_core]\n"
	openModule   = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\nGCC version:  gcc version 12\n"
	closedModule = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.82.01  Wed Oct 27 21:21:55 UTC 2021\n"
	gpu          = "sys/bus/pci/devices/0000:1b:00.0"
	bars         = "0x00000000d0000000 0x00000000d0ffffff 0x0000000000040200\n0x0000028000000000 0x000002800fffffff 0x000000000014220c\n"
)

func TestNothingIsClaimedOfAnEmptyMachine(t *testing.T) {
	s := machine(nil)
	assert.Empty(t, s.DMABuf(true))
	assert.Equal(t, []string{"the module nvidia_peermem is not loaded: modprobe nvidia_peermem"}, s.PeerMem(true))
	assert.Empty(t, s.Path("0000:1b:00.0", 1<<40))
	assert.Empty(t, s.Path("", 1))
	_, _, ok := s.PeerModule()
	assert.False(t, ok)
}

func TestDMABufMissing(t *testing.T) {
	whole := machine(map[string]string{"proc/kallsyms": plainSymbols, "proc/driver/nvidia/version": openModule})
	assert.Empty(t, whole.DMABuf(true))
	assert.Len(t, whole.DMABuf(false), 1, "the module is the open one")

	old := machine(map[string]string{
		"proc/kallsyms": "0 T ib_register_device\n0 t not_ib_umem_dmabuf_get\n", "proc/driver/nvidia/version": closedModule,
		"proc/sys/kernel/osrelease": "5.4.0-generic\n",
	})
	missing := old.DMABuf(false)
	assert.Len(t, missing, 3)
	assert.Contains(t, missing[0], "DMA_BUF_SUPPORTED")
	assert.Contains(t, missing[1], "driver 470.82.01 is the proprietary")
	assert.Contains(t, missing[2], "kernel 5.4.0-generic has no ib_umem_dmabuf_get")
}

func TestPeerMemMissing(t *testing.T) {
	for _, c := range []struct {
		files   map[string]string
		capable bool
		want    []string
	}{
		{map[string]string{"sys/module/nvidia_peermem/version": "580.65.06\n", "proc/kallsyms": withPeers}, true, nil},
		{map[string]string{"sys/module/nv_peer_mem/version": "1.3\n"}, true, nil},
		{map[string]string{"sys/module/nvidia_peermem/version": "580\n", "proc/kallsyms": plainSymbols}, true, []string{"does not ask it"}},
		{map[string]string{"proc/kallsyms": plainSymbols}, true, []string{"DOCA"}},
		{map[string]string{"proc/kallsyms": withPeers}, false, []string{"GPU_DIRECT_RDMA_SUPPORTED", "modprobe"}},
	} {
		missing := machine(c.files).PeerMem(c.capable)
		assert.Len(t, missing, len(c.want), "%v", c.files)
		for i := range c.want {
			assert.Contains(t, missing[i], c.want[i])
		}
	}
	name, version, ok := machine(map[string]string{"sys/module/nvidia_peermem/version": "580.65.06\n"}).PeerModule()
	assert.True(t, ok)
	assert.Equal(t, "nvidia_peermem 580.65.06", name+" "+version)
}

func TestPath(t *testing.T) {
	s := machine(map[string]string{gpu + "/resource": bars, gpu + "/iommu_group/type": "DMA-FQ\n"})
	notes := s.Path("0000:1B:00.0", 1<<30)
	assert.Len(t, notes, 2)
	assert.Contains(t, notes[0], "BAR1 of the GPU has 256 MiB, and 1024 MiB")
	assert.Contains(t, notes[1], "DMA-FQ")

	fine := machine(map[string]string{gpu + "/resource": bars, gpu + "/iommu_group/type": "identity\n"})
	assert.Empty(t, fine.Path("0000:1b:00.0", 1<<28))
	for _, bad := range []string{"", "\n", "x\n1 2\n", "a b c\nz y x\n", "0 0 0\n0x0000000000000000 0x0000000000000000 0x0\n"} {
		assert.Empty(t, machine(map[string]string{gpu + "/resource": bad}).Path("0000:1b:00.0", 1<<40), "%q", bad)
	}
}

func FuzzSystem(f *testing.F) {
	f.Add(closedModule, withPeers, bars)
	f.Add("NVRM version: 5.\n", "a b", "1 2 3")
	f.Fuzz(func(t *testing.T, version, symbols, resource string) {
		s := machine(map[string]string{"proc/driver/nvidia/version": version, "proc/kallsyms": symbols, gpu + "/resource": resource})
		s.DMABuf(false)
		s.PeerMem(true)
		s.Path("0000:1b:00.0", 1)
	})
}
