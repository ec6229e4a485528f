package perftest

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gofabric/gofabric/internal/stats"
)

// Result is what one side measured, as it goes over the wire: five numbers of
// eight bytes, big-endian, each exchanged on its own. The rates are in the unit
// that the sender prints; the wire does not say which.
type Result struct {
	// Size is the message size in bytes, of the last size with -a.
	Size uint64
	// Messages is the number of messages, over all queue pairs.
	Messages uint64
	// Peak is zero where it was not measured.
	Peak    float64
	Average float64
	// MsgRate is in millions of messages a second.
	MsgRate float64
}

const resultFields = 5

// maxRate is beyond what any machine reaches in any of the units.
const maxRate = 1e12

var resultNames = [resultFields]string{"size", "iterations", "peak", "average", "message rate"}

// NewResult returns the wire's form of bw in unit.
func NewResult(bw stats.Bandwidth, unit stats.Unit) Result {
	r := Result{
		Size:     bw.Size,
		Messages: bw.Messages,
		Average:  unit.FromBytes(bw.BytesPerSecond),
		MsgRate:  bw.MessagesPerSecond / 1e6,
	}
	if bw.PeakBytesPerSecond != nil {
		r.Peak = unit.FromBytes(*bw.PeakBytesPerSecond)
	}
	return r
}

// Bandwidth checks a result that the peer measured and converts it from unit.
// Call it only where the peer measured something: the server of a test in which
// the client alone sends answers with whatever its memory held. A result that
// nobody can have measured comes of two sides that count exchanges differently.
func (r Result) Bandwidth(unit stats.Unit) (stats.Bandwidth, error) {
	if r.Size == 0 || r.Size > maxSize {
		return stats.Bandwidth{}, fmt.Errorf("perftest: the peer reports messages of %d bytes; %s", r.Size, hintSameArgs)
	}
	for _, v := range []float64{r.Peak, r.Average, r.MsgRate} {
		if !(v >= 0 && v <= maxRate) {
			return stats.Bandwidth{}, fmt.Errorf("perftest: the peer reports a rate of %v; %s", v, hintSameArgs)
		}
	}
	bw := stats.Bandwidth{
		Size:              r.Size,
		Messages:          r.Messages,
		BytesPerSecond:    unit.ToBytes(r.Average),
		MessagesPerSecond: r.MsgRate * 1e6,
	}
	if r.Peak > 0 {
		peak := unit.ToBytes(r.Peak)
		bw.PeakBytesPerSecond = &peak
	}
	return bw, nil
}

func (r Result) words() [resultFields]uint64 {
	return [resultFields]uint64{r.Size, r.Messages,
		math.Float64bits(r.Peak), math.Float64bits(r.Average), math.Float64bits(r.MsgRate)}
}

func resultFromWords(w [resultFields]uint64) Result {
	return Result{Size: w[0], Messages: w[1],
		Peak: math.Float64frombits(w[2]), Average: math.Float64frombits(w[3]), MsgRate: math.Float64frombits(w[4])}
}

const wordLen = 8

func encodeWord(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }

func decodeWord(msg []byte) uint64 { return binary.BigEndian.Uint64(msg) }
