package counters

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/sysfs"
)

const machine = `
[sys/class/infiniband/mlx5_0/ports/1]
link_layer = InfiniBand
counters/port_xmit_data = 250
counters/port_rcv_data = 4294967295
counters/symbol_error = 65535
counters/link_downed = 3
counters/local_link_integrity_errors = 15
counters/port_rcv_errors !EINVAL
counters/port_xmit_discards = N/A (no PMA)
counters/port_xmit_wait !EACCES
counters/VL15_dropped !EOPNOTSUPP
counters/multicast_rcv_packets =
hw_counters/lifespan = 10
hw_counters/out_of_sequence = 7
hw_counters/np_cnp_sent = 1
hw_counters/of_a_vendor = 2
[sys/class/infiniband/mlx5_1/ports/1]
link_layer = Ethernet
state = 4: ACTIVE
gid_attrs/ndevs/0 !EINVAL
gid_attrs/ndevs/1 = eth7
hw_counters/out_of_sequence = 1
[sys/class/net/eth7/statistics]
rx_bytes = 1000
rx_packets = 10
rx_crc_errors = 0
[sys/class/infiniband/mlx5_10/ports/1]
counters/port_xmit_data = 1
`

func read(t testing.TB, text string) []Sample {
	t.Helper()
	tree, err := sysfs.ParseTree(text)
	require.NoError(t, err)
	return ReadPorts(tree)
}

func why(s Sample, source Source, name string) string {
	for _, a := range s.Absent {
		if a.Source == source && a.Name == name {
			return a.Why
		}
	}
	return ""
}

func TestReadPorts(t *testing.T) {
	samples := read(t, machine)
	require.Len(t, samples, 3)
	ib, roce := samples[0], samples[1]

	data, ok := ib.Get(Port, "port_xmit_data")
	require.True(t, ok)
	assert.Equal(t, Value{Port, "port_xmit_data", 1000, false}, data, "words of four bytes")
	for _, name := range []string{"port_rcv_data", "symbol_error", "local_link_integrity_errors"} {
		v, ok := ib.Get(Port, name)
		assert.True(t, ok && v.Saturated, name)
	}
	v, _ := ib.Get(Port, "link_downed")
	assert.False(t, v.Saturated)
	for name, reason := range map[string]string{
		"port_rcv_errors": "EINVAL", "port_xmit_discards": `"N/A (no PMA)"`, "port_xmit_wait": "EACCES",
		"VL15_dropped": "EOPNOTSUPP", "multicast_rcv_packets": "empty",
	} {
		_, ok := ib.Get(Port, name)
		assert.False(t, ok, "%s is absent and not 0", name)
		assert.Equal(t, reason, why(ib, Port, name))
	}
	assert.Equal(t, 10*time.Millisecond, ib.Lifespan)
	_, ok = ib.Get(Vendor, "lifespan")
	assert.False(t, ok, "it counts nothing")

	assert.Equal(t, "not there", why(roce, Port, ""))
	assert.Equal(t, "eth7", roce.Netdev)
	bytes, ok := roce.Get(Interface, "rx_bytes")
	assert.True(t, ok)
	assert.EqualValues(t, 1000, bytes.Value)

	assert.Equal(t, "mlx5_10", samples[2].Device)
	assert.Equal(t, "not there", why(samples[2], Vendor, ""), "a missing directory costs nothing else")
	assert.Empty(t, read(t, "sys/class/infiniband/"))
	assert.Empty(t, read(t, ""))
}

func sample(at time.Time, values ...Value) Sample {
	return Sample{Device: "mlx5_0", Port: 1, At: at, Values: values}
}

func TestBetween(t *testing.T) {
	start := time.Now()
	before := sample(start, Value{Port, "link_downed", 250, false}, Value{Port, "port_xmit_data", 4000, false},
		Value{Port, "symbol_error", 10, false}, Value{Vendor, "np_cnp_sent", 5, false}, Value{Port, "gone", 1, false})
	after := sample(start.Add(2*time.Second), Value{Port, "link_downed", 255, true}, Value{Port, "port_xmit_data", 8000, false},
		Value{Port, "symbol_error", 4, false}, Value{Vendor, "np_cnp_sent", 5, false}, Value{Port, "new", 1, false})
	w := Between(before, after)
	down, _ := w.Get(Port, "link_downed")
	assert.Equal(t, Delta{Source: Port, Name: "link_downed", Grown: 5, Saturated: true, Severity: Critical}, down)
	symbols, _ := w.Get(Port, "symbol_error")
	assert.Equal(t, Delta{Source: Port, Name: "symbol_error", Grown: 4, Reset: true, Severity: Warning}, symbols, "never a wrap")
	cnp, _ := w.Get(Vendor, "np_cnp_sent")
	assert.Equal(t, None, cnp.Severity)
	for _, name := range []string{"gone", "new"} {
		_, ok := w.Get(Port, name)
		assert.False(t, ok)
	}
	rate, ok := w.PerSecond(Port, "port_xmit_data")
	assert.True(t, ok)
	assert.InDelta(t, 2000, rate, 0.001)
	require.Len(t, w.Errors(), 2)
	assert.Equal(t, "link_downed", w.Errors()[0].Name)
	_, ok = Between(before, before).PerSecond(Port, "port_xmit_data")
	assert.False(t, ok)
}

// Two readings within the lifespan are one, and the growth is seen at the next.
func TestLifespan(t *testing.T) {
	start := time.Now()
	at := func(ms int, n uint64) Sample {
		s := sample(start.Add(time.Duration(ms)*time.Millisecond), Value{Vendor, "out_of_sequence", n, false}, Value{Port, "symbol_error", n, false})
		s.Lifespan = 10 * time.Millisecond
		return s
	}
	var track Track
	_, ok := track.Add(at(0, 1))
	assert.False(t, ok)
	w, ok := track.Add(at(4, 3))
	require.True(t, ok)
	d, _ := w.Get(Vendor, "out_of_sequence")
	assert.Equal(t, Delta{Source: Vendor, Name: "out_of_sequence", Same: true}, d)
	_, ok = w.PerSecond(Vendor, "out_of_sequence")
	assert.False(t, ok)
	d, _ = w.Get(Port, "symbol_error")
	assert.EqualValues(t, 2, d.Grown, "the generic counters have no lifespan")
	w, _ = track.Add(at(12, 3))
	d, _ = w.Get(Vendor, "out_of_sequence")
	assert.EqualValues(t, 2, d.Grown)
	assert.Equal(t, 8*time.Millisecond, w.Elapsed)
	perSecond, ok := w.PerSecond(Vendor, "out_of_sequence")
	require.True(t, ok)
	assert.InDelta(t, 2/0.012, perSecond, 1e-6, "in the 12 ms since they were fresh")
	d, _ = w.Get(Port, "symbol_error")
	assert.Zero(t, d.Grown, "its growth was told by the window before")
}

// A counter that sticks has no rate: zero would be a lie.
func TestStuckCountersHaveNoRate(t *testing.T) {
	start := time.Now()
	stuck := value(Port, "port_xmit_data", 1<<32-1)
	require.True(t, stuck.Saturated)
	w := Between(sample(start, value(Port, "port_xmit_data", 1<<31)), sample(start.Add(time.Second), stuck))
	_, ok := w.PerSecond(Port, "port_xmit_data")
	assert.False(t, ok)
}

func TestFlushesAreNoErrors(t *testing.T) {
	start := time.Now()
	at := func(ms int, all, flushed uint64) Sample {
		return sample(start.Add(time.Duration(ms)*time.Millisecond), Value{Vendor, "req_cqe_error", all, false}, Value{Vendor, "req_cqe_flush_error", flushed, false})
	}
	assert.Empty(t, Between(at(0, 5, 5), at(9, 12, 12)).Errors())
	errs := Between(at(0, 5, 5), at(9, 15, 12)).Errors()
	require.Len(t, errs, 1)
	assert.EqualValues(t, 3, errs[0].Grown)
	assert.Equal(t, Critical, errs[0].Severity)
}

func TestDescribe(t *testing.T) {
	assert.Equal(t, Description{Unit: Events, Scale: 1}, Describe(Vendor, "of_a_vendor"))
	assert.Equal(t, Info, Describe(Vendor, "rx_ecn_marked_pkts").Severity)
	assert.Equal(t, Bytes, Describe(Ethtool, "rx_bytes_phy").Unit)
	assert.Equal(t, Critical, Describe(AER, "fatal/DLP").Severity)
	assert.Equal(t, Critical, Describe(Ethtool, "link_down_events_phy").Severity)
	var s Severity
	require.NoError(t, s.UnmarshalText([]byte("critical")))
	assert.Equal(t, Critical, s)
	require.Error(t, s.UnmarshalText([]byte("bad")))
}

func TestPCIAndTemperatures(t *testing.T) {
	tree, err := sysfs.ParseTree(`
[sys/bus/pci/devices/0000:3b:00.0]
aer_dev_correctable =
| RxErr 2
| BadTLP 0
| TOTAL_ERR_COR 2
aer_dev_fatal !EACCES
hwmon/hwmon3/name = mlx5
hwmon/hwmon3/temp1_input = 61000
hwmon/hwmon3/temp1_crit = 105000
hwmon/hwmon3/temp1_label = asic
hwmon/hwmon3/temp2_input !EIO
`)
	require.NoError(t, err)
	samples := ReadPCI(tree, "0000:3b:00.0", "../../etc", "0000:3c:00.0")
	require.Len(t, samples, 2)
	assert.Equal(t, []Value{{AER, "correctable/BadTLP", 0, false}, {AER, "correctable/RxErr", 2, false}}, samples[0].Values)
	assert.Equal(t, "EACCES", why(samples[0], AER, "fatal"))
	assert.Len(t, samples[1].Absent, 3)
	limit := 105.0
	assert.Equal(t, []Temperature{{"0000:3b:00.0", "mlx5", "temp1", "asic", 61, &limit}}, Temperatures(tree, "0000:3b:00.0", "0000:3c:00.0"))
}

func TestPair(t *testing.T) {
	a, b := read(t, machine), read(t, strings.Replace(machine, "link_downed = 3", "link_downed = 4", 1))
	windows := Pair(a, b)
	require.Len(t, windows, 3)
	require.Len(t, windows[0].Errors(), 1)
	assert.EqualValues(t, 1, windows[0].Errors()[0].Grown)
}

func TestEthtoolRefusesBadNames(t *testing.T) {
	for _, name := range []string{"", strings.Repeat("x", 40), "no such one"} {
		_, err := ReadEthtool(name)
		require.Error(t, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("RxErr 2\nTOTAL_ERR_COR 2", "12")
	f.Add("", "N/A (no PMA)")
	f.Fuzz(func(t *testing.T, aer, text string) {
		for _, v := range parseAER("fatal", aer) {
			assert.Less(t, len(v.Name), 60)
		}
		raw, err := parseValue(strings.TrimSpace(text))
		if err != nil {
			assert.LessOrEqual(t, len(err.Error()), 300)
			return
		}
		v := value(Port, "port_xmit_data", raw)
		assert.True(t, v.Value == raw*4 || v.Saturated && v.Value == math.MaxUint64)
	})
}
