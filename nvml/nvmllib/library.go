//go:build linux && cgo

package nvmllib

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gofabric/gofabric/internal/dl"
	"github.com/gofabric/gofabric/internal/life"
	"github.com/gofabric/gofabric/nvml"
)

// Library is libnvidia-ml as opened by this process. It is safe for concurrent
// use. Close it when done; a Watch holds it open.
type Library struct {
	life  life.Object
	api   driver
	file  *dl.Library
	mu    sync.Mutex
	known map[string]device // by UUID
	has   map[string]bool   // by symbol
}

// process is the one file that a process opens: go-nvml keeps its functions in
// package variables, and a function bound by the dynamic linker stays bound.
var process struct {
	sync.Mutex
	asked string
	file  *dl.Library
	api   driver
}

// needed are the functions without which nothing can be told. Calling one that
// the library lacks would end the process, so they are looked up first; so is
// every function of a driver newer than R418 before it is called.
var needed = []string{
	"nvmlInit_v2", "nvmlShutdown", "nvmlErrorString", "nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion",
	"nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetName",
	"nvmlDeviceGetPciInfo_v3",
}

// Open opens the driver's library. Where it is not installed the error is
// nvml.ErrLibraryNotFound and says which package has it; where the kernel driver
// does not run it is an nvml.Code. Open may be called more than once; each
// Library is closed by itself.
//
// Implements: nvmlInit_v2.
func Open(options Options) (*Library, error) {
	const op = "open the driver's library"
	process.Lock()
	defer process.Unlock()
	path := options.path()
	if process.file == nil {
		file, err := dl.Open("libnvidia-ml", libraryPackage, path)
		if err != nil {
			return nil, &nvml.OpError{Op: op, Err: err}
		}
		for _, name := range needed {
			if _, err := file.Symbol(name, "driver R440"); err != nil {
				return nil, &nvml.OpError{Op: op, Err: err}
			}
		}
		// Kept only now: a file that is not NVML must not stand in the way of
		// the right one.
		process.asked, process.file, process.api = path, file, newDriver(file.Path())
	} else if path != process.asked {
		return nil, &nvml.OpError{Op: op, Err: fmt.Errorf("this process has opened %s already: it cannot open %s too", process.file.Path(), path)}
	}
	if ret := process.api.Init(); ret != success {
		return nil, &nvml.OpError{Op: op, Err: nvml.Code(ret), Hint: initHints[nvml.Code(ret)]}
	}
	l := &Library{api: process.api, file: process.file, known: map[string]device{}, has: map[string]bool{}}
	life.Enter(&l.life, l, "libnvidia-ml")
	return l, nil
}

// initHints hold for what the library itself found.
var initHints = map[nvml.Code]string{
	nvml.CodeDriverNotLoaded: "load the kernel module nvidia as root: modprobe nvidia",
	nvml.CodeLibraryMismatch: "the driver was changed while its module was loaded: reboot, or reload the module nvidia",
	nvml.CodeOperatingSystem: "give the process /dev/nvidiactl and /dev/nvidiaN: in a container by the NVIDIA container toolkit",
	nvml.CodeNoPermission:    "the process may not open /dev/nvidiactl",
}

// Close gives the library back. It answers a busy error while a Watch is open;
// a second Close does nothing.
//
// Implements: nvmlShutdown.
func (l *Library) Close() error {
	return l.life.Close(func() error {
		process.Lock()
		defer process.Unlock()
		if ret := l.api.Shutdown(); ret != success {
			return &nvml.OpError{Op: "close the driver's library", Err: nvml.Code(ret)}
		}
		return nil
	})
}

// CloseAll closes the watches, then the library.
func (l *Library) CloseAll() error { return errors.Join(l.life.CloseChildren(), l.Close()) }

// function reports whether the loaded driver has a function.
func (l *Library) function(symbol string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	has, known := l.has[symbol]
	if !known {
		_, err := l.file.Symbol(symbol, "")
		has = err == nil
		l.has[symbol] = has
	}
	return has
}
