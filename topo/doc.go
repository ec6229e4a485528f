// Package topo knows which HCA, GPU, CPUs and memory of a machine belong
// together.
package topo
