package verbs

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCoreRelease(t *testing.T) {
	for file, want := range map[string]int{
		"/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0": 44,
		"libibverbs.so.1.15.56.1":                           56,
		"libibverbs.so.1.16.64.0":                           64,
		"libibverbs.so.1":                                   -1,
		"libibverbs.so.1.14.x.0":                            -1,
		"":                                                  -1,
	} {
		got, ok := coreRelease(file)
		if !ok {
			got = -1
		}
		assert.Equal(t, want, got, file)
	}
}
