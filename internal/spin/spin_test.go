package spin

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRestIsTakenWhenDue(t *testing.T) {
	start := time.Now()
	var r Rest
	r.Take(start)
	assert.Equal(t, start, r.last, "the first is due")
	r.Take(start.Add(every))
	assert.Equal(t, start, r.last)
	later := start.Add(every + 1)
	r.Take(later)
	assert.Equal(t, later, r.last)
}
