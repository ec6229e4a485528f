package nccltest

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// Variables of alltoallv_perf.
const (
	envSpread  = "NCCL_TESTS_ALLTOALLV_SPREAD"
	envMatrix  = "NCCL_TESTS_ALLTOALLV_MATRIX_FILE"
	envScale   = "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE"
	envSummary = "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY"
)

var patternVariables = []variable{
	{envSpread, "0 sends the same to all ranks, 1 in proportion to the distance (default 1)"},
	{envMatrix, "file with a square of bytes: row i is what rank i sends"},
	{envScale, "multiplies the numbers of that file (default 1)"},
	{envSummary, "1 prints a summary of the pattern"},
}

// pattern says how many bytes each rank sends to each other one: by the distance
// of their numbers, or by a matrix from a file.
type pattern struct {
	spread  float64 // 0 is the same for all, 1 in proportion to the distance
	matrix  [][]uint64
	scale   float64
	summary bool
}

// readPattern reads the variables of alltoallv_perf. A number that is none
// counts as not set, as with the C tool.
func readPattern(lookup func(string) (string, bool)) (*pattern, error) {
	number := func(name string, otherwise, most float64) float64 {
		text, _ := lookup(name)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			return otherwise
		}
		return min(max(v, 0), most)
	}
	p := &pattern{spread: number(envSpread, 1, 1), scale: number(envScale, 1, math.MaxFloat64)}
	p.summary = number(envSummary, 0, 1) != 0
	file, ok := lookup(envMatrix)
	if !ok {
		return p, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envMatrix, err)
	}
	if p.matrix, err = parseMatrix(text, p.scale); err != nil {
		return nil, fmt.Errorf("%s=%s: %w", envMatrix, file, err)
	}
	return p, nil
}

// parseMatrix reads a square of numbers of bytes, row i being what rank i sends,
// scales them and rounds them down to 16 bytes.
func parseMatrix(text []byte, scale float64) ([][]uint64, error) {
	var matrix [][]uint64
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) == 0 {
			continue
		}
		row := make([]uint64, len(fields))
		for i, field := range fields {
			v, err := strconv.ParseFloat(string(field), 64)
			if err != nil || math.IsNaN(v) || v < 0 {
				return nil, fmt.Errorf("row %d, column %d: %q is no number of bytes", len(matrix), i, field)
			}
			if v *= scale; v >= math.MaxInt64 {
				return nil, fmt.Errorf("row %d, column %d: %q is too much", len(matrix), i, field)
			}
			row[i] = uint64(v) &^ 15
		}
		matrix = append(matrix, row)
	}
	if len(matrix) == 0 {
		return nil, fmt.Errorf("the matrix is empty")
	}
	for i, row := range matrix {
		if len(row) != len(matrix) {
			return nil, fmt.Errorf("row %d has %d columns, and there are %d rows: the matrix is a square", i, len(row), len(matrix))
		}
	}
	return matrix, nil
}

// bytes is what one rank sends to another when each sends total to all.
func (p *pattern) bytes(from, to, ranks int, total uint64) uint64 {
	if p.matrix != nil {
		return p.matrix[from][to]
	}
	if ranks == 1 {
		return total &^ 15
	}
	distance := (to - from + ranks) % ranks
	distances := float64(ranks) * float64(ranks-1) / 2
	even := float64(total) / float64(ranks)
	far := float64(distance) * float64(total) / distances
	return uint64((1-p.spread)*even+p.spread*far) &^ 15
}

// most is the greatest number of elements that a rank sends, and receives.
func (p *pattern) most(ranks int, element, total uint64) (send, recv uint64) {
	for a := range ranks {
		var s, r uint64
		for b := range ranks {
			s += p.bytes(a, b, ranks, total) / element
			r += p.bytes(b, a, ranks, total) / element
		}
		send, recv = max(send, s), max(recv, r)
	}
	return send, recv
}

// check refuses a matrix that does not fit the run.
func (p *pattern) check(ranks int, minBytes, maxBytes uint64) error {
	if p == nil || p.matrix == nil {
		return nil
	}
	if ranks > len(p.matrix) {
		return fmt.Errorf("%s: the matrix has %d rows, and there are %d ranks", envMatrix, len(p.matrix), ranks)
	}
	if minBytes != maxBytes {
		return fmt.Errorf("%s: the matrix gives the sizes: -b and -e must be the same", envMatrix)
	}
	if send, recv := p.most(ranks, 1, 0); max(send, recv) > maxBytes {
		return fmt.Errorf("%s: a rank sends or receives %d bytes: raise -b and -e to that", envMatrix, max(send, recv))
	}
	return nil
}

// summarize prints each rank's part of one half of a row.
func (p *pattern) summarize(w io.Writer, t *trial, seconds float64) {
	total := t.counts.param * uint64(t.ranks) * t.element()
	if p.matrix == nil {
		fmt.Fprintf(w, "# %s: mode=generated nranks=%d total_bytes=%d spread=%.3f time_usec=%.2f\n", envSummary, t.ranks, total, p.spread, seconds*1e6)
	} else {
		fmt.Fprintf(w, "# %s: mode=matrix nranks=%d matrix_dim=%d scale=%.3f time_usec=%.2f\n", envSummary, t.ranks, len(p.matrix), p.scale, seconds*1e6)
	}
	n := float64(t.ranks)
	for rank := range t.ranks {
		var sent, received uint64
		for peer := range t.ranks {
			sent += p.bytes(rank, peer, t.ranks, total)
			received += p.bytes(peer, rank, t.ranks, total)
		}
		algorithm := float64(max(sent, received)) / 1e9 / seconds
		fmt.Fprintf(w, "#   rank=%d send_bytes=%d recv_bytes=%d alg_bw=%.2f bus_bw=%.2f\n", rank, sent, received, algorithm, algorithm*(n-1)/n)
	}
}
