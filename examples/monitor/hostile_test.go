package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
	"github.com/gofabric/gofabric/topo"
	"github.com/gofabric/gofabric/topo/counters"
)

// hostileText is what no driver should show, and some do in part.
const hostileText = `
[sys/class/infiniband/mlx5_0]
hca_type = MT\x1b[31m
device -> ../../../devices/pci0000:00/0000:00:02.0
[sys/class/infiniband/mlx5_0/ports/255]
state = 4: ACTIVE
link_layer = InfiniBand
rate = 99999999999999999999 Gb/sec (4X NDR)
counters/port_xmit_data = 18446744073709551615
counters/port_rcv_data = 4294967295
counters/link_downed = -1
counters/symbol_error = 340282366920938463463374607431768211456
hw_counters/lifespan = 99999999999999999999
hw_counters/link_downed = 7
[sys/devices/pci0000:00/0000:00:02.0]
class = 0x020700
hwmon/hwmon3/name = mlx5
hwmon/hwmon3/temp1_input = 61000
hwmon/hwmon3/temp2_input = 62000
hwmon/hwmon3/temp3_input = 63000
hwmon/hwmon3/temp3_label = asic
hwmon/hwmon4/name = mlx5
hwmon/hwmon4/temp1_input = 64000
[sys/bus/pci/devices]
0000:00:02.0 -> ../../../devices/pci0000:00/0000:00:02.0
`

func TestMetricsOfAHostileMachine(t *testing.T) {
	tree, err := sysfs.ParseTree(strings.ReplaceAll(hostileText, `\x1b`, "\x1b"))
	require.NoError(t, err)
	text := scrape(t, &source{root: tree})
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	require.NoError(t, err)
	assert.Empty(t, problems)
	for _, line := range []string{
		`gofabric_card_temperature_celsius{device="mlx5_0",sensor="temp1"} 61`,
		`gofabric_card_temperature_celsius{device="mlx5_0",sensor="temp2"} 62`,
		`gofabric_card_temperature_celsius{device="mlx5_0",sensor="asic"} 63`,
		`gofabric_card_temperature_celsius{device="mlx5_0",sensor="temp1 of another chip"} 64`,
		`gofabric_port_counter_saturated{counter="port_xmit_data",device="mlx5_0",port="255"} 1`,
		`gofabric_port_received_bytes_total{device="mlx5_0",port="255"} 1.717986918e+10`, // words of 4 bytes
		`gofabric_port_hw_events_total{counter="link_downed",device="mlx5_0",port="255",severity="critical"} 7`,
		`gofabric_port_counters_absent{device="mlx5_0",port="255"} 2`,
	} {
		assert.Contains(t, text, line+"\n")
	}
	assert.NotContains(t, text, "\x1b")
	assert.NotContains(t, text, `gofabric_port_errors_total{counter="symbol_error"`, "a number that is none is absent")
}

// Long lifespans belong to hw_counters: the port's own errors are told once.
func TestErrorsAreToldOnceWithinALifespan(t *testing.T) {
	st := newState(time.Now())
	for second, downs := range []uint64{1, 3, 3, 3} {
		st.add(&reading{ports: []portReading{{hca: &topo.HCA{Name: "mlx5_0"}, port: topo.Port{Number: 1}, sample: counters.Sample{
			Device: "mlx5_0", Port: 1, At: st.began.Add(time.Duration(second) * time.Second), Lifespan: 10 * time.Second,
			Values: []counters.Value{{Source: counters.Port, Name: "link_downed", Value: downs}},
		}}}})
	}
	g := st.errors["mlx5_0/1 counters link_downed"]
	require.NotNil(t, g)
	assert.EqualValues(t, 2, g.total)
	assert.Zero(t, g.last)
}

func TestRootWithoutSys(t *testing.T) {
	empty := t.TempDir()
	for _, root := range []string{empty, filepath.Join(empty, "none"), ""} {
		status, out, errs := call(context.Background(), "--root", root, "--count", "1")
		assert.Equal(t, 1, status, root)
		assert.Empty(t, out)
		assert.Contains(t, errs, "--root", root)
	}
}
