package topo

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextInManyPiecesIsReadOnce(t *testing.T) {
	// Joining the pieces one by one takes minutes.
	text := "<system version=\"1\"><cpu numaid=\"0\"/>" + strings.Repeat("x<!---->", 1<<20) + "</system>"
	_, _, err := Parse([]byte(text))
	require.NoError(t, err)
}

func TestInputsOfTooManyThingsAreRefused(t *testing.T) {
	_, _, err := Parse([]byte("<system version=\"1\">" + strings.Repeat("<a/>", maxXMLElements+1) + "</system>"))
	assert.ErrorContains(t, err, "more than")
	s := &System{}
	for i := range mostPaired + 1 {
		s.HCAs = append(s.HCAs, &HCA{Name: fmt.Sprint("mlx5_", i)})
	}
	var invalid *InvalidError
	assert.ErrorAs(t, s.Finish(), &invalid)
}

func TestPlanOfTooManyRanksIsRefused(t *testing.T) {
	s := &System{}
	require.NoError(t, s.Finish())
	for _, n := range []int{math.MinInt, -1, 0, MaxRanks + 1, 1e9, math.MaxInt} {
		_, err := s.Plan(n)
		assert.Error(t, err, n)
	}
	p, err := s.Plan(MaxRanks)
	require.NoError(t, err)
	assert.Len(t, p.Ranks, MaxRanks)
}

func TestTwoCapturesInOneFileAreRefused(t *testing.T) {
	const head = captureHead + "\n-- machine.json --\n"
	for _, text := range []string{head + "{}\n-- machine.json --\n{}\n", head + "{}{}\n", head + "{}]\n"} {
		_, format, err := Parse([]byte(text))
		assert.Error(t, err, text)
		assert.Equal(t, FormatCapture, format)
	}
	_, _, err := Parse([]byte(head + "{}\n"))
	assert.NoError(t, err)
}

func TestTooManyCPUElementsAreRefused(t *testing.T) {
	cpu := "<cpu numaid=\"0\" affinity=\"" + strings.Repeat("ffffffff,", 250) + "ff\"/>"
	_, _, err := Parse([]byte("<system version=\"1\">" + strings.Repeat(cpu, mostPaired+1) + "</system>"))
	assert.ErrorContains(t, err, "CPUs")
}
