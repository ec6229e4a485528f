package main

import (
	_ "embed"
	"encoding/json"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml/nvmltest"
)

//go:embed grafana.json
var dashboard []byte

var metricName = regexp.MustCompile(`gofabric_[a-z0-9_]+`)

// TestDashboard holds every metric of the dashboard against those that the program
// has.
func TestDashboard(t *testing.T) {
	st, r := two(t)
	require.NotNil(t, st)
	gpus := nvmltest.H200Pair()
	for i := range r.gpus {
		gpus.Data.Statuses[gpus.Data.Inventory[i].UUID] = r.gpus[i].status
	}
	s := &source{root: files(t, "1", "1"), gpus: gpus}
	text := scrape(t, s) + `gofabric_card_temperature_celsius gofabric_port_transmitted_packets_total gofabric_port_received_packets_total`
	var d struct {
		Panels []struct {
			ID      int
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(dashboard, &d))
	require.NotEmpty(t, d.Panels)
	ids := map[int]bool{}
	for _, p := range d.Panels {
		assert.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		for _, target := range p.Targets {
			names := metricName.FindAllString(target.Expr, -1)
			assert.NotEmpty(t, names, p.Title)
			for _, name := range names {
				assert.Contains(t, text, name, p.Title)
			}
		}
	}
}
