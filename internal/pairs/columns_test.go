package pairs

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const rule = "---------------------------------------------------------------------------------------\n"

func TestBandwidthTable(t *testing.T) {
	for unit, header := range map[string]string{
		"MB/sec":  " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n",
		"MiB/sec": " #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n",
		"Gb/sec":  " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n",
	} {
		tables, err := Tables(" Mtu             : 4096[B]\n" + rule + header +
			" 2          5                0.07               0.06   \t\t   0.030518\n" +
			" 65536      20               21.65              18.03  \t\t     0.000288\n" + rule)
		require.NoError(t, err)
		require.Len(t, tables, 1)
		assert.Equal(t, []Column{Bytes, Iterations, BWPeak, BWAverage, MsgRate}, tables[0].Columns)
		assert.Equal(t, unit, tables[0].Units[BWAverage])
		require.Len(t, tables[0].Rows, 2)
		assert.Equal(t, Values{Bytes: 65536, Iterations: 20, BWPeak: 21.65, BWAverage: 18.03, MsgRate: 0.000288}, tables[0].Rows[1])
	}
}

func TestLatencyTables(t *testing.T) {
	tables, err := Tables(rule +
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n" +
		" 2       20          9.01           12.50        10.11  \t       10.20     \t0.70   \t\t12.50   \t\t12.50  \n" + rule +
		" #bytes        #iterations       t_avg[usec]    tps average    CPU_Util[%]\n" +
		" 2             81234            12.31          81234.50\t    3.21\n")
	require.NoError(t, err)
	require.Len(t, tables, 2)
	assert.InDelta(t, 12.5, tables[0].Rows[0][P999], 0)
	assert.True(t, tables[1].Has(CPUUtil))
	assert.False(t, tables[0].Has(CPUUtil))
	assert.InDelta(t, 81234.5, tables[1].Rows[0][TPS], 0)
	assert.InDelta(t, 3.21, tables[1].Rows[0][CPUUtil], 0)

	tables, err = Tables(" #bytes t_min[usec] t_stdev[usec]\n 8388608 -0.50 -nan\n 4 5 nan\n")
	require.NoError(t, err)
	assert.InDelta(t, -0.5, tables[0].Rows[0][TMin], 0)
	for _, row := range tables[0].Rows {
		assert.True(t, math.IsNaN(row[TStdev]))
	}
}

func TestNoTable(t *testing.T) {
	tables, err := Tables("************************************\n* Waiting for client to connect... *\n")
	require.NoError(t, err)
	assert.Empty(t, tables)
	for _, text := range []string{
		" #bytes #iterations\n 2 5 7\n",
		" #bytes #iterations\n 2 five\n",
		" #bytes #iterations\nCompletion with error at client\n",
		" #bytes #answers\n",
		" #bytes[B]x\n",
	} {
		_, err := Tables(text)
		assert.Error(t, err, text)
	}
}

func FuzzTables(f *testing.F) {
	f.Add(" #bytes     #iterations    BW peak[MB/sec]\n 65536      20               21.65\n" + rule)
	f.Add(" #bytes[")
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := Tables(text)
		if err != nil {
			return
		}
		for _, table := range tables {
			for _, row := range table.Rows {
				if len(row) > len(table.Columns) {
					t.Fatalf("%v for %v", row, table.Columns)
				}
			}
		}
	})
}
