package nccltest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestMatrixOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "matrix")
	require.NoError(t, os.WriteFile(file, []byte("100 200 150\n\n 50 100 75\n300 150 1e3"), 0o600))
	env := []string{envMatrix, file, envSummary, "1", envScale, "2"}
	cfg := parse(t, AllToAllV, "-g 3 -b 4K -e 4K -n 2", env...)
	assert.Equal(t, [][]uint64{{192, 400, 288}, {96, 192, 144}, {592, 288, 2000}}, cfg.pattern.matrix)
	out, err := perform(t, cfg)
	require.NoError(t, err)
	rows := parseTable(out, false)
	require.Len(t, rows, 1)
	assert.EqualValues(t, 2880, rows[0].size)
	assert.Zero(t, rows[0].count)
	assert.Zero(t, *rows[0].halves[0].wrong)
	assert.Contains(t, out, "#   rank=2 send_bytes=2880 recv_bytes=2432 ")
	for args, want := range map[string]string{
		"-g 4 -b 4K -e 4K": "the matrix has 3 rows, and there are 4 ranks",
		"-g 3 -b 2K -e 4K": "-b and -e must be the same",
		"-g 3 -b 1K -e 1K": "a rank sends or receives 2880 bytes",
	} {
		_, err := perform(t, parse(t, AllToAllV, args, env...))
		assert.ErrorContains(t, err, want)
	}
	_, err = ParseArgs(AllToAllV, nil, environment(envMatrix, file+"x"))
	var usage *UsageError
	assert.ErrorAs(t, err, &usage)
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
