package pairs

import (
	"fmt"
	"math"
	"slices"
)

// Median returns the median of a list that is not empty.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// MedianInterval returns an interval that holds the median of what the values
// were drawn from with a confidence of at least 95 %, whatever its distribution:
// the k-th value from either end, for the largest k that keeps the binomial
// tails together below 5 %. It is false for fewer than six values, which allow
// no such statement.
func MedianInterval(values []float64) (low, high float64, ok bool) {
	n := len(values)
	k, tail := 0, 0.0
	for {
		// tail is the chance that at most k of n values lie below the median.
		tail += binomial(n, k) * math.Pow(0.5, float64(n))
		if 2*tail > 0.05 {
			break
		}
		k++
	}
	if k == 0 {
		return 0, 0, false
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[k-1], sorted[n-k], true
}

func binomial(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// Interval writes the median of values with its interval, as far as there is one.
func Interval(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	low, high, ok := MedianInterval(values)
	if !ok {
		return fmt.Sprintf("%.3f", Median(values))
	}
	return fmt.Sprintf("%.3f [%.3f, %.3f]", Median(values), low, high)
}
