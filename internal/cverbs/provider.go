package cverbs

import (
	"io/fs"
	"strings"
	"sync"
)

// Provider serves devices of this process, which libibverbs does not know.
type Provider struct {
	// Prefix begins the names of the provider's devices.
	Prefix string
	// Root describes the devices as the kernel would, below sys/, as they are when
	// it is called.
	Root func() fs.FS
	// Open opens a device by its name.
	Open func(name string) (Context, error)
}

var (
	providersMu sync.RWMutex
	providers   []Provider
)

// Register adds a provider. Its devices are found by name only: listing shows
// the kernel's.
func Register(p Provider) {
	providersMu.Lock()
	defer providersMu.Unlock()
	providers = append(providers, p)
}

// ProviderOf returns the provider whose prefix the device's name carries.
func ProviderOf(device string) (Provider, bool) {
	providersMu.RLock()
	defer providersMu.RUnlock()
	for _, p := range providers {
		if strings.HasPrefix(device, p.Prefix) {
			return p, true
		}
	}
	return Provider{}, false
}
