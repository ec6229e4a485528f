package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

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
					Connection: "RC", RelaxedOrdering: true, CQModeration: r.cqMod, MTU: 4096,
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
				require.NoError(t, WriteHeader(&b, stats.MiB))
				for _, bw := range rows {
					require.NoError(t, WriteRow(&b, bw, stats.MiB))
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
	require.NoError(t, WriteInfo(&b, Info{LinkType: "IB", ExtendedWR: true}))
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
	require.NoError(t, WriteHeader(&b, stats.Gbit))
	peak := 12.5e9
	require.NoError(t, WriteRow(&b, stats.Bandwidth{Size: 65536, Messages: 5000, BytesPerSecond: 12.375e9,
		MessagesPerSecond: 188827.5, PeakBytesPerSecond: &peak}, stats.Gbit))
	require.NoError(t, WriteRow(&b, stats.Bandwidth{Size: 2, Messages: 5000, BytesPerSecond: 1.25e6,
		MessagesPerSecond: 625000}, stats.Gbit))
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
			NewResult(stats.Bandwidth{Size: 2, Messages: 5000, BytesPerSecond: 2e9, MessagesPerSecond: 1e9}),
			NewResult(stats.Bandwidth{Size: 4, Messages: 5000, BytesPerSecond: 2e9, MessagesPerSecond: 5e8,
				PeakBytesPerSecond: &peak}),
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
	err := WriteJSON(&b, Document{Results: []DocumentResult{{AverageBytesPerSecond: math.NaN()}}})
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
		WriteHeader(w, stats.MiB), WriteRow(w, stats.Bandwidth{}, stats.MiB), WriteJSON(w, Document{})} {
		assert.ErrorIs(t, err, errBroken)
	}
}
