package nvmltest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/nvml"
	"github.com/gofabric/gofabric/nvml/nvmltest"
)

func TestHostsAreMachines(t *testing.T) {
	for name, host := range nvmltest.All() {
		require.NoError(t, host.Data.Check(), name)
		gpus, err := host.GPUs()
		require.NoError(t, err)
		require.NotEmpty(t, gpus)
		for _, a := range gpus {
			for _, b := range gpus {
				if a.UUID == b.UUID {
					continue
				}
				there, err := host.Pair(a.UUID, b.UUID)
				require.NoError(t, err)
				back, err := host.Pair(b.UUID, a.UUID)
				require.NoError(t, err)
				require.Equal(t, there, back, name)
			}
		}
	}
}

func TestEvents(t *testing.T) {
	ctx := context.Background()
	host := nvmltest.H100()
	gpus := host.Data.Inventory
	w, err := host.Watch(nvml.EventXID, gpus[0].UUID, gpus[1].UUID)
	require.NoError(t, err)
	host.Emit(nvml.Event{GPU: gpus[0].UUID, Kind: nvml.EventClock})
	host.Emit(nvml.Event{GPU: gpus[2].UUID, Kind: nvml.EventXID})
	host.Emit(nvml.Event{GPU: gpus[0].UUID, Kind: nvml.EventXID})
	host.Lose(gpus[1].UUID)
	event, err := w.Next(ctx)
	require.NoError(t, err)
	assert.Equal(t, gpus[0].UUID, event.GPU)
	assert.Nil(t, event.XID)
	event, err = w.Next(ctx)
	require.NoError(t, err)
	assert.Equal(t, gpus[1].UUID, event.GPU)
	assert.EqualValues(t, 79, *event.XID)

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = w.Next(cancelled)
	require.ErrorIs(t, err, context.Canceled)

	done := make(chan error)
	go func() {
		_, err := w.Next(ctx)
		done <- err
	}()
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	require.ErrorIs(t, <-done, nvml.ErrClosed)
	host.Emit(nvml.Event{GPU: gpus[0].UUID, Kind: nvml.EventXID})

	_, err = host.Watch(nvml.EventXID, "GPU-nobody")
	require.ErrorIs(t, err, nvml.ErrNoGPU)
	_, err = host.Watch(0)
	require.ErrorIs(t, err, nvml.ErrNotSupported)
	for _, question := range []func(string) error{
		func(g string) error { _, err := host.Links(g); return err },
		func(g string) error { _, err := host.Status(g); return err },
		func(g string) error { _, err := host.Processes(g); return err },
		func(g string) error { _, err := host.Pair(gpus[0].UUID, g); return err },
	} {
		require.ErrorIs(t, question(gpus[1].UUID), nvml.CodeGPUIsLost)
		require.NoError(t, question(gpus[3].UUID))
	}
}

func Example() {
	host := nvmltest.GB300()
	gpus, _ := host.GPUs()
	links, _ := host.Links(gpus[0].UUID)
	sum := nvml.SumLinks(links)
	node, ok := gpus[0].NUMANode()
	fmt.Println(gpus[0].Name, gpus[0].PCIAddress, "node", node, ok)
	fmt.Printf("%d NVLinks, %.0f GB/s each way\n", sum.Active, *sum.Rate)
	// Output:
	// NVIDIA GB300 0008:06:00.0 node 0 true
	// 18 NVLinks, 900 GB/s each way
}
