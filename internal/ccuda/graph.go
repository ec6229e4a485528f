//go:build linux && cgo

package ccuda

// #cgo noescape gf1_cuda_graph_launch
// #cgo nocallback gf1_cuda_graph_launch
// #include "gf1_cuda_shim.h"
import "C"

// GraphNodes returns how many nodes a graph has.
//
// Implements: cuGraphGetNodes.
func (c Context) GraphNodes(g uintptr) (int, Result) {
	var n C.size_t
	rc := C.gf1_cuda_graph_nodes(c.c(), C.gf1_cuda_handle(g), &n)
	return int(n), Result(rc)
}

// DestroyGraph destroys a graph.
//
// Implements: cuGraphDestroy.
func (c Context) DestroyGraph(g uintptr) Result {
	return Result(C.gf1_cuda_graph_destroy(c.c(), C.gf1_cuda_handle(g)))
}

// Instantiate makes a graph ready to be launched.
//
// Implements: cuGraphInstantiateWithFlags.
func (c Context) Instantiate(g uintptr) (uintptr, Result) {
	var e C.gf1_cuda_handle
	rc := C.gf1_cuda_graph_instantiate(c.c(), C.gf1_cuda_handle(g), &e)
	return uintptr(e), Result(rc)
}

// LaunchGraph puts a graph on a stream.
//
// Implements: cuGraphLaunch.
func (c Context) LaunchGraph(exec, stream uintptr) Result {
	return Result(C.gf1_cuda_graph_launch(c.c(), C.gf1_cuda_handle(exec), C.gf1_cuda_handle(stream)))
}

// DestroyExec destroys an instantiated graph.
//
// Implements: cuGraphExecDestroy.
func (c Context) DestroyExec(exec uintptr) Result {
	return Result(C.gf1_cuda_exec_destroy(c.c(), C.gf1_cuda_handle(exec)))
}
