package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/topo/counters"
)

// Files and counters are named by drivers, and by whoever wrote a capture.
func TestNamesReachNoTerminal(t *testing.T) {
	const escape = "\x1b[31m"
	m := staged(t, mlx0+"board_id = B"+escape+"\n", nil)
	start := time.Now()
	sample := func(ms int, n uint64) []counters.Sample {
		return []counters.Sample{{
			Device: "mlx5_0", Port: 1, At: start.Add(time.Duration(ms) * time.Millisecond),
			Values: []counters.Value{{Source: counters.Vendor, Name: "cnp_" + escape, Value: n}},
		}}
	}
	m.Before, m.After = sample(0, 1), sample(1000, 2)
	r := Diagnose(m)
	grown, _ := r.Result("transport-errors")
	require.Equal(t, Fail, grown.Outcome)
	for _, res := range r.Results {
		for _, f := range res.Findings {
			for _, e := range f.Evidence {
				assert.NotContains(t, e.Source+e.Value, "\x1b", res.Name)
			}
			assert.NotContains(t, f.Device+f.Text+f.Cause+f.Fix, "\x1b", res.Name)
		}
	}
}

// Every connection that is closed flushes: that is no error that was counted.
func TestFlushesOfThePastAreNoErrors(t *testing.T) {
	counted := port0 + "hw_counters/req_cqe_error = 12\n" + port0 + "hw_counters/req_cqe_flush_error = "
	outcome := func(flushed string) Outcome {
		r, _ := Diagnose(staged(t, counted+flushed+"\n", nil)).Result("transport-errors")
		return r.Outcome
	}
	assert.Equal(t, Pass, outcome("12"))
	assert.Equal(t, Unknown, outcome("11"))
}

func TestCheckOfANode(t *testing.T) {
	long := strings.Repeat("mlx5_0,", 40)
	n := Node{
		Settings: map[string]string{"\x1b[2J": "\x1b[31m", "NCCL_IB_HCA": long}, GPUs: map[string]int{"\x1b": 1},
		HCAs: []NodeHCA{{Ports: []NodePort{{State: "\x1b", LinkLayer: strings.Repeat("x", 4096), GIDKinds: []string{"\x1b"}}}}},
	}
	require.NoError(t, n.Check())
	p := n.HCAs[0].Ports[0]
	assert.Equal(t, []string{"?", "?"}, []string{p.State, p.GIDKinds[0]})
	assert.Less(t, len(p.LinkLayer), 200)
	assert.Equal(t, map[string]string{"?[2J": "?[31m", "NCCL_IB_HCA": long}, n.Settings, "a long setting stays whole: it is compared")
	assert.Contains(t, n.GPUs, "?")
	n.HCAs[0].Ports[0].GIDKinds = make([]string, 1000)
	require.Error(t, n.Check())

	m := staged(t, "", both(env("NCCL_IB_HCA", long), peer(func(n *Node) { n.Settings = map[string]string{"NCCL_IB_HCA": long} })))
	r, _ := Diagnose(m).Result("peers-alike")
	assert.Equal(t, Pass, r.Outcome, r.Findings)
	m = staged(t, "", peer(func(n *Node) { n.Settings = map[string]string{"NCCL_IB_HCA": strings.Repeat(long, 100)} }))
	r, _ = Diagnose(m).Result("peers-alike")
	require.Equal(t, Fail, r.Outcome)
	assert.Less(t, len(r.Findings[0].Text), 500)
}
