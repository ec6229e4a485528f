package main

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/perftest"
)

// numbers finds the rows in what a tool printed: lines of numbers alone.
func numbers(text string) (rows [][]float64) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		row := make([]float64, len(fields))
		var err error
		for i := 0; i < len(fields) && err == nil; i++ {
			row[i], err = strconv.ParseFloat(fields[i], 64)
		}
		if err == nil && len(row) >= 4 {
			rows = append(rows, row)
		}
	}
	return rows
}

// familyArgs are a few runs of each tool that differ in the exchanges or in the
// traffic. They are small: the lab's machine is slow, and rdma_rxe of 6.1 fails in
// long messages both ways, between two C tools too.
var familyArgs = map[string][]string{
	"write_bw":   {"-n 20 -b -s 4096", "-n 20 -q 3 -s 4096"},
	"read_bw":    {"-n 20 -s 4096"},
	"send_bw":    {"-n 20 -s 4096", "-n 20 -b -s 4096", "-n 20 -c UD -s 1024"},
	"atomic_bw":  {"-n 20"},
	"write_lat":  {"-n 300"},
	"read_lat":   {"-n 20"},
	"send_lat":   {"-n 50", "-n 50 -c UD"},
	"atomic_lat": {"-n 20"},
}

// TestFamily runs each tool with the C one, both ways.
func TestFamily(t *testing.T) {
	inLab(t)
	for _, tool := range perftest.Tools {
		c := pairs.Tool{Name: "C", Argv: []string{"ib_" + tool.Name}}
		for _, line := range familyArgs[tool.Name] {
			for _, p := range []struct{ server, client pairs.Tool }{{c, ours(tool.Name)}, {ours(tool.Name), c}} {
				t.Run(fmt.Sprintf("%s %s/%s server, %s client", tool.Name, line, p.server.Name, p.client.Name), func(t *testing.T) {
					server, client := succeed(t, inLab(t), duo(p.server, p.client, strings.Fields(line)...))
					rows := numbers(client.Stdout)
					require.NotEmpty(t, rows, client.Stdout)
					for _, row := range rows {
						assert.Positive(t, row[0])
						assert.Positive(t, row[1])
					}
					if tool.Latency && tool.Verb != perftest.VerbWrite && tool.Verb != perftest.VerbSend {
						assert.Empty(t, numbers(server.Stdout))
					} else {
						assert.NotEmpty(t, numbers(server.Stdout), server.Stdout)
					}
				})
			}
		}
	}
}
