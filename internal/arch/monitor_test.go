package arch

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMonitorPageNamesEveryMetric holds the page about the monitor against the
// metrics that the program has, both ways.
func TestMonitorPageNamesEveryMetric(t *testing.T) {
	source, page := read(t, "examples/monitor/metrics.go"), read(t, "docs/monitor.md")
	has := map[string]bool{}
	for _, found := range regexp.MustCompile(`desc\("([a-z0-9_]+)"`).FindAllSubmatch(source, -1) {
		has["gofabric_"+string(found[1])] = true
	}
	require.NotEmpty(t, has)
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`gofabric_[a-z0-9_]+`).FindAllString(string(page), -1) {
		named[name] = true
		assert.True(t, has[name], "docs/monitor.md names %s, which monitor does not have", name)
	}
	for name := range has {
		assert.True(t, named[name], "docs/monitor.md does not name %s", name)
	}
}
