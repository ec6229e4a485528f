package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSymptoms(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Checks() {
		names[c.Name] = true
	}
	for _, s := range Symptoms() {
		seen := map[string]bool{}
		for _, name := range s.Checks {
			assert.True(t, names[name], "%s names a check that is none: %s", s.Name, name)
			assert.False(t, seen[name], "%s names %s twice", s.Name, name)
			seen[name] = true
		}
		found, ok := FindSymptom(s.Name)
		require.True(t, ok)
		r := Diagnose(staged(t, "", nil))
		r.Order(found)
		assert.Equal(t, s.Checks[0], r.Results[0].Name)
		assert.Len(t, r.Results, len(Checks()))
	}
	_, ok := FindSymptom("none")
	assert.False(t, ok)
}

func TestNode(t *testing.T) {
	m := staged(t, roce, env("NCCL_IB_TC", "106", "CUDA_VISIBLE_DEVICES", "0"))
	n := Summarize(m)
	assert.Equal(t, map[string]string{"NCCL_IB_TC": "106"}, n.Settings)
	require.Len(t, n.HCAs, 2)
	require.NotNil(t, n.HCAs[0].Ports[0].MTU)
	assert.Equal(t, 9000, *n.HCAs[0].Ports[0].MTU)
	assert.Equal(t, []string{"RoCE v2", "RoCE v2, link-local"}, n.HCAs[0].Ports[0].GIDKinds)
	assert.Empty(t, Compare(n, n))
	require.NoError(t, n.Check())
	n.Hostname = "a\x1b[2Jb"
	require.NoError(t, n.Check())
	assert.Equal(t, "a?[2Jb", n.Hostname)
	n.HCAs = make([]NodeHCA, 5000)
	require.Error(t, n.Check())
	assert.Empty(t, Compare(Node{}, Node{}))
	assert.NotEmpty(t, Compare(Node{}, Node{Settings: map[string]string{"NCCL_IB_TC": "1"}}))
}
