package nccltest

import (
	"testing"

	"github.com/gofabric/gofabric/internal/nccltest/values"
	"github.com/gofabric/gofabric/nccl"
	"github.com/stretchr/testify/assert"
)

// TestPartsAreTheWhole: dividing the work changes nothing.
func TestPartsAreTheWhole(t *testing.T) {
	for _, dt := range nccl.DataTypes() {
		for _, elements := range []int{0, 1, 7, 100_003} {
			s := values.Series{Type: dt, Kind: values.Result, Op: values.Sum, Ranks: 3, Seed: 2, First: 5}
			whole, parts := make([]byte, elements*dt.Size()), make([]byte, elements*dt.Size())
			s.Fill(whole)
			parallel(parts, s, func(memory []byte, s values.Series) { s.Fill(memory) })
			assert.Equal(t, whole, parts, "%v %d", dt, elements)
		}
	}
}
