// Package nvmltest has machines with GPUs for tests: data, no driver.
//
//	host := nvmltest.H100()
//	plan, err := choose(host) // takes an nvml.Source
//
// A host can be changed before it is used: its Data are plain values. While it
// is used, Emit sends events to those who watch, and Lose makes a GPU fall off
// the bus.
//
// H200Pair is a machine on which package nvmllib was run. Addresses, NUMA
// nodes, processors and links of A100 and H100 are those of machines that were
// captured (a DGX A100, and an H100 machine of a cloud), and so are the addresses
// and nodes of GB300. What captures do not hold (switches' addresses, memory
// nodes, the addresses of eight H200) is filled in as it is usual. UUIDs and
// serial numbers are made up.
package nvmltest
