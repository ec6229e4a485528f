package main

import (
	"bytes"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/topo"
)

// endless is /dev/zero: a reader that takes all of it never comes back.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.read += len(p)
	return len(p), nil
}

func TestEndlessInputIsRefused(t *testing.T) {
	in := &endless{}
	var out, errs bytes.Buffer
	assert.Equal(t, exitFailed, run([]string{"--from", "-"}, streams{in, &out, &errs}))
	assert.Empty(t, out.String())
	assert.Equal(t, topo.MaxInput+1, in.read)
}

func TestEmptyValuesAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--from="}, {"--explain="}, {"--capture="}, {"--output="}, {"exec", "--dry-run", "--from="},
	} {
		status, out, errs := topoTool(t, "", args...)
		assert.Equal(t, exitUsage, status, "%v: %s", args, errs)
		assert.Empty(t, out)
	}
}

func TestAbsurdRanksAreRefused(t *testing.T) {
	const flat = `<system version="1"><cpu numaid="0" affinity="ff"/></system>`
	for _, rank := range []int{topo.MaxRanks, 1e9, math.MaxInt} {
		for _, args := range [][]string{{"exec", "--dry-run", "--from", "-", "--rank"}, {"--from", "-", "--plan"}} {
			n := rank
			if args[0] != "exec" && n < math.MaxInt {
				n++
			}
			status, _, errs := topoTool(t, flat, append(args, strconv.Itoa(n))...)
			require.Equal(t, exitFailed, status, args)
			assert.Contains(t, errs, strconv.Itoa(topo.MaxRanks))
		}
	}
}
