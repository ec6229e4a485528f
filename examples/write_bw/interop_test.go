package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/internal/testutil"
)

// combinations are the pairs of which at least one side is ours.
var combinations = []struct{ server, client pairs.Tool }{
	{cTool, goTool}, {goTool, cTool}, {goTool, goTool},
}

func TestInterop(t *testing.T) {
	inLab(t)
	lookC(t)
	for name, run := range map[string]struct {
		args  []string
		sizes int
		check func(t *testing.T, server, client pairs.Output)
	}{
		"default":       {[]string{"-n", "50"}, 1, nil},
		"all sizes":     {[]string{"-a", "-n", "5"}, 23, nil},
		"moderated":     {[]string{"-s", "2", "-n", "1000", "-t", "16", "-Q", "4", "-N"}, 1, checkNoPeak},
		"uneven groups": {[]string{"-s", "12345", "-n", "53", "-t", "16", "-Q", "7"}, 1, nil},
		"gigabits":      {[]string{"-n", "20", "-m", "1024", "--report_gbits"}, 1, checkMTU("1024[B]")},
		"duration":      {[]string{"-D", "2", "-f", "0"}, 1, checkTimed},
	} {
		for _, c := range combinations {
			// Each side was held against C's: that they meet at all is enough.
			if c.server.Name == c.client.Name && name != "default" && !testutil.Thorough() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s server, %s client", name, c.server.Name, c.client.Name), func(t *testing.T) {
				server, client := succeed(t, inLab(t), duo(c.server, c.client, run.args...))
				theirs, ours := pairs.Rows(server.Stdout), pairs.Rows(client.Stdout)
				require.Len(t, ours, run.sizes, client.Stdout)
				require.Len(t, theirs, 1, "a server prints the last size: %s", server.Stdout)
				assert.Equal(t, ours[len(ours)-1], theirs[0], "both print what the client measured")
				for _, row := range ours {
					assert.Positive(t, row.Iterations)
					assert.GreaterOrEqual(t, row.Average, 0.0)
				}
				if run.check != nil {
					run.check(t, server, client)
				}
			})
		}
	}
}

func checkTimed(t *testing.T, _, client pairs.Output) {
	assert.Greater(t, pairs.Rows(client.Stdout)[0].Average, 0.0)
	checkNoPeak(t, client, client)
}

func checkNoPeak(t *testing.T, _, client pairs.Output) {
	assert.Zero(t, pairs.Rows(client.Stdout)[0].Peak)
}

func checkMTU(want string) func(*testing.T, pairs.Output, pairs.Output) {
	return func(t *testing.T, server, client pairs.Output) {
		for _, out := range []pairs.Output{server, client} {
			mtu, _ := pairs.Field(out.Stdout, "Mtu")
			assert.Equal(t, want, mtu, out.Tool)
		}
	}
}

// Both sides print the same block, so that their output compares by eye.
func TestSameTextAsC(t *testing.T) {
	ctx := inLab(t)
	server, client := succeed(t, ctx, duo(goTool, goTool, "-n", "10"))
	serverC, clientC := succeed(t, ctx, duo(cTool, cTool, "-n", "10"))
	for _, name := range []string{
		"Dual-port", "Device", "Number of qps", "Transport type", "Connection type", "Using SRQ", "PCIe relax order",
		"ibv_wr* API", "TX depth", "CQ Moderation", "Mtu", "Link type", "GID index", "Max inline data", "rdma_cm QPs",
		"Data ex. method",
	} {
		for _, pair := range [][2]pairs.Output{{serverC, server}, {clientC, client}} {
			want, inC := pairs.Field(pair[0].Stdout, name)
			got, inGo := pairs.Field(pair[1].Stdout, name)
			assert.Equal(t, inC, inGo, name)
			assert.Equal(t, want, got, name)
		}
	}
}

func TestSmallerMTUWins(t *testing.T) {
	for _, c := range combinations {
		p := duo(c.server, c.client, "-n", "10")
		p.ServerArgs = append(p.ServerArgs, "-m", "512")
		p.ClientArgs = append(p.ClientArgs, "-m", "2048")
		server, client := succeed(t, inLab(t), p)
		checkMTU("512[B]")(t, server, client)
	}
}

func TestJSONAgainstC(t *testing.T) {
	document := func(out pairs.Output) (doc report.Document) {
		require.NoError(t, json.Unmarshal([]byte(out.Stdout), &doc), out.Stdout)
		return doc
	}
	ctx := inLab(t)
	p := duo(cTool, goTool, "-n", "20")
	p.ClientArgs = append(p.ClientArgs, "--json")
	_, client := succeed(t, ctx, p)
	doc := document(client)
	assert.Equal(t, "client", doc.Role)
	assert.Equal(t, "6.06", doc.PeerVersion)
	assert.Equal(t, "rdma_rxe", doc.Provider)
	assert.Equal(t, clientDevice, doc.Device.Name)
	require.Len(t, doc.Results, 1)
	assert.EqualValues(t, 20, doc.Results[0].Messages)
	assert.NotNil(t, doc.Results[0].PeakBytesPerSecond)

	p = duo(goTool, cTool, "-n", "20", "--report_gbits")
	p.ServerArgs = append(p.ServerArgs, "--json")
	server, clientC := succeed(t, ctx, p)
	doc = document(server)
	assert.Equal(t, "server", doc.Role)
	require.Len(t, doc.Results, 1)
	gbits := pairs.Rows(clientC.Stdout)[0].Average
	assert.InEpsilon(t, gbits, doc.Results[0].AverageBytesPerSecond*8/1e9, 0.05)
}
