package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml/nvmltest"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/doctor/doctortest"
)

// noFalseAlarm wants no critical failure, and the share of the checks that have an
// answer.
func noFalseAlarm(t *testing.T, r *Report, decided float64) {
	t.Helper()
	for _, p := range r.Problems() {
		t.Logf("%s %s %s: %s", p.Finding.Severity, p.Check.Name, p.Finding.Device, p.Finding.Text)
		assert.Less(t, p.Finding.Severity, Critical, "a false alarm")
	}
	share := 1 - float64(r.Count(Unknown))/float64(len(r.Results))
	t.Logf("decided: %.0f %% (%d pass, %d fail, %d not applicable, %d unknown)", 100*share, r.Count(Pass), r.Count(Fail), r.Count(NotApplicable), r.Count(Unknown))
	for _, res := range r.Results {
		for _, f := range res.Findings {
			if f.Outcome == Unknown {
				t.Logf("unknown: %s %s: %s", res.Name, f.Device, f.Text)
			}
		}
	}
	assert.GreaterOrEqual(t, share, decided)
}

// The machines of package topo: real ones, written down. Many are descriptions
// without files, which tell little; none may alarm.
func TestRealMachinesRaiseNoFalseAlarm(t *testing.T) {
	files, err := filepath.Glob("../testdata/machines/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			m, err := Open(data)
			var invalid *topo.InvalidError
			if errors.As(err, &invalid) {
				return // one of them contradicts itself
			}
			require.NoError(t, err)
			noFalseAlarm(t, Diagnose(m), 0)
		})
	}
}

// Full captures of healthy machines: each has a share of the checks decided.
func TestHealthyCaptures(t *testing.T) {
	for _, name := range []string{doctortest.H200Pair, doctortest.DGXA100, doctortest.LabGuest} {
		t.Run(name, func(t *testing.T) {
			m, err := Open(doctortest.Capture(name))
			require.NoError(t, err)
			if m.NVML == nil && len(m.System.GPUs) > 0 {
				m.NVML = map[string]*nvmltest.Host{doctortest.H200Pair: nvmltest.H200Pair(), doctortest.DGXA100: nvmltest.A100()}[name].Data
			}
			noFalseAlarm(t, Diagnose(m), 0.8)
		})
	}
}

// A capture of a machine tells the same as the machine.
func TestCapture(t *testing.T) {
	for name, patch := range map[string]string{
		"healthy": "", "RoCE": roce + otherMTU, "interfaces": down0, "no IOMMU": "-sys/kernel/iommu_groups\nsys/kernel/iommu_groups/\n",
		"lost GPU": "-proc/driver/nvidia/gpus/0000:83:00.0\n", "peer memory": "-sys/module/nvidia_peermem\nsys/kernel/mm/memory_peers/nv_mem/version = 1\n",
		"conf": "etc/nccl.conf = NCCL_IB_TC = 106\n",
	} {
		t.Run(name, func(t *testing.T) {
			m := staged(t, patch, env("NCCL_SOCKET_IFNAME", "eth0,ib0", "NCCL_IB_HCA", "mlx5_0"))
			m.Facts.Hostname = ""
			var text bytes.Buffer
			require.NoError(t, Capture(&text, m, "a test", false))
			again, err := Open(text.Bytes())
			require.NoError(t, err)
			want, got := Diagnose(m), Diagnose(again)
			for i, res := range want.Results {
				assert.Equal(t, res.Outcome, got.Results[i].Outcome, "%s: %+v, and of the capture %+v", res.Name, res.Findings, got.Results[i].Findings)
			}
		})
	}
}

func TestCaptureHidesWhatIdentifies(t *testing.T) {
	m := staged(t, "proc/self/mounts =\n| server.example.org:/secret /mnt nfs rw 0 0\n| shm /dev/shm tmpfs rw,size=8g 0 0\n", func(m *Machine) {
		m.Env = Environment([]string{"NCCL_SOCKET_IFNAME=eth0", "AWS_SECRET_ACCESS_KEY=hush", "NCCL_COMM_ID=10.1.2.3:99"})
		m.Facts.UserConf = ptr("NCCL_IB_TC=106\n# for 192.168.7.9\n")
	})
	var text bytes.Buffer
	require.NoError(t, Capture(&text, m, "", false))
	for _, word := range []string{"hush", "secret", "10.1.2.3", "192.168.7.9", "lab-host-7", m.NVML.Inventory[0].UUID, "165000", "0002:c903:0000:0000"} {
		assert.False(t, strings.Contains(text.String(), word), word)
	}
	assert.True(t, strings.Contains(text.String(), "/dev/shm"))
}

// Live on any machine: no panic, and no critical claim on one without RDMA or GPU.
func TestLive(t *testing.T) {
	m, err := Live(LiveOptions{})
	if err != nil {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		return
	}
	r := Diagnose(m)
	assert.Len(t, r.Results, len(Checks()))
	if len(m.System.HCAs) == 0 && len(m.System.GPUs) == 0 {
		noFalseAlarm(t, r, 0.9)
	}
	var text bytes.Buffer
	require.NoError(t, Capture(&text, m, "", false))
	again, err := Open(text.Bytes())
	require.NoError(t, err)
	for i, res := range Diagnose(again).Results {
		assert.Equal(t, r.Results[i].Outcome, res.Outcome, res.Name)
	}
	_, err = Live(LiveOptions{Process: 1 << 30})
	require.Error(t, err)
	_, err = Live(LiveOptions{NVML: nvmltest.H200Pair()})
	require.NoError(t, err)
}

func TestReportMarshals(t *testing.T) {
	r := Diagnose(staged(t, down0, env("NCCL_IB_HCA", "=mlx5_0")))
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var back Report
	require.NoError(t, json.Unmarshal(data, &back))
	require.Len(t, back.Results, len(r.Results))
	assert.Equal(t, r.Worst(), back.Worst())
	problems := r.Problems()
	require.NotEmpty(t, problems)
	assert.Equal(t, Critical, problems[0].Finding.Severity, "the worst first")
}

func TestNothingToLookAt(t *testing.T) {
	r := Diagnose(&Machine{})
	assert.Equal(t, None, r.Worst())
	r = Diagnose(&Machine{System: &topo.System{}, Env: map[string]string{}})
	assert.Equal(t, None, r.Worst())
	require.Error(t, Capture(&bytes.Buffer{}, &Machine{System: &topo.System{}}, "", false))
}

func TestOpenRefuses(t *testing.T) {
	for _, text := range []string{"", "nonsense", "gofabric topology capture 1\n-- files.tree --\n[sys\n",
		"gofabric topology capture 1\n-- files.tree --\n[sys]\n-- doctor.json --\n{",
		"gofabric topology capture 1\n-- files.tree --\n[sys]\n-- doctor.json --\n{\"facts\":{\"process\":\"../../etc\"}}",
	} {
		_, err := Open([]byte(text))
		require.Error(t, err, text)
	}
}

func FuzzOpen(f *testing.F) {
	tree, err := os.ReadFile("testdata/metal.tree")
	require.NoError(f, err)
	f.Add([]byte("gofabric topology capture 1\n-- files.tree --\n" + string(tree) + "-- doctor.json --\n{\"env\":{\"NCCL_IB_HCA\":\"^=mlx5_0:1,\",\"NCCL_IB_GID_INDEX\":\"-\"},\"facts\":{\"userConf\":\"=\\nexport X=\"}}\n"))
	f.Add([]byte("gofabric topology capture 1\n-- files.tree --\n[etc]\nnccl.conf = NCCL_TOPO_FILE=/etc/nccl.conf\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := Open(data)
		if err != nil {
			return
		}
		r := Diagnose(m)
		for _, p := range r.Problems() {
			assert.NotEmpty(t, p.Finding.Fix)
			assert.NotContains(t, p.Finding.Text, "\x1b")
		}
	})
}

func FuzzConfigSpace(f *testing.F) {
	space := make([]byte, 4096)
	space[0x34], space[0x40], space[0x48+1] = 0x40, 0x10, 0x50
	space[0x100], space[0x106] = 0x0d, 0x1d
	f.Add(space)
	f.Add([]byte{1, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if n := configSpace(data).facts().MaxReadRequest; n != 0 {
			assert.GreaterOrEqual(t, n, 128)
		}
	})
}

func TestConfigSpace(t *testing.T) {
	space := make(configSpace, 4096)
	space[0x34], space[0x40], space[0x41], space[0x60] = 0x40, 0x01, 0x60, 0x10
	space[0x69] = 0x50 // device control: 5 << 12
	space[0x100], space[0x102], space[0x103] = 0x01, 0x01, 0x14
	space[0x140], space[0x146] = 0x0d, 0x1d
	f := space.facts()
	assert.Equal(t, 4096, f.MaxReadRequest)
	require.NotNil(t, f.ACS)
	assert.EqualValues(t, 0x1d, *f.ACS)
	f = space[:256].facts()
	assert.Equal(t, 4096, f.MaxReadRequest)
	assert.Nil(t, f.ACS)
	assert.Equal(t, PCIConfig{}, space[:64].facts())
}
