package verbs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPinned(t *testing.T) {
	assert.EqualValues(t, 64<<10, pinned("Name:\tx\nVmLck:\t       0 kB\nVmPin:\t      64 kB\nVmHWM:\t 100 kB\n"))
	assert.Zero(t, pinned("Name:\tx\nVmHWM:\t 100 kB\n"))
}

func FuzzPinned(f *testing.F) {
	for _, seed := range []string{"", "\nVmPin:", "\nVmPin: 1 kB", "\nVmPin: -1 kB\n", "\nVmPin: 99999999999999999999 kB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, status string) {
		assert.Less(t, pinned(status), uint64(1)<<63)
	})
}
