package stats

import (
	"sort"
	"time"
)

// Done is one signalled completion.
type Done struct {
	// Messages is the number of messages that had completed by then, this
	// completion included.
	Messages int
	// At is when the completion was seen, on the clock of the post times.
	At time.Duration
}

// Peak returns the best bandwidth that any contiguous run of messages reached,
// in bytes a second: size divided by the minimum over i ≤ j of
// (completed[j] − posted[i]) / (j − i + 1).
//
// posted[i] is taken just before message i was posted, and done lists the
// signalled completions in order; a message without a completion of its own
// ends no run, as in perftest. perftest divides integer clock cycles; a
// nanosecond is several cycles, so that the same truncation would distort
// short messages and is left out here.
//
// The answer is false when no run has a positive duration, or when done is not
// ascending or counts more messages than were posted.
//
// It takes O(n log n): with points (i, posted[i]) on the left and
// (j+1, completed[j]) on the right, the quotient is a slope, and the least
// slope from a right point touches the upper hull of the points left of it.
func Peak(size uint64, posted []time.Duration, done []Done) (float64, bool) {
	var (
		upper hull
		next  int
		best  float64
		found bool
	)
	for _, d := range done {
		if d.Messages <= 0 || d.Messages > len(posted) || d.Messages < next {
			return 0, false
		}
		for ; next < d.Messages; next++ {
			upper.push(point{float64(next), float64(posted[next])})
		}
		lowest := upper.minSlope(point{float64(d.Messages), float64(d.At)})
		if !found || lowest < best {
			best, found = lowest, true
		}
	}
	if !found || best <= 0 {
		return 0, false
	}
	return float64(size) * float64(time.Second) / best, true
}

type point struct{ x, y float64 }

func slope(a, b point) float64 { return (b.y - a.y) / (b.x - a.x) }

// hull is the upper convex hull of points that arrive with ascending x.
type hull []point

func (h *hull) push(p point) {
	pts := *h
	for len(pts) >= 2 && slope(pts[len(pts)-2], pts[len(pts)-1]) <= slope(pts[len(pts)-1], p) {
		pts = pts[:len(pts)-1]
	}
	*h = append(pts, p)
}

// minSlope returns the least slope from a point of the hull to p, which lies
// right of all of them. Along the hull those slopes fall and then rise.
func (h hull) minSlope(p point) float64 {
	k := sort.Search(len(h)-1, func(k int) bool { return slope(h[k], p) <= slope(h[k+1], p) })
	return slope(h[k], p)
}
