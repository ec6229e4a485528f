package lab

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMachineArgs(t *testing.T) {
	m := Machines()["two-socket"]
	require.NoError(t, m.check())
	args := strings.Join(m.args(), " ")
	for _, want := range []string{
		"-M q35 -m 1280 -smp 4,sockets=2,cores=2,threads=1",
		"-numa node,nodeid=0,memdev=mem0,cpus=0-1", "-numa node,nodeid=1,memdev=mem1,cpus=2-3", "-numa node,nodeid=2,memdev=mem2 ",
		"pxb-pcie,id=root0,bus=pcie.0,bus_nr=16,numa_node=0", "pxb-pcie,id=root2,bus=pcie.0,bus_nr=48,numa_node=1",
		"pcie-root-port,id=port1,bus=root0,chassis=1,slot=1,x-speed=16,x-width=16",
		"x3130-upstream,id=switch1,bus=port1", "xio3130-downstream,id=port2,bus=switch1,chassis=2,slot=2",
		"virtio-net-pci,netdev=net0,bus=port2,mac=02:00:00:00:02:00,romfile=",
		"x3130-upstream,id=switch4,bus=port4", "xio3130-downstream,id=port5,bus=switch4",
		"e1000e,netdev=net4,bus=port7,mac=02:00:00:00:02:04",
	} {
		assert.Contains(t, args, want)
	}
	assert.Equal(t, []string{"e1000e", "virtio_net"}, m.Modules())
	assert.Equal(t, stagedNIC{"n5", "02:00:00:00:02:05", "10.0.0.6"}, m.staged()[5])

	m.Nodes[1].CPUs = 1
	assert.Equal(t, "3,sockets=3,cores=1,threads=1", m.smp())
	m.Roots[0].Node = nil
	m.Roots[0].Ports[0].Speed = 2.5
	args = strings.Join(m.args(), " ")
	assert.Contains(t, args, "bus_nr=16 -device")
	assert.Contains(t, args, "x-speed=2_5")
}

func TestMachineRefused(t *testing.T) {
	const node = `{"nodes": [{"cpus": 1, "memoryMiB": 512}], "roots": [`
	for text, why := range map[string]string{
		`{}`:                                                                  "0 NUMA nodes",
		`{"nodes": [{"memoryMiB": 512}]}`:                                     "no node has a CPU",
		`{"nodes": [{"cpus": 1}]}`:                                            "0 MiB",
		node + `{"node": 1, "ports": []}]}`:                                   "root 0 is on node 1",
		node + `{"ports": []}]}`:                                              "root 0 has no port",
		node + `{"ports": [{}]}]}`:                                            "either a nic or a switch",
		node + `{"ports": [{"switch": []}]}]}`:                                "a switch has no port",
		node + `{"ports": [{"nic": "eth0"}]}]}`:                               "eth0",
		node + `{"ports": [{"nic": "a;b"}]}]}`:                                "a;b",
		node + `{"ports": [{"nik": "a"}]}]}`:                                  "unknown field",
		node + `{"ports": [{"nic": "a"}]}]} []`:                               "more than one",
		node + `{"ports": [{"nic":"a","speed":3}]}`:                           "unexpected EOF",
		node + `{"ports": [{"nic": "a", "speed": 3}]}]}`:                      "speed 3",
		node + `{"ports": [{"nic": "a", "width": 3}]}]}`:                      "width 3",
		node + `{"ports": [{"nic": "a", "model": "b"}]}]}`:                    "e1000e, virtio",
		node + `{"ports": [{"nic": "a"}, {"nic": "a"}]}]}`:                    "two NICs",
		node + `{"ports": [{"switch": [{"nic": "a", "width": 8}]}]}]}`:        "root ports only",
		node + `{"ports": [{"switch": [{"nic": "a"}], "model": "e1000e"}]}]}`: "a switch has no model",
		node + `{"ports": [` + strings.Repeat(`{"switch": [{"nic": "a"}]},`, 40) + `{"nic":"b"}]}]}`: "two NICs",
	} {
		_, err := ParseMachine([]byte(text))
		assert.ErrorContains(t, err, why, text)
	}
	machine := Machines()["two-socket"]
	_, err := Job{Path: "x", Machine: &machine, CPUs: 2}.withDefaults()
	assert.ErrorContains(t, err, "leave one out")
	_, err = Job{Path: "x", Machine: &machine, end: &pairEnd{}}.withDefaults()
	assert.ErrorContains(t, err, "pair")
	j, err := Job{Path: "x", Machine: &machine}.withDefaults()
	require.NoError(t, err)
	assert.Equal(t, []int{4, 1280}, []int{j.CPUs, j.MemoryMiB})
}

func FuzzParseMachine(f *testing.F) {
	for _, m := range Machines() {
		text, err := json.Marshal(m)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMachine(data)
		if err != nil {
			return
		}
		assert.NotEmpty(t, m.args())
		again, err := json.Marshal(m)
		require.NoError(t, err)
		_, err = ParseMachine(again)
		require.NoError(t, err)
	})
}
