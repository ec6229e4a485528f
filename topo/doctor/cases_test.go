package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

// testCase is the healthy machine with a change, and what one check says of it.
type testCase struct {
	check  string
	want   Outcome
	worst  Severity // of a failure
	patch  string
	change func(*Machine)
}

func env(pairs ...string) func(*Machine) {
	return func(m *Machine) {
		for i := 0; i < len(pairs); i += 2 {
			m.Env[pairs[i]] = pairs[i+1]
		}
	}
}

func noEnv(m *Machine)  { m.Env = nil }
func noNVML(m *Machine) { m.NVML = nil }

// described is a machine that is known by a description only, with no files.
func described(change func(*topo.System)) func(*Machine) {
	return func(m *Machine) {
		s := &topo.System{
			Source: "hwloc XML",
			PCI:    []*topo.PCIDevice{{Address: "0000:04:00.0", Vendor: 0x15b3}, {Address: "0000:03:00.0", Vendor: 0x10de}},
			GPUs:   []*topo.GPU{{PCI: "0000:03:00.0"}},
			HCAs:   []*topo.HCA{{Name: "mlx5_0", Kind: topo.KindPF, PCI: []topo.Address{"0000:04:00.0"}, Ports: []topo.Port{{Number: 1}}}},
		}
		if change != nil {
			change(s)
		}
		if err := s.Finish(); err != nil {
			panic(err)
		}
		*m = Machine{System: s}
	}
}

func activePort(layer topo.LinkLayer) func(*Machine) {
	return described(func(s *topo.System) {
		s.HCAs[0].Ports[0] = topo.Port{Number: 1, State: topo.PortActive, PhysState: "LinkUp", LinkLayer: layer}
	})
}

func both(changes ...func(*Machine)) func(*Machine) {
	return func(m *Machine) {
		for _, c := range changes {
			c(m)
		}
	}
}

// watched gives the machine two readings of a port or function.
func watched(device string, port int, apart time.Duration, lifespan time.Duration, deltas ...any) func(*Machine) {
	return func(m *Machine) {
		start := time.Now()
		before := counters.Sample{Device: device, Port: port, At: start, Lifespan: lifespan}
		after := counters.Sample{Device: device, Port: port, At: start.Add(apart), Lifespan: lifespan}
		for i := 0; i < len(deltas); i += 3 {
			source, name := deltas[i].(counters.Source), deltas[i+1].(string)
			before.Values = append(before.Values, counters.Value{Source: source, Name: name, Value: 5})
			after.Values = append(after.Values, counters.Value{Source: source, Name: name, Value: uint64(5 + deltas[i+2].(int))})
		}
		m.Before, m.After = []counters.Sample{before}, []counters.Sample{after}
		if device == "mlx5_0" { // the other port counts nothing
			quiet := before
			quiet.Device = "mlx5_1"
			later := quiet
			later.At = after.At
			m.Before, m.After = append(m.Before, quiet), append(m.After, later)
		}
	}
}

func linkGbps(rate float64) func(*Machine) {
	return func(m *Machine) { m.Facts.LinkGbps = map[string]float64{"mlx5_0/1": rate} }
}

func peer(change func(*Node)) func(*Machine) {
	return func(m *Machine) {
		port := func() []NodePort {
			return []NodePort{{Number: 1, State: "ACTIVE", LinkLayer: "InfiniBand", RateGbps: 400}}
		}
		n := Node{Hostname: "node2", NCCL: "2.28.3", Driver: "580.159.04", GPUs: map[string]int{"NVIDIA H200": 2}, HCAs: []NodeHCA{
			{Name: "mlx5_0", Model: "MT4129", BoardID: "MT_0000000838", Firmware: "28.41.1000", Ports: port()},
			{Name: "mlx5_1", Model: "MT4129", BoardID: "MT_0000000838", Firmware: "28.41.1000", Ports: port()},
		}}
		change(&n)
		m.Peers = append(m.Peers, n)
	}
}

func gpuStatus(change func(*nvml.Status)) func(*Machine) {
	return func(m *Machine) {
		uuid := m.NVML.Inventory[0].UUID
		s := m.NVML.Statuses[uuid]
		change(&s)
		m.NVML.Statuses[uuid] = s
	}
}

const (
	down0 = port0 + "state = 1: DOWN\n" + port0 + "phys_state = 2: Polling\n"
	// slow0 halves the rate of the first port.
	slow0 = port0 + "rate = 200 Gb/sec (4X HDR)\n"
	soft  = noCards + `
sys/class/infiniband/rxe0/node_guid = 0000:0000:0000:0001
sys/class/infiniband/rxe0/parent = eth0
sys/class/infiniband/rxe0/ports/1/state = 4: ACTIVE
sys/class/infiniband/rxe0/ports/1/link_layer = Ethernet
sys/class/infiniband/rxe0/ports/1/gids/1 = 0000:0000:0000:0000:0000:ffff:0a00:0001
sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1 = RoCE v2
sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1 = eth0
`
)

// TestCases asks every check about machines that it faults, passes, cannot judge
// and has nothing to say about.
func TestCases(t *testing.T) {
	seen := map[string]map[Outcome]bool{}
	for _, c := range allCases() {
		if seen[c.check] == nil {
			seen[c.check] = map[Outcome]bool{}
		}
		seen[c.check][c.want] = true
		t.Run(c.check+"/"+c.want.String(), func(t *testing.T) {
			r, ok := Diagnose(staged(t, c.patch, c.change)).Result(c.check)
			require.True(t, ok, "no such check")
			require.Equal(t, c.want, r.Outcome, "%+v", r.Findings)
			require.NotEmpty(t, r.Findings, "an answer says why")
			if c.want == Fail {
				assert.Equal(t, c.worst, r.Worst)
			}
			for _, f := range r.Findings {
				assert.NotEmpty(t, f.Text)
				if f.Outcome != Fail {
					assert.Equal(t, None, f.Severity)
					continue
				}
				assert.NotEmpty(t, f.Cause)
				assert.NotEmpty(t, f.Fix)
				assert.NotEmpty(t, f.Evidence)
				assert.LessOrEqual(t, f.Severity, r.Severity, "worse than the check's own severity")
				assert.Greater(t, f.Severity, None)
			}
		})
	}
	for _, c := range Checks() {
		for _, o := range []Outcome{Fail, Pass, Unknown, NotApplicable} {
			assert.True(t, seen[c.Name][o], "check %d, %s, has no case for %q", c.Number, c.Name, o)
		}
	}
}

func TestChecksAreWellFormed(t *testing.T) {
	numbers, names := map[int]bool{}, map[string]bool{}
	for i, c := range Checks() {
		assert.Equal(t, i+1, c.Number, "numbers have no gap")
		assert.False(t, numbers[c.Number] || names[c.Name], "%d %s stands twice", c.Number, c.Name)
		numbers[c.Number], names[c.Name] = true, true
		assert.NotEmpty(t, c.Asks)
		assert.NotEmpty(t, c.Source)
		assert.Greater(t, c.Severity, None)
	}
	assert.GreaterOrEqual(t, len(numbers), 41)
}
