package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/stats"
)

var gid = [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 1}

func addr(qpn, psn, rkey uint32, vaddr uint64) Address {
	return Address{QPN: qpn, PSN: psn, Memory: &Memory{RKey: rkey, VAddr: vaddr}, GID: &gid}
}

func row(size, n uint64, peak, average, mpps float64) stats.Bandwidth {
	p := stats.MiB.ToBytes(peak)
	return stats.Bandwidth{Size: size, Messages: n, BytesPerSecond: stats.MiB.ToBytes(average),
		MessagesPerSecond: mpps * 1e6, PeakBytesPerSecond: &p}
}

// recorded are runs of perftest 4.5 whose output is in testdata.
var recorded = []struct {
	name                string
	qps, txDepth, cqMod int
	client, server      []Address
	rows                []stats.Bandwidth
}{
	{
		name: "wbw", qps: 1, txDepth: 50, cqMod: 1,
		client: []Address{addr(0x12, 0xbbb318, 0x374, 0x7f25d377b000)},
		server: []Address{addr(0x11, 0xa50e8f, 0x2ee, 0x7f48cce6e000)},
		rows:   []stats.Bandwidth{row(65536, 50, 52.35, 43.32, 0.000693)},
	},
	{
		name: "wbw_D", qps: 1, txDepth: 128, cqMod: 100,
		client: []Address{addr(0x12, 0x3c80aa, 0x3f8, 0x561385358000)},
		server: []Address{addr(0x11, 0xfb596c, 0x225, 0x563462693000)},
		rows: []stats.Bandwidth{{Size: 4096, Messages: 6300, BytesPerSecond: stats.MiB.ToBytes(8.19),
			MessagesPerSecond: 2096}},
	},
	{
		name: "wbw_q2", qps: 2, txDepth: 20, cqMod: 20,
		client: []Address{addr(0x15, 0x3b53b2, 0x6b2, 0x558f2e197000), addr(0x16, 0x53f8b4, 0x6b2, 0x558f2e198000)},
		server: []Address{addr(0x17, 0xad77a0, 0x7ae, 0x55fa256ff000), addr(0x18, 0x138c41, 0x7ae, 0x55fa25700000)},
		rows:   []stats.Bandwidth{row(4096, 40, 9.99, 9.27, 0.002372)},
	},
	{
		name: "wbw_a", qps: 1, txDepth: 5, cqMod: 5,
		client: []Address{addr(0x13, 0xd46069, 0x45f, 0x7f8df892c000)},
		server: []Address{addr(0x14, 0xaa053e, 0x55b, 0x7f37ab88d000)},
		rows: []stats.Bandwidth{
			row(2, 5, 0, 0, 0.001643),
			row(4, 5, 0.01, 0.01, 0.001825),
			row(8, 5, 0.02, 0.02, 0.002463),
			row(16, 5, 0.03, 0.03, 0.001669),
			row(32, 5, 0.08, 0.05, 0.001601),
			row(64, 5, 0.13, 0.09, 0.001482),
			row(128, 5, 0.23, 0.04, 0.000353),
			row(256, 5, 0.51, 0.47, 0.001925),
			row(512, 5, 1.61, 1.04, 0.002121),
			row(1024, 5, 2.68, 2.37, 0.002425),
			row(2048, 5, 4.34, 3.09, 0.001584),
			row(4096, 5, 6.98, 6.62, 0.001694),
			row(8192, 5, 18.81, 12.87, 0.001647),
			row(16384, 5, 31.40, 24.12, 0.001543),
			row(32768, 5, 45.97, 39.26, 0.001256),
			row(65536, 5, 53.51, 50.09, 0.000801),
			row(131072, 5, 67.27, 64.14, 0.000513),
			row(262144, 5, 69.82, 69.80, 0.000279),
			row(524288, 5, 74.07, 73.55, 0.000147),
			row(1048576, 5, 71.52, 69.58, 0.000070),
			row(2097152, 5, 80.87, 78.98, 0.000039),
			row(4194304, 5, 68.10, 68.10, 0.000017),
			row(8388608, 5, 81.80, 78.42, 0.000010),
		},
	},
}

func TestTextMatchesPerftest(t *testing.T) {
	for _, r := range recorded {
		for _, role := range []string{"client", "server"} {
			t.Run(r.name+"/"+role, func(t *testing.T) {
				index := 1
				info := Info{Title: "RDMA_Write BW Test", Device: "rxe0", QueuePairs: r.qps, Transport: "IB",
					Connection: "RC", RelaxedOrdering: true, CQModeration: &r.cqMod, MTU: 4096, MaxInline: new(int),
					LinkType: "Ethernet", GIDIndex: &index}
				local, remote, rows := r.client, r.server, r.rows
				var b bytes.Buffer
				if role == "client" {
					info.TxDepth = &r.txDepth
				} else {
					require.NoError(t, WriteWaiting(&b))
					local, remote = remote, local
					rows = rows[len(rows)-1:] // a server hears of the last size only
				}
				require.NoError(t, WriteInfo(&b, info))
				require.NoError(t, WriteAddresses(&b, local, remote))
				require.NoError(t, (Table{}).BandwidthHead(&b))
				for _, bw := range rows {
					require.NoError(t, (Table{}).Bandwidth(&b, bw, 0))
				}
				require.NoError(t, WriteRule(&b))

				want, err := os.ReadFile("testdata/" + r.name + "." + role + ".out")
				require.NoError(t, err)
				// The recording ends with the exit status.
				require.Equal(t, strings.TrimSuffix(string(want), "rc=0\n"), b.String())
			})
		}
	}
}

func TestInfoWithoutGID(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteInfo(&b, Info{LinkType: "IB", ExtendedWR: true, CQModeration: new(int), MaxInline: new(int)}))
	assert.Contains(t, b.String(), " Link type       : IB\n Max inline data : 0[B]\n")
	assert.Contains(t, b.String(), " ibv_wr* API     : ON\n CQ Moderation")
}

func TestAddressWithoutMemoryAndGID(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteAddresses(&b, []Address{{LID: 0x1f}}, nil))
	assert.Equal(t, " local address: LID 0x1f QPN 000000 PSN 000000\n"+rule(), b.String())
}

func TestCHex(t *testing.T) {
	assert.Equal(t, "0000", cHex(0, 4))
	assert.Equal(t, "0x01", cHex(1, 4))
	assert.Equal(t, "0x1234", cHex(0x1234, 4))
	assert.Equal(t, "0x007f25d377b000", cHex(0x7f25d377b000, 16))
	assert.Equal(t, "0xffffffffffffffff", cHex(math.MaxUint64, 16))
}

func TestGbitRows(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, Table{Unit: stats.Gbit}.BandwidthHead(&b))
	peak := 12.5e9
	require.NoError(t, Table{Unit: stats.Gbit}.Bandwidth(&b, stats.Bandwidth{Size: 65536, Messages: 5000, BytesPerSecond: 12.375e9,
		MessagesPerSecond: 188827.5, PeakBytesPerSecond: &peak}, 0))
	require.NoError(t, Table{Unit: stats.Gbit}.Bandwidth(&b, stats.Bandwidth{Size: 2, Messages: 5000, BytesPerSecond: 1.25e6,
		MessagesPerSecond: 625000}, 0))
	assert.Equal(t, " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"+
		" 65536      5000             100.00             99.00  \t\t   0.188828\n"+
		" 2          5000           0.000000            0.010000            0.625000\n", b.String())
}

func TestDocument(t *testing.T) {
	n, index := 5000, 3
	peak := 2.5e9
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, Document{
		Tool: "write_bw", Role: "client", PeerVersion: "6.06",
		Device: DocumentDevice{Name: "rxe0", Port: 1, LinkType: "Ethernet", GIDIndex: &index,
			GID: "::ffff:10.0.0.1", MTUBytes: 4096},
		Parameters: DocumentParameters{Connection: "RC", QueuePairs: 1, TxDepth: 128, CQModeration: 100, Iterations: &n},
		Results: []DocumentResult{
			{SizeBytes: 2, Messages: 5000, DocumentBandwidth: NewBandwidth(stats.Bandwidth{BytesPerSecond: 2e9, MessagesPerSecond: 1e9})},
			{SizeBytes: 4, Messages: 5000, DocumentBandwidth: NewBandwidth(stats.Bandwidth{BytesPerSecond: 2e9, MessagesPerSecond: 5e8,
				PeakBytesPerSecond: &peak})},
		},
	}))
	assert.Equal(t, `{
  "schema_version": 1,
  "tool": "write_bw",
  "role": "client",
  "peer_version": "6.06",
  "device": {
    "name": "rxe0",
    "port": 1,
    "link_type": "Ethernet",
    "gid_index": 3,
    "gid": "::ffff:10.0.0.1",
    "mtu_bytes": 4096
  },
  "parameters": {
    "connection": "RC",
    "queue_pairs": 1,
    "tx_depth": 128,
    "cq_moderation": 100,
    "max_inline_bytes": 0,
    "iterations": 5000
  },
  "results": [
    {
      "size_bytes": 2,
      "messages": 5000,
      "average_bytes_per_second": 2000000000,
      "average_messages_per_second": 1000000000
    },
    {
      "size_bytes": 4,
      "messages": 5000,
      "average_bytes_per_second": 2000000000,
      "average_messages_per_second": 500000000,
      "peak_bytes_per_second": 2500000000
    }
  ]
}
`, b.String())
}

func TestDocumentWithoutResults(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, Document{}))
	var back map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, []any{}, back["results"])
}

func TestDocumentRefusesNaN(t *testing.T) {
	var b bytes.Buffer
	err := WriteJSON(&b, Document{Results: []DocumentResult{{DocumentBandwidth: &DocumentBandwidth{AverageBytesPerSecond: math.NaN()}}}})
	var unsupported *json.UnsupportedValueError
	require.ErrorAs(t, err, &unsupported)
	assert.Empty(t, b.String())
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteErrorsComeBack(t *testing.T) {
	w := brokenWriter{}
	for _, err := range []error{WriteRule(w), WriteWaiting(w), WriteInfo(w, Info{}), WriteAddresses(w, nil, nil),
		(Table{}).BandwidthHead(w), (Table{}).Bandwidth(w, stats.Bandwidth{}, 0), WriteJSON(w, Document{}),
		WriteSamples(w, nil), WriteSideTitle(w, "Local"), (Table{Only: ColumnLatency}).Latency(w, stats.Latency{}, 0)} {
		assert.ErrorIs(t, err, errBroken)
	}
}

// The recorded runs of the other tools: their head and their rows.
func TestOtherToolsMatchPerftest(t *testing.T) {
	index, one, twenty, hundred, reads := 1, 1, 20, 100, 128
	micro := func(v float64) time.Duration { return time.Duration(math.Round(v * 1e3)) }
	latency := func(n uint64, size uint64, v ...float64) stats.Latency {
		return stats.Latency{Size: size, Messages: n, Min: micro(v[0]), Max: micro(v[1]), Typical: micro(v[2]), Average: micro(v[3]),
			Deviation: micro(v[4]), P99: micro(v[5]), P999: micro(v[6])}
	}
	base := Info{Device: "rxe0", QueuePairs: 1, Transport: "IB", Connection: "RC", RelaxedOrdering: true, MTU: 4096,
		LinkType: "Ethernet", GIDIndex: &index, MaxInline: new(int)}
	for name, c := range map[string]struct {
		change func(*Info)
		table  func(w *bytes.Buffer) error
	}{
		"slat.client": {func(i *Info) { i.Title, i.TxDepth = "Send Latency Test", &one }, func(w *bytes.Buffer) error {
			return errors.Join(Table{}.LatencyHead(w), Table{}.Latency(w, latency(100, 2, 204.91, 763.34, 228.64, 264.01, 71.79, 763.34, 763.34), 0))
		}},
		"slat.server": {func(i *Info) { i.Title, i.RxDepth = "Send Latency Test", &hundred }, nil},
		"slat_D.client": {func(i *Info) { i.Title, i.TxDepth = "Send Latency Test", &one }, func(w *bytes.Buffer) error {
			return errors.Join(Table{}.LatencyRateHead(w), Table{}.LatencyRate(w, stats.LatencyRate{Size: 2, Messages: 392, Average: micro(3708.56), PerSecond: 134.82}, 0))
		}},
		"alat.client": {func(i *Info) {
			i.Title, i.TxDepth, i.OutReads, i.MaxInline = "Atomic FETCH_AND_ADD Latency Test", &one, &reads, nil
		}, func(w *bytes.Buffer) error {
			return errors.Join(Table{}.LatencyHead(w), Table{}.Latency(w, latency(100, 8, 307.16, 726.01, 332.90, 368.27, 77.12, 726.01, 726.01), 0))
		}},
		"wlat.client": {func(i *Info) { i.Title, i.TxDepth, i.RelaxedOrdering = "RDMA_Write Latency Test", &one, false }, nil},
		"rbw.client": {func(i *Info) {
			i.Title, i.TxDepth, i.CQModeration, i.OutReads, i.MaxInline = "RDMA_Read BW Test", &twenty, &twenty, &reads, nil
		}, nil},
		"sbw.server": {func(i *Info) { i.Title, i.RxDepth, i.CQModeration = "Send BW Test", &twenty, &twenty }, nil},
		"sbw_b.client": {func(i *Info) {
			i.Title, i.TxDepth, i.RxDepth, i.CQModeration = "Send Bidirectional BW Test", &twenty, &twenty, &twenty
		}, nil},
		"wbw_brb.client": {func(i *Info) {
			i.Title, i.QueuePairs, i.TxDepth, i.CQModeration = "RDMA_Write Bidirectional BW Test", 2, &twenty, &twenty
		}, func(w *bytes.Buffer) error {
			rows := []stats.Bandwidth{row(4096, 40, 20.01, 15.57, 0.003985), row(4096, 40, 10.48, 7.94, 0.002033), row(4096, 40, 9.53, 7.62, 0.001951)}
			return errors.Join(Table{}.BandwidthHead(w), Table{}.Bandwidth(w, rows[0], 0),
				WriteSideTitle(w, "Local"), Table{}.BandwidthHead(w), Table{}.Bandwidth(w, rows[1], 0),
				WriteSideTitle(w, "Remote"), Table{}.BandwidthHead(w), Table{}.Bandwidth(w, rows[2], 0), WriteRule(w))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := os.ReadFile("testdata/" + name + ".out")
			require.NoError(t, err)
			info := base
			c.change(&info)
			var b bytes.Buffer
			require.NoError(t, WriteInfo(&b, info))
			assert.Contains(t, string(want), b.String())
			if c.table != nil {
				b.Reset()
				require.NoError(t, c.table(&b))
				assert.Contains(t, string(want), b.String())
			}
		})
	}
}

func TestSamplesMatchPerftest(t *testing.T) {
	want, err := os.ReadFile("testdata/wlat_H.server.out")
	require.NoError(t, err)
	var samples []time.Duration
	for _, v := range []int{360838, 365069, 374293, 376782, 398790, 413947, 474012, 501147, 676268} {
		samples = append(samples, time.Duration(v))
	}
	var b bytes.Buffer
	require.NoError(t, WriteSamples(&b, samples))
	assert.Contains(t, string(want), b.String())
}

func TestReadAddress(t *testing.T) {
	want, err := os.ReadFile("testdata/rbw.client.out")
	require.NoError(t, err)
	out := uint16(128)
	a := addr(0x26, 0x50f1c0, 0x13ac, 0x55ca39eca000)
	a.OutReads = &out
	var b bytes.Buffer
	a.format(&b, "local")
	assert.Contains(t, string(want), b.String())
}

func TestOneColumn(t *testing.T) {
	var b bytes.Buffer
	only := Table{Only: ColumnBandwidth, CPU: true}
	require.NoError(t, only.BandwidthHead(&b))
	require.NoError(t, only.Bandwidth(&b, row(2, 5, 3, 1.5, 1), 50))
	only.Only = ColumnMessageRate
	require.NoError(t, only.Bandwidth(&b, row(2, 5, 3, 1.5, 1), 50))
	only.Only = ColumnLatency
	require.NoError(t, only.Latency(&b, stats.Latency{Average: 2500}, 0))
	require.NoError(t, only.LatencyRate(&b, stats.LatencyRate{Average: 3500}, 0))
	assert.Equal(t, "1.500000\n1.000000\n2.500000\n3.500000\n", b.String())
}

func TestCPUColumn(t *testing.T) {
	var b bytes.Buffer
	table := Table{CPU: true}
	require.NoError(t, table.BandwidthHead(&b))
	require.NoError(t, table.Bandwidth(&b, row(2, 5, 0, 1, 1), 12.345))
	assert.Contains(t, b.String(), "MsgRate[Mpps]    CPU_Util[%]\n")
	assert.Contains(t, b.String(), "1.000000\t    12.35\n")
}

// The file is JSON, with the C tools' names in their order.
func TestCFile(t *testing.T) {
	path := t.TempDir() + "/out.json"
	depth, cpu := 128, 12.5
	c := NewCFile(Info{Title: "RDMA_Write BW Test", Device: "rxe0", QueuePairs: 2, Transport: "IB", Connection: "RC", TxDepth: &depth,
		MTU: 4096, LinkType: "Ethernet"})
	c.Bandwidth(row(65536, 5000, 2, 1, 0.5), stats.MiB, &cpu)
	require.NoError(t, c.Write(path))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var back map[string]map[string]any
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, "RDMA_Write_BW_Test", back["test_info"]["test"])
	assert.Equal(t, map[string]any{"MsgSize": 65536.0, "n_iterations": 5000.0, "BW_peak": 2.0, "BW_average": 1.0, "MsgRate": 0.5,
		"CPU_util": 12.5}, back["results"])
	assert.Less(t, strings.Index(string(text), "Number_of_qps"), strings.Index(string(text), "TX_depth"))
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())

	c.Latency(stats.Latency{Size: 2, Messages: 1000, Min: 1500}, nil)
	require.NoError(t, c.Write(path))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"t_min": 1.50`)
	assert.NotContains(t, string(text), "BW_peak")
	c.LatencyRate(stats.LatencyRate{Size: 2, Messages: 10, PerSecond: 3}, nil)
	require.NoError(t, c.Write(path))
	require.Error(t, c.Write(t.TempDir()+"/none/out.json"))
}
