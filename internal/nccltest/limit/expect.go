package limit

import "github.com/gofabric/gofabric/nvml"

// Least is the share of what was measured that a result must reach. nccl-tests
// grants the same to NCCL_TESTS_MIN_BW.
const Least = 0.9

// Result is a result to be judged.
type Result struct {
	Tool, Type, Op string
	Size           uint64 // bytes
	// Symmetric: the buffers are symmetric windows. Usual: nothing else was
	// asked for that changes how operations run; eager or in a graph.
	Symmetric, Usual bool
}

// Expected is the bus bandwidth in GB/s that was measured for such a result over
// such a path, and false where nothing was. A size that was not measured has what
// the next smaller one reached.
func (p Path) Expected(r Result) (busbw float64, source string, ok bool) {
	for i := range measurements {
		m := &measurements[i]
		if !m.of(p, r) {
			continue
		}
		for _, point := range m.points {
			if point.size <= r.Size {
				busbw, source, ok = point.busbw, m.source, true
			}
		}
	}
	return busbw, source, ok
}

// measurement is what was measured over a path. Nothing else is known of any
// path: not of more GPUs, nor of another board with the same links.
type measurement struct {
	gpu          string
	version      nvml.LinkVersion
	links, ranks int
	tool         string
	dataType, op string
	symmetric    bool
	source       string
	points       []point
}

// point is the lesser bandwidth of out of place and in place. Below the first
// one latency decides, which depends on how operations are issued.
type point struct {
	size  uint64
	busbw float64
}

func (m *measurement) of(p Path, r Result) bool {
	return p.Known() && r.Usual && p.gpu == m.gpu && p.version == m.version && p.links == m.links && p.ranks == m.ranks &&
		r.Tool == m.tool && r.Type == m.dataType && r.Op == m.op && r.Symmetric == m.symmetric
}

const (
	mib = 1 << 20
	gib = 1 << 30

	h200Pair = "two NVIDIA H200 of one machine, driver 580.159.04, NCCL 2.28.3, nccl-tests 2.19.6"
)

var measurements = []measurement{
	{
		gpu: "NVIDIA H200", version: nvml.NVLink4, links: 18, ranks: 2, tool: "all_reduce_perf", dataType: "float", op: "sum",
		source: h200Pair + " -g 2 -w 10 -n 50",
		points: []point{
			{2 * mib, 71.38}, {4 * mib, 118.93}, {8 * mib, 167.79}, {16 * mib, 211.96}, {32 * mib, 240.97}, {64 * mib, 268.88},
			{128 * mib, 286.63}, {256 * mib, 299.90}, {512 * mib, 315.20}, {gib, 327.75}, {2 * gib, 339.50}, {4 * gib, 345.36},
		},
	},
	{
		gpu: "NVIDIA H200", version: nvml.NVLink4, links: 18, ranks: 2, tool: "all_reduce_perf", dataType: "float", op: "sum", symmetric: true,
		source: h200Pair + " -t 2 -R 2, at 8 MiB -g 2 -R 2",
		points: []point{{2 * mib, 98.49}, {8 * mib, 204.53}, {16 * mib, 208.14}, {128 * mib, 247.35}, {gib, 255.06}},
	},
}
