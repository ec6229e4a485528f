//go:build linux && cgo

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gofabric/gofabric/internal/testutil"
	"github.com/gofabric/gofabric/verbs/verbstest"
)

func TestMain(m *testing.M) { verbstest.Main(m) }

func runIt(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

// TestSums checks the sums for data that the ranks do not divide, down to fewer
// elements than ranks, and for chunks that do not divide a segment.
func TestSums(t *testing.T) {
	for _, ranks := range []int{2, 3, 4, 7} {
		for _, elements := range []int{1, 5, 64, 10007} {
			for _, sizes := range []struct{ chunk, slots int }{{4 << 10, 8}, {100, 3}, {64 << 10, 1}} {
				name := fmt.Sprintf("ranks=%d/elements=%d/chunk=%d/slots=%d", ranks, elements, sizes.chunk, sizes.slots)
				t.Run(name, func(t *testing.T) {
					out, err := runIt(t, "--ranks", fmt.Sprint(ranks), "-s", fmt.Sprint(4*elements),
						"--chunk", fmt.Sprint(sizes.chunk), "--slots", fmt.Sprint(sizes.slots), "-n", "3")
					require.NoError(t, err)
					assert.Contains(t, out, "float32")
					assert.Contains(t, out, "loop0 is a device inside this process")
				})
			}
		}
	}
}

// TestOnDevice runs on an adapter, or the lab guest's.
func TestOnDevice(t *testing.T) {
	device := testutil.Device(t)
	for _, ranks := range []string{"2", "3", "4", "7"} {
		for _, size := range []string{"4", "40028"} {
			_, err := runIt(t, "-d", device, "--ranks", ranks, "-s", size, "--chunk", "4096", "-n", "3")
			require.NoError(t, err, "%s ranks, %s bytes", ranks, size)
		}
	}
}

// TestLateEvents has every wake-up come long after its completions, so that
// neighbours run into each other's next round.
func TestLateEvents(t *testing.T) {
	dev := verbstest.Open(t)
	dev.LateEvents(200 * time.Microsecond)
	_, err := runIt(t, "-d", dev.Name(), "--ranks", "3", "-s", "4000", "--chunk", "400", "--slots", "2", "-n", "5")
	require.NoError(t, err)
}

func TestWrongElementsAreCounted(t *testing.T) {
	r := Ring{ranks: 3, data: make([]float32, 100)}
	for k := range r.data {
		for rank := range 3 {
			r.data[k] += value(2, rank, k)
		}
	}
	assert.Zero(t, r.wrong(2))
	r.data[17]++
	assert.Equal(t, 1, r.wrong(2))
}

// freeAddr is an address that nobody listens at.
func freeAddr(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// TestRanksOverTCP starts the ranks as processes would be, the first one last.
func TestRanksOverTCP(t *testing.T) {
	const ranks = 3
	addr := freeAddr(t)
	errs := make(chan error, ranks)
	var out bytes.Buffer // of rank 0, the only one that prints
	for rank := ranks - 1; rank >= 0; rank-- {
		go func() {
			args := []string{"--ranks", "3", "--rank", fmt.Sprint(rank), "--addr", addr, "-s", "4004", "-n", "2"}
			errs <- run(t.Context(), args, &out)
		}()
	}
	for range ranks {
		require.NoError(t, <-errs)
	}
	assert.Equal(t, 1, strings.Count(out.String(), "busbw"))
}

func TestRanksThatDoNotFitTogether(t *testing.T) {
	for name, other := range map[string][]string{
		"the same rank twice": {"--ranks", "2", "--rank", "0"},
		"other sizes":         {"--ranks", "2", "--rank", "1", "-s", "8"},
		"more ranks":          {"--ranks", "3", "--rank", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			addr := freeAddr(t)
			both := []string{"--addr", addr, "--timeout", "2s"}
			errs := make(chan error, 2)
			for _, args := range [][]string{{"--ranks", "2", "--rank", "0", "-s", "4"}, other} {
				go func() {
					errs <- run(t.Context(), append(args, both...), &bytes.Buffer{})
				}()
			}
			assert.Error(t, <-errs)
			assert.Error(t, <-errs)
		})
	}
}

func TestRankThatNeverComes(t *testing.T) {
	for _, rank := range []string{"0", "1"} {
		_, err := runIt(t, "--ranks", "2", "--rank", rank, "--addr", freeAddr(t), "--timeout", "20ms")
		assert.Error(t, err, "rank %s", rank)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	go cancel()
	err := run(ctx, []string{"-n", "1000000", "-s", "400"}, &bytes.Buffer{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestWrongFlags(t *testing.T) {
	for _, args := range []string{
		"--ranks 1", "--rank 4", "--rank -2", "-s 0", "-s 6", "--chunk 2", "--chunk 6", "--slots 0", "--slots 5000",
		"-n 0", "stray", "--nonsense", "-d nosuch0", "-x 99",
	} {
		_, err := runIt(t, strings.Fields(args)...)
		require.Error(t, err, args)
		assert.NotContains(t, err.Error(), "\n", args)
	}
}
