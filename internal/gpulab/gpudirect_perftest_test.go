//go:build linux && cgo

package gpulab

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/internal/perftest"
	rows "github.com/gofabric/gofabric/internal/report"
	"github.com/gofabric/gofabric/verbs"
)

// TestGPUDirectPerftest runs the tools with buffers on a GPU, both ends in this
// process.
func TestGPUDirectPerftest(t *testing.T) {
	n := begin(t, 1, 3*time.Minute)
	r := newBench(t, 1)
	before := len(life.Open())
	address := r.devs[0].Info().PCIAddress
	choices := [][]string{{"--use_cuda=0"}, {"--use_cuda=" + strconv.Itoa(n-1)}, {"--use_cuda_bus_id=" + address}}
	if supports(t, r.devs[0], cuda.AttributeDMABuf) {
		choices = append(choices, []string{"--use_cuda=0", "--use_cuda_dmabuf"})
	}
	for _, tool := range perftest.Tools {
		if tool.Latency && tool.Verb == perftest.VerbWrite {
			_, err := perftest.ParseArgs(tool, []string{"-d", "loop0", "--use_cuda=0"})
			require.ErrorContains(t, err, "read_lat and send_lat")
			continue
		}
		for _, choice := range choices {
			for _, more := range [][]string{{"-n", "50"}, {"-n", "20", "-a"}} {
				if tool.Verb == perftest.VerbAtomic && len(more) > 2 {
					continue
				}
				if !realGPU && len(more) > 2 && tool.Verb != perftest.VerbWrite {
					continue
				}
				args := append(append([]string{"-d", "loop0", "--json"}, choice...), more...)
				config, err := perftest.ParseArgs(tool, args)
				require.NoError(t, err)
				var out, notes bytes.Buffer
				require.NoError(t, perftest.Run(r.ctx, config, &out, &notes), "%s %q", tool.Name, args)
				assert.Contains(t, notes.String(), "buffers on GPU ")
				var doc rows.Document
				require.NoError(t, json.Unmarshal(out.Bytes(), &doc))
				require.NotEmpty(t, doc.Results)
				assert.Len(t, life.Open(), before, "nothing is left open")
			}
		}
	}
	_, err := perftest.ParseArgs(perftest.SendBW, []string{"--use_cuda=0", "-I", "64"})
	require.Error(t, err)
	config, err := perftest.ParseArgs(perftest.SendBW, []string{"-d", "loop0", "--use_cuda=77"})
	require.NoError(t, err)
	var out, notes bytes.Buffer
	err = perftest.Run(r.ctx, config, &out, &notes)
	require.True(t, errors.Is(err, cuda.ErrorInvalidDevice), "%v", err)
	require.False(t, errors.Is(err, verbs.ErrNotSupported))
	assert.Len(t, life.Open(), before)
	figure("gpudirect: all tools of perftest but write_lat with --use_cuda, --use_cuda_bus_id%s, over loop0", map[bool]string{true: " and --use_cuda_dmabuf"}[len(choices) == 4])
}
