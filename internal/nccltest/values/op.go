package values

import (
	"fmt"
	"strings"

	"github.com/gofabric/gofabric/nccl"
)

// Op is a reduction, in the order of nccl-tests. The first five are NCCL's own
// and have its numbers.
type Op int32

// The reductions of nccl-tests.
const (
	Sum Op = iota
	Prod
	Max
	Min
	Avg
	// MulSum multiplies each rank's input by Factor and sums.
	MulSum
)

var opNames = [...]string{"sum", "prod", "max", "min", "avg", "mulsum"}

// Ops lists all reductions.
func Ops() []Op { return []Op{Sum, Prod, Max, Min, Avg, MulSum} }

// String returns the name that nccl-tests uses.
func (op Op) String() string {
	if op < 0 || int(op) >= len(opNames) {
		return fmt.Sprintf("Op(%d)", int(op))
	}
	return opNames[op]
}

// ParseOp reads a name of nccl-tests.
func ParseOp(name string) (Op, error) {
	for i, n := range opNames {
		if n == name {
			return Op(i), nil
		}
	}
	return 0, fmt.Errorf("no reduction %q: there are %s", name, strings.Join(opNames[:], ", "))
}

// RedOp returns NCCL's reduction; ok is false for MulSum, which a communicator
// makes.
func (op Op) RedOp() (redop nccl.RedOp, ok bool) { return nccl.RedOp(op), op < MulSum }

// Factor is what MulSum multiplies the input of a rank by: 1 or 2.
func Factor(rank int) float64 { return float64(1 + rank%2) }
