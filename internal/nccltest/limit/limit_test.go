package limit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/report/plot"
	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
)

// source is a machine of data, as an open library.
type source struct {
	*nvmltest.Host
	closed *int
}

func (s source) Close() error { *s.closed++; return nil }

func lookup(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

func files(boot string, more ...string) fs.FS {
	m := fstest.MapFS{bootID: {Data: []byte(boot + "\n")}}
	for i := 0; i < len(more); i += 2 {
		m[more[i]] = &fstest.MapFile{Data: []byte(more[i+1] + "\n")}
	}
	return m
}

// collect asks a machine about the GPUs of the given indexes, and sends the
// answer as the processes do.
func collect(t *testing.T, host *nvmltest.Host, root fs.FS, env []string, indexes ...int) *Facts {
	t.Helper()
	var addresses []string
	for _, i := range indexes {
		addresses = append(addresses, host.Data.Inventory[i].PCIAddress)
	}
	closed := 0
	f := Machine{
		NVML:  func() (Source, error) { return source{host, &closed}, nil },
		Files: root, Lookup: lookup(env...),
	}.Collect("host", addresses, true)
	assert.Equal(t, 1, closed)
	data, err := json.Marshal(f)
	require.NoError(t, err)
	var sent Facts
	require.NoError(t, json.Unmarshal(data, &sent))
	return &sent
}

func TestNVLinks(t *testing.T) {
	for name, want := range map[string]string{
		"H200 pair": "NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each direction (NVML)",
		"H200":      "NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each direction (NVML)",
		"H100":      "NVLink 4.0, 18 links x 25 GB/s = 450 GB/s in each direction (NVML)",
		"A100":      "NVLink 3.0, 12 links x 25 GB/s = 300 GB/s in each direction (NVML)",
		"GB300":     "NVLink 5.0, 18 links x 50 GB/s = 900 GB/s in each direction (NVML)",
		"flat VM":   "unknown: the GPU at 0000:00:07.0 has no active NVLink to the others, and whether NCCL goes by PCIe or through the host's memory is not known",
	} {
		host := nvmltest.All()[name]
		assert.Equal(t, want, Find([]*Facts{collect(t, host, files("a"), nil, 0, 1)}).String(), name)
		// The same as two processes.
		assert.Equal(t, want, Find([]*Facts{collect(t, host, files("a"), nil, 0), collect(t, host, files("a"), nil, 1)}).String(), name)
	}
}

// TestDirectLinks: without switches only the links to GPUs that take part count.
func TestDirectLinks(t *testing.T) {
	host := nvmltest.A100()
	link := func(peer int, n int) (list []nvml.Link) {
		up, version, raw := true, nvml.NVLink3, 25.0
		for range n {
			list = append(list, nvml.Link{Active: &up, Version: &version, Raw: &raw, Peer: host.Data.Inventory[peer].PCIAddress, PeerType: nvml.PeerGPU})
		}
		return list
	}
	gpus := host.Data.Inventory
	host.Data.NVLinks[gpus[0].UUID] = append(link(1, 4), link(2, 2)...)
	host.Data.NVLinks[gpus[1].UUID] = link(0, 4)
	host.Data.NVLinks[gpus[2].UUID] = link(0, 2)
	assert.InDelta(t, 100, Find([]*Facts{collect(t, host, files("a"), nil, 0, 1)}).Limit, 1e-9)
	assert.InDelta(t, 50, Find([]*Facts{collect(t, host, files("a"), nil, 0, 2)}).Limit, 1e-9)
	assert.InDelta(t, 50, Find([]*Facts{collect(t, host, files("a"), nil, 0, 1, 2)}).Limit, 1e-9)
	assert.False(t, Find([]*Facts{collect(t, host, files("a"), nil, 1, 2)}).Known())
}

// TestDownLinks: the narrowest GPU is the limit, and no measurement is of it.
func TestDownLinks(t *testing.T) {
	host := nvmltest.H200Pair()
	down := false
	host.Data.NVLinks[host.Data.Inventory[1].UUID][3].Active = &down
	path := Find([]*Facts{collect(t, host, files("a"), nil, 0, 1)})
	assert.InDelta(t, 425, path.Limit, 1e-9)
	_, _, ok := path.Expected(usual(4 * gib))
	assert.False(t, ok)
}

func TestUnknown(t *testing.T) {
	pair := nvmltest.H200Pair
	one := func(change func(*nvmltest.Host), env ...string) []*Facts {
		host := pair()
		if change != nil {
			change(host)
		}
		return []*Facts{collect(t, host, files("a"), env, 0, 1)}
	}
	links := func(change func(*nvml.Link)) []*Facts {
		return one(func(h *nvmltest.Host) { change(&h.Data.NVLinks[h.Data.Inventory[1].UUID][0]) })
	}
	odd := nvml.LinkVersion(99)
	refused := nvml.P2PDisabled
	failing := Machine{NVML: func() (Source, error) { return nil, nvml.ErrLibraryNotFound }, Files: files("a"), Lookup: lookup()}
	absent := Machine{Files: files("a"), Lookup: lookup()}
	for want, parts := range map[string][]*Facts{
		"process 1 did not look":                           append(one(nil), nil),
		"host: this program has no NVML":                   {absent.Collect("host", []string{"0000:00:06.0"}, false)},
		"host: " + nvml.ErrLibraryNotFound.Error():         {failing.Collect("host", []string{"0000:00:06.0"}, false)},
		"host: NVML has no GPU at 0000:00:07.0":            nil,
		"one GPU sends nothing":                            {collect(t, pair(), files("a"), nil, 0)},
		"two ranks share the GPU at 0000:00:06.0":          {collect(t, pair(), files("a"), nil, 0), collect(t, pair(), files("a"), nil, 0)},
		"NCCL_P2P_DISABLE=1 keeps NCCL from NVLink":        one(nil, "NCCL_P2P_DISABLE", "1"),
		"NCCL_P2P_LEVEL=LOC keeps NCCL from NVLink":        one(nil, "NCCL_P2P_LEVEL", "loc"),
		"NCCL_HOSTID makes several hosts of one machine":   {collect(t, pair(), files("a"), []string{"NCCL_HOSTID", "1"}, 0), collect(t, pair(), files("a"), []string{"NCCL_HOSTID", "2"}, 1)},
		"the GPU at 0000:00:07.0 is partitioned (MIG)":     one(func(h *nvmltest.Host) { h.Partition(1, 2) }),
		"does not tell where NVLinks of the GPU":           links(func(l *nvml.Link) { l.PeerType = nvml.PeerUnknown }),
		"the rate of the NVLinks (NVML's 99)":              links(func(l *nvml.Link) { l.Version = &odd }),
		"do not reach each other by NVLink: disabled by a": one(func(h *nvmltest.Host) { h.Data.Pairs[0].NVLink = &refused }),
	} {
		if parts == nil {
			host := pair()
			host.Lose(host.Data.Inventory[1].UUID)
			parts = []*Facts{collect(t, host, files("a"), nil, 0, 1)}
		}
		path := Find(parts)
		assert.False(t, path.Known(), want)
		assert.Contains(t, path.Unknown, want)
		assert.Zero(t, path.Limit)
		_, _, ok := path.Expected(usual(4 * gib))
		assert.False(t, ok)
	}
	assert.False(t, Find(nil).Known())
}

// hca is an RDMA device's files.
func hca(name, rate, state string) []string {
	dir := "sys/class/infiniband/" + name + "/ports/1/"
	return []string{
		"sys/class/infiniband/" + name + "/node_guid", "0000:0000:0000:0001",
		dir + "rate", rate, dir + "state", state, dir + "link_layer", "InfiniBand",
	}
}

func TestPorts(t *testing.T) {
	ndr, down := hca("mlx5_0", "400 Gb/sec (4X NDR)", "4: ACTIVE"), hca("mlx5_1", "400 Gb/sec (4X NDR)", "1: DOWN")
	second := hca("mlx5_2", "200 Gb/sec (4X HDR)", "4: ACTIVE")
	two := func(env []string, first, other []string) Path {
		return Find([]*Facts{collect(t, nvmltest.H100(), files("a", first...), env, 0), collect(t, nvmltest.H100(), files("b", other...), env, 0)})
	}
	assert.Equal(t, "mlx5_0 port 1 at host, 400 Gb/s = 50 GB/s in each direction (sysfs)", two(nil, ndr, append(down, ndr...)).String())
	assert.InDelta(t, 25, two(nil, ndr, second).Limit, 1e-9)
	assert.InDelta(t, 25, two([]string{"NCCL_IB_HCA", "=mlx5_2"}, second, append(second, ndr...)).Limit, 1e-9)
	for want, path := range map[string]Path{
		"has 2 RDMA ports that are up":                    two(nil, ndr, append(second, ndr...)),
		"has no RDMA port that is up":                     two(nil, ndr, down),
		"NCCL_IB_DISABLE=1 keeps NCCL from":               two([]string{"NCCL_IB_DISABLE", "1"}, ndr, ndr),
		"NCCL_NET=Socket keeps NCCL from":                 two([]string{"NCCL_NET", "socket"}, ndr, ndr),
		"how much of their traffic leaves it is NCCL's":   Find([]*Facts{collect(t, nvmltest.H100(), files("a", ndr...), nil, 0, 1), collect(t, nvmltest.H100(), files("b", ndr...), nil, 0)}),
		"is in an NVLink fabric of several machines: whe": Find([]*Facts{collect(t, nvmltest.GB300(), files("a", ndr...), nil, 0), collect(t, nvmltest.GB300(), files("b", ndr...), nil, 0)}),
	} {
		assert.Contains(t, path.Unknown, want)
	}
}

func TestChosen(t *testing.T) {
	for list, want := range map[string]bool{
		"": true, "mlx5_1": true, "mlx5": true, "=mlx5_1": false, "=mlx5_10": true, "^mlx5_1": false, "^=mlx5_1": true, "mlx4,mlx5_10:1": true,
		"mlx5_10:2": false, "^mlx5_10:2": true, ",": false, "=": false,
	} {
		assert.Equal(t, want, chosen(list, "mlx5_10", 1), list)
	}
}

func usual(size uint64) Result {
	return Result{Tool: "all_reduce_perf", Type: "float", Op: "sum", Size: size, Usual: true}
}

func TestExpected(t *testing.T) {
	path := Find([]*Facts{collect(t, nvmltest.H200Pair(), files("a"), nil, 0, 1)})
	for size, want := range map[uint64]float64{2 * mib: 71.38, 3 * mib: 71.38, gib: 327.75, 4 * gib: 345.36, 16 * gib: 345.36} {
		got, source, ok := path.Expected(usual(size))
		assert.True(t, ok)
		assert.Equal(t, want, got)
		assert.Contains(t, source, "two NVIDIA H200")
	}
	symmetric := usual(gib)
	symmetric.Symmetric = true
	got, _, ok := path.Expected(symmetric)
	assert.True(t, ok)
	assert.Equal(t, 255.06, got)
	for _, change := range []func(*Result){
		func(r *Result) { r.Size = 2*mib - 1 },
		func(r *Result) { r.Tool = "all_gather_perf" },
		func(r *Result) { r.Type = "half" },
		func(r *Result) { r.Op = "max" },
		func(r *Result) { r.Usual = false },
	} {
		r := usual(gib)
		change(&r)
		_, _, ok := path.Expected(r)
		assert.False(t, ok, "%+v", r)
	}
	for _, other := range []*nvmltest.Host{nvmltest.H100(), nvmltest.A100()} {
		_, _, ok := Find([]*Facts{collect(t, other, files("a"), nil, 0, 1)}).Expected(usual(gib))
		assert.False(t, ok, "another board was not measured")
	}
	_, _, ok = Find([]*Facts{collect(t, nvmltest.H200(), files("a"), nil, 0, 1, 2)}).Expected(usual(gib))
	assert.False(t, ok, "three were not measured")
}

// TestMeasurementsAreOrdered, since Expected takes the last that fits.
func TestMeasurementsAreOrdered(t *testing.T) {
	for _, m := range measurements {
		assert.NotEmpty(t, m.source)
		for i, p := range m.points[1:] {
			assert.Less(t, m.points[i].size, p.size)
			assert.LessOrEqual(t, m.points[i].busbw, p.busbw)
		}
	}
}

// TestClosingFails: a library that cannot be closed is told.
func TestClosingFails(t *testing.T) {
	broken := errors.New("busy")
	m := Machine{NVML: func() (Source, error) { return stuck{nvmltest.H200Pair(), broken}, nil }, Files: files("a"), Lookup: lookup()}
	f := m.Collect("host", []string{"0000:00:06.0"}, false)
	assert.True(t, strings.Contains(f.Problem, "busy"))
}

type stuck struct {
	*nvmltest.Host
	err error
}

func (s stuck) Close() error { return s.err }

// TestDocumentHasTheMeasurements: docs/nccl-tests.md prints the table.
func TestDocumentHasTheMeasurements(t *testing.T) {
	data, err := os.ReadFile("../../../docs/nccl-tests.md")
	require.NoError(t, err)
	var want []string
	for _, p := range measurements[0].points {
		row := fmt.Sprintf("| %s | %.2f | %.1f %% |", plot.Bytes(float64(p.size)), p.busbw, 100*p.busbw/450)
		cell := " | |"
		for _, other := range measurements[1].points {
			if other.size == p.size {
				cell = fmt.Sprintf(" %.2f | %.1f %% |", other.busbw, 100*other.busbw/450)
			}
		}
		want = append(want, row+cell)
	}
	assert.Contains(t, string(data), "\n"+strings.Join(want, "\n")+"\n\n")
}
