package interop

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/pairs"
)

// check reads what both sides of a run that succeeded printed.
func check(t *testing.T, k kind, v variant, server, client pairs.Output) {
	t.Helper()
	serverSizes, clientSizes := v.rows(k)
	serverRows := rowsOf(t, k, v, server, serverSizes)
	clientRows := rowsOf(t, k, v, client, clientSizes)
	for i := range serverRows {
		theirs, ours := serverRows[i], clientRows[len(clientRows)-len(serverRows)+i]
		assert.Equal(t, ours[pairs.Bytes], theirs[pairs.Bytes])
		if v.iterations > 0 || !v.measuresAlone(k) && !v.both {
			assert.Equal(t, ours[pairs.Iterations], theirs[pairs.Iterations])
		}
		if !v.measuresAlone(k) {
			// Each adds the two sides' numbers up in its own order.
			for _, c := range []pairs.Column{pairs.BWPeak, pairs.BWAverage, pairs.MsgRate} {
				assert.InDelta(t, ours[c], theirs[c], 0.011, "%s of %v bytes", c, ours[pairs.Bytes])
			}
		}
	}
}

// rowsOf returns the rows that one side printed, of the sizes that it must have.
func rowsOf(t *testing.T, k kind, v variant, out pairs.Output, sizes []int) []pairs.Values {
	t.Helper()
	tables, err := pairs.Tables(out.Stdout)
	require.NoError(t, err, out.Tool)
	var rows []pairs.Values
	for _, table := range tables {
		rows = append(rows, table.Rows...)
	}
	require.Len(t, rows, len(sizes), "rows of %s:\n%s", out.Tool, out.Stdout)
	for i, row := range rows {
		assert.EqualValues(t, sizes[i], row[pairs.Bytes], out.Tool)
		if v.iterations > 0 {
			assert.EqualValues(t, v.messages(), row[pairs.Iterations], out.Tool)
		} else {
			assert.Positive(t, row[pairs.Iterations], out.Tool)
		}
		if k.latency {
			checkLatency(t, k, v, row)
		} else {
			checkBandwidth(t, row)
		}
	}
	return rows
}

// checkBandwidth checks that a row's rates fit each other, as far as their
// printed digits tell.
func checkBandwidth(t *testing.T, row pairs.Values) {
	t.Helper()
	const mebi = 1 << 20
	size := row[pairs.Bytes]
	average := row[pairs.MsgRate] * 1e6 * size / mebi
	tolerance := 0.006 + 0.5001*size/mebi + average/1000
	assert.InDelta(t, average, row[pairs.BWAverage], tolerance)
	if row[pairs.BWPeak] > 0 {
		assert.GreaterOrEqual(t, row[pairs.BWPeak], row[pairs.BWAverage]-0.011)
	}
}

func checkLatency(t *testing.T, k kind, v variant, row pairs.Values) {
	t.Helper()
	assert.Positive(t, row[pairs.TAvg])
	if v.iterations == 0 {
		// A ping-pong's latency is half of its round trip.
		trips := 1.0
		if pushes(k) {
			trips = 2
		}
		assert.InEpsilon(t, 1e6/trips, row[pairs.TAvg]*row[pairs.TPS], 0.01)
		return
	}
	ordered := []pairs.Column{pairs.TMin, pairs.TTypical, pairs.TMax}
	for i := 1; i < len(ordered); i++ {
		assert.LessOrEqual(t, row[ordered[i-1]], row[ordered[i]], "%s and %s", ordered[i-1], ordered[i])
	}
	assert.GreaterOrEqual(t, row[pairs.TAvg], row[pairs.TMin]-0.006)
	assert.LessOrEqual(t, row[pairs.TAvg], row[pairs.TMax]+0.006)
	assert.GreaterOrEqual(t, row[pairs.P999], row[pairs.P99])
	// The C tools' is not a number when times of 50 ms and more overflow its sum.
	assert.False(t, row[pairs.TStdev] < 0)
}
