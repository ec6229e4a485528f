package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHealthyMachine(t *testing.T) {
	for name, patch := range map[string]string{"InfiniBand": "", "RoCE": roce} {
		t.Run(name, func(t *testing.T) {
			r := Diagnose(staged(t, patch, nil))
			for _, p := range r.Problems() {
				assert.Fail(t, "a false alarm", "%s: %+v", p.Check.Name, p.Finding)
			}
			for _, res := range r.Results {
				for _, f := range res.Findings {
					t.Logf("%2d %-18s %-14s %s: %s", res.Number, res.Name, f.Outcome, f.Device, f.Text)
				}
			}
		})
	}
}
