// Package ccuda is the only place that speaks to libcuda, the CUDA driver.
//
// It declares the library's binary interface itself (gf1_cuda_abi.h, proven
// against NVIDIA's header by abi/), opens the library at run time, and calls it
// through a table of functions under their exact, versioned names. A function
// that a release lacks answers a *dl.SymbolError that names it and the release
// that brings it.
//
// A context of CUDA is current on a thread, and a goroutine has no thread. Every
// call that needs a context therefore makes it current, does its work and puts
// back what the thread had before, all inside one call of C.
//
// Results are the driver's own numbers (Result); package cuda makes errors of
// them.
package ccuda
