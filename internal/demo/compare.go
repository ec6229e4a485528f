package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/pairs"
)

const (
	messageSize = 64 << 10
	messages    = 200
	// turns of all four combinations; each shows the median of its own.
	turns     = 3
	firstPort = 18515
	// perRun ends a pair that hangs.
	perRun = 2 * time.Minute
)

// compare runs the four combinations between two devices, which may be the same
// one, and prints them side by side.
func compare(ctx context.Context, tool, serverDevice, clientDevice string) error {
	ours := pairs.Tool{Name: "Go", Argv: []string{tool}}
	c := pairs.Tool{Name: "C", Argv: []string{"ib_write_bw"}}
	combinations := []pairs.Pair{
		{Server: c, Client: ours}, {Server: ours, Client: c}, {Server: ours, Client: ours}, {Server: c, Client: c},
	}
	averages := make([][]float64, len(combinations))
	port := firstPort
	for range turns {
		for i, p := range combinations {
			p.Port = port
			port++
			average, err := runPair(ctx, p, serverDevice, clientDevice)
			if err != nil {
				return fmt.Errorf("%s client with %s server: %w", p.Client.Name, p.Server.Name, err)
			}
			averages[i] = append(averages[i], average)
		}
	}
	fmt.Printf("RDMA write, %d messages of %d KiB, median of %d turns:\n\n", messages, messageSize>>10, turns)
	fmt.Printf("  %-8s %-8s %10s %10s\n", "client", "server", "MiB/s", "to C-C")
	reference := pairs.Median(averages[len(averages)-1])
	for i, p := range combinations {
		median := pairs.Median(averages[i])
		fmt.Printf("  %-8s %-8s %10.2f %10.2f\n", p.Client.Name, p.Server.Name, median, median/reference)
	}
	moved := int64(len(combinations)) * turns * messages * messageSize
	fmt.Printf("\nMoved %d MiB over %s, provider %s, kernel %s, %s.\n",
		moved>>20, devices(serverDevice, clientDevice), provider(serverDevice), kernelRelease(), libraryVersion())
	return nil
}

func runPair(ctx context.Context, p pairs.Pair, serverDevice, clientDevice string) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, perRun)
	defer cancel()
	args := func(device string) []string {
		return []string{"-F", "-d", device, "-s", strconv.Itoa(messageSize), "-n", strconv.Itoa(messages)}
	}
	p.ServerArgs, p.ClientArgs = args(serverDevice), args(clientDevice)
	server, client, err := p.Run(ctx)
	if err != nil {
		return 0, err
	}
	if server.Status != 0 {
		return 0, fmt.Errorf("the server ended with status %d: %s", server.Status, strings.TrimSpace(server.Stderr))
	}
	return client.Average()
}

func devices(server, client string) string {
	if server == client {
		return server
	}
	return client + " and " + server
}

// provider names the kernel driver of a device.
func provider(device string) string {
	driver, err := filepath.EvalSymlinks("/sys/class/infiniband/" + device + "/device/driver")
	if err == nil {
		return filepath.Base(driver)
	}
	// Soft-RoCE has no PCI device and so no driver link before 6.12.
	return "rdma_rxe"
}

func kernelRelease() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(release))
}

// libraryVersion names the library by its file, which carries the release.
func libraryVersion() string {
	for _, pattern := range []string{"/usr/lib/*/libibverbs.so.1", "/usr/lib*/libibverbs.so.1"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			continue
		}
		if real, err := filepath.EvalSymlinks(found[0]); err == nil {
			return filepath.Base(real)
		}
	}
	return "libibverbs of unknown release"
}
