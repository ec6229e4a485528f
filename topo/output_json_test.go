package topo

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// field walks a decoded document: "gpus", 0, "numa", "node".
func field(t *testing.T, doc any, keys ...any) any {
	t.Helper()
	for _, k := range keys {
		switch key := k.(type) {
		case string:
			m, ok := doc.(map[string]any)
			require.True(t, ok, "%v of what is no object", key)
			doc, ok = m[key]
			require.True(t, ok, "%v is absent", key)
		case int:
			list, ok := doc.([]any)
			require.True(t, ok && key < len(list), "%v of what is no such list", key)
			doc = list[key]
		}
	}
	return doc
}

func document(t *testing.T, s *System) any {
	t.Helper()
	var doc any
	require.NoError(t, json.Unmarshal(write(t, s.JSON), &doc))
	return doc
}

func TestJSONNeverDropsNodeZero(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.node(0, "0-3")
	m.node(1, "4-7")
	m.gpu("pci0000:00", "0000:01:00.0", Link{}, ref(0))
	m.hca("pci0000:10", "0000:11:00.0", "mlx5_0", Link{}, nil)
	doc := document(t, m.finish())
	assert.Equal(t, DocumentSchema, field(t, doc, "schema"))
	assert.Equal(t, 0.0, field(t, doc, "nodes", 0, "id"))
	assert.Equal(t, 0.0, field(t, doc, "gpus", 0, "index"))
	assert.Equal(t, 0.0, field(t, doc, "gpus", 0, "numa", "node"), "node 0 is written")
	assert.Equal(t, 0.0, field(t, doc, "pci", 0, "statedNode"))
	assert.Nil(t, field(t, doc, "hcas", 0, "numa", "node"), "an unknown node is null, and never 0")
	assert.NotContains(t, field(t, doc, "pci", 1), "statedNode", "absent is absent")
	assert.NotContains(t, field(t, doc, "pci", 0, "link"), "speed", "an unknown speed is absent")
	assert.Equal(t, "?", field(t, doc, "paths", 0, "path"))
}

func TestJSONOfNothingHasItsLists(t *testing.T) {
	s := &System{}
	require.NoError(t, s.Finish())
	doc := document(t, s)
	for _, list := range []string{"nodes", "pci", "gpus", "hcas", "netdevs", "paths"} {
		assert.Equal(t, []any{}, field(t, doc, list), list)
	}
	assert.Equal(t, "NCCL_IB_HCA", field(t, doc, "nccl", 0, "name"))
}

func TestJSONLeavesTheMachineAlone(t *testing.T) {
	m := newBuilder(t, "sysfs")
	m.s.HCAs = []*HCA{{Name: "mlx5_0"}}
	s := m.finish()
	assert.Equal(t, []any{}, field(t, document(t, s), "hcas", 0, "ports"))
	assert.Nil(t, s.HCAs[0].Ports)
}
