package perftest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gofabric/gofabric/verbs"
)

// Whatever the numbers, the completions add up to the requests, and the send
// queue never fills with requests of which none is signalled.
func TestSchedule(t *testing.T) {
	for _, every := range []int{1, 2, 4, 7, 100} {
		for _, total := range []int{1, 5, 99, 100, 101, 200, 253} {
			t.Run(fmt.Sprintf("%d of %d", every, total), func(t *testing.T) {
				s := schedule{every: every, total: total}
				done, last := 0, -1
				for request := range total {
					if !s.signalled(request) {
						assert.Less(t, request-last, every)
						continue
					}
					done += s.covered(done)
					assert.Equal(t, request+1, done)
					last = request
				}
				assert.Equal(t, total, done)
			})
		}
	}
	endless := schedule{every: 4}
	assert.False(t, endless.signalled(2))
	assert.True(t, endless.signalled(3))
	assert.Equal(t, 4, endless.covered(1000))
}

func TestStepper(t *testing.T) {
	x86 := Agreement{PageSize: 4096, CacheLine: 64}
	for _, c := range []struct {
		size, stride, posts int
		agreed              Agreement
	}{
		{2, 64, 64, x86},
		{64, 64, 64, x86},
		{65, 128, 32, x86},
		{1500, 1536, 2, x86},
		{2048, 2048, 2, x86},
		{2049, 0, 1, x86},
		{65536, 0, 1, x86},
		{64, 128, 512, Agreement{PageSize: 65536, CacheLine: 128}},
		{4, 64, 1, Agreement{PageSize: 8, CacheLine: 64}},
	} {
		t.Run(fmt.Sprint(c.size), func(t *testing.T) {
			s, slot := newStepper(c.size, c.agreed), newLayout(c.size, verbs.RC, c.agreed).slot
			for i := range 3 * c.posts {
				at := s.next()
				assert.Equal(t, i%c.posts*c.stride, at)
				assert.LessOrEqual(t, at+c.size, slot)
			}
		})
	}
}

func TestLayout(t *testing.T) {
	x86 := Agreement{PageSize: 4096, CacheLine: 64}
	for size, slot := range map[int]int{2: 4096, 4096: 4096, 4097: 4160, 65536: 65536} {
		l := newLayout(size, verbs.RC, x86)
		assert.Equal(t, layout{slot}, l)
	}
	assert.Equal(t, 65536, newLayout(2, verbs.RC, Agreement{PageSize: 65536, CacheLine: 64}).slot, "the peer's pages are larger")
	assert.Equal(t, 4160, newLayout(4096, verbs.UD, x86).slot, "a datagram has a header in front")
}
