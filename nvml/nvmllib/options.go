package nvmllib

import (
	"os"

	"github.com/gofabric/gofabric/nvml"
)

var _ nvml.Source = (*Library)(nil)

// Environment names the variable that holds the file to open where Options do
// not name one.
const Environment = "GOFABRIC_LIBNVML"

// defaultLibrary is what the dynamic linker searches for, and libraryPackage the
// Debian package that has it.
const (
	defaultLibrary = "libnvidia-ml.so.1"
	libraryPackage = "libnvidia-ml1"
)

// Options are how to open the library.
type Options struct {
	// Path is the file to open; empty means that of $GOFABRIC_LIBNVML, or else
	// libnvidia-ml.so.1 where the dynamic linker finds it. A process opens one
	// file: another one later is an error.
	Path string
}

func (o Options) path() string {
	if o.Path != "" {
		return o.Path
	}
	if path := os.Getenv(Environment); path != "" {
		return path
	}
	return defaultLibrary
}
