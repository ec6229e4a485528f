package topo

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

// askForeign calls what a System answers, with devices that are not its own.
func askForeign(t *testing.T, s *System) {
	t.Helper()
	foreign := &GPU{Index: 77, PCI: "0000:77:00.0", NVLinks: []NVLink{{Peer: PeerGPU, Count: 1}}}
	for _, e := range []Endpoint{nil, (*GPU)(nil), (*HCA)(nil), (*Netdev)(nil), (*PCIDevice)(nil),
		&GPU{}, &HCA{}, &Netdev{}, &PCIDevice{}, foreign, &HCA{Name: "x", PCI: []Address{"?", ""}}} {
		for _, o := range []Endpoint{nil, (*GPU)(nil), (*HCA)(nil), &GPU{}, &HCA{}, foreign, &PCIDevice{Address: "0000:01:00.0"}} {
			s.Path(e, o)
			s.PCIPath(e, o)
			s.NCCLPath(e, o)
		}
		_ = s.CPUsFor(e).Explain()
		_ = s.MemoryFor(e).Explain()
	}
	for _, g := range []*GPU{nil, {}, foreign} {
		for _, c := range s.HCAsFor(g) {
			_ = c.Explain()
		}
		s.NVLinks(g, foreign)
		s.NVLinks(foreign, g)
	}
	for _, h := range []*HCA{nil, {}, {Name: "x"}} {
		for _, c := range s.GPUsFor(h) {
			_ = c.Explain()
		}
	}
	for _, label := range []string{"", "GPU", "GPU-1", "\x00", "0000:01:00.0"} {
		_, _ = s.Find(label)
	}
	s.NodeDistance(-1, 1<<40)
	s.ComputeNodes()
	s.NCCLEnv()
	s.Document()
	_, _ = s.Plan(1)
	require.NoError(t, s.Matrix(io.Discard, MatrixOptions{}))
	require.NoError(t, s.Table(io.Discard))
	require.NoError(t, s.JSON(io.Discard))
	require.NoError(t, s.SVG(io.Discard))
	require.NoError(t, s.DOT(io.Discard))
	_ = s.NCCLXML(io.Discard)
}

func TestNothingPanicsOnNothing(t *testing.T) {
	finished := &System{}
	require.NoError(t, finished.Finish())
	data, err := os.ReadFile(filepath.Join("testdata", "machines", "dgx-a100.txtar"))
	if err != nil {
		data, err = os.ReadFile("../examples/topo/testdata/dgx-a100.txtar")
	}
	require.NoError(t, err)
	dgx, _, err := Parse(data)
	require.NoError(t, err)
	unfinished := &System{GPUs: []*GPU{{PCI: "0000:01:00.0"}}, HCAs: []*HCA{{Name: "mlx5_0", PCI: []Address{"0000:02:00.0"}, Ports: []Port{{}}}},
		Nodes: []*NUMANode{{}}, PCI: []*PCIDevice{{Address: "0000:01:00.0"}}, Netdevs: []*Netdev{{}}}
	for _, s := range []*System{{}, finished, dgx, unfinished} {
		askForeign(t, s)
	}
	for _, text := range []string{RankPlan{}.Explain(), Choice{}.Explain(), Explanation{}.String(), Affinity{}.Explain(), Setting{}.String()} {
		_ = text
	}
	_, err = Read(nil, ReadOptions{})
	assert.Error(t, err)
	assert.Error(t, Capture(io.Discard, nil, CaptureOptions{}))
	_, err = Read(fstest.MapFS{}, ReadOptions{})
	assert.NoError(t, err)
	_, _, err = Parse(nil)
	assert.ErrorIs(t, err, ErrUnknownFormat)
}

func TestOneSystemServesManyGoroutines(t *testing.T) {
	data, err := os.ReadFile("../examples/topo/testdata/dgx-a100.txtar")
	require.NoError(t, err)
	s, _, err := Parse(data)
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 4 {
		group.Add(1)
		go func() {
			defer group.Done()
			askForeign(t, s)
		}()
	}
	group.Wait()
}

func TestGPUOfNVMLWhoseClassIsNotRead(t *testing.T) {
	tree, err := sysfs.ParseTree("sys/devices/pci0000:00/0000:00:01.0/class !EIO\nsys/devices/pci0000:00/0000:00:01.0/vendor = 0x10de\n")
	require.NoError(t, err)
	s, err := Read(tree, ReadOptions{GPUs: GPUFacts{GPUs: []GPUFact{{PCI: "0000:00:01.0", UUID: "GPU-1"}}}})
	require.NoError(t, err)
	require.Len(t, s.GPUs, 1)
	assert.Len(t, s.PCI, 1)
}

func TestCaptureOfHostileNamesReadsBack(t *testing.T) {
	fsys := fstest.MapFS{"sys/class/net/eth0/type": {Data: []byte("1\n")}}
	for _, name := range []string{"#x", "[x", "|x", "x]", "a\nsys/evil", "a\x1b[31m", "a\u2028b", "a=b", "-- x --", "!x", "\xff"} {
		fsys["sys/class/net/"+name+"/address"] = &fstest.MapFile{Data: []byte("02:00:00:00:00:01\n-- evil --\n[evil\n")}
		fsys["sys/class/net/"+name+"/type"] = &fstest.MapFile{Data: []byte("1\n")}
		fsys["sys/class/infiniband/"+name+"/ports/1/state"] = &fstest.MapFile{Data: []byte("4: ACTIVE\n")}
	}
	var b bytes.Buffer
	require.NoError(t, Capture(&b, fsys, CaptureOptions{}))
	s, format, err := Parse(b.Bytes())
	require.NoError(t, err, b.String())
	assert.Equal(t, FormatCapture, format)
	assert.NotEmpty(t, s.HCAs)
	assert.NotContains(t, b.String(), "\x1b")
	assert.NotContains(t, b.String(), "\nsys/evil")
}
