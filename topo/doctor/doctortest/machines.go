// Package doctortest has machines for tests, as captures that doctor.Open and
// topo.Parse read.
package doctortest

import (
	"embed"
	"fmt"
)

// The machines.
const (
	// DGXA100 is a healthy DGX A100: eight GPUs, eight InfiniBand HCAs, two
	// storage cards whose second ports nobody uses.
	DGXA100 = "dgx-a100"
	// H200Pair is a virtual machine with two H200 and no RDMA device.
	H200Pair = "h200x2"
	// LabGuest is a guest of the lab with soft-RoCE.
	LabGuest = "lab-guest"
)

//go:embed *.txtar
var captures embed.FS

// Capture returns a machine by name. Another name is a mistake in the test: it
// panics.
func Capture(name string) []byte {
	data, err := captures.ReadFile(name + ".txtar")
	if err != nil {
		panic(fmt.Sprintf("doctortest: there is no machine %q", name))
	}
	return data
}
