package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gofabric/gofabric/cuda"
	"github.com/gofabric/gofabric/topo"
)

// nearest picks the adapter for a GPU by the machine's topology, and says why.
func nearest(ordinal int, out io.Writer) (string, error) {
	info, err := cuda.Info(ordinal)
	if err != nil {
		return "", err
	}
	machine, err := topo.Live(topo.ReadOptions{})
	if err != nil {
		return "", err
	}
	for _, g := range machine.GPUs {
		if !strings.EqualFold(string(g.PCI), info.PCIAddress) {
			continue
		}
		for _, choice := range machine.HCAsFor(g) {
			if hca, ok := choice.Device.(*topo.HCA); ok && choice.Usable {
				fmt.Fprintln(out, choice.Explain())
				return hca.Name, nil
			}
		}
		return "", errors.New("this machine has no RDMA device with an active port: see examples/topo")
	}
	return "", fmt.Errorf("the topology of this machine shows no GPU at %s: name the device with -d", info.PCIAddress)
}
