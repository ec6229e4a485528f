package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofabric/gofabric/internal/pairs"
	"github.com/gofabric/gofabric/internal/report"
)

const (
	messageSize = 64 << 10
	messages    = 500
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
	var told report.Document
	port := firstPort
	for range turns {
		for i, p := range combinations {
			p.Port = port
			port++
			average, doc, err := runPair(ctx, p, serverDevice, clientDevice)
			if err != nil {
				return fmt.Errorf("%s client with %s server: %w", p.Client.Name, p.Server.Name, err)
			}
			averages[i] = append(averages[i], average)
			if doc != nil {
				told = *doc
			}
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
		moved>>20, devices(serverDevice, clientDevice), told.Provider, told.Kernel, filepath.Base(told.Library))
	return nil
}

// runPair returns the average in MiB/s, and what our program said of the run if
// it was the client.
func runPair(ctx context.Context, p pairs.Pair, serverDevice, clientDevice string) (float64, *report.Document, error) {
	ctx, cancel := context.WithTimeout(ctx, perRun)
	defer cancel()
	args := func(device string) []string {
		return []string{"-F", "-d", device, "-s", strconv.Itoa(messageSize), "-n", strconv.Itoa(messages)}
	}
	p.ServerArgs, p.ClientArgs = args(serverDevice), args(clientDevice)
	ours := p.Client.Name == "Go"
	if ours {
		p.ClientArgs = append(p.ClientArgs, "--json")
	}
	server, client, err := p.Run(ctx)
	for try := 1; err == nil && client.RxeFlaw() && try < pairs.RxeTries; try++ {
		server, client, err = p.Run(ctx)
	}
	if err != nil {
		return 0, nil, err
	}
	if server.Status != 0 {
		return 0, nil, fmt.Errorf("the server ended with status %d: %s", server.Status, strings.TrimSpace(server.Stderr))
	}
	if !ours {
		average, err := client.Average()
		return average, nil, err
	}
	if client.Status != 0 {
		return 0, nil, fmt.Errorf("the client ended with status %d: %s", client.Status, strings.TrimSpace(client.Stderr))
	}
	var doc report.Document
	if err := json.Unmarshal([]byte(client.Stdout), &doc); err != nil {
		return 0, nil, fmt.Errorf("what --json printed: %w", err)
	}
	if len(doc.Results) != 1 {
		return 0, nil, fmt.Errorf("--json printed %d results", len(doc.Results))
	}
	return doc.Results[0].AverageBytesPerSecond / (1 << 20), &doc, nil
}

func devices(server, client string) string {
	if server == client {
		return server
	}
	return client + " and " + server
}
