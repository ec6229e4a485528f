package nccltest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPatternByDistance(t *testing.T) {
	p := &pattern{spread: 1}
	var sent []uint64
	for to := range 4 {
		sent = append(sent, p.bytes(0, to, 4, 6144))
	}
	assert.Equal(t, []uint64{0, 1024, 2048, 3072}, sent)
	assert.Equal(t, p.bytes(0, 1, 4, 6144), p.bytes(3, 0, 4, 6144))
	even := &pattern{}
	assert.Equal(t, uint64(1536), even.bytes(2, 2, 4, 6144))
	assert.Equal(t, uint64(96), even.bytes(0, 0, 1, 100))
}

func FuzzParseMatrix(f *testing.F) {
	for _, seed := range []string{"1 2\n3 4", "", "x", "1 2 3\n4 5", "-1", "1e400", "nan"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		matrix, err := parseMatrix(text, 1)
		if err != nil {
			return
		}
		for _, row := range matrix {
			assert.Len(t, row, len(matrix))
			for _, v := range row {
				assert.Zero(t, v%16)
			}
		}
	})
}
