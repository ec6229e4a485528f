// Package nvmllib is the nvml.Source that asks this machine's NVIDIA driver,
// through libnvidia-ml and github.com/NVIDIA/go-nvml.
//
// It stands apart from package nvml because of what go-nvml brings with it: it
// needs cgo, builds on Linux only, and links every program that imports it with
// -Wl,--unresolved-symbols=ignore-in-object-files and --export-dynamic, which
// hide that program's own mistakes in linking. Import it where the program is
// put together, in main, and hand an nvml.Source to the rest.
//
// The library is opened when it is asked for. A program starts on a machine
// without it, and Open says then what is missing. A linker that binds all
// symbols at start (-z now, which some distributions' compilers set by default
// for position-independent programs) breaks that: the program does not start
// there. Build such programs with -ldflags=-extldflags=-Wl,-z,lazy.
//
// Functions that an older driver lacks are not called: their values are absent.
package nvmllib
