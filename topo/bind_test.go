package topo

import (
	"errors"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func limitsOf(files map[string]string) limits {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return limits{tree}
}

// What a process may use is found in either version of control groups, in a group
// that has no cpuset of its own too.
func TestCpusetLimits(t *testing.T) {
	v2 := limitsOf(map[string]string{
		"proc/self/cgroup": "0::/kubepods/pod7/c1\n",
		"sys/fs/cgroup/kubepods/pod7/cpuset.cpus.effective": "0-7\n",
		"sys/fs/cgroup/kubepods/pod7/cpuset.mems.effective": "0\n",
		"sys/fs/cgroup/cpuset.cpus.effective":               "0-63\n",
	})
	file, list := v2.cpuset("cpus")
	assert.Equal(t, "/sys/fs/cgroup/kubepods/pod7/cpuset.cpus.effective", file)
	assert.Equal(t, "0-7", list.String())
	assert.Equal(t, "the cpuset allows 0-7 (/sys/fs/cgroup/kubepods/pod7/cpuset.cpus.effective): start the job or the container with CPUs of 32-63",
		v2.cpuHint(cpus(t, "32-63")))
	assert.Empty(t, v2.cpuHint(cpus(t, "7-9")), "the cpuset is not what refuses these")
	assert.Equal(t, "the cpuset allows nodes 0 (/sys/fs/cgroup/kubepods/pod7/cpuset.mems.effective): start the job or the container with node 1",
		v2.nodeHint(1, cpus(t, "0")))

	v1 := limitsOf(map[string]string{
		"proc/self/cgroup": "7:memory:/job\n3:cpuset:/slurm/job_1\n",
		"sys/fs/cgroup/cpuset/slurm/job_1/cpuset.effective_cpus": "4-5\n",
		"sys/fs/cgroup/cpuset/slurm/job_1/cpuset.effective_mems": "1\n",
	})
	file, list = v1.cpuset("mems")
	assert.Equal(t, "/sys/fs/cgroup/cpuset/slurm/job_1/cpuset.effective_mems", file)
	assert.Equal(t, "1", list.String())

	none := limitsOf(map[string]string{"proc/self/cgroup": "0::/\n"})
	file, _ = none.cpuset("cpus")
	assert.Empty(t, file)
	assert.Contains(t, none.nodeHint(1, cpus(t, "0")), "Mems_allowed_list of /proc/self/status is 0")
	assert.False(t, none.filtered())
	assert.True(t, limitsOf(map[string]string{"proc/thread-self/status": "Name:\tx\nSeccomp:\t2\n"}).filtered())
}

func cpus(t *testing.T, text string) CPUSet {
	t.Helper()
	set, err := ParseCPUList(text)
	require.NoError(t, err)
	return set
}

// Nothing known and what cannot be are refused before the kernel is asked.
func TestBindRefuses(t *testing.T) {
	unknown := Affinity{why: "The NUMA node of GPU0 is not known: -1."}
	far, node := 1<<20, -1
	for _, a := range []Affinity{unknown, {CPUs: CPUSet{far}}, {CPUs: CPUSet{-1}}, {Node: &far}, {Node: &node}} {
		_, err := BindThread(a, BindOptions{})
		var refused *BindError
		require.ErrorAs(t, err, &refused)
		_, err = BindProcess(a, BindOptions{})
		require.ErrorAs(t, err, &refused)
		if runtime.GOOS != "linux" {
			assert.ErrorIs(t, err, errors.ErrUnsupported)
		}
	}
	var refused *BindError
	require.ErrorAs(t, BindMemory(make([]byte, 1<<20), unknown, BindOptions{}), &refused)
	zero := 0
	require.ErrorAs(t, BindMemory(make([]byte, 1), Affinity{Node: &zero}, BindOptions{}), &refused)
	require.ErrorAs(t, BindMemory(nil, Affinity{Node: &zero}, BindOptions{}), &refused)
	require.ErrorAs(t, BindMemory(make([]byte, 1<<20), Affinity{Node: &node}, BindOptions{}), &refused)
}

func TestBoundString(t *testing.T) {
	node := 1
	assert.Equal(t, "CPUs 0-3, memory of node 1", Bound{CPUs: CPUSet{0, 1, 2, 3}, Node: &node}.String())
	assert.Equal(t, "any CPU, memory of the node of each CPU", Bound{}.String())
}
