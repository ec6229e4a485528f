package plot

import (
	"math"
	"slices"
)

// most bounds the values that are shown, and its inverse those of logarithms, so
// that arithmetic on them is finite.
const most = 1e300

// ruler is an axis with its range and its place on the page. low and high are
// on the scale: logarithms, on a logarithmic one.
type ruler struct {
	axis      Axis
	low, high float64
	from, to  float64 // pixels
	ticks     []float64
	minor     []float64
}

// on gives a value's place on the scale, and false where it has none.
func (s Scale) on(v float64) (float64, bool) {
	if math.IsNaN(v) || math.Abs(v) > most {
		return 0, false
	}
	if s == Linear {
		if math.Abs(v) < 1/most {
			v = 0
		}
		return v, true
	}
	if v < 1/most {
		return 0, false
	}
	if s == Log2 {
		return math.Log2(v), true
	}
	return math.Log10(v), true
}

// off is the opposite of on.
func (s Scale) off(at float64) float64 {
	switch s {
	case Log2:
		return math.Exp2(at)
	case Log10:
		return math.Pow(10, at)
	}
	return at
}

func (a Axis) format(v float64) string {
	if a.Format == nil {
		return decimals(v)
	}
	return a.Format(v)
}

// newRuler makes room for the values, of which those that have no place on the
// scale do not count.
func newRuler(axis Axis, values []float64, from, to float64) *ruler {
	r := &ruler{axis: axis, from: from, to: to}
	var places []float64
	for _, v := range values {
		if at, ok := axis.Scale.on(v); ok {
			places = append(places, at)
		}
	}
	if axis.Scale == Linear {
		r.linear(append(places, 0))
		return r
	}
	if len(places) == 0 {
		places = []float64{0, 1}
	}
	r.low, r.high = slices.Min(places), slices.Max(places)
	pad := (r.high - r.low) / 30
	// Values that are all but the same have no powers between them.
	if pad < 1e-3 {
		pad = 1
		if axis.Scale == Log10 {
			pad = 0.5
		}
	}
	r.low, r.high = r.low-pad, r.high+pad
	if axis.Scale == Log2 {
		r.powersOfTwo()
	} else {
		r.powersOfTen()
	}
	return r
}

// aims is how many steps a linear axis has, about.
const aims = 5

func (r *ruler) linear(places []float64) {
	r.low, r.high = slices.Min(places), slices.Max(places)
	if r.low == r.high {
		r.high++
	}
	step := niceStep((r.high - r.low) / aims)
	r.low, r.high = math.Floor(r.low/step)*step, math.Ceil(r.high/step)*step
	for i := math.Round(r.low / step); i*step <= r.high+step/2; i++ {
		r.ticks = append(r.ticks, i*step)
	}
}

// headroom adds a step to a linear axis if a limit is close to its end: the label
// stands above the line.
func (r *ruler) headroom(limit float64) {
	if r.axis.Scale != Linear || r.high-limit >= (r.high-r.low)/14 {
		return
	}
	last := len(r.ticks) - 1
	r.ticks = append(r.ticks, 2*r.ticks[last]-r.ticks[last-1])
	r.high = r.ticks[last+1]
}

// niceStep is the least of 1, 2 and 5 times a power of ten that is not less.
func niceStep(least float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(least)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= least {
			return factor * power
		}
	}
	return 10 * power
}

// room is the least distance of two labels in pixels.
const room = 18

// powersOfTwo labels as many powers of two as there is room for.
func (r *ruler) powersOfTwo() {
	first, last := int(math.Ceil(r.low)), int(math.Floor(r.high))
	if last-first < 2 {
		low, high := math.Exp2(r.low), math.Exp2(r.high)
		r.between(math.Exp2(math.Floor(math.Log2((high-low)/3))), low, high)
		return
	}
	each := math.Abs(r.to-r.from) / (r.high - r.low)
	for _, step := range []int{1, 2, 3, 5, 10, 20, 50, 100, 200, 500} {
		r.ticks = nil
		widest := 0.0
		for e := first; e <= last; e++ {
			if e%step == 0 {
				r.ticks = append(r.ticks, float64(e))
				widest = max(widest, textWidth(r.axis.format(math.Exp2(float64(e))), tickSize))
			}
		}
		if widest+room <= each*float64(step) {
			break
		}
	}
	if last-first <= 64 {
		for e := first; e <= last; e++ {
			r.minor = append(r.minor, float64(e))
		}
	}
}

// powersOfTen labels the decades, or every n-th, or parts of them.
func (r *ruler) powersOfTen() {
	first, last := int(math.Floor(r.low)), int(math.Ceil(r.high))
	factors := []float64{1}
	switch span := r.high - r.low; {
	case span < 1:
		low, high := math.Pow(10, r.low), math.Pow(10, r.high)
		r.between(niceStep((high-low)/aims), low, high)
		return
	case span < 3.2:
		factors = []float64{1, 2, 5}
	}
	step := (last-first)/8 + 1
	for e := first; e <= last; e++ {
		for factor := 1.0; factor < 10; factor++ {
			at := float64(e) + math.Log10(factor)
			if at < r.low || at > r.high {
				continue
			}
			if slices.Contains(factors, factor) && e%step == 0 {
				r.ticks = append(r.ticks, at)
			} else if step == 1 {
				r.minor = append(r.minor, at)
			}
		}
	}
}

// between labels the multiples of step, in a range too small for powers.
func (r *ruler) between(step, low, high float64) {
	for i := math.Ceil(low / step); i*step <= high; i++ {
		if at, ok := r.axis.Scale.on(i * step); ok {
			r.ticks = append(r.ticks, at)
		}
	}
}

// at is the pixel of a place on the scale.
func (r *ruler) at(place float64) float64 {
	return r.from + (place-r.low)/(r.high-r.low)*(r.to-r.from)
}

// pixel is that of a value, and false where it has none.
func (r *ruler) pixel(v float64) (float64, bool) {
	place, ok := r.axis.Scale.on(v)
	return r.at(place), ok
}
