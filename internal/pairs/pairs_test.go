package pairs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRows(t *testing.T) {
	rows := Rows(` #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      50               34.85              21.45  		   0.000343
 2          5           0.000001            0.000002            0.000003
 local address: LID 0000 QPN 0x0012
`)
	assert.Equal(t, []Row{{65536, 50, 34.85, 21.45, 0.000343}, {2, 5, 0.000001, 0.000002, 0.000003}}, rows)
}

func TestField(t *testing.T) {
	text := " Dual-port       : OFF\t\tDevice         : rxe1\n Mtu             : 4096[B]\n"
	for name, want := range map[string]string{"Dual-port": "OFF", "Device": "rxe1", "Mtu": "4096[B]"} {
		got, ok := Field(text, name)
		assert.True(t, ok)
		assert.Equal(t, want, got)
	}
	_, ok := Field(text, "GID index")
	assert.False(t, ok)
}

func TestListens(t *testing.T) {
	table := "  sl  local_address rem_address   st tx_queue\n" +
		"   0: 00000000:4853 00000000:0000 0A 00000000:00000000\n" +
		"   1: 0100007F:4854 0100007F:C350 01 00000000:00000000\n"
	assert.True(t, listens(table, 18515))
	assert.False(t, listens(table, 18516), "connected, not listening")
	assert.False(t, listens("", 18515))
}

func TestMedianInterval(t *testing.T) {
	var values []float64
	for v := 15.0; v >= 1; v-- {
		values = append(values, v)
	}
	assert.InDelta(t, 8, Median(values), 0)
	low, high, ok := MedianInterval(values)
	require.True(t, ok)
	assert.InDelta(t, 4, low, 0, "the fourth of fifteen, by the tables of order statistics")
	assert.InDelta(t, 12, high, 0)

	assert.InDelta(t, 1.5, Median([]float64{2, 1}), 0)
	_, _, ok = MedianInterval([]float64{1, 2, 3, 4, 5})
	assert.False(t, ok)
	low, high, ok = MedianInterval([]float64{6, 1, 2, 3, 4, 5})
	require.True(t, ok)
	assert.InDelta(t, 1, low, 0)
	assert.InDelta(t, 6, high, 0)
}

func TestListensCM(t *testing.T) {
	table := "link rxe0/- cm-idn 0 state LISTEN ps TCP pid 107 comm ib_write_bw src-addr 0.0.0.0:20001 \n" +
		"link rxe0/1 cm-idn 1 lqpn 17 qp-type RC state CONNECT ps TCP pid 107 comm x src-addr 10.0.0.1:20002 dst-addr 10.0.0.1:3 \n"
	assert.True(t, listensCM(table, 20001))
	assert.False(t, listensCM(table, 20002), "connected, not listening")
	assert.False(t, listensCM("", 20001))
}
