//go:build linux && cgo

package nvmllib

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/nvml"
)

// logsEnv names a folder for what tests leave. Set by make gpu.
const logsEnv = "GOFABRIC_GPU_LOGS"

// smi asks nvidia-smi for a table and returns its cells by row.
func smi(t *testing.T, columns string) [][]string {
	t.Helper()
	output, err := exec.Command("nvidia-smi", "--query-gpu="+columns, "--format=csv,noheader,nounits").Output()
	require.NoError(t, err)
	var rows [][]string
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		rows = append(rows, strings.Split(line, ", "))
	}
	return rows
}

// TestDriver asks the driver of this machine, in a process that has not opened
// the tests' own library, and compares with nvidia-smi.
func TestDriver(t *testing.T) {
	if gpus, err := filepath.Glob("/dev/nvidia[0-9]*"); err != nil || len(gpus) == 0 {
		testutil.Skip(t, "needs a GPU: there is no /dev/nvidia0")
	}
	if os.Getenv(childTest) == "" {
		child(t, "")
		return
	}
	l, err := Open(Options{})
	require.NoError(t, err)
	snapshot, err := nvml.Take(l)
	assert.NoError(t, err)
	require.NoError(t, snapshot.Check())
	text, err := json.MarshalIndent(snapshot, "", "\t")
	require.NoError(t, err)
	t.Logf("%s", text)
	if logs := os.Getenv(logsEnv); logs != "" {
		require.NoError(t, os.WriteFile(filepath.Join(logs, "nvml.json"), text, 0o644))
	}

	rows := smi(t, "uuid,name,pci.bus_id,memory.total,driver_version,pcie.link.gen.max,pcie.link.width.max")
	require.Len(t, snapshot.Inventory, len(rows))
	for i, row := range rows {
		g := snapshot.Inventory[i]
		assert.Equal(t, row[0], g.UUID)
		assert.Equal(t, row[1], g.Name)
		address, err := nvml.ParsePCIAddress(row[2])
		require.NoError(t, err)
		assert.Equal(t, address, g.PCIAddress)
		require.NotNil(t, g.Memory)
		assert.Equal(t, row[3], strconv.FormatUint(*g.Memory>>20, 10))
		assert.Equal(t, row[4], snapshot.Versions.Driver)
		if g.PCIeMax.Generation != nil {
			assert.Equal(t, row[5], strconv.Itoa(*g.PCIeMax.Generation))
		}
		if g.PCIeMax.Width != nil {
			assert.Equal(t, row[6], strconv.Itoa(*g.PCIeMax.Width))
		}
		sum := nvml.SumLinks(snapshot.NVLinks[g.UUID])
		if sum.Active > 0 {
			assert.NotNil(t, sum.Rate, "the rate of active NVLinks")
		}
	}

	watch, err := l.Watch(nvml.EventsOfHealth)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err = watch.Next(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, watch.Close())
	} else {
		require.ErrorIs(t, err, nvml.ErrNotSupported)
	}
	require.NoError(t, l.Close())
}
