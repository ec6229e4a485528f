// Package nvml describes the NVIDIA GPUs of a machine: which there are, where
// they sit, how they are linked, how they are, who uses them, and what happens
// to them.
//
// All is plain values behind a small interface, Source. This package is pure
// Go: it holds the values and what can be worked out from them. Its sources are
//
//   - nvml/nvmllib, which asks the machine's own libnvidia-ml through go-nvml;
//   - Snapshot, which holds what a source said earlier and marshals to JSON;
//   - nvml/nvmltest, whose hosts are data, for tests.
//
// A program that only chooses between GPUs takes a Source and needs neither cgo
// nor a driver to be built and tested:
//
//	library, err := nvmllib.Open(nvmllib.Options{})
//	if err != nil {
//		return err // says what is missing and what installs it
//	}
//	defer library.Close()
//	gpus, err := library.GPUs()
//
// # What is absent
//
// Boards, drivers and virtual machines differ in what they tell. A value that
// nobody told is a nil pointer or slice, or an empty string, never zero: a GPU
// whose NUMA node is unknown has no node, and is not on node 0. A method that
// could not read some of its values returns the others, and an error that joins
// what it could not read: one lost GPU does not hide the rest.
//
// # Which GPU
//
// A GPU is named by its UUID. Its index in NVML's order changes when a board is
// added or lost, and is not CUDA's ordinal: CUDA_VISIBLE_DEVICES hides GPUs and
// reorders them, and CUDA's own order puts the fastest first. ByPCIAddress
// matches what CUDA says of an ordinal to a GPU; Visible works out what CUDA
// will see. A MIG device has its GPU's place in the machine: Find leads from its
// UUID to the GPU.
package nvml
