package rsocket

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReleaseOf(t *testing.T) {
	for path, want := range map[string]int{
		"/usr/lib/x86_64-linux-gnu/librdmacm.so.1.3.44.0": 44,
		"librdmacm.so.1.3.56.1":                           56,
		"librdmacm.so.1":                                  0,
		"librdmacm.so.1.3.x.1":                            0,
		"":                                                0,
	} {
		assert.Equal(t, want, releaseOf(path), path)
	}
}
